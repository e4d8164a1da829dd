"""The graphics processor that compute is to use, the one that it uses, and those that have failed."""

import logging
import time
from collections.abc import Callable
from typing import NamedTuple

from core.contracts.notices import Notice, notice
from core.contracts.pipe import Placed, Progress, SetDevice
from core.worker.compute.owner import Owner
from core.worker.compute.yields import recent

log = logging.getLogger(__name__)

CPU = "cpu"
RETRY_S = 600.0
"""A graphics processor that failed is left alone for so long: a driver that is being updated, a card that was pulled
out of a laptop's dock."""


class Failure(NamedTuple):
    """Of one graphics processor."""

    until: float
    """Unix time up to which it is left alone."""
    why: Notice


class Accelerator:
    """What `ComputeSupervisor` knows of graphics processors. `wake` is called when there is something to send."""

    def __init__(self, owner: Owner, wake: Callable[[], None]) -> None:
        self.present = False
        """Whether compute has said that it can use any."""
        self.device = CPU
        """Where experts and trunk are."""
        self.label = ""
        """Its name; empty: the processor's."""
        self.left_behind = self.taken_bytes = 0
        """Experts for which it has no room, and what compute has taken of its memory."""
        self._failures: dict[str, Failure] = {}
        self._owner, self._wake = owner, wake
        self._wanted = self._sent = (CPU, 1.0)
        self._moments = (0.0, 0.0)
        """When the user came back, or the like, and when that was noticed; time.monotonic()."""
        self._given_back: tuple[SetDevice, float, float, float] | None = None
        """A yield under way: what was asked for, and its moments."""

    def failures(self, now: float) -> dict[str, Failure]:
        """Of those that are left alone at `now` (unix time), by id."""
        self._failures = {device: failure for device, failure in self._failures.items() if now < failure.until}
        return self._failures

    def notes(self, now: float, experts: int) -> list[Notice]:
        """For the user, at `now` (unix time); `experts` are here in all."""
        failures = self.failures(now).values()
        notes = [notice("gpu.cpu_instead", why=why, until=until) for until, why in failures]
        if self.left_behind:
            held = experts - self.left_behind
            notes.append(notice("gpu.too_small", gpu=self.label, held=held, n=experts))
        return notes

    def want(self, device: str, memory_share: float, cause: float) -> None:
        """Compute is to use a device, and so much of its memory; `cause` is the time.monotonic() of what led to it."""
        wanted = (device, 1.0 if device == CPU else memory_share)
        if wanted != self._wanted:
            noticed = time.monotonic()
            self._wanted, self._moments = wanted, (recent(cause, noticed), noticed)
            self._wake()

    def begin(self) -> None:
        """A new process is on the processor."""
        self._sent, self.device, self.label = (CPU, 1.0), CPU, ""
        self.left_behind = self.taken_bytes = 0

    def unsent(self, at_work: bool) -> SetDevice | None:
        """What compute must be told."""
        if self._wanted == self._sent:
            return None
        self._sent = self._wanted
        message = SetDevice(*self._wanted)
        if at_work and self.device not in (CPU, message.device):
            self._given_back = message, *self._moments, time.monotonic()
        return message

    def reported(self, message: Progress) -> None:
        """How many experts are not where they were told to be; while they are on the way, that says nothing."""
        self.taken_bytes = message.device_bytes if message.device == self.device else 0
        self.left_behind = message.left_behind if message.device == self.device == self._sent[0] else 0

    def placed(self, request: SetDevice, message: Placed) -> None:
        """Compute is where it was told to be, or says why not.

        Args:
            request: what it was told.
            message: its answer.
        """
        if message.why:
            self._fail(self._sent[0], message.why)
        if message.device != self.device:
            log.info("Compute is on %s now.", message.label)
        self.device, self.label = message.device, "" if message.device == CPU else message.label
        if self._given_back and self._given_back[0] is request:
            self._end_yield(message.last_kernel_end)

    def ended(self, trouble: Notice | None) -> None:
        """The process has ended; `trouble` says why, if it was not asked to: what it computed on is to blame."""
        if self._given_back:
            self._end_yield(time.monotonic())
        if trouble and self._sent[0] != CPU:
            self._fail(self._sent[0], trouble)
        self.begin()

    def _end_yield(self, stopped: float) -> None:
        assert self._given_back is not None
        _, cause, noticed, told = self._given_back
        self._given_back = None
        self._owner.yielded(cause, noticed, told, stopped)
        log.info("The graphics processor was given back after %.0f ms.", 1000 * max(0.0, stopped - cause))

    def _fail(self, device: str, why: Notice) -> None:
        self._failures[device] = Failure(time.time() + RETRY_S, why)
        log.error("%s The CPU computes instead for %.0f minutes.", why, RETRY_S / 60)

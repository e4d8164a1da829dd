"""Keeps a run's compute process within the memory that the user allows.

Experts are parked (saved and let go, the least needed first) or hosted by others until the rest fits. A compute process
that stays over the cap all the same is saved, ended, and comes back with fewer experts. The last resort is the system
itself (`core.policy.limits.system_limits`).
"""

import contextlib
import logging
import math

import psutil

from core.contracts.notices import Notice, notice
from core.policy.limits.memory_limit import BASE
from core.policy.limits.system_limits import Bounds
from core.swarm.placement import least_needed
from core.worker.compute.supervisor import ComputeSupervisor
from core.worker.places import SwarmPlace

log = logging.getLogger(__name__)

SHARE = 0.9
"""Of what is left for experts, the part that is given out: batches on the way grow."""
PATIENCE_S = 15.0
"""Over the cap for so long, compute is ended: parking and passing peaks had their time."""
SMALLER = 0.7
"""Of the experts that compute held when it was over the cap, it comes back with so many."""
AGAIN_S, SELDOM_S = 3600.0, 24 * 3600.0
"""After so long it is tried whether more fit; each time that they do not, after twice as long, up to the second."""


class Memory:
    """Looks at what a run's compute process takes, and acts."""

    def __init__(self, compute: ComputeSupervisor, swarm: SwarmPlace, bounds: Bounds | None = None) -> None:
        """
        Args:
            compute: the process.
            swarm: who sees to it that no more experts are here than fit.
            bounds: those of this system, unless others are given.
        """
        self._compute, self._swarm, self._hosted = compute, swarm, compute.hosted
        self._over_since = math.inf
        self._most: float = math.inf
        """Experts that may come, since compute was ended for its memory, ..."""
        self._again, self._wait_s = math.inf, AGAIN_S
        """... until then (time.monotonic())."""
        self._exhausted = 0
        self.bounds = bounds or Bounds()
        self.used = 0
        """Bytes that the process takes."""
        self.notes: list[Notice] = []

    def apply(self, left: int, cap: int, now: float, experts: float = math.inf) -> None:
        """Keep to a limit from now on.

        Args:
            left: bytes that this process may take.
            cap: bytes that all of Hearth may take, for the sentence about it.
            now: time.monotonic().
            experts: bytes that experts may take where they are, be it on a graphics processor.
        """
        self.used = _taken(self._compute.pid)
        if self._compute.exhausted > self._exhausted:
            self._exhausted = self._compute.exhausted
            self._shrink()
        self.bounds.keep(left, self.used)
        if self._most < math.inf and self._again == math.inf:
            self._again = now + self._wait_s
        if now >= self._again:
            self._most = self._again = math.inf
            self._wait_s = min(2 * self._wait_s, SELDOM_S)
        if size := self._hosted.expert_bytes:
            room = max(0, left - BASE) * SHARE
            self._swarm.fit(int(min(room / size, self._most)), experts)
        self._watch(left, self.used, cap, now)

    def explain(self, code: int) -> Notice | None:
        """Why a process ended with this exit code, if the system ended it for its memory."""
        said = self.bounds.explain(code)
        if said is not None:
            self._shrink()
        return said

    def _shrink(self) -> None:
        """The next process holds fewer experts, from its start: the last one had no time to park some."""
        experts, self._again = self._hosted.experts, math.inf
        self._most = max(1, int(len(experts) * SMALLER))
        self._hosted.park(least_needed(experts, len(experts) - int(self._most)))

    def _watch(self, left: int, taken: int, cap: int, now: float) -> None:
        if taken <= max(left, 0):
            self._over_since = math.inf
            if taken:
                self.notes = []
            return
        self._over_since = min(self._over_since, now)
        if now - self._over_since < PATIENCE_S:
            return
        self._over_since = math.inf
        said = notice("memory.over_cap", taken=taken, cap=cap, left=max(left, 0))
        self.notes = [said]
        self._shrink()
        self._compute.exceed(said)


def _taken(pid: int | None) -> int:
    """Resident bytes of a process; 0 if there is none, or they cannot be read now: too many files may be open."""
    with contextlib.suppress(psutil.Error, OSError):
        return 0 if pid is None else int(psutil.Process(pid).memory_info().rss)
    return 0

"""What the settings promise, enforced: share of the time, heat and power, memory, bandwidth, quota, network, sleep.

The policy decides what may be used (`core.policy.decide`); here it is set where it takes effect, and what Hearth used
is measured for the next decision.
"""

import asyncio
import dataclasses
import math
import time
from collections.abc import Callable

from core.contracts.line import LineStatus
from core.contracts.notices import Notice, english, notice
from core.contracts.settings import Settings
from core.policy import heat, ramp, sharing
from core.policy.decide import Decision
from core.policy.energy import CPU
from core.policy.heat import FREE, Heat
from core.policy.inputs import Usage
from core.policy.limits import bandwidth
from core.policy.limits.memory_limit import BASE
from core.policy.limits.stay_awake import Awake
from core.policy.limits.traffic import Traffic, brake
from core.policy.ramp import Ramp
from core.policy.sharing import Sharing, Used
from core.policy.signals.reading import UNKNOWN, Signals
from core.store.quota import Quota
from core.worker.memory import SHARE
from core.worker.places import NetworkPlace
from core.worker.runs import Runs

CONTROL_S = 1.0
"""Between two steps of the heat controllers, and two looks at the memory."""
DISK_S, DISK_REST = 10.0, 500
"""Between two looks at the files on the disk, and in times of what the last one took."""


class Caps:
    """Applies each decision, about once a second and whenever there is a new one, to all runs together."""

    def __init__(
        self,
        quota: Quota,
        traffic: Traffic,
        runs: Runs,
        network: NetworkPlace,
        others: Callable[[], int],
        experts_bytes: int,
    ) -> None:
        """
        Args:
            quota: the space on the disk that the user allows.
            traffic: what counts bytes moved.
            runs: those of this PC, as they come and go.
            network: its place among its peers.
            others: bytes of memory that Hearth's processes beside compute take.
            experts_bytes: what the experts of all runs may take, as the user wants it.
        """
        self._experts_bytes = experts_bytes
        self._quota, self._traffic, self._runs, self._network, self._others = quota, traffic, runs, network, others
        self._awake = Awake()
        self._ramp = Ramp()
        self._sharing = Sharing()
        self._heats: dict[str, Heat] = {}
        self._controlled = self._look_at = float("-inf")
        self._looking: asyncio.Task[None] | None = None
        self._month = 0
        self._memory_beside = 0
        self.line: LineStatus | None = None
        """The limits of bandwidth that are in force; None: this PC is alone."""
        self._memory_seen = -math.inf

    @property
    def notes(self) -> list[Notice]:
        """For the user, about caps that cannot be kept, or cost something."""
        return [note for run in self._runs for note in (*run.memory.notes, *run.room.notes)]

    def measure(self, usage: Usage) -> Usage:
        """`usage` with what is measured here, as it is now: to be decided by."""
        self._month = self._traffic.count(self._network.moved(), self._network.moved_by_method(), time.time())
        runs = self._runs
        return dataclasses.replace(
            usage,
            network_bytes_month=self._month,
            disk_bytes=self._quota.used,
            disk_full=self._quota.full,
            own_memory_bytes=self._memory_beside + sum(run.memory.used for run in runs),
            memory_bound=next((run.memory.bounds.kept_by for run in runs if run.memory.bounds.kept_by), None),
            heat_stop_cpu=any(self._heats[name].stop for name in ("cpu", "cpu power") if name in self._heats),
            heat_stop_gpu=any(self._heats[name].stop for name in ("gpu", "gpu power") if name in self._heats),
        )

    def apply(self, decision: Decision, signals: Signals, settings: Settings) -> None:
        """Set what was decided."""
        now = time.monotonic()
        self._share(decision, signals, settings, now)
        self._keep_memory(decision.memory_bytes, signals, settings, now)
        self._keep_disk(settings.checkpoints_disk_mb << 20, now)
        self._awake.hold(settings.keep_awake and decision.train)
        off = next((rule.reason for rule in decision.rules if "network" in rule.stops), ())
        if not settings.on_metered and signals.metered.source == UNKNOWN.source:
            off = off or (notice("metered.pending"),)
        self._network.allow(english(off))
        last = brake(settings.quota_mb * 10**6 - self._month) if settings.quota_mb else 0.0
        limits = bandwidth.limits(settings, self._network.line(), last)
        self.line = limits.told if self._network.has_peers else None
        self._network.limit(*limits.all, limits.far)

    def _keep_memory(self, cap: int, signals: Signals, settings: Settings, now: float) -> None:
        """What the windows and the worker leave of it is for all runs together, by weight."""
        if now - self._memory_seen < CONTROL_S:
            return
        runs, self._memory_seen = self._runs, now
        self._memory_beside = self._others()
        left, whole = cap - self._memory_beside, sum(run.weight for run in runs)
        lefts = sharing.split(left, BASE, {run.id: run.weight for run in runs})
        sizes = {gpu.id: gpu.memory_bytes for gpu in signals.gpus.value or () if gpu.memory_bytes}
        for run in runs:
            part = run.weight / whole
            size = sizes.get(run.compute.accelerator.device)
            gpu = size * settings.gpu_memory_percent / 100 * SHARE if size else math.inf
            experts = min(gpu, self._experts_bytes) * part
            run.memory.apply(lefts[run.id], cap, now, experts)

    def _keep_disk(self, cap: int, now: float) -> None:
        """Look at the files now and then, and at once when the user allows more or less; no slow disk holds this up."""
        if cap != self._quota.cap_bytes:
            self._quota.cap_bytes, self._look_at = cap, -math.inf
        if now >= self._look_at and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look(cap), name="disk use")

    async def _look(self, cap: int) -> None:
        began = time.monotonic()
        await self._quota.look()
        now = time.monotonic()
        if cap == self._quota.cap_bytes:
            self._look_at = now + max(DISK_S, DISK_REST * (now - began))

    def close(self) -> None:
        """Count the last bytes and let go of what is held."""
        if self._looking is not None:
            self._looking.cancel()
        self.measure(Usage())
        self._awake.hold(False)

    def _share(self, decision: Decision, signals: Signals, settings: Settings, now: float) -> None:
        """How much of the time may be computed: what the settings allow, as far as heat does, risen since a yield."""
        gradual = settings.idle_only and not decision.started
        self._ramp = ramp.follow(self._ramp, decision.train, gradual, now)
        runs = {run.id: Used(run.weight, run.seconds, run.competes) for run in self._runs}
        if now - self._controlled >= CONTROL_S:
            self._controlled = now
            self._control(decision, signals, settings, now)
            self._sharing = sharing.follow(self._sharing, runs)
        heats = [found for name, found in self._heats.items() if decision.device != CPU or name in ("cpu", "cpu power")]
        cool = min((found.share for found in heats), default=1.0)
        share = min(decision.cpu_share * self._ramp.share(now), cool)
        asked = {run.id for run in self._runs if run.compute.questions.waits}
        threads = decision.threads if settings.threads else 0
        for run in self._runs:
            terms = run.compute.terms
            terms.set_share(share * self._sharing.portion(run.id, runs))
            terms.set_threads(threads)
            terms.step_aside(bool(asked - {run.id}))

    def _control(self, decision: Decision, signals: Signals, settings: Settings, now: float) -> None:
        working = any(run.compute.at_work for run in self._runs)
        gpus = [gpu for gpu in signals.gpus.value or () if gpu.id not in settings.gpus_off]
        if decision.device != CPU:
            gpus = [gpu for gpu in gpus if gpu.id == decision.device]
        hottest = max((gpu.celsius for gpu in gpus if gpu.celsius is not None), default=None)
        hungriest = max((gpu.watts for gpu in gpus if gpu.watts is not None), default=None)
        gpu_target = settings.gpu_celsius if decision.device != CPU or self._heats.get("gpu", FREE).stop else 0
        gpu_limit = settings.gpu_watts_limit if decision.device != CPU or self._heats.get("gpu power", FREE).stop else 0
        for name, step, reading, target in (
            ("cpu", heat.follow, signals.celsius.value, settings.cpu_celsius),
            ("cpu power", heat.follow_power, signals.watts.value, settings.cpu_watts_limit),
            ("gpu", heat.follow, hottest, gpu_target),
            ("gpu power", heat.follow_power, hungriest, gpu_limit),
        ):
            before = self._heats.get(name, FREE)
            found = step(before, reading, float(target), decision.cpu_share, now)
            # at rest nothing is learnt of how much it may work: it goes on as it was
            self._heats[name] = found if working else dataclasses.replace(found, share=min(found.share, before.share))

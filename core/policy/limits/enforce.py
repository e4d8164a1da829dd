"""What the settings promise, enforced: share of the time, heat and power, memory, bandwidth, quota, network, sleep.

The policy decides what may be used (`core.policy.decide`); here it is set where it takes effect, and what Hearth used
is measured for the next decision.
"""

import asyncio
import dataclasses
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from core.contracts.notices import english, notice, plain
from core.contracts.settings import Settings
from core.policy import heat, ramp
from core.policy.decide import Decision
from core.policy.energy import CPU
from core.policy.heat import FREE, Heat
from core.policy.inputs import Usage
from core.policy.limits.memory import Memory
from core.policy.limits.stay_awake import Awake
from core.policy.limits.traffic import Traffic, brake
from core.policy.ramp import Ramp
from core.policy.signals.reading import UNKNOWN, Signals
from core.store.quota import Quota
from core.swarm.state_room import StateRoom
from core.worker.compute.supervisor import ComputeSupervisor

if TYPE_CHECKING:  # a worker that is alone loads nothing of the network
    from core.worker.network import Network

CONTROL_S = 1.0
"""Between two steps of the heat controllers."""
DISK_S, DISK_REST = 10.0, 500
"""Between two looks at the files on the disk, and in times of what the last one took."""


class Caps:
    """Applies each decision, about once a second and whenever there is a new one."""

    def __init__(
        self,
        disk: Quota,
        room: StateRoom,
        traffic: Traffic,
        compute: ComputeSupervisor,
        network: "Network | None",
        others: Callable[[], int],
    ) -> None:
        """
        Args:
            disk: The space that the user allows.
            room: For the states of experts on it.
            traffic: What counts traffic.
            compute: Who computes.
            network: This PC among its peers.
            others: Bytes of memory that Hearth's other processes take.
        """
        self._disk, self._traffic, self._compute, self._network = disk, traffic, compute, network
        self._room = room
        self._memory = Memory(compute, network, others, room)
        compute.settle = self._settle
        self._awake = Awake()
        self._ramp = Ramp()
        self._heats: dict[str, Heat] = {}
        self._controlled = self._look_at = float("-inf")
        self._looking: asyncio.Task[None] | None = None
        self._month = 0

    @property
    def notes(self) -> list[str]:
        """Sentences for the user about caps that cannot be kept, or cost something."""
        return [*self._memory.notes, *self._room.notes]

    def measure(self, usage: Usage) -> Usage:
        """`usage` with what is measured here, as it is now: to be decided by."""
        moved, by_method = (0, 0), dict[str, tuple[int, int]]()
        if self._network is not None:
            moved, by_method = self._network.node.moved(), self._network.node.moved_by_method()
        self._month = self._traffic.count(moved, by_method, time.time())
        return dataclasses.replace(
            usage,
            network_bytes_month=self._month,
            disk_bytes=self._disk.used,
            disk_full=self._disk.full,
            own_memory_bytes=self._memory.used,
            memory_bound=plain(self._memory.bounds.words) if self._memory.bounds.words else None,
            heat_stop_cpu=any(self._heats[name].stop for name in ("cpu", "cpu power") if name in self._heats),
            heat_stop_gpu=any(self._heats[name].stop for name in ("gpu", "gpu power") if name in self._heats),
        )

    def apply(self, decision: Decision, signals: Signals, settings: Settings) -> None:
        """Set what was decided."""
        now = time.monotonic()
        self._share(decision, signals, settings, now)
        self._compute.set_threads(decision.threads if settings.threads else 0)
        gpus = [gpu.memory_bytes for gpu in signals.gpus.value or () if gpu.id == self._compute.accelerator.device]
        gpu = gpus[0] * settings.gpu_memory_percent / 100 if gpus and gpus[0] else math.inf
        self._memory.apply(decision.memory_bytes, now, gpu)
        self._keep_disk(settings.checkpoints_disk_mb << 20, now)
        self._awake.hold(settings.keep_awake and decision.train)
        if self._network is not None:
            off = next((rule.reason for rule in decision.rules if "network" in rule.stops), ())
            if not settings.on_metered and signals.metered.source == UNKNOWN.source:
                off = off or (notice("metered.pending"),)
            self._network.allow(english(off))
            last = brake(settings.quota_mb * 10**6 - self._month) if settings.quota_mb else 0.0
            up, down = (
                min(filter(None, (1000.0 * chosen, last)), default=0.0)
                for chosen in (settings.upload_kb_s, settings.download_kb_s)
            )
            self._network.node.limit(up, down)

    def _keep_disk(self, cap: int, now: float) -> None:
        """Look at the files now and then, and at once when the user allows more or less; no slow disk holds this up."""
        if cap != self._disk.cap_bytes:
            self._disk.cap_bytes, self._look_at = cap, -math.inf
        if now >= self._look_at and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look(cap), name="disk use")

    async def _look(self, cap: int) -> None:
        began = time.monotonic()
        await self._disk.look()
        now = time.monotonic()
        if cap == self._disk.cap_bytes:
            self._look_at = now + max(DISK_S, DISK_REST * (now - began))

    async def _settle(self) -> None:
        await self._disk.look()
        await self._memory.settle()

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
        if now - self._controlled >= CONTROL_S:
            self._controlled = now
            self._control(decision, signals, settings, now)
        heats = [found for name, found in self._heats.items() if decision.device != CPU or name in ("cpu", "cpu power")]
        cool = min((found.share for found in heats), default=1.0)
        self._compute.set_share(min(decision.cpu_share * self._ramp.share(now), cool))

    def _control(self, decision: Decision, signals: Signals, settings: Settings, now: float) -> None:
        working = self._compute.at_work
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

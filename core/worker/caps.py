"""What the settings promise, enforced: share of the time, heat and power, memory, bandwidth, quota, network, sleep.

The policy decides what may be used (`core.policy.decide`); here it is set where it takes effect, and what Hearth used
is measured for the next decision.
"""

import contextlib
import dataclasses
import math
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from core.policy import heat, ramp
from core.policy.decide import Decision
from core.policy.energy import CPU
from core.policy.facts import Usage
from core.policy.heat import FREE, Heat
from core.policy.ramp import Ramp
from core.policy.signals.reading import UNKNOWN, Signals
from core.settings import Settings
from core.worker.awake import Awake
from core.worker.memory import Memory
from core.worker.supervisor import ComputeSupervisor
from core.worker.traffic import Traffic, brake

if TYPE_CHECKING:  # a worker that is alone loads nothing of the network
    from core.worker.network import Network

CONTROL_S = 1.0
"""Between two steps of the heat controllers."""
DISK_S = 60.0
"""Between two looks at how much disk is used."""


class Caps:
    """Applies each decision, about once a second and whenever there is a new one."""

    def __init__(
        self,
        folder: Path,
        traffic: Traffic,
        compute: ComputeSupervisor,
        network: "Network | None",
        others: Callable[[], int],
    ) -> None:
        """Args: data folder, what counts traffic, who computes, this PC among its peers, bytes of Hearth's other
        processes."""
        self._folder, self._traffic, self._compute, self._network = folder, traffic, compute, network
        self._memory = Memory(compute, network, others)
        self._awake = Awake()
        self._ramp = Ramp()
        self._heats: dict[str, Heat] = {}
        self._controlled = self._looked = float("-inf")
        self._month = self._disk_bytes = 0

    @property
    def notes(self) -> list[str]:
        """Sentences for the user about caps that cannot be kept."""
        return self._memory.notes

    def measure(self, usage: Usage) -> Usage:
        """`usage` with what is measured here, as it is now: to be decided by."""
        if time.monotonic() - self._looked > DISK_S:
            self._looked = time.monotonic()
            threading.Thread(target=self._look, name="disk use", daemon=True).start()
        moved, by_method = (0, 0), dict[str, tuple[int, int]]()
        if self._network is not None:
            moved, by_method = self._network.node.moved(), self._network.node.moved_by_method()
        self._month = self._traffic.count(moved, by_method, time.time())
        return dataclasses.replace(
            usage,
            network_bytes_month=self._month,
            disk_bytes=self._disk_bytes,
            own_memory_bytes=self._memory.used,
            memory_bound=self._memory.bounds.words,
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
        self._awake.hold(settings.keep_awake and decision.train)
        if self._network is not None:
            off = next((rule.reason for rule in decision.rules if "network" in rule.stops), "")
            if not settings.on_metered and signals.metered.source == UNKNOWN.source:
                off = off or "It is not known yet whether this network is metered."
            self._network.allow(off)
            last = brake(settings.quota_mb * 10**6 - self._month) if settings.quota_mb else 0.0
            up, down = (
                min(filter(None, (1000.0 * chosen, last)), default=0.0)
                for chosen in (settings.upload_kb_s, settings.download_kb_s)
            )
            self._network.node.limit(up, down)

    def _look(self) -> None:
        """In a thread of its own: a slow disk with many files must not hold up a yield."""
        self._disk_bytes = _size(self._folder)

    def close(self) -> None:
        """Count the last bytes and let go of what is held."""
        self.measure(Usage())
        self._awake.hold(False)

    def _share(self, decision: Decision, signals: Signals, settings: Settings, now: float) -> None:
        """How much of the time may be computed: what the settings allow, as far as heat does, risen since a yield."""
        gradual = settings.idle_only and "Start now" not in decision.reason
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


def _size(folder: Path) -> int:
    """Bytes that all of Hearth's files take, as du counts them; what vanishes meanwhile counts for nothing."""
    total = 0
    for parent, _, names in os.walk(folder):  # unlike Path.rglob it passes over folders that are gone
        for name in names:
            with contextlib.suppress(OSError):
                status = Path(parent, name).lstat()
                total += getattr(status, "st_blocks", 0) * 512 or status.st_size
    return total

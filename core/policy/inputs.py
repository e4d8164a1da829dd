"""What the policy is told beside signals and settings, and what one of its rules says."""

import dataclasses
from collections.abc import Mapping
from typing import Literal

from core.contracts.control import PAUSE_S, START_NOW_S, Liftable
from core.contracts.notices import Notice, Sentences
from core.contracts.status import Resource, RuleStatus, State

Phase = Literal["absent", "starting", "training", "stopping", "stopped", "leaving"]
"""Of the compute process: none, not ready yet, at work, told to stop, alive without work, saving and ending."""


LIFTED = frozenset({"user", "hours", "cpu_busy"})
"""The rules that "Start now" lifts. It asks for computing although the user is here, so it lifts what looks at the user
and the clock; not what protects the PC (battery, heat, memory, disk), costs money (energy), or was chosen by name
(programs, games), nor the GPU's own rules: what makes the screen stutter is chosen in the settings."""


@dataclasses.dataclass(frozen=True)
class Wishes:
    """What the user asked for by buttons and commands. Times are unix times."""

    paused: bool = False
    paused_until: float | None = None
    """None with `paused`: until resumed."""
    start_now_until: float | None = None
    """Until then this PC computes although the user is here: see `LIFTED`."""
    quitting: bool = False
    gpu_paused: bool = False
    """The graphics processors only, until resumed."""
    lifted: Mapping[Liftable, float] = dataclasses.field(default_factory=dict)
    """Rules that the user has lifted one by one, and until when."""

    @property
    def lifts(self) -> Mapping[str, float]:
        """All rules that are lifted, by whatever, and until when."""
        started = {} if self.start_now_until is None else dict.fromkeys(LIFTED, self.start_now_until)
        return started | {rule: max(end, started.get(rule, end)) for rule, end in self.lifted.items()}

    def at(self, now: float) -> "Wishes":
        """The wishes without those whose time has passed, or is impossible: the clock was set back, the file damaged.

        A pause without a possible end lasts until resumed.
        """
        if self.paused_until is not None and self.paused_until - now > PAUSE_S:
            return dataclasses.replace(self, paused_until=None).at(now)
        if self.start_now_until is not None and not now < self.start_now_until <= now + START_NOW_S:
            return dataclasses.replace(self, start_now_until=None).at(now)
        lifted = {rule: end for rule, end in self.lifted.items() if now < end <= now + START_NOW_S}
        if lifted != self.lifted:
            return dataclasses.replace(self, lifted=lifted).at(now)
        if self.paused and self.paused_until is not None and now >= self.paused_until:
            return dataclasses.replace(self, paused=False, paused_until=None)
        return self


@dataclasses.dataclass(frozen=True)
class Compute:
    """What is known of the compute process."""

    phase: Phase = "absent"
    experts: int = 0
    whole: bool = False
    """No model that it trains has experts: each is here whole."""
    failure: Notice | None = None
    """Why it ended unasked."""
    retry_time: float | None = None
    """Unix time of its next start."""
    memory_free_time: float | None = None
    """Unix time at which a stopped process ends."""
    answering: bool = False
    """It was started to answer a question only."""
    reachable: bool = True
    """Every layer of the run has an expert, here or on a peer."""
    stuck: bool = False
    """Hosts of experts that it needs have not answered for long."""
    reached: bool = False
    """All models that it trains are as good as their manifests want."""
    barred: Notice | None = None
    """Why this PC may take part in none of its runs."""
    trains: bool = True
    """It trains itself, and does not only host experts."""
    measuring: bool = False
    """It must find out first how fast this PC is."""
    device: str = "cpu"
    """On which it computes: "cpu", or a graphics processor's id."""
    speeds: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """What an expert gets through on each device, as far as it was measured."""
    failed: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Graphics processors that failed, and the unix time until which they are left alone."""


@dataclasses.dataclass(frozen=True)
class Usage:
    """What Hearth itself has used."""

    network_bytes_month: int = 0
    """Both ways, since the first of the calendar month."""
    disk_bytes: int = 0
    disk_full: bool = False
    """What Hearth needs on the disk is more than the user allows, and nothing of it can go."""
    own_memory_bytes: int = 0
    memory_bound: Notice | None = None
    """What the system itself does to bound it."""
    kwh_month: float = 0.0
    heat_stop_cpu: bool = False
    """Resting is not enough to keep the CPU's temperature or power: it has to stop."""
    heat_stop_gpu: bool = False


@dataclasses.dataclass(frozen=True)
class Machine:
    """What does not change while the worker runs."""

    cores: int = 1
    memory_bytes: int = 8 << 30
    computes: bool = True
    """False: a peer that only keeps the network together (a backbone peer)."""
    networked: bool = False
    """It has peers, or looks for some."""
    uses_gpus: bool = False
    """The compute process can put experts on graphics processors."""


class Verdict(RuleStatus, frozen=True):
    """What one rule says, and what follows from it."""

    state: State = "limited"
    """What the PC is in, if this rule decides."""
    reason: Sentences = ()
    """Why, if it stops something."""
    spares: tuple[Resource, ...] = ()
    """What it would stop if it were not lifted."""

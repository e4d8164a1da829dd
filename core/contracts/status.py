"""What the worker tells of this PC and its runs, as clients of the control socket get it."""

import math
from typing import Annotated, Literal

import msgspec

from core.contracts.line import LineStatus
from core.contracts.notices import Notice, Sentences, notice

MOST_RULES = 100
"""Rules and warnings in a status."""
RECENT_YIELDS = 50
"""Single measurements told in a status."""
Resource = Literal["cpu", "gpu", "network", "training"]
State = Literal["contributing", "waiting", "yielding", "paused", "limited", "preparing", "leaving", "attention"]
STATE_WORD: dict[State, str] = {
    "contributing": "Contributing",
    "waiting": "Waiting for idle",
    "yielding": "Giving your PC back",
    "paused": "Paused",
    "limited": "Limited",
    "preparing": "Preparing",
    "leaving": "Quitting",
    "attention": "Needs attention",
}
"""As the app and the command line say it."""
Pid = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Time = Annotated[float, msgspec.Meta(ge=0, le=1e11)]
"""Unix time, seconds; one that a calendar has."""
Text = Annotated[str, msgspec.Meta(max_length=16_384)]
"""What people read; much longer, it would hold a window up."""


class ExpertStatus(msgspec.Struct, frozen=True):
    uid: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9_-]+\.\d{1,3}(\.\d{1,4}){1,4}\Z")]
    updates: int
    """Optimizer steps taken (the expert's version)."""
    samples: int
    """Samples whose gradients it has applied."""
    calls: int = 0
    """Answered since compute took it on, of this PC and of others, forward and backward."""


class ProcessStatus(msgspec.Struct, frozen=True):
    name: Literal["app", "screensaver", "worker", "compute"]
    pid: int
    memory_mb: float
    """Resident set, MiB."""
    run: str | None = None
    """Title of the run for which it computes, on a PC with several."""


class YieldStatus(msgspec.Struct, frozen=True):
    """Measured times from a stop's cause to the end of the last compute kernel, ms."""

    count: int
    last_ms: float | None
    p95_ms: float | None
    recent_ms: Annotated[list[float], msgspec.Meta(max_length=RECENT_YIELDS)] = []
    """The last ones, at most `RECENT_YIELDS`, oldest first."""


class RuleStatus(msgspec.Struct, frozen=True):
    """One row of "Why am I (not) running?"."""

    rule: Text
    """Short name: "battery", "heat_cpu"."""
    live: Notice
    """Its live value, as a phrase: "On mains, 80% charged"."""
    wants: Notice
    """What the settings ask for, as a phrase: "Stops on battery"."""
    stops: tuple[Resource, ...] = ()
    """Empty: all is well with it."""
    until: Sentences = ()
    """What ends it, if it stops something."""
    until_time: Time | None = None
    """Unix time at which it ends by itself, if it does."""
    unknown: bool = False
    """Nothing measures it."""
    lifted_until: Time | None = None
    """Unix time until which the user has lifted it; None: it holds."""
    offers: Literal["lift", "end"] | None = None
    """What the user can do about it: lift it for a while (`LiftParams`), or end that early (`EndLiftParams`)."""

    @property
    def title(self) -> Notice:
        return notice(f"{self.rule}.title")


class DeviceStatus(msgspec.Struct, frozen=True):
    """A processor or graphics processor. What nothing measures is None."""

    id: str
    """As the setting `gpus_off` names it; "cpu"."""
    name: str
    kind: Literal["cpu", "gpu"]
    on: bool
    """It may compute now."""
    why: Sentences
    """Why it may not; empty if it may."""
    load: float | None = None
    """Share of its time that Hearth uses, 0 to 1."""
    others: float | None = None
    """The same, of all other programs."""
    celsius: float | None = None
    watts: float | None = None
    """All of it, for whomever it works."""
    memory_bytes: int | None = None
    memory_free_bytes: int | None = None
    taken_bytes: int = 0
    """Of a graphics processor's memory, what Hearth has taken."""
    experts: int = 0
    """Hosted on it."""


class EnergyUse(msgspec.Struct, frozen=True):
    """Of one period."""

    kwh: float
    measured: float
    """Share of it that was measured, 0 to 1; the rest is an estimate."""
    cost: float | None
    """In the currency of the user's price; None while the user has told none."""
    co2_kg: float | None
    """None while the user has not told how much a kWh makes."""


class EnergyStatus(msgspec.Struct, frozen=True):
    """What training used."""

    today: EnergyUse
    month: EnergyUse
    """Since the first of the calendar month."""


Weight = Annotated[int, msgspec.Meta(ge=1, le=1000)]
"""Of the time that this PC computes a run gets its share of all weights."""


class RunStatus(msgspec.Struct, frozen=True):
    """One of the runs that this PC has joined."""

    id: Text
    """Its name and the digest of what lasts of its manifest, such as `digits-2ac90b73`."""
    name: Text
    title: Text
    weight: Weight
    phase: Literal["absent", "starting", "stopped", "training", "stopping", "leaving"]
    """Of its compute process."""
    task: Text
    """What the run's model is for (`core.contracts.kinds.TASKS`)."""
    step: Count
    samples: Count
    samples_per_s: float
    experts: Count
    """Hosted here."""
    loss: float | None
    accuracy: float | None
    checkpoint_time: Time | None
    waits: Notice | None = None
    """Why it does not go on though the others may."""
    reached: bool = False
    """Its model is as good as its organiser wants: nothing is left to train."""


EVENTS = 8
"""Most that are told."""


class EventStatus(msgspec.Struct, frozen=True):
    """Something that happened, and that a person likes to see."""

    time: Time
    said: Notice


class Status(msgspec.Struct, frozen=True):
    """What `hearth status --json` prints."""

    version: Text
    protocol: int
    state: State
    reason: Sentences
    """Why this state."""
    until: Sentences
    """What ends it."""
    until_time: Time | None
    """Unix time at which it ends by itself, if it does."""
    run: Text
    run_title: Text
    step: int
    """Batches whose gradients the trunk has applied."""
    samples: int
    samples_per_s: float
    calls_per_s: float
    """Expert requests served a second."""
    in_flight: int
    loss: float | None
    """Mean training loss of the last batches, nats."""
    accuracy: float | None
    """Share of the held-out samples that are classified correctly, 0 to 1; of a text's bytes, those foretold."""
    experts: list[ExpertStatus]
    grid: Annotated[tuple[Annotated[int, msgspec.Meta(ge=1, le=4096)], ...], msgspec.Meta(max_length=4)]
    layers: Annotated[int, msgspec.Meta(ge=0, le=256)]
    processes: list[ProcessStatus]
    device: str
    threads: int
    idle_only: bool
    idle_s: float | None
    """Seconds since the last input; None if it cannot be measured."""
    idle_source: str | Notice
    """Where `idle_s` comes from, or why it is unknown."""
    yields: YieldStatus
    checkpoint_step: int | None
    checkpoint_time: Time | None
    """Unix time of the newest checkpoint."""
    attention: Annotated[list[Notice], msgspec.Meta(max_length=MOST_RULES)]
    """What is wrong and what to do; empty when all is well."""
    data_dir: str
    time: Time
    """Unix time of this status."""
    task: Text = "picture"
    """What the model of the run shown is for (`core.contracts.kinds.TASKS`)."""
    slowest_step_s: float | None = None
    """The longest that a batch of the last minute took, from its first layer to the trunk's step."""
    blocked_s: float | None = None
    """The longest that a batch of the last minute waited for nobody but peers that did not answer, and their spares."""
    lost_batches: int = 0
    """Dropped since compute started, as no expert answered for any of their samples."""
    why: Annotated[list[RuleStatus], msgspec.Meta(max_length=MOST_RULES)] = []
    """Every rule, in the order in which they are asked."""
    cpu: bool = False
    """The CPU may compute now."""
    gpu: bool = False
    start_now: bool = False
    """It does not compute, but would after `start_now`."""
    network: bool = True
    """Peers may be called and served."""
    devices: list[DeviceStatus] = []
    energy: EnergyStatus | None = None
    front: Literal["window", "fullscreen", "presentation", "game"] | None = None
    """What covers the screen, a window of Hearth's own being one like any; None: unknown, as for the next two."""
    locked: bool | None = None
    """The session is locked."""
    mains: bool | None = None
    """The electricity comes from the mains, not from a battery."""
    run_id: Text = ""
    """Of the run that the figures above are of, as every `run`."""
    line: LineStatus | None = None
    """The limits of bandwidth in force; None: this PC is alone."""
    runs: list[RunStatus] = []
    """All runs of this PC, in the order in which they were joined."""
    events: Annotated[list[EventStatus], msgspec.Meta(max_length=EVENTS)] = []
    """What happened among peers, oldest first."""
    chat: bool = False
    """The run's manifest says how a conversation with its model is written."""


class CurvePoint(msgspec.Struct, frozen=True, array_like=True):
    """One evaluation."""

    step: Count
    samples: Count
    loss: float
    """Held-out loss, nats."""
    accuracy: Share
    time: Time | None = None
    """Unix time at which the worker heard of it; None: a Hearth that did not note it."""
    chance: float | None = None
    """Held-out loss of guessing by how frequent each answer is, nats; None: a Hearth that did not note it."""
    bits: float | None = None
    """Of text, the held-out loss in bits for each byte; None: it is no text, or a Hearth that did not note it."""

    @property
    def learnt(self) -> bool:
        """Whether the model does better than that."""
        return self.chance is None or self.loss < self.chance

    @property
    def bits_per_byte(self) -> float:
        """Of text."""
        return self.loss / math.log(2) if self.bits is None else self.bits


class LogLine(msgspec.Struct, frozen=True):
    time: Time
    level: Literal["debug", "info", "warning", "error"]
    part: str
    """worker, compute or app."""
    text: Text


CELLS = 8192
"""Most cells in one answer: 300 KB. The directory knows grids of up to 4,096 cells whole."""


class CellStatus(msgspec.Struct, frozen=True, array_like=True):
    """A cell with an expert. What this PC does not know without asking others is None."""

    cell: int
    """Its place in the layer, counted row by row: the last coordinate runs fastest."""
    here: bool
    version: int | None
    """Steps that its weights have taken."""
    load: float | None
    """Of its best host: 0 idle, 1 busy without pause."""
    hosts: int | None
    """Other peers that host it."""
    calls: int
    """Answered to whomever, of an expert hosted here; of another's, those to this PC since the worker's start."""


class GridStatus(msgspec.Struct, frozen=True):
    """The hosted experts of a layer, as far as this PC knows."""

    layer: int
    layers: int
    shape: tuple[int, ...]
    whole: bool
    """Other peers' experts are known, too: the grid is small enough, and this PC is among peers."""
    cells: list[CellStatus]


class SpeedStatus(msgspec.Struct, frozen=True):
    """What one expert of the run gets through here."""

    threads: int
    samples_per_s: float
    """Forward and backward."""
    gpu: str = ""
    """The name of the graphics processor that it is on; empty: the processor."""


class BenchmarkStatus(msgspec.Struct, frozen=True):
    """What this PC can do for its run."""

    run: str
    device: str
    cores: int
    time: float | None
    """Unix time at which it was measured; None: not yet."""
    speeds: list[SpeedStatus]
    expert_bytes: int | None
    """Memory of one expert; None: compute has not been started yet."""
    capacity: int | None
    """Experts that this PC takes on among peers; None: it is alone, or nothing is measured yet."""
    upload_bytes_s: float | None
    """The highest rates to and from peers since the start, over 5 s; None: there was none."""
    download_bytes_s: float | None

"""Contract of the control socket between the worker and its clients (app, command line, screensaver).

Loopback TCP, one JSON document a line, UTF-8. The client's first line is a `Hello`; the worker answers with a
`Welcome` or an `ErrorInfo` line and closes. After that the client sends `Request` lines and gets one `Reply` for
each, in any order, and, once it called `subscribe`, `Event` lines in between.
"""

import hmac
from typing import Annotated, Any, Literal

import msgspec

from core.contracts.errors import ERRORS_BY_CODE, HearthError, RecordError
from core.contracts.notices import Notice, Sentences, notice

PROTOCOL = 2
ADDRESS_FILE = "worker.json"
"""In the data folder, mode 0600: an `Address`."""
LOCK_FILE = "worker.lock"
"""In the data folder: held by the worker as long as it lives."""
MAX_LINE = 1 << 20
"""Bytes of one line; a status of 1,000 experts has 60 KB, a log page of 1,000 lines 200 KB."""
PICTURE_SIDE = 256
"""Greatest side of a picture in a prediction request, pixels."""

MOST_RULES = 100
"""Rules and warnings in a status."""
RECENT_YIELDS = 50
"""Single measurements told in a status."""

PAUSE_S = 366 * 86_400
"""The longest timed pause."""
START_NOW_S = 86_400
"""The longest time of `start_now`."""

State = Literal["contributing", "waiting", "yielding", "paused", "limited", "preparing", "leaving", "attention"]


Pid = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Time = Annotated[float, msgspec.Meta(ge=0, le=1e11)]
"""Unix time, seconds; one that a calendar has."""
Text = Annotated[str, msgspec.Meta(max_length=16_384)]
RunName = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
"""Of a run that this PC has joined: its id, or its name if no other has that. None: the one that is shown first."""
"""What people read; much longer, it would hold a window up."""


class Address(msgspec.Struct, frozen=True):
    """Where and with which token a worker is reached."""

    protocol: int
    port: Annotated[int, msgspec.Meta(ge=1, le=65_535)]
    token: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    pid: Pid


class Hello(msgspec.Struct, frozen=True):
    protocol: int
    token: Annotated[str, msgspec.Meta(max_length=64)]
    client: Literal["app", "cli", "screensaver"]
    pid: Pid
    challenge: Annotated[str, msgspec.Meta(max_length=64)] = ""
    """Another one each time, to be answered by a `proof`."""


class ErrorInfo(msgspec.Struct, frozen=True):
    code: str
    """One of `core.contracts.errors.ERRORS_BY_CODE`."""
    said: Notice

    def error(self) -> HearthError:
        """What the other side raised."""
        kind = ERRORS_BY_CODE.get(self.code, HearthError)
        return RecordError(0, self.said) if kind is RecordError else kind(self.said)


class Welcome(msgspec.Struct, frozen=True):
    protocol: int
    version: str
    pid: Pid
    error: ErrorInfo | None = None
    """Set if the worker refuses this client; it closes the connection then."""
    proof: str = ""
    """That the worker knows the token: where it was killed, anybody's program may listen on its port by now."""


def proof(token: str, challenge: str) -> str:
    """The only right answer to a challenge, for who knows the token."""
    return hmac.digest(token.encode(), challenge.encode(), "sha256").hex()


class Request(msgspec.Struct, frozen=True):
    id: Annotated[int, msgspec.Meta(ge=0)]
    method: Annotated[str, msgspec.Meta(max_length=32)]
    params: msgspec.Raw = msgspec.Raw(b"{}")


class Reply(msgspec.Struct, frozen=True):
    id: int
    result: Any = None
    error: ErrorInfo | None = None


class Event(msgspec.Struct, frozen=True):
    """Pushed to subscribers: `status` (Status), `curve` (CurvePoint), `log` (LogLine), `bye` (Bye); and to who asked
    for a text `piece` (Piece)."""

    event: Literal["status", "curve", "log", "settings", "bye", "piece"]
    data: Any


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


class YieldStatus(msgspec.Struct, frozen=True):
    """Measured times from a stop's cause to the end of the last compute kernel, ms."""

    count: int
    last_ms: float | None
    p95_ms: float | None
    recent_ms: Annotated[list[float], msgspec.Meta(max_length=RECENT_YIELDS)] = []
    """The last ones, at most `RECENT_YIELDS`, oldest first."""


class RuleStatus(msgspec.Struct, frozen=True):
    """One row of "Why am I (not) running?" (`core.policy.inputs.Verdict`)."""

    rule: Text
    live: Notice
    """Its live value, as a phrase."""
    wants: Notice
    """What the settings ask for, as a phrase."""
    stops: list[Literal["cpu", "gpu", "network"]] = []
    until: Sentences = ()
    until_time: Time | None = None
    unknown: bool = False
    """Nothing measures it."""

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


class JoinRunParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`join_run` -> RunStatus: train one more run, from now on and at each start."""

    run: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
    """Its name, or the absolute path of its manifest (.json)."""
    weight: Weight = 1


class LeaveRunParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`leave_run` -> RunStatus, as it was; its files stay. Answered when all is saved."""

    run: RunName


class WeightParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`weight` -> RunStatus."""

    run: RunName
    weight: Weight


class StatusParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`status` -> Status."""

    run: RunName | None = None


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
    """What the run's model is for (`core.contracts.kinds.tasks`)."""
    step: Count
    samples: Count
    samples_per_s: float
    experts: Count
    """Hosted here."""
    loss: float | None
    accuracy: float | None
    checkpoint_time: Time | None


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
    grid: Annotated[tuple[Annotated[int, msgspec.Meta(ge=1, le=4096)], ...], msgspec.Meta(min_length=1, max_length=4)]
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
    """What the model of the run shown is for (`core.contracts.kinds.tasks`)."""
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
    runs: list[RunStatus] = []
    """All runs of this PC, in the order in which they were joined."""


class CurvePoint(msgspec.Struct, frozen=True, array_like=True):
    """One evaluation."""

    step: Count
    samples: Count
    loss: float
    """Held-out loss, nats."""
    accuracy: Share


class LogLine(msgspec.Struct, frozen=True):
    time: Time
    level: Literal["debug", "info", "warning", "error"]
    part: str
    """worker, compute or app."""
    text: Text


class Bye(msgspec.Struct, frozen=True):
    """The worker is about to end because somebody asked for it; clients end too or stay disconnected."""

    reason: str


# Parameters and results of the methods. A method not listed here takes no parameters and returns {}:
#   status -> Status          subscribe -> Snapshot       pause_gpu, resume, quit -> {}
# Those about the ledger (totals, series, sessions, yields) are found in `core.contracts.ledger`.


class PauseParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    seconds: Annotated[float, msgspec.Meta(gt=0, le=PAUSE_S)] | None = None
    """None: until resumed."""


class StartNowParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`start_now`: compute for a while although the user is not away."""

    seconds: Annotated[float, msgspec.Meta(gt=0, le=START_NOW_S)] = 3600.0


class SetSettingsParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`set_settings` -> dict of all settings. Nothing is changed if one value is wrong."""

    changes: dict[str, Any]


class LogParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`log` -> list[LogLine], oldest first."""

    lines: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200


class PredictParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`predict` -> Prediction. A grey picture, row by row, 0 = paper, 255 = ink."""

    width: Annotated[int, msgspec.Meta(ge=1, le=PICTURE_SIDE)]
    height: Annotated[int, msgspec.Meta(ge=1, le=PICTURE_SIDE)]
    pixels: Annotated[bytes, msgspec.Meta(max_length=PICTURE_SIDE * PICTURE_SIDE)]
    """Base64 in JSON."""
    run: RunName | None = None


class Answer(msgspec.Struct, frozen=True):
    """One expert's part in a prediction."""

    layer: int
    uid: str
    weight: float
    """Softmax weight among those that answered, 0 to 1 (paper, equation 3)."""
    ms: float
    answered: bool
    """False: too late or failed, left out of the mixture."""
    host: str = "local"
    """Who answered: "local" is this PC, others by their peer's name; "" nobody."""


class Prediction(msgspec.Struct, frozen=True):
    probabilities: list[float]
    """Of the digits 0 to 9."""
    seen: list[float]
    """The 64 numbers (0 to 1, 8 rows of 8) that the model was given."""
    experts: list[Answer]
    step: int
    accuracy: float | None
    ms: float


class GenerateParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`generate` -> Continued, after an `Event` with a `Piece` for every byte. It ends when the client goes."""

    prompt: Annotated[str, msgspec.Meta(max_length=4096)]
    length: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 200
    """Bytes."""
    temperature: Annotated[float, msgspec.Meta(ge=0, le=10)] = 0.7
    """0: always the likeliest byte."""
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] | None = None
    """None: another one each time."""
    run: RunName | None = None


class StopParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`stop` -> {}: end a text that this connection asked for. Its request is answered by a `QuestionError`."""

    request: Count
    """Id of the `generate` request; one that has ended is no fault."""


class Piece(msgspec.Struct, frozen=True):
    """The next byte of a text."""

    request: int
    """Id of the request that it belongs to."""
    text: str
    """Empty while a character is not complete."""
    experts: list[Answer]
    ms: float


class Continued(msgspec.Struct, frozen=True):
    """A text has ended."""

    bytes: int
    seconds: float
    step: int
    seed: int
    bits: float | None
    """Bits a byte on unseen text, as last measured."""


PeerReach = Literal["reachable", "relayed", "dials out only", "unknown"]
PEERS_PAGE = 1000
"""Most peers in one answer; so many have 350 KB."""


class NetworkParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`network` -> NetworkStatus with some of the connected peers: so many from the `first` on."""

    first: Count = 0
    peers: Annotated[int, msgspec.Meta(ge=0, le=PEERS_PAGE)] = PEERS_PAGE


class PeerStatus(msgspec.Struct, frozen=True):
    """A connected peer."""

    peer: str
    """64 hexadecimal digits."""
    path: str
    """ "direct", or "relayed via" and the relay."""
    address: str
    rtt_ms: float
    bytes_in: int
    bytes_out: int
    since: float
    """Unix time."""
    faults: float
    """Strikes, decayed; at 10 it is banned for a time."""
    reach: PeerReach = "unknown"
    """How others reach it, by the addresses that it gives."""


class NetworkStatus(msgspec.Struct, frozen=True):
    """`network` -> this peer and those it is connected to."""

    peer: str
    address: str
    """As `--bootstrap` takes it."""
    reachability: str
    """unknown, reachable, punchable, relayed, dial-out only."""
    step: Notice
    """What showed it."""
    nat: str
    outside: list[str]
    """Addresses that others saw."""
    roles: list[str]
    peers: list[PeerStatus]
    connected: int = 0
    """All connected peers; `peers` may hold only some of them."""


class Finding(msgspec.Struct, frozen=True):
    """`doctor` -> list[Finding]: one thing that a peer needs, and whether it is there."""

    name: Literal["port", "peers", "outside", "nat", "reachability", "clock", "disk"]
    good: bool | None
    """None: nobody has measured it yet, which is no fault."""
    what: Notice
    remedy: Notice
    """What to do if it is not good; how it comes to be known."""

    @property
    def title(self) -> Notice:
        return notice(f"doctor.{self.name}")


class GridParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`grid` -> GridStatus of one layer."""

    layer: Annotated[int, msgspec.Meta(ge=0, le=255)]
    run: RunName | None = None


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


class DhtGetParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`dht_get` -> list[DhtRecord]."""

    key: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]


class DhtRecord(msgspec.Struct, frozen=True):
    subkey: str
    value: str
    """Hexadecimal."""
    sequence: int
    expires: float
    """Unix time."""
    peer: str


class DhtStatus(msgspec.Struct, frozen=True):
    """`dht_stats` -> what this PC's DHT node holds."""

    contacts: int
    keys: int
    records: int
    bytes: int
    own: int
    clock_offset_s: float
    """How far other peers' clocks are ahead of this PC's."""
    experts: int | None = None
    """Active experts of the run, here or elsewhere; None: the grid is too large to be known whole."""


class BenchmarkParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`benchmark` -> BenchmarkStatus."""

    again: bool = False
    """Measure anew, as soon as this PC may compute."""
    run: RunName | None = None


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


class Snapshot(msgspec.Struct, frozen=True):
    """`subscribe` -> all a client needs to draw its first picture."""

    status: Status
    settings: dict[str, Any]
    curve: list[CurvePoint]

"""Contract of the control socket between the worker and its clients (app, command line, screensaver).

Loopback TCP, one JSON document a line, UTF-8. The client's first line is a `Hello`; the worker answers with a
`Welcome` or an `ErrorInfo` line and closes. After that the client sends `Request` lines and gets one `Reply` for
each, in any order, and, once it called `subscribe`, `Event` lines in between; to call it again chooses another run.
"""

import hmac
from typing import Annotated, Any, Literal

import msgspec

from core.contracts.access import LONGEST_DAYS, UserName
from core.contracts.errors import ERRORS_BY_CODE, HearthError, RecordError
from core.contracts.files import Sha256, Size
from core.contracts.notices import Notice
from core.contracts.status import Count, CurvePoint, Pid, Status, Text, Weight

PROTOCOL = 2
ADDRESS_FILE = "worker.json"
"""In the data folder, mode 0600: an `Address`."""
LOCK_FILE = "worker.lock"
"""In the data folder: held by the worker as long as it lives."""
MAX_LINE = 1 << 20
"""Bytes of one line; a status of 1,000 experts has 60 KB, a log page of 1,000 lines 200 KB."""
PICTURE_SIDE = 256
"""Greatest side of a picture in a prediction request, pixels."""
PAUSE_S = 366 * 86_400
"""The longest timed pause."""
QUESTION_S = 155.0
"""A client waits so long for the next piece of an answer of the model: compute may have to be started for it, which
takes two minutes on the slowest PC; the worker itself tells when nothing comes."""
START_NOW_S = 86_400
"""The longest time of `start_now`, and for which a rule is lifted."""
Liftable = Literal[
    "battery", "user", "hours", "programs", "game", "cpu_busy", "energy", "network_hours", "metered", "quota",
    "gpu_user", "gpu_programs", "gpu_busy",
]  # fmt: skip
"""Rules that the user can lift for a while: those that they chose, not those that protect the PC (heat, memory, disk)
or are ended by Resume."""
RunName = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
"""Of a run that this PC has joined: its id, or its name if no other has that. None: the one that is shown first."""


class Address(msgspec.Struct, frozen=True):
    """Where and with which token a worker is reached."""

    protocol: int
    port: Annotated[int, msgspec.Meta(ge=1, le=65_535)]
    token: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
    pid: Pid
    folder: str = ""
    """The worker's data folder. In any other one the file is a copy: it leads to the worker of another PC."""


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
    """Pushed to subscribers: `status` (Status), `curve` (CurvePoint), `log` (LogLine), `bye` (Bye); to who asked for a
    text `piece` (Piece), and for a file of a pack `fetched` (how many bytes are here)."""

    event: Literal["status", "curve", "log", "settings", "bye", "piece", "fetched"]
    data: Any


# Parameters and results of the methods. A method not listed here takes no parameters and returns {}:
#   status -> Status          subscribe -> Snapshot       pause_gpu, resume, quit -> {}
# Those about the ledger (totals, series, sessions, yields) are found in `core.contracts.ledger`, those about peers
# (network, meet, doctor, dht_get, dht_stats) in `core.contracts.network_status`, those about credit (credit,
# leaderboard, board, certificate) in `core.contracts.credit`.


class JoinRunParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`join_run` -> RunStatus: train one more run, from now on and at each start."""

    run: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
    """Its name, the absolute path of its manifest (.toml, .json), or a link. What that leads to is what was shown by
    `run_details` not long ago, if it was."""
    weight: Weight = 1


class FetchWheelParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`fetch_wheel` -> {}: have a file of a GPU pack put together from peers, among the downloads of packs; what came
    stays there if it ends early. It ends when the client goes."""

    sha256: Sha256
    size: Size


class RunParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`run_details` -> RunDetails; `run_link` -> RunLinked, for a run that was joined."""

    run: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
    """As in `JoinRunParams`, or the id of one that was joined."""


class RunReportParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`run_report` -> RunReport."""

    run: RunName | None = None


class RunLinked(msgspec.Struct, frozen=True):
    """A link by which others join."""

    link: str


class GrantParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`grant` -> RunLinked: give a peer a token for a run of this PC's own, as `hearth access grant`."""

    run: RunName
    peer: Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]
    """As `hearth address` prints it there, or just its key."""
    name: UserName
    days: Annotated[int, msgspec.Meta(ge=1, le=LONGEST_DAYS)]


class LeaveRunParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`leave_run` -> RunStatus, as it was; its files stay. Answered when all is saved."""

    run: RunName


class WeightParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`weight` -> RunStatus."""

    run: RunName
    weight: Weight


class StatusParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`status` -> Status; `subscribe` -> Snapshot, and from then on events of that run."""

    run: RunName | None = None
    """None: the first one. Who listens to a run that is left, hears of the first one, too."""


class PaceParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`pace`, of a subscriber: how often it wants the status. A new state is told at once whatever it says."""

    every_s: Annotated[float, msgspec.Meta(ge=0, le=60)] = 0.0
    """At most every so many seconds; 0: whenever there are new figures."""


class Bye(msgspec.Struct, frozen=True):
    """The worker is about to end because somebody asked for it; clients end too or stay disconnected."""

    reason: str
    unsaved: list[Notice] = []
    """Why what was trained since the last checkpoint could not be saved, of each run for which that is so."""


class PauseParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    seconds: Annotated[float, msgspec.Meta(gt=0, le=PAUSE_S)] | None = None
    """None: until resumed."""


class StartNowParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`start_now`: compute for a while although the user is not away."""

    seconds: Annotated[float, msgspec.Meta(gt=0, le=START_NOW_S)] = 3600.0


class LiftParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`lift`: compute for a while although this rule says otherwise."""

    rule: Liftable
    seconds: Annotated[float, msgspec.Meta(gt=0, le=START_NOW_S)] = 3600.0


class EndLiftParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`end_lift`: let a rule hold again before its time is over."""

    rule: Liftable | Literal["choice"]
    """`choice`: what `start_now` lifts."""


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
    """None: the first one that reads pictures."""


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


CHOICES = 4
"""Bytes or tokens that are told of those that a model could have written next."""


class Choice(msgspec.Struct, frozen=True, array_like=True):
    """A byte or token that a model could have written next."""

    text: bytes
    """Base64 in JSON; none of a token that ends the text."""
    share: Annotated[float, msgspec.Meta(ge=0, le=1)]
    """Its probability, before the temperature."""


class Prediction(msgspec.Struct, frozen=True):
    probabilities: list[float]
    """Of the digits 0 to 9."""
    seen: list[float]
    """The 64 numbers (0 to 1, 8 rows of 8) that the model was given."""
    experts: list[Answer]
    step: int
    accuracy: float | None
    ms: float
    learnt: bool = True
    """Whether the model does better than guessing, as last measured."""


Prompt = Annotated[str, msgspec.Meta(max_length=1 << 16)]
Length = Annotated[int, msgspec.Meta(ge=1, le=10_000)]
Temperature = Annotated[float, msgspec.Meta(ge=0, le=10)]
TopP = Annotated[float, msgspec.Meta(gt=0, le=1)]
Stop = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
MOST_STOPS = 16


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody said in a conversation; what nobody says may stand at its beginning, as `system`."""

    role: Literal["system", "user", "assistant"]
    content: Prompt


class GenerateParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`generate` -> Continued, after an `Event` with a `Piece` for each byte or token. It ends when the client goes."""

    prompt: Prompt
    length: Length = 200
    """Bytes or tokens, as the run's model writes."""
    temperature: Temperature = 0.7
    """0: always the likeliest."""
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] | None = None
    """None: another one each time."""
    run: RunName | None = None
    """None: the first one that continues text."""
    top_p: TopP = 1.0
    """It is drawn from the likeliest ones that together have this share."""
    stop: Annotated[tuple[Stop, ...], msgspec.Meta(max_length=MOST_STOPS)] = ()
    """The text ends before the first of these."""
    messages: Annotated[tuple[Said, ...], msgspec.Meta(max_length=1024)] = ()
    """A conversation to be continued in place of the prompt, written as the run's manifest says."""


class StopParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`stop` -> {}: end a text that this connection asked for. Its request is answered by a `QuestionError`."""

    request: Count
    """Id of the `generate` request; one that has ended is no fault."""


class Piece(msgspec.Struct, frozen=True):
    """The next byte or token of a text."""

    request: int
    """Id of the request that it belongs to."""
    text: str
    """Empty while a character is not complete, or a stop may have begun."""
    experts: list[Answer]
    ms: float
    choice: Choice | None = None
    """The byte or token itself, and how sure the model was of it; None: a worker that does not tell."""
    best: Annotated[list[Choice], msgspec.Meta(max_length=CHOICES)] = []
    """What the model found likeliest, best first."""


class Continued(msgspec.Struct, frozen=True):
    """A text has ended."""

    bytes: int
    seconds: float
    step: int
    seed: int
    bits: float | None
    """Bits a byte on unseen text, as last measured."""
    learnt: bool = True
    """Whether the model does better than guessing by how frequent each byte is, as last measured."""
    unit: Text = "bytes"
    """What the model reads and writes one by one: "bytes" or "tokens"."""
    written: Count = 0
    """How many of them it wrote, ..."""
    read: Count = 0
    """... and how many of the prompt it saw."""
    ended: bool = False
    """Whether the text ended before its length: at a stop, or where the model ended it."""
    rest: str = ""
    """The end of the text that no piece had yet, as a stop might have begun there."""


class GridParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`grid` -> GridStatus of one layer."""

    layer: Annotated[int, msgspec.Meta(ge=0, le=255)]
    run: RunName | None = None


class BenchmarkParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`benchmark` -> BenchmarkStatus."""

    again: bool = False
    """Measure anew, as soon as this PC may compute."""
    run: RunName | None = None


class Snapshot(msgspec.Struct, frozen=True):
    """`subscribe` -> all a client needs to draw its first picture of a run."""

    status: Status
    settings: dict[str, Any]
    curve: list[CurvePoint]

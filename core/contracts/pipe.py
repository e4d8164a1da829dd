"""Contract of the pipe between the worker and its compute process: what may be called at either end.

How it travels: `core.pipe.frames`, `core.pipe.calls`.
"""

import signal
from collections.abc import Callable
from typing import Annotated, Generic, Literal, TypeVar

import msgspec

from core.contracts.control import Answer, Choice
from core.contracts.files import PartFile
from core.contracts.manifest import Manifest
from core.contracts.notices import Notice, Sentences
from core.contracts.status import CurvePoint, ExpertStatus
from core.contracts.trunk import Agreed, Gathered, Offer, Reached

ANNOUNCED: int | None = getattr(signal, "SIGUSR1", None)
"""Sent to compute before a call that gives something back to the user; Windows has no such signal."""
NOTHING = type(None)


Data = bytes | bytearray | memoryview
Whole = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


Q = TypeVar("Q")
R = TypeVar("R")


class Described(Generic[Q]):
    """What can be sent over the pipe, by its name (`core.pipe.calls`)."""

    def __init__(self, name: str, request: type[Q], *, urgent: bool = False, lossy: bool = False) -> None:
        """Describe it.

        Args:
            name: what it is called, at both ends.
            request: the type of what is sent; anything else is refused where it arrives.
            urgent: it gives something back to the user: what is on its way before it must not hold up its effect.
            lossy: it may be dropped if the other end does not keep up.
        """
        self.name, self.key = name, name.encode()
        self.urgent, self.lossy = urgent, lossy
        self.request_of: Callable[[Data], Q] = msgspec.msgpack.Decoder(request).decode


class Tell(Described[Q]):
    """A message that nobody answers."""


class _Answered(Described[Q], Generic[Q, R]):
    def __init__(self, name: str, request: type[Q], reply: type[R], *, urgent: bool = False) -> None:
        """As `Described`; `reply` is the type of the answer, or of each piece of it."""
        super().__init__(name, request, urgent=urgent)
        self.reply_of: Callable[[Data], R] = msgspec.msgpack.Decoder(reply).decode


class Method(_Answered[Q, R]):
    """A call that is answered once."""


class Carrier(_Answered[Q, R]):
    """The same, and there are payloads with request and reply."""


class Stream(_Answered[Q, R]):
    """A call that is answered piece by piece."""


class Message(msgspec.Struct, frozen=True, tag=True):
    """Base of all messages."""


# worker -> compute


class Configure(Message, frozen=True):
    """What to train and where its checkpoints are."""

    manifest: Manifest
    folder: str
    """The run's own folder inside the data folder."""
    threads: int
    trains: bool = True
    """Whether this process has a Trainer of its own; without one it serves others' calls only."""
    experts: list[str] | None = None
    """Hosted from the start; None: all of the run's grid, or none of one that is too large for a PC among peers."""
    networked: bool = False
    """Whether the experts of other peers may be asked."""
    shuffle: int = 0
    """Added to the run's seed for the order of the data: trainers go through them in orders of their own."""


class SetDevice(Message, frozen=True):
    """Have experts and trunk on a device from now on."""

    device: Annotated[str, msgspec.Meta(max_length=256)]
    """"cpu", or a graphics processor's id."""
    memory_share: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0
    """Of its memory, how much may be used."""


class Predict(Message, frozen=True):
    """A picture to be read."""

    height: int
    width: int
    pixels: bytes
    """uint8, row by row, 0 = paper, 255 = ink."""


class Generate(Message, frozen=True):
    """A text to be continued."""

    prompt: bytes
    length: int
    """Bytes or tokens to add."""
    temperature: float
    """By which the scores are divided before the draw; 0 takes the likeliest."""
    seed: int
    """Of the draws; the same one gives the same text while the network stays as it is."""
    top_p: float = 1.0
    """It is drawn from the likeliest ones that together have this share."""
    goes_on: bool = False
    """It is a conversation: what the model cannot see at once loses its beginning. Another prompt is refused then."""


Question = Predict | Generate


# compute -> worker


class Ready(Message, frozen=True):
    device: str
    step: int
    samples: int
    notes: Sentences = ()
    """For the user, such as a checkpoint that was set aside."""
    expert_bytes: int = 0
    """Memory that each hosted expert takes."""
    gpus: bool = False
    """Whether the installed torch can use graphics processors."""


class Placed(Message, frozen=True):
    """Where experts and trunk are now."""

    device: str
    """If there is room for them."""
    label: str
    """Its name."""
    last_kernel_end: float
    """time.monotonic() at the end of the last kernel on the device before."""
    why: Notice | None = None
    """Why it is not the device that was asked for."""


class Speed(msgspec.Struct, frozen=True):
    """Samples a second of forward and backward that one expert alone gets through here."""

    threads: Annotated[int, msgspec.Meta(ge=1, le=4096)]
    samples_per_s: Annotated[float, msgspec.Meta(gt=0, le=1e12)]
    device: Annotated[str, msgspec.Meta(max_length=256)] = "cpu"
    label: Annotated[str, msgspec.Meta(max_length=256)] = ""
    """The name of a graphics processor."""


class Measured(Message, frozen=True):
    """This PC's speed, as measured now or earlier (`core.compute.benchmark`)."""

    speeds: tuple[Speed, ...]
    devices: dict[str, float]
    """Samples a second by device, on the processor with as many threads as one expert is given."""
    device: str
    """The one in use; of one that has no room for an expert, the processor."""
    time: float
    """Unix time of the newest figure."""

    @property
    def samples_per_s(self) -> float:
        """Of the device in use."""
        return self.devices[self.device]


class Work(msgspec.Struct, frozen=True, array_like=True):
    """What a device has done since the process started."""

    samples: Whole = 0
    """Trained on: rows of the DMoE layers, such as the tokens of all sequences."""
    calls: Whole = 0
    """Expert calls served, ..."""
    peer_calls: Whole = 0
    """... and those of them that other peers sent."""
    rows: Whole = 0
    """Samples in these calls."""
    passes: Whole = 0
    """Passes that served them."""
    seconds: Annotated[float, msgspec.Meta(ge=0, le=1e10)] = 0.0
    """For which kernels of training and serving ran."""

    def since(self, before: "Work") -> "Work":
        """What was done after `before`."""
        return Work(*(getattr(self, name) - getattr(before, name) for name in self.__struct_fields__))


class Progress(Message, frozen=True):
    """Sent twice a second while training and once a second while stopped: also the sign of life."""

    step: int
    samples: int
    samples_per_s: float
    calls_per_s: float
    in_flight: int
    threads: int
    """In use, which may be fewer than allowed."""
    loss: float | None
    experts: list[ExpertStatus]
    slowest_step_s: float | None = None
    blocked_s: float | None = None
    lost: int = 0
    """Batches dropped since the process started, as no expert answered for any of their samples."""
    load: float = 0.0
    """0 idle, 1 busy without pause; above that, the seconds of work that wait."""
    work: dict[str, Work] = {}
    """By device: "cpu", or a graphics processor's id."""
    device: str = "cpu"
    left_behind: int = 0
    """Experts that are on another device: there was no room for them."""
    device_bytes: int = 0
    """What is taken of a graphics processor's memory."""
    stuck_s: float = 0.0
    """For how long no batch has got through although it trains, as when the only host of a layer is frozen."""
    reached: bool = False
    """The model is as good as the manifest wants: no more is trained."""


class Predicted(Message, frozen=True):
    """What the model reads in a picture."""

    probabilities: list[float]
    """Of each class."""
    seen: list[float]
    """What the model saw, row by row: float32 [8, 8]."""


class Written(Message, frozen=True):
    """The next byte or token of a text."""

    choice: Choice
    best: list[Choice]
    """What the model found likeliest, best first; no more than `CHOICES`."""


class Answered(Message, frozen=True):
    """What one pass through the network gave."""

    answer: Predicted | Written
    experts: list[Answer]
    """Each expert's part, by layer, best first."""
    step: int
    ms: float
    read: int = 0
    """Rows that went in: bytes or tokens of a text."""


class AskSpace(Message, frozen=True):
    """A checkpoint is about to be written."""

    part: str
    """Whose file is next."""
    needed: int
    """Its bytes."""
    wanted: int
    """Bytes of all that are left."""
    superseded: bool
    """Nothing written so far waits to be made a checkpoint: no older state can go any more."""


class Saved(Message, frozen=True):
    step: int
    time: float
    seconds: float
    error: Notice | None = None
    """Set if it failed, as on a full disk; the older checkpoint stays."""
    parts: list[PartFile] = []
    """In the run's checkpoint folder."""


class Failed(Message, frozen=True):
    """Compute cannot go on and ends; `said` tells why and what to do."""

    said: Notice
    exhausted: bool = False
    """The system gave no more memory."""


class Reading(Message, frozen=True):
    """Where compute is in a run's shards, named by their place in the list of all."""

    uses: dict[Whole, Whole]
    """How often those were opened that have been since the last time."""
    done: list[Whole]
    """What was read of these is trained on: they may go."""


class LogText(Message, frozen=True):
    level: Literal["debug", "info", "warning", "error"]
    text: str


# what the worker calls

CONFIGURE = Method("configure", Configure, Ready)
"""The first call, answered when all is loaded."""
TRAIN = Tell("train", NOTHING)
"""Start or go on training."""
STOP = Method("stop", NOTHING, float, urgent=True)
"""Stop between two kernels and answer with the time.monotonic() at the end of the last one; then save a checkpoint."""
THREADS = Tell("threads", int)
"""How many may be used; 0: half of the cores that this process may use."""
SHARE = Tell("share", float)
"""Compute for this share of the time, over 0 and at most 1, and rest in between (`core.runtime.duty_cycle`)."""
ASIDE = Tell("aside", bool)
"""Whether training gives way, as somebody asks the model of another run of this PC."""
DEVICE = Method("device", SetDevice, Placed, urgent=True)
"""Go to another device; the one before starts no further kernel. Answered once all is there; not, if there is a newer
such call meanwhile."""
MEASURE = Tell("measure", NOTHING)
"""Measure this PC anew, as soon as it may compute."""
QUESTION = Stream[Question, Answered]("question", Question, Answered)  # type: ignore[arg-type]
"""Answered also while stopped; a text byte by byte, or token by token."""
GIVE_TRUNK = Carrier("give_trunk", NOTHING, Agreed)
"""The trunk as it is now, for a trainer that is far behind: parameters and both moments of the optimizer, float32."""
ENOUGH = Tell("enough", Whole)
"""All trainers together have gathered enough for the step on this version of the trunk, or have taken it already: it is
time to offer what there is. Said again whenever compute tells of having `Gathered` for such a version."""
COMPANY = Tell("company", bool)
"""Whether there are other trainers, so that steps are taken with them. Said when compute tells that it has `Gathered`
and takes it otherwise."""
QUIT = Tell("quit", NOTHING, urgent=True)
"""Save a checkpoint and end."""

# what compute calls

PROGRESS = Tell("progress", Progress, lossy=True)
READING = Tell("reading", Reading)
EVALUATED = Tell("evaluated", CurvePoint)
MEASURED = Tell("measured", Measured)
SAVED = Tell("saved", Saved)
FAILED = Tell("failed", Failed)
LOG = Tell("log", LogText, lossy=True)
SPACE = Method("space", AskSpace, int)
"""How many bytes may be written now; less than is needed, though nothing waits: the part is left out."""
AGREE = Carrier("agree_on_trunk", Offer, Agreed)
"""Give the other trainers what was learnt, and get what all agree on: numbers as float32, both ways. It takes as long
as the others take; nothing is lost if it fails."""
GATHERED = Tell("gathered", Gathered)
"""Whenever a batch begins or ends, and when a version is begun; now and then as well, while training goes on."""
REACHED = Tell("reached", Reached)
"""Of each version of a trunk that is agreed on as one, soon after it is there."""

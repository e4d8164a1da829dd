"""How trainers agree on the trunk: the part of a manifest that says it, and what compute offers its worker for it.

A strategy is declared here by a struct whose tag is the name of its module in `core.training.trunk` and, unless each
trainer has a trunk of its own, of that in `core.swarm.trunk`. `Trunk` is the union of all of them, so that a name or a
value that is impossible is refused where a manifest is read.
"""

import time
from typing import Annotated, Literal

import msgspec

PARTS = 64
"""Into which a trunk may be cut."""
MOST = 2**53
AT_ONCE = 64
"""Subtasks of one trainer."""
VERSIONS_PER_S = 1000
"""No trunk is agreed on more often, not even since 1970. This limit rises faster than any run, so that one whose
trainers believed a liar the highest version that is possible still goes on from there."""
EARLIEST_S = 1.75e9
"""Unix time before which Hearth was not: a clock that says less is wrong."""

Part = Annotated[int, msgspec.Meta(ge=0, lt=PARTS)]
Whole = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
Line = Annotated[bytes, msgspec.Meta(max_length=16)]
"""Digest of a trunk, or of all that was agreed on it up to a version: those with the same one have the same bits."""
Accuracy = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
PeerText = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


def check_possible(*versions: int) -> None:
    """Refuse what others tell of a trunk that cannot be.

    Args:
        versions: to which it is said to have come.

    Raises:
        ValueError: no trunk can have come so far by now.
    """
    if max(versions, default=0) > VERSIONS_PER_S * max(time.time(), EARLIEST_S):
        raise ValueError(f"No trunk can have come to version {max(versions)}.")


class Local(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="strategy", tag="local"):
    """Each trainer has a trunk of its own."""


class Diloco(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="strategy", tag="diloco"):
    """Trainers take steps of their own, and agree now and then on what these came to: 70 to 200 times less traffic
    than a common step for each batch (arXiv 2311.08105, 2604.21428)."""

    inner_steps: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 32
    """Between two times that the same fragment of the trunk is agreed on; 1 at first, and twice as many after each 64
    agreements."""
    fragments: Annotated[int, msgspec.Meta(ge=1, le=PARTS)] = 4
    """Into which the trunk is cut; more if one would be larger than a message may be. They take turns."""
    quorum: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 2
    """Trainers with whom a round need not wait for all."""
    grace_s: Annotated[float, msgspec.Meta(gt=0.0, le=3600.0)] = 30.0
    """The longest that a round waits for a trainer. Nobody's training waits meanwhile."""
    wire: Literal["measured", "sparse", "dense"] = "measured"
    """How differences travel: sparse in 2 bits, dense in 4, or as each trainer's measured bandwidth has it."""


class Dedloc(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="strategy", tag="dedloc"):
    """All trainers together gather one large batch for each step (Diskin et al., 2021)."""

    target_samples: Annotated[int, msgspec.Meta(ge=1, le=10**9)]
    """In the batch of all trainers together."""
    alone_samples: Annotated[int, msgspec.Meta(ge=1, le=10**9)] | None = None
    """In that of a trainer while it knows of no other: it takes steps by itself and waits for nothing; 1: a step for
    each batch. None: as many as of all together."""
    delayed: bool = False
    """Whether the next batch is gathered while the gradients of one are averaged. Nobody waits then, but gradients are
    a step behind, and trainers whose own batches are large against the target gather more than it asks for."""
    optimizer: Literal["adam", "lamb"] = "adam"
    """LAMB is for batches of thousands of sequences; its rate is the share of its own length that a matrix moves by."""
    weight_decay: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.0
    """Times the rate."""


class VcAsgd(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="strategy", tag="vc_asgd"):
    """Servers mix in what each trainer has learnt from a part of the data, whenever it comes (Atre, Jha and Rao, 2021).

    A trainer asks a server for a subtask, trains on its batches, beginning with the servers' parameters, and gives its
    own. Servers are peers like others, and share one store.
    """

    servers: Annotated[tuple[PeerText, ...], msgspec.Meta(max_length=64)] = ()
    """The keys of the peers that are parameter servers. If none is named, one peer is it by lease, and another one goes
    on from its newest copy when it dies; or, where they share a `store`, each peer serves itself."""
    parts: Annotated[int, msgspec.Meta(ge=1, le=PARTS)] = 50
    """Subtasks of an epoch."""
    batches: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 32
    """Of a subtask."""
    kept: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] | None = None
    """Share a of the servers' parameters that an arrival leaves; None: e / (e + 1) in epoch e."""
    timeout_s: Annotated[float, msgspec.Meta(ge=1.0, le=86_400.0)] = 300.0
    """After which a subtask is given to another trainer."""
    strong: bool = False
    """Whether no arrival is ever lost where servers write at the same time; it takes longer then."""
    at_once: Annotated[int, msgspec.Meta(ge=1, le=AT_ONCE)] = 1
    """Subtasks that a trainer has at once: while the result of one is on its way, it trains on the next."""
    accuracy: Annotated[float, msgspec.Meta(gt=0.0, le=1.0)] | None = None
    """On held-out data; training ends when the mean of an epoch is as good. None: it goes on without end."""
    store: Annotated[str, msgspec.Meta(pattern=r"^(redis|postgresql)://", max_length=256)] | None = None
    """Address of the Redis or PostgreSQL server that parameter servers on several PCs share, without a password; None:
    a file, for one PC."""


Trunk = Local | Diloco | VcAsgd | Dedloc


class Offer(msgspec.Struct, frozen=True, array_like=True):
    """What a trainer has for the others: the payload beside it, float32. Without one it only asks what is agreed, as a
    newcomer does."""

    part: Part
    """Of the trunk; 0 if it is not cut."""
    version: Whole
    """Of the part, as agreed last, on which the payload was made; 0: none is known here, and if there is none, the
    payload are the numbers to begin with."""
    samples: Whole
    """That made the payload; 0: it is no offer, a part of which others know something is only asked for."""
    fine: Whole = 0
    """So many numbers at the payload's beginning are not to be rounded to few bits: norms and gates."""
    accuracy: Accuracy | None = None
    """On held-out data, of the numbers on which the payload was made; None: not measured."""
    holding: Annotated[tuple[Whole, ...], msgspec.Meta(max_length=AT_ONCE)] = ()
    """Versions of other subtasks that this trainer still works on."""


class Agreed(msgspec.Struct, frozen=True, array_like=True):
    """What is agreed now: the payload beside it, float32; none if nobody has agreed on anything yet. Where the answer
    to a trainer that is far behind is all of a trunk: its parameters, then both moments of the optimizer."""

    part: Part
    version: Whole
    """Of the part; the one that was offered on if there is nothing newer."""
    samples: Whole
    """In all that has been agreed on this part."""
    peers: Whole
    """Trainers whose offers made this version."""
    counted: bool = True
    """Whether the offer is part of what is agreed; if not, its trainer has it still to give."""
    again_s: Annotated[float, msgspec.Meta(ge=0.0, le=3600.0)] = 0.0
    """There is nothing to do in this part now: ask again after so many seconds; 0: there is."""
    reached: bool = False
    """What is agreed is as good as the manifest wants: training is over."""
    mixed: Whole = 0
    """Results of subtasks in it, where servers mix them in."""
    alone: bool = False
    """Whether nobody else takes this step: the others have gone."""
    earlier: bool = False
    """What was counted is another offer on the same version, of this trainer's process before, which was killed."""


class Reached(msgspec.Struct, frozen=True, array_like=True):
    """The trunk that a trainer has come to."""

    version: Whole
    digest: Line
    """Of its parameters, the optimizer's moments and the counters (`core.averaging.digests`)."""


class Gathered(msgspec.Struct, frozen=True, array_like=True):
    """How far a trainer is whose step is taken together with others."""

    version: Whole
    """The step on which it will offer what it gathers."""
    samples: Whole
    """That it has gathered for that; batches on their way are counted in, so that all stop in time."""
    trained: Whole = 0
    """Samples in its trunk, in all steps so far."""
    alone: bool = False
    """Whether it takes steps by itself, as it knows of no other trainer."""

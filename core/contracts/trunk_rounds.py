"""What peers say to each other in a round: a group of them averages one vector each, the mean is the same on all."""

import hashlib
from typing import Annotated, Literal

import msgspec

from core.contracts.expert_calls import Codec
from core.contracts.net import PeerAddress
from core.contracts.trunk import Line, Whole, check_possible

MEMBERS = 64
"""Of one group: more than took part in any of the paper's rounds (DeDLOC)."""
NUMBERS = 1 << 31
"""Of one vector: a trunk of two thousand million parameters."""
CHUNK: dict[Codec, int] = {"fp32": 1 << 16, "fp16": 1 << 17, "int8": 1 << 18}
"""Numbers averaged at once, at most: 256 KiB. More are hardly cheaper, and what comes late comes later by one chunk."""
CHUNKS = NUMBERS // min(CHUNK.values()) + 64 * MEMBERS
"""Of one pass: short pieces have smaller ones."""
LARGEST_NORM = 1e15
"""Its square and the sum of many such are still numbers of fp32."""
SAMPLES = 1 << 40
"""Of one vector: above what any trainer comes to; sums of as many as there are in a round stay whole."""
PASSES = 2
"""Of one round: what a member's end spoils is reduced once more by the others."""
MEANS = 2
"""Of the last rounds, that a trainer keeps for those who missed them."""
TRUNKS = 8
"""Whose digests a trainer tells, and of as many means: trainers that follow each other by some steps have one of them
in common."""

Key = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Numbers = Annotated[int, msgspec.Meta(ge=0, le=NUMBERS)]
Place = Annotated[int, msgspec.Meta(ge=0, lt=MEMBERS)]
Pass = Annotated[int, msgspec.Meta(ge=0, lt=PASSES)]
Digest = Annotated[bytes, msgspec.Meta(max_length=32)]
Rate = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
Pieces = Annotated[tuple[Digest, ...], msgspec.Meta(max_length=MEMBERS * MEMBERS)]


class Ability(msgspec.Struct, frozen=True, array_like=True):
    """By what a member's share is planned; each tells it of itself."""

    upload: Rate = 0
    """Bytes a second that it can send; 0: it does not know."""
    download: Rate = 0
    """Likewise, that it can receive."""
    solver: Annotated[str, msgspec.Meta(max_length=32)] = ""
    """By which it makes plans: another may come to other bytes. Empty: by none, and the shares are equal."""


class Group(msgspec.Struct, frozen=True, array_like=True):
    """Who averages what, by whom it is reduced; all members have the same."""

    key: Key
    """No other group has it."""
    members: Annotated[tuple[PeerAddress, ...], msgspec.Meta(min_length=1, max_length=MEMBERS)]
    sends: Annotated[tuple[bool, ...], msgspec.Meta(min_length=1, max_length=MEMBERS)]
    """Who has a vector."""
    shares: Annotated[tuple[Numbers, ...], msgspec.Meta(min_length=1, max_length=MEMBERS)]
    """Numbers of the vector that each reduces; 0: none. Their sum is the vector's length."""
    codec: Codec
    grace_s: Annotated[float, msgspec.Meta(ge=0.4, le=600.0)]
    """A round waits so long at most, in all, for a member that does not go on."""
    clip: Annotated[float, msgspec.Meta(ge=0.0, le=100.0)] = 0.0
    """As in `core.averaging.mean`."""
    abilities: Annotated[tuple[Ability, ...], msgspec.Meta(max_length=MEMBERS)] = ()
    """Of the members: all come to the same shares by them."""
    helps: Annotated[tuple[bool, ...], msgspec.Meta(max_length=MEMBERS)] = ()
    """Who takes no step itself."""

    def fits(self) -> bool:
        """Whether it can be a group at all."""
        peers = {member.peer for member in self.members}
        same = len(peers) == len(self.members) == len(self.sends) == len(self.shares)
        return same and len(self.helps) in (0, len(peers)) and sum(self.shares) > 0

    def digest(self) -> bytes:
        """By which its members name the round. Who gathers could give each of them another group with the same key:
        they would take each other for liars."""
        return hashlib.sha256(msgspec.msgpack.encode(self)).digest()

    def givers(self) -> list[bytes]:
        """The members that send something."""
        return [member.peer for member, sends in zip(self.members, self.sends, strict=True) if sends]

    def trainers(self) -> list[bytes]:
        """The members that take the step."""
        helps = self.helps or (False,) * len(self.members)
        return [member.peer for member, only in zip(self.members, helps, strict=False) if not only]


class Chunk(msgspec.Struct, frozen=True, array_like=True):
    """A chunk of the sender's vector, for its reducer: the payload. The answer comes when all have delivered it."""

    key: Key
    """Here and below it is the digest of the group."""
    attempt: Pass
    number: Annotated[int, msgspec.Meta(ge=0, lt=CHUNKS)]
    samples: Annotated[int, msgspec.Meta(ge=1, le=SAMPLES)]
    """The sender's, in the whole vector."""
    norm: Annotated[float, msgspec.Meta(ge=0.0, lt=LARGEST_NORM)]
    """Of the whole vector."""


class Averaged(msgspec.Struct, frozen=True, array_like=True):
    """The mean of a chunk: the payload."""

    samples: Whole
    peers: Whole


class Report(msgspec.Struct, frozen=True, array_like=True):
    """To the group's leader: what a member has of a pass."""

    key: Key
    attempt: Pass
    digests: Pieces
    """Of each piece; empty: it has not come. None at all: the member only helps."""


class Verdict(msgspec.Struct, frozen=True, array_like=True):
    """Of the leader, the same for all: the result counts if no piece is lost; otherwise the living do these again."""

    key: Key
    attempt: Pass
    void: bool
    """The round has no result, for nobody."""
    alive: Annotated[tuple[Place, ...], msgspec.Meta(max_length=MEMBERS)]
    """Members that have reported."""
    lost: Annotated[tuple[Annotated[int, msgspec.Meta(ge=0, lt=MEMBERS)], ...], msgspec.Meta(max_length=MEMBERS)]
    """Pieces that are reduced again."""
    digests: Pieces
    """Of the others."""


class Told(msgspec.Struct, frozen=True, array_like=True):
    """A verdict, which may come by another member: signed by the leader."""

    verdict: Annotated[bytes, msgspec.Meta(max_length=160 * 1024)]
    signature: Annotated[bytes, msgspec.Meta(min_length=64, max_length=64)]


class Heard(msgspec.Struct, frozen=True, array_like=True):
    """To any member: what did the leader decide? Asked when the leader does not answer."""

    key: Key
    attempt: Pass


class Leave(msgspec.Struct, frozen=True, array_like=True):
    """To all members: this one goes, do not wait for it."""

    key: Key


class Left(msgspec.Struct, frozen=True, array_like=True):
    """It is noted."""


class Standing(msgspec.Struct, frozen=True, array_like=True):
    """What a trainer tells all others in the DHT, for a while."""

    version: Whole
    """The step on which it will offer what it gathers."""
    samples: Whole
    """That it has gathered for that."""
    enough: Whole
    """Steps for which, as it counts, all together have gathered enough."""
    means: Annotated[tuple[tuple[Whole, Key], ...], msgspec.Meta(max_length=TRUNKS)] = ()
    """By which it came there: the step on which each was agreed, and the digest of it and of all before it. It has the
    last `MEANS` of them."""
    trunks: Annotated[tuple[tuple[Whole, Line], ...], msgspec.Meta(max_length=TRUNKS)] = ()
    """That it came to last: version and digest of each."""
    settled: bool = False
    """It has agreed with others since it came or came back; the others' word weighs more than that of who has not."""
    helps: bool = False
    """It trains nothing now, and reduces for the others: on `version` if they gather for that now."""

    def __post_init__(self) -> None:
        check_possible(self.version, self.enough, *(version for version, _ in self.trunks))


class Noted(msgspec.Struct, frozen=True, array_like=True):
    """It is noted how much a trainer has gathered."""


class AskVector(msgspec.Struct, frozen=True, array_like=True):
    """For a piece of the mean of a step that was missed, or of a whole trunk, from a byte on."""

    what: Literal["mean", "trunk"]
    version: Whole
    """The step of the mean. Of the trunk: 0 for the one that there is now, then the one that is in the answer."""
    start: Whole = 0


class Vector(msgspec.Struct, frozen=True, array_like=True):
    """The piece is the payload, float32; of a trunk the parameters, then both moments of the optimizer."""

    version: Whole
    samples: Whole
    """In all steps, that one included."""
    peers: Whole
    """Whose sums are in the mean; of a trunk 0."""
    size: Whole
    """Bytes of the whole vector."""
    before: Digest = b""
    """Of a mean: the digest of the one before it; empty: not known."""

    def __post_init__(self) -> None:
        check_possible(self.version)

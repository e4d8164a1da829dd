"""Contract of the pipe about experts on other peers: calls out and in, who hosts what, and whom to leave alone.

What an expert is asked (`ExpertRequest`) and answers (`ExpertReply`) is encoded by the compute process that asks or
answers, and decoded by the other one. The two workers in between pass it on as it is, with its payload.
"""

import msgspec

from core.contracts.expert_calls import Direction
from core.contracts.pipe import NOTHING, Carrier, Method, Stream, Tell, Whole


class ExpertCall(msgspec.Struct, frozen=True, array_like=True):
    """One request, on its way through a worker."""

    peer: str
    """Who is asked, or who asks: its key, as hex digits."""
    direction: Direction
    request: bytes
    """`ExpertRequest`, encoded. Bytes for the pipe: however it may be nested, only who uses it looks into it."""
    crowd: str = ""
    """With whom the peer counts as one in what experts learn here: all those of its network; "": it counts alone."""


class Place(msgspec.Struct, frozen=True, array_like=True):
    """A peer that hosts an expert."""

    peer: str
    """Its key, as hex digits."""
    load: float
    version: int
    rtt_ms: float | None


class Prefixes(msgspec.Struct, frozen=True, array_like=True):
    """Prefixes of coordinates in a layer."""

    layer: int
    prefixes: list[tuple[int, ...]]


class Suspect(msgspec.Struct, frozen=True, array_like=True):
    """A peer gave answers that cannot be right, or gradients that do harm."""

    peer: str
    points: float
    """Strikes: 10 ban it for a time."""
    why: str


class Helped(msgspec.Struct, frozen=True, array_like=True):
    """What a peer did for the Trainer here (`core.contracts.credit`)."""

    peer: str
    work: Whole
    audited: Whole
    """What of this and of earlier work was confirmed by an audit meanwhile."""


class Missing(msgspec.Struct, frozen=True, array_like=True):
    """A peer does not host these experts, or they fail."""

    peer: str
    uids: list[str]


class Cells(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The active cells, by layer, of a run whose grid is small enough to be known whole."""

    layers: list[list[tuple[int, ...]]]


class Banned(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """This PC has banned a peer: it is asked nothing for so long."""

    peer: str
    seconds: float


class Stirred(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A peer that had failed was heard of again."""

    peer: str


News = Cells | Banned | Stirred


# what compute calls

ASK = Carrier("ask", ExpertCall, bytes)
"""Have a peer's experts called; the answer is an encoded `ExpertReply`."""
LOCATE = Method("locate", list[str], list[list[Place]])
"""The hosts of each uid on other peers, best first."""
SUFFIXES = Method("suffixes", Prefixes, list[list[int]])
"""The coordinates that follow each prefix."""
FOLLOW = Stream[None, News]("follow", NOTHING, News)  # type: ignore[arg-type]
"""What the worker learns of others: the active cells, now and whenever they change, and whom to ask or not."""
SUSPECT = Tell("suspect", Suspect)
MISSING = Tell("missing", Missing)
SILENT = Tell("silent", list[str])
"""The peers that do none of the work that they are asked for, whenever these are others than before."""
ASKED = Tell("asked", dict[str, int])
"""Calls that were answered since this was told last, by uid."""
HELPED = Tell("helped", list[Helped])
"""What peers did for the Trainer here since this was told last."""
SERVED = Tell("served", dict[str, Whole])
"""What was done here for other peers' Trainers since then, by peer."""

# what the worker calls

SERVE = Carrier("serve", ExpertCall, bytes)
"""Run experts for a peer; the answer is an encoded `ExpertReply`. Refused while stopped or if too much waits."""

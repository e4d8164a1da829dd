"""What the peers of a run tell and ask each other about fragments of the trunk that trainers agree on.

Who keeps which fragments, and who brings about the agreement on them, are values in the DHT under `KEEPERS`.
"""

from typing import Annotated, Literal

import msgspec

from core.contracts.trunk import PARTS, Line, Part, Whole, check_possible

OFFER = "trunk.offer"
STATE = "trunk.state"
KEEPERS = "trunk"
"""Of the key `<run id>.trunk`."""
MARK = 8
"""Bytes of a peer's key by which others name it in their records, which are small."""


class Keeper(msgspec.Struct, frozen=True, array_like=True):
    """What a peer tells of the fragments that it has."""

    versions: Annotated[dict[Part, Whole], msgspec.Meta(max_length=PARTS)]
    syncs: Annotated[list[Part], msgspec.Meta(max_length=PARTS)]
    """It is their syncer."""
    able: bool = True
    """Whether it can be dialled, and so be a syncer."""
    follows: Annotated[
        dict[Part, Annotated[bytes, msgspec.Meta(min_length=MARK, max_length=MARK)]], msgspec.Meta(max_length=PARTS)
    ] = {}
    """Whom it had the last agreement of each part from, if that was not long ago: its vote for the syncer."""

    def __post_init__(self) -> None:
        check_possible(*self.versions.values())


class FragmentOffer(msgspec.Struct, frozen=True, array_like=True):
    """`trunk.offer`, to a fragment's syncer. Answered after the next round if there is a difference to be counted."""

    part: Part
    version: Whole
    """That the asker has; 0: none."""
    line: Line
    samples: Whole
    fine: Whole
    kind: Literal["ask", "begin", "difference"]
    """What the payload is: nothing, the numbers to begin with (float32), or a message of
    `core.averaging.fragment.Encoder`."""

    def __post_init__(self) -> None:
        check_possible(self.version)


class FragmentAnswer(msgspec.Struct, frozen=True, array_like=True):
    peers: Whole
    """In the newest round."""
    counted: bool
    kind: Literal["none", "rounds", "state"]
    """What the payload is: nothing, as nobody has agreed on anything; the rounds since the asker's version; or all."""
    waited_s: Annotated[float, msgspec.Meta(ge=0.0, le=1e6)] = 0.0
    """For others' offers: of the time that it took, this was not the network's."""
    line: Line = b""
    """Of what is agreed now."""


class AskState(msgspec.Struct, frozen=True, array_like=True):
    """`trunk.state`, to a peer that knows a newer version than the syncer: give me the whole fragment."""

    part: Part


class State(msgspec.Struct, frozen=True, array_like=True):
    """In the payload; none if it is not there."""

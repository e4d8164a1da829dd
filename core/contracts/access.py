"""Access to a run: what its organiser signs for those whom it lets in, and what peers show each other of that.

A token or a list is the msgpack of one of these structs and, after it, the organiser's Ed25519 signature of a prefix
and exactly these bytes (`core.access`).
"""

from typing import Annotated, Literal

import msgspec

from core.contracts.model import LINE
from core.contracts.net import Peer

SIGNATURE = 64
"""Bytes."""
LONGEST_DAYS = 366
"""For which a token may be given."""
MAX_TOKEN = 512
"""Bytes of a token with its signature; one with a name of 64 letters has at most 450."""
MOST_REVOKED = 4096
MAX_LIST = 256 << 10
"""Bytes of a list with its signature; the longest has 180 KB."""
MOST_RUNS = 64
"""Of which peers show something in one call."""
RunId = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]{0,31}-[0-9a-f]{8}\Z")]
Moment = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
"""Unix time in ms."""
UserName = Annotated[str, msgspec.Meta(pattern=LINE, min_length=1, max_length=64)]


class Token(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One peer may take part in one run."""

    version: Literal[1]
    run_id: RunId
    peer: Peer
    name: UserName
    """Of its user, as the organiser calls them."""
    issued: Moment
    expires: Moment


class Revoked(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """All tokens of a peer that were issued up to then are void; one that is issued later lets it in again."""

    peer: Peer
    at: Moment


class RevokedList(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Whose tokens are void. Of the lists of one run the one with the highest number holds."""

    version: Literal[1]
    run_id: RunId
    number: Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
    revoked: Annotated[tuple[Revoked, ...], msgspec.Meta(max_length=MOST_REVOKED)] = ()


# what peers say to each other


class Shown(msgspec.Struct, frozen=True, array_like=True):
    """Of one run."""

    token: Annotated[bytes, msgspec.Meta(max_length=MAX_TOKEN)] = b""
    """The sender's; in a run that is open to everybody, the work that its key has cost (`core.puzzle`). Nothing: it
    needs none, as the organiser, or has none."""
    number: Annotated[int, msgspec.Meta(ge=0, lt=2**53)] = 0
    """Of the list that it has; 0: none."""


class Introduction(msgspec.Struct, frozen=True, array_like=True):
    """`access.show`: what I have, by run. The answer is the same of the other side, for those of these runs that it has
    joined; its tokens only where it lets me in."""

    runs: Annotated[dict[RunId, Shown], msgspec.Meta(max_length=MOST_RUNS)]


class AskRevoked(msgspec.Struct, frozen=True, array_like=True):
    """`access.revoked`: give me your list of the revoked, if its number is above this one."""

    above: Annotated[int, msgspec.Meta(ge=0, lt=2**53)]


class RevokedFollow(msgspec.Struct, frozen=True, array_like=True):
    """The payload is the signed list; nothing: there is no newer one."""

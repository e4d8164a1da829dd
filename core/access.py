"""Tokens and lists of the revoked, as an organiser signs them and as everybody checks them."""

from typing import TypeVar

import msgspec

from core.contracts.access import SIGNATURE, Revoked, RevokedList, Token
from core.contracts.errors import UNREADABLE, AccessError
from core.contracts.notices import notice
from core.identity import Identity, PeerId, parse_peer, verify

TOKEN, LIST = b"hearth access token 1\0", b"hearth access list 1\0"
"""Prefixes of what is signed, so that a key that signs other things as well signs none of these with them."""
SKEW_MS = 60_000
"""How far another PC's clock may be ahead."""
SignedT = TypeVar("SignedT", Token, RevokedList)
_PREFIX: dict[type, bytes] = {Token: TOKEN, RevokedList: LIST}


def signed(content: Token | RevokedList, organiser: Identity) -> bytes:
    """The document of a token or a list."""
    body = msgspec.msgpack.encode(content)
    return body + organiser.sign(_PREFIX[type(content)] + body)


def opened(document: bytes, kind: type[SignedT], run_id: str, organiser: str) -> SignedT:
    """The token or list in a document.

    Args:
        document: within the limits of its kind.
        kind: which of the two it shall be.
        run_id: the run that it must be of.
        organiser: the key that must have signed it, 64 hexadecimal digits.

    Raises:
        AccessError: it is none, or of another run, or that key has not signed it.
    """
    body = document[:-SIGNATURE]
    try:
        found = msgspec.msgpack.decode(body, type=kind)
    except UNREADABLE as error:
        raise AccessError(notice("access.unreadable", why=str(error))) from error
    if found.run_id != run_id:
        raise AccessError(notice("access.other_run", run=run_id, found=found.run_id))
    if not verify(parse_peer(organiser), _PREFIX[kind] + body, document[-SIGNATURE:]):
        raise AccessError(notice("access.forged", organiser=organiser[:8]))
    return found


def check_holder(token: Token, peer: PeerId, now: int) -> None:
    """Refuse a token that does not let a peer in now, whether it was revoked or not.

    Args:
        token: of the run, and signed by its organiser.
        peer: who shows it.
        now: unix time in ms.

    Raises:
        AccessError: it is another peer's, or of another time.
    """
    if token.peer != peer:
        raise AccessError(notice("access.other_peer", peer=peer.hex(), holder=token.peer.hex()))
    if token.expires <= now:
        raise AccessError(notice("access.expired", at=token.expires / 1000))
    if token.issued > now + SKEW_MS:
        raise AccessError(notice("access.ahead", at=token.issued / 1000))


def void_before(revoked: RevokedList) -> dict[bytes, int]:
    """By peer, the moment up to which its tokens are void."""
    return {one.peer: one.at for one in revoked.revoked}


def with_revoked(before: RevokedList, peer: PeerId, now: int) -> RevokedList:
    """The list that follows one, with a peer more.

    Args:
        before: the list that holds.
        peer: whose tokens are void from now on.
        now: unix time in ms.
    """
    others = (one for one in before.revoked if one.peer != peer)
    return RevokedList(1, before.run_id, before.number + 1, (*others, Revoked(peer, now)))

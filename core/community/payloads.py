"""Payloads of telemetry: signed, and checked before they are believed."""

import time
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from core.community import signing
from core.contracts.credit import Bundle, SignedBundle
from core.contracts.errors import UNREADABLE, CreditError
from core.contracts.notices import notice
from core.contracts.telemetry import (
    CONTEXT,
    CREDIT,
    FUTURE_S,
    PRESENCE,
    PROGRESS,
    TOP,
    Body,
    Leaders,
    Presence,
    Progress,
    Rights,
    RunNotice,
    Signed,
    limit_of,
)
from core.identity import Identity

T = TypeVar("T", bound=Body)
encode = msgspec.msgpack.Encoder().encode
_signed = msgspec.msgpack.Decoder(Signed).decode
_bundle = msgspec.msgpack.Decoder(SignedBundle).decode
_body = msgspec.msgpack.Decoder(Body).decode
BODIES = {PRESENCE: Presence, PROGRESS: Progress, "notice": RunNotice, "board": Leaders}


def sealed(identity: Identity, body: Body) -> bytes:
    """A payload.

    Args:
        identity: who signs; `body.by` is its key.
        body: what is told.
    """
    content = encode(body)
    return encode(Signed(content, identity.sign(CONTEXT + content)))


def opened(topic: str, payload: bytes, runs: Mapping[str, Rights]) -> Body | tuple[Bundle, SignedBundle]:
    """What somebody has told, with its signatures checked.

    Args:
        topic: where it was told.
        payload: the bytes.
        runs: whose organisers and boards are believed, by run id.

    Raises:
        CreditError: it is too large, unreadable, not that topic's, or not signed by whom it says.
    """
    levels = topic.split("/")
    if len(payload) > limit_of(topic) or len(levels) < 5 or tuple(levels[:2]) != TOP or levels[2] not in runs:
        raise CreditError(notice("telemetry.foreign"))
    run, *rest = levels[2:]
    if rest[-1] in CREDIT:
        return _credit(run, rest, payload)
    try:
        signed = _signed(payload)
        body: Body = _body(signed.body)
    except UNREADABLE as error:
        raise CreditError(notice("credit.unreadable")) from error
    if body.run != run or not _of_topic(rest, body, runs[run]) or body.time > time.time() + FUTURE_S:
        raise CreditError(notice("telemetry.foreign"))
    if not signing.signed_by(body.by, CONTEXT + signed.body, signed.signature):
        raise CreditError(notice("telemetry.forged", peer=body.by.hex()))
    return body


def _of_topic(rest: list[str], body: Body, rights: Rights) -> bool:
    """Whether this was to be told there by whom it names."""
    by = body.by.hex()
    match rest:
        case ["in", peer, leaf]:
            return type(body) is BODIES.get(leaf) and by == peer
        case ["out", "notice"]:
            return type(body) is RunNotice and by == rights.organiser
        case ["out", "board", board]:
            return type(body) is Leaders and by == board and board in rights.boards
    return False


def _credit(run: str, rest: list[str], payload: bytes) -> tuple[Bundle, SignedBundle]:
    try:
        shown = _bundle(payload)
    except UNREADABLE as error:
        raise CreditError(notice("credit.unreadable")) from error
    bundle = signing.opened(shown)
    if rest != ["in", bundle.host.hex(), CREDIT[bundle.week % 2]] or bundle.run != run:
        raise CreditError(notice("telemetry.foreign"))
    return bundle, shown

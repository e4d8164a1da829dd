"""Signatures of credit: what is signed, how it is checked, and why something is refused."""

import contextlib
from collections.abc import Iterator

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from core.contracts.credit import (
    MAX_BUNDLE,
    BoardTotals,
    Bundle,
    Sheet,
    SignedBundle,
    SignedSheet,
    SignedTotals,
    days_of,
    week_of,
)
from core.contracts.errors import UNREADABLE, CreditError
from core.contracts.notices import notice
from core.identity import Identity

SHEET, COUNTERSIGNED, BUNDLE, TOTALS = (
    f"hearth credit {name} 1\n".encode() for name in ("sheet", "countersigned", "bundle", "totals")
)
"""What signed bytes begin with: a signature of one kind is none of another."""
LEEWAY, SHARE = 100_000, 0.05
"""Work beyond its own count, and the share of it, that a host takes: what it counted within the last half second before
its compute process was ended by force, or half a minute before the power failed, it has forgotten."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Bundle).decode


def signed_by(peer: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a signature is a peer's. OpenSSL's check takes two thirds of the time that iroh's does."""
    try:
        Ed25519PublicKey.from_public_bytes(peer).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def sign(trainer: Identity, sheet: Sheet) -> SignedSheet:
    """The trainer's signature of what it owes a host."""
    return SignedSheet(sheet, trainer.sign(SHEET + _encode(sheet)))


def is_genuine(signed: SignedSheet) -> bool:
    """Whether the trainer that a sheet names has signed it."""
    return signed_by(signed.sheet.trainer, SHEET + _encode(signed.sheet), signed.signature)


def countersign(host: Identity, signed: SignedSheet) -> bytes:
    """The host's signature: it takes the sheet."""
    return host.sign(COUNTERSIGNED + _encode(signed))


def is_countersigned(signed: SignedSheet, signature: bytes) -> bool:
    """Whether the host that a sheet names has taken it."""
    return signed_by(signed.sheet.host, COUNTERSIGNED + _encode(signed), signature)


def is_newer(sheet: Sheet, held: Sheet | None) -> bool:
    """Whether a sheet says more than another one of the same trainer, host and week, and takes nothing back."""
    if held is None:
        return True
    pairs = [*zip(sheet.work, held.work, strict=True), *zip(sheet.audited, held.audited, strict=True)]
    return all(new >= old for new, old in pairs) and sheet != held


def check_offer(signed: SignedSheet, run: str, caller: bytes, me: bytes, today: int) -> None:
    """Whether what a trainer offers its host can be taken at all, before it is compared with what is known here.

    Args:
        signed: the sheet.
        run: the run that is asked.
        caller: who offers it.
        me: the host.
        today: the day.

    Raises:
        CreditError: the reason.
    """
    sheet = signed.sheet
    if (sheet.run, sheet.trainer, sheet.host) != (run, caller, me) or caller == me:
        raise CreditError(notice("credit.foreign"))
    if abs(sheet.week - week_of(today)) > 1:
        raise CreditError(notice("credit.untimely"))
    if _audits_too_much(sheet):
        raise CreditError(notice("credit.audited_too_much"))
    if not is_genuine(signed):
        raise CreditError(notice("credit.forged_sheet", peer=sheet.trainer.hex()))


def is_too_much(offered: int, counted: int) -> bool:
    """Whether a trainer signs for more than its host has counted: who took that would look as if both made it up.

    Args:
        offered: work of a week that the trainer signs, with what it signed for the week before.
        counted: what the host counted since then.
    """
    return offered > counted * (1 + SHARE) + LEEWAY


def sign_bundle(host: Identity, bundle: Bundle, more: bool, earlier: int | None) -> SignedBundle:
    """What a host shows to others."""
    body = _encode(bundle)
    return SignedBundle(body, host.sign(BUNDLE + body), more, earlier)


def opened(signed: SignedBundle) -> Bundle:
    """The content of a bundle, with every signature in it checked: the host's, and one for each sheet.

    Raises:
        CreditError: what is not true.
    """
    bundle = decoded(signed)
    if not signed_by(bundle.host, BUNDLE + signed.bundle, signed.signature):
        raise CreditError(notice("credit.forged_bundle", peer=bundle.host.hex()))
    names = [entry.trainer for entry in bundle.entries], [seen.trainer for seen in bundle.seen]
    if any(len(set(keys)) < len(keys) for keys in names):
        raise CreditError(notice("credit.twice", peer=bundle.host.hex()))
    for entry in bundle.entries:
        sheet = bundle.sheet(entry)
        if _audits_too_much(sheet):
            raise CreditError(notice("credit.audited_too_much"))
        if not signed_by(entry.trainer, SHEET + _encode(sheet), entry.signature):
            raise CreditError(notice("credit.forged_sheet", peer=entry.trainer.hex()))
    return bundle


def decoded(signed: SignedBundle) -> Bundle:
    """The content of a bundle, whoever signed it: for one that was checked when it came.

    Raises:
        CreditError: it is none, or not as it was signed.
    """
    with _readable():
        bundle = _decode(signed.bundle)
    if len(signed.bundle) > MAX_BUNDLE or _encode(bundle) != signed.bundle:
        raise CreditError(notice("credit.unreadable"))
    return bundle


def check_asked(bundle: Bundle, run: str, host: bytes, week: int, today: int) -> None:
    """Whether a bundle is the one that was asked for, and of a time that has come.

    Raises:
        CreditError: it is not.
    """
    if (bundle.run, bundle.host, bundle.week) != (run, host, week):
        raise CreditError(notice("credit.foreign"))
    if days_of(week)[0] > today + 1:
        raise CreditError(notice("credit.untimely"))


def sign_totals(board: Identity, totals: BoardTotals) -> SignedTotals:
    """What a board publishes."""
    return SignedTotals(totals, board.sign(TOTALS + msgspec.json.encode(totals)).hex())


def check_totals(signed: SignedTotals) -> None:
    """Whether a board has signed its totals.

    Raises:
        CreditError: it has not.
    """
    board, message = bytes.fromhex(signed.totals.board), TOTALS + msgspec.json.encode(signed.totals)
    if not signed_by(board, message, bytes.fromhex(signed.signature)):
        raise CreditError(notice("credit.forged_totals", board=signed.totals.board[:8]))


def _audits_too_much(sheet: Sheet) -> bool:
    return any(audited > work for audited, work in zip(sheet.audited, sheet.work, strict=True))


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except UNREADABLE as error:
        raise CreditError(notice("credit.unreadable")) from error

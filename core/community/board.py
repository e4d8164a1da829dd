"""A board: all that peers have shown of a run, verified and summed. Anybody can have one."""

import asyncio
import time
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from core.community import signing
from core.community.board_page import page, pending_by_reason
from core.community.credit_book import CreditBook
from core.community.rules import Share, records_of, rules_of, shares, sights_of
from core.contracts.credit import (
    MAX_CERTIFICATE,
    MOST_BUNDLES,
    PAGE_FILE,
    TOTALS_FILE,
    BoardTotals,
    Bundle,
    Certificate,
    Line,
    Named,
    Published,
    SignedBundle,
    SignedTotals,
)
from core.contracts.errors import CreditError
from core.contracts.manifest import Manifest
from core.contracts.notices import notice
from core.identity import Identity

REFUSED = 20
"""That are told."""
LAYOUT, REST = 128, 1 << 20
"""Bytes of a certificate: white space around a bundle, and what is not bundles, with the picture around it."""


async def totals(
    book: CreditBook, board: Identity, manifests: Sequence[Manifest], trusted: Sequence[str], refused: Sequence[str]
) -> SignedTotals:
    """Sum up what there is. Its signatures were checked when it came.

    Args:
        book: where it is kept.
        board: signs the sums, and is trusted itself.
        manifests: of the runs.
        trusted: peers that are believed beside it, as hex digits.
        refused: what was not believed, and why, in words.

    Raises:
        DataFolderError: the ledger cannot be read.
    """
    shown = [(manifest, await book.bundles(manifest.run_id)) for manifest in manifests]
    believed = {board.peer, *map(bytes.fromhex, trusted)}
    return await asyncio.to_thread(lambda: signing.sign_totals(board, _summed(shown, board.peer, believed, refused)))


def _summed(
    shown: Sequence[tuple[Manifest, Sequence[SignedBundle]]],
    board: bytes,
    believed: Collection[bytes],
    refused: Sequence[str],
) -> BoardTotals:
    lines: list[Line] = []
    peers: dict[str, Named] = {}
    sheets = 0
    for manifest, signed in shown:
        bundles = [*map(signing.decoded, signed)]
        names = _names(bundles)
        teams = {host: named.team for host, named in names.items() if named.team}
        rules = rules_of(manifest)
        records = [record for bundle in bundles for record in records_of(bundle)]
        sights = [sight for bundle in bundles for sight in sights_of(bundle)]
        worth = shares(records, sights, rules.work, believed, teams)
        lines += _lines(worth, rules.flops)
        peers |= {host.hex(): named for host, named in names.items() if named.name or named.team}
        sheets += sum(len(bundle.entries) for bundle in bundles)
    runs = {manifest.run_id: manifest.title for manifest, _ in shown}
    known = sorted(peer.hex() for peer in believed)
    return BoardTotals(
        "hearth board 1", board.hex(), time.time(), runs, known, lines, peers, sheets, [*refused][-REFUSED:]
    )


def _names(bundles: Sequence[Bundle]) -> dict[bytes, Named]:
    newest = {bundle.host: bundle for bundle in sorted(bundles, key=lambda bundle: bundle.week)}
    return {host: Named(bundle.name, bundle.team) for host, bundle in newest.items()}


def _lines(worth: Sequence[Share], flops: int) -> list[Line]:
    """By peer and day."""
    found: dict[tuple[str, int, bytes], tuple[float, dict[str, float]]] = {}
    for share in worth:
        record = share.record
        key = record.run, record.day, record.host
        verified, pending = found.get(key, (0.0, {}))
        for reason, amount in share.pending.items():
            pending[reason] = pending.get(reason, 0.0) + amount * flops
        found[key] = verified + share.verified * flops, pending
    return [Line(run, day, host.hex(), *amounts) for (run, day, host), amounts in sorted(found.items())]


def publish(signed: SignedTotals, folder: Path) -> Published:
    """Write the sums and the page that shows them.

    Raises:
        CreditError: the folder cannot be written.
    """
    totals = signed.totals
    write(folder / TOTALS_FILE, msgspec.json.format(msgspec.json.encode(signed)))
    write(folder / PAGE_FILE, page(totals).encode())
    verified, peers = sum(line.verified for line in totals.lines), {line.peer for line in totals.lines}
    reasons = pending_by_reason(totals.lines)
    return Published(len(peers), verified, sum(reasons.values()), totals.sheets, totals.refused, reasons)


def write(path: Path, content: bytes) -> None:
    """Write a file that others may be reading.

    Raises:
        CreditError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        raise CreditError(notice("credit.not_written", path=str(path), why=str(error.strerror))) from error


async def certificate(book: CreditBook, manifests: Sequence[Manifest]) -> Certificate:
    """What trainers have signed for this PC: all of it, or of very much the newest that a file may hold.

    Args:
        book: where it is kept.
        manifests: of the runs.

    Raises:
        CreditError: nobody has signed anything.
        DataFolderError: the ledger cannot be read.
    """
    bundles = [one for run in manifests for one in await book.own_bundles(run.run_id)]
    signed = [one for one in bundles if signing.decoded(one).entries]
    if not signed:
        raise CreditError(notice("credit.none"))
    flops = {run.run_id: rules_of(run).flops for run in manifests}
    return Certificate("hearth certificate 1", book.me.hex(), flops, _that_fit(signed))


def _that_fit(signed: Sequence[SignedBundle]) -> list[SignedBundle]:
    """The newest that a certificate's file may hold."""
    kept, left = list[SignedBundle](), MAX_CERTIFICATE - REST
    for one in sorted(signed, key=lambda one: signing.decoded(one).week, reverse=True)[:MOST_BUNDLES]:
        left -= len(msgspec.json.encode(one)) + LAYOUT
        if left < 0:
            break
        kept.append(one)
    return kept

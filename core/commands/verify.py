"""`hearth credit verify`: whether a certificate or a board's sums are true, by their signatures alone."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from core.commands.credit import flops_of
from core.community import signing
from core.community.certificate_picture import START, certificate_in, is_picture
from core.community.rules import Record, records_of
from core.contracts.credit import DAY_S, MAX_CERTIFICATE, Certificate, SignedTotals
from core.contracts.errors import UNREADABLE, CreditError
from core.contracts.notices import notice
from core.contracts.peer_names import called
from core.contracts.words import counted, operations
from core.logs import printable
from core.regular_files import open_regular, read_regular
from core.store.data_folder import data_path

MOST = 1 << 26
"""Bytes of a board's sums."""


def verify(options: argparse.Namespace) -> None:
    """Raises:
    CreditError: why it is not to be believed.
    """
    document = _read(options.file)
    try:
        if bytes(msgspec.json.decode(document, type=_Either).totals):
            _verify_totals(msgspec.json.decode(document, type=SignedTotals))
        elif len(document) > MAX_CERTIFICATE:
            raise CreditError(notice("credit.unreadable"))
        else:
            _verify_certificate(msgspec.json.decode(document, type=Certificate), data_path(options.data_dir))
    except (*UNREADABLE, OverflowError, OSError) as error:  # also of a time that is none
        raise CreditError(notice("credit.unreadable")) from error


class _Either(msgspec.Struct):
    """By which the two are told apart; whatever else there may be is passed over."""

    totals: msgspec.Raw = msgspec.Raw()


def _read(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            shown = is_picture(file.read(len(START)))
        document = read_regular(path, MAX_CERTIFICATE if shown else MOST)
        return (certificate_in(document, MAX_CERTIFICATE) or b"") if shown else document
    except OSError as error:
        raise CreditError(notice("credit.file_unreadable", path=str(path), why=str(error.strerror))) from error


def _verify_totals(signed: SignedTotals) -> None:
    signing.check_totals(signed)
    totals = signed.totals
    verified = sum(line.verified for line in totals.lines)
    print(f"Signed by the board {totals.board} on {_date(totals.time)}, and unchanged since.")
    print(f"{operations(verified)} verified of {counted(len({line.peer for line in totals.lines}), 'peer')}.")
    print(f"It trusts {', '.join(map(called, totals.trusted))}. Whether you trust the board is up to you.")


def _verify_certificate(certificate: Certificate, folder: Path) -> None:
    records: list[Record] = []
    for one in certificate.bundles:
        bundle = signing.opened(one)
        if bundle.host.hex() != certificate.peer:
            raise CreditError(notice("credit.not_of_peer", peer=certificate.peer))
        records += records_of(bundle)
    print(f"Every signature is good. The peer {certificate.peer} computed for others:")
    known = flops_of(folder)
    for run in sorted({record.run for record in records}):
        _tell(run, [record for record in records if record.run == run], known.get(run), certificate.flops.get(run, 0))
    print("That trainers signed is certain, not who they are: what a board counts of it is less or the same.")


def _tell(run: str, records: Sequence[Record], known: int | None, said: int) -> None:
    trainers = counted(len({record.trainer for record in records}), "trainer")
    first, last = (_date(pick(record.day for record in records) * DAY_S) for pick in (min, max))
    audited, flops = sum(record.audited for record in records), said if known is None else known
    unsure = "" if known is not None else ", if an operation costs what the file says"
    work, part = operations(flops * sum(record.work for record in records)), operations(flops * audited)
    print(f"  {printable(run)}: {work}, of which {part} were audited, by {trainers}, {first} to {last}{unsure}")


def _date(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(moment))

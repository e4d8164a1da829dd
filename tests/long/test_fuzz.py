"""100,000 documents that were tampered with, cut, foreign, replayed or late: each is refused with its reason, or is
what was signed. Nothing crashes, and memory stays bounded. `HEARTH_FUZZ=10000 make test-long ARGS=...` takes fewer.
"""

import argparse
import contextlib
import hashlib
import io
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import access
from core.commands.verify import verify
from core.community import signing
from core.contracts import data, manifest
from core.contracts.access import Revoked, RevokedList, Token
from core.contracts.credit import (
    BoardTotals,
    Bundle,
    Certificate,
    Entry,
    Line,
    Named,
    Sheet,
    SignedBundle,
    SignedSheet,
    SignedTotals,
    week_of,
)
from core.contracts.errors import AccessError, CreditError, DataError, HearthError, ManifestError, RecordError
from core.contracts.manifest import Manifest, Shard
from core.contracts.notices import Notice, fault_of, last_words, notice
from core.contracts.run_link import parse_link
from core.contracts.succession import check_successor
from core.dht.records import Verdict, genuine, make, parse, timely
from core.dht.store import RecordStore
from core.identity import Identity, peer_text
from core.store import shards
from tests.tampering import tampered
from tests.unit.test_manifest_files import TINY
from tests.unit.test_run_link import LINK, RUN
from tests.unit.test_signed_manifest import ORGANISER, STRANGER, signed

WHOLE = int(os.environ.get("HEARTH_FUZZ", "100000"))
GROWTH = 256 << 20
"""Bytes of memory that all of it may take beyond what there was."""
NOW = 1_790_000_000.0
TODAY = int(NOW // 86_400)
HOST, TRAINER = ORGANISER, STRANGER

pytestmark = pytest.mark.timeout(2 * 3600)


class Case(NamedTuple):
    """A kind of document."""

    documents: list[bytes]
    """That are right."""
    read: Callable[[bytes], None]
    """Refuses with a HearthError, or believes; fails if it believes what nobody has said."""


def _manifest_file(ending: str) -> Callable[[bytes], None]:
    """An organiser's own file: what is wrong with it is told, and what is right can be signed."""

    def read(document: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"mine{ending}"
            path.write_bytes(document)
            found, wrong = manifest.check(path)
            assert (found is None) == bool(wrong) and all(map(str, wrong))
            if found is None:
                raise ManifestError(wrong[0])
            assert manifest.decode(found.canonical, "again") == found

    return read


SIGNED = [signed(), signed(title="Other", revision=2), signed(by=STRANGER), signed("text")]
GENUINE = [manifest.decode(document, "it") for document in SIGNED]


def _signed_manifest(document: bytes) -> None:
    found = manifest.decode(document, "it")
    assert found.organiser is None or found in GENUINE


def _link(document: bytes) -> None:
    link = parse_link(document.decode("utf8", "replace"))
    assert parse_link(str(link)) == link


RECORDS = [make(one, "digits.0.", str(n), b"v" * n, n, NOW + 60) for one in (HOST, TRAINER) for n in (0, 3, 900)]


def _record(document: bytes) -> None:
    found = parse(document)
    assert not genuine(found) or found in RECORDS


NOTICES = [
    notice("run.says", run="digits", what=notice("disk.run_waits", needed=1, most=2)),
    notice("manifest.at", line=1, column=2, what=notice("manifest.syntax", what="x")),
    notice("run.successor", revision=2, fields=["a", "b"]),
]


def _notice(document: bytes) -> None:
    said = fault_of(document.decode("utf8", "replace"))
    assert len(str(said)) <= 10 * max(1000, len(document)) and last_words(said, {})
    with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        str(msgspec.json.decode(document, type=Notice))


SHARD = bytes(range(256)) * 16
NAMED = Shard(hashlib.sha256(SHARD).hexdigest(), len(SHARD))


def _shard(document: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            shards.accept(Path(folder), NAMED, document)
        except DataError:
            assert not [path for path in Path(folder).rglob("*") if path.is_file()], "nothing of it is kept"
            raise
        assert document == SHARD and shards.read(Path(folder), NAMED) == SHARD


def _list(document: bytes) -> None:
    found = data.decode(document)
    assert data.decode(data.encode(found)) == found


def _sheet(work: int, week: int = week_of(TODAY)) -> SignedSheet:
    return signing.sign(TRAINER, Sheet("digits-1", TRAINER.peer, HOST.peer, week, (work,) * 7, (work // 2,) * 7))


SHEETS = [_sheet(work) for work in (1, 2, 3000)]


def _offered(document: bytes) -> None:
    try:
        found = msgspec.msgpack.decode(document, type=SignedSheet)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CreditError("the call layer refuses it") from error
    signing.check_offer(found, "digits-1", TRAINER.peer, HOST.peer, TODAY)
    assert found in SHEETS


def _bundle(work: int) -> SignedBundle:
    one = _sheet(work)
    entry = Entry(one.sheet.trainer, one.sheet.work, one.sheet.audited, one.signature)
    made = Bundle("digits-1", HOST.peer, one.sheet.week, "Ann", "", (entry,), ())
    return signing.sign_bundle(HOST, made, more=False, earlier=None)


BUNDLES = [_bundle(work) for work in (1, 2, 3000)]
CERTIFICATES = [Certificate("hearth certificate 1", HOST.peer.hex(), {"digits-1": 5}, BUNDLES[:n]) for n in (1, 2, 3)]
LINES = [Line("digits-1", TODAY, HOST.peer.hex(), 1e9, {"audited": 2e9})]
TOTALS = signing.sign_totals(
    HOST,
    BoardTotals("hearth board 1", HOST.peer.hex(), NOW, {"digits-1": "Digits"}, [], LINES, {"ab" * 32: Named("A", "")},
                3, []),
)  # fmt: skip


def _verified(document: bytes) -> None:
    """A certificate, or a board's sums, as anybody checks them by `hearth credit verify`."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
        path = Path(folder) / "file.json"
        path.write_bytes(document)
        verify(argparse.Namespace(file=path, data_dir=Path(folder) / "data"))
    assert "\x1b" not in said.getvalue()
    fields = msgspec.json.decode(document)
    if "totals" in fields:
        assert msgspec.convert(fields, SignedTotals).totals == TOTALS.totals
    else:
        shown = {one.bundle for one in msgspec.json.decode(document, type=Certificate).bundles}
        assert shown <= {one.bundle for one in BUNDLES}


RUN_ID, MS = "digits-12345678", int(NOW * 1000)
TOKENS = [Token(1, RUN_ID, TRAINER.peer, name, MS, MS + 1000) for name in ("Ann", "Ben B.")]
REVOKED = [RevokedList(1, RUN_ID, number, (Revoked(TRAINER.peer, MS),) * number) for number in (0, 1, 3)]


def _token(document: bytes) -> None:
    found = access.opened(document, Token, RUN_ID, peer_text(HOST.peer))
    access.check_holder(found, TRAINER.peer, MS)
    assert found in TOKENS


def _revoked(document: bytes) -> None:
    assert access.opened(document, RevokedList, RUN_ID, peer_text(HOST.peer)) in REVOKED


def _json(values: list[msgspec.Struct]) -> list[bytes]:
    return [msgspec.json.encode(value) for value in values]


CASES = {
    "manifest in TOML": Case([TINY.encode()], _manifest_file(".toml")),
    "manifest in JSON": Case([msgspec.json.encode(manifest.load(name)) for name in ("digits", "text")],
                             _manifest_file(".json")),
    "signed manifest": Case(SIGNED, _signed_manifest),
    "link": Case([LINK.encode(), f"{LINK}/token:{'YWJj' * 60}".encode()], _link),
    "token": Case([access.signed(one, HOST) for one in TOKENS], _token),
    "list of the revoked": Case([access.signed(one, HOST) for one in REVOKED], _revoked),
    "record": Case([one.raw for one in RECORDS], _record),
    "notice": Case(_json([*NOTICES]), _notice),
    "shard": Case([SHARD, SHARD[:100]], _shard),
    "list of shards": Case([data.encode((NAMED, Shard("ab" * 32, 5, held_out=True)))], _list),
    "sheet of credit": Case([msgspec.msgpack.encode(one) for one in SHEETS], _offered),
    "certificate": Case(_json([*CERTIFICATES]), _verified),
    "sums of a board": Case(_json([TOTALS]), _verified),
}  # fmt: skip
EACH = WHOLE // (len(CASES) + 1)
"""Documents of each kind; as many again are replayed."""
many = settings(max_examples=EACH, deadline=None, database=None, suppress_health_check=[*HealthCheck])


@pytest.fixture(scope="module", autouse=True)
def memory() -> Iterator[None]:
    process = psutil.Process()
    before = process.memory_info().rss
    yield
    assert process.memory_info().rss - before < GROWTH


@pytest.mark.parametrize("name", CASES)
def test_what_is_no_longer_what_was_written_is_refused_with_its_reason(name: str) -> None:
    case, refused, believed = CASES[name], 0, 0

    @many
    @given(tampered(case.documents))
    def read(document: bytes) -> None:
        nonlocal refused, believed
        try:
            case.read(document)
        except HearthError as error:
            refused += 1
            assert str(error)
        else:
            believed += 1

    for document in case.documents[:1]:
        case.read(document)
    read()
    print(f"{name}: {refused:,} refused, {believed:,} were what was written, or said nothing else.")
    assert name == "notice" or refused > believed / 10


@settings(parent=many, max_examples=EACH // 3)
@given(st.lists(st.sampled_from(range(len(SIGNED))), max_size=12))
def test_no_manifest_that_is_replayed_or_foreign_takes_the_place_of_a_newer_one(order: list[int]) -> None:
    held: Manifest = GENUINE[0]
    for number in order:
        with contextlib.suppress(ManifestError):
            check_successor(held, GENUINE[number])
            assert GENUINE[number].organiser == held.organiser and GENUINE[number].run_id == held.run_id
            assert GENUINE[number].revision > held.revision
            held = GENUINE[number]
    assert held in GENUINE[:2] and RUN.organiser != held.organiser


@settings(parent=many, max_examples=EACH // 3)
@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 5), st.floats(-1e4, 1e4), st.none() | st.binary(max_size=9)),
        min_size=1,
        max_size=8,
    ),
    st.floats(-1e4, 1e4),
)
def test_of_records_the_newest_that_is_of_this_time_stays_in_whatever_order_they_come(
    offers: list[tuple[bool, int, float, bytes | None]], late: float
) -> None:
    store, best = RecordStore(), dict[bytes, tuple[int, float, bytes]]()
    for mine, sequence, life, value in offers:
        try:
            record = make(HOST if mine else TRAINER, "key", "0", value, sequence, NOW + life)
        except RecordError:
            continue
        for _ in range(2):  # the second one is a replay
            verdict = store.put(record, NOW)
            assert verdict is not Verdict.STORED or timely(record, NOW) is Verdict.STORED
        if timely(record, NOW) is Verdict.STORED:
            best[record.peer] = max(best.get(record.peer, record.order), record.order)
    assert {record.peer: record.order for record in store} == best
    store.expire(NOW + abs(late))
    assert all(record.expires > NOW + abs(late) for record in store)


@settings(parent=many, max_examples=EACH // 3)
@given(st.booleans(), st.booleans(), st.booleans(), st.sampled_from((RUN_ID, "text-12345678")), st.integers(-99, 1200))
def test_a_token_serves_its_peer_run_and_time_alone(mine: bool, host_s: bool, kind: bool, run: str, at: int) -> None:
    organiser, peer = (HOST if host_s else TRAINER), (TRAINER if mine else HOST).peer
    document = access.signed(TOKENS[0] if kind else REVOKED[1], HOST)
    try:
        access.check_holder(access.opened(document, Token, run, peer_text(organiser.peer)), peer, MS + at)
    except AccessError:
        assert not (mine and host_s and kind and run == RUN_ID and at < 1000)
    else:
        assert mine and host_s and kind and run == RUN_ID and at < 1000


@settings(parent=many, max_examples=EACH // 3)
@given(
    st.sampled_from(("digits-1", "text-1")),
    st.booleans(),
    st.booleans(),
    st.integers(-30, 30),
    st.integers(-3, 3),
)
def test_a_sheet_serves_its_run_trainer_host_and_week_alone(
    run: str, by_trainer: bool, to_host: bool, days: int, weeks: int
) -> None:
    caller, me = (TRAINER if by_trainer else HOST).peer, (HOST if to_host else Identity(bytes(31) + b"x")).peer
    offered = _sheet(7, week_of(TODAY) + weeks)
    right = run == "digits-1" and by_trainer and to_host
    near = abs(offered.sheet.week - week_of(TODAY + days)) <= 1
    try:
        signing.check_offer(offered, run, caller, me, TODAY + days)
    except CreditError:
        assert not (right and near)
    else:
        assert right and near

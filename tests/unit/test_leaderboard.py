"""Who was credited with most; badges; a certificate within a picture."""

import struct
import zlib
from argparse import Namespace
from pathlib import Path

import msgspec
import pytest

from app.pages.contribution.milestones import ladders
from core.commands import verify as verifying
from core.community import board, signing
from core.community.certificate_picture import KEYWORD, certificate_in, is_picture, with_certificate
from core.community.leaderboard import LISTED, leaderboard
from core.contracts.credit import (
    ENTRIES,
    MOST,
    BoardTotals,
    Bundle,
    Certificate,
    Credit,
    Entry,
    Exchanged,
    Line,
    Named,
)
from core.contracts.errors import CreditError
from core.identity import Identity

TODAY, ME = 20_000, "ff" * 32


def totals(lines: list[Line], names: dict[str, Named]) -> BoardTotals:
    return BoardTotals("hearth board 1", ME, 0.0, {"digits-1": "Digits"}, [], lines, names, 0, [])


def peer(number: int) -> str:
    return f"{number:064x}"


def test_peers_are_ranked_by_verified_work_of_each_time() -> None:
    lines = [
        Line("digits-1", TODAY, peer(1), 5.0, {"audited": 1000.0}),
        Line("text-1", TODAY, peer(1), 2.0, {}),
        Line("digits-1", TODAY - 6, peer(2), 9.0, {}),
        Line("digits-1", TODAY - 7, peer(3), 50.0, {}),
        Line("digits-1", TODAY, peer(4), 0.0, {"audited": 9000.0}),
    ]
    names = {peer(number): Named(f"PC {number}", "team") for number in range(1, 5)}
    told = leaderboard(totals(lines, names), ME, TODAY)
    assert [(one.place, one.name, one.verified) for one in told.today.best] == [(1, "PC 1", 7.0)]
    assert [one.name for one in told.week.best] == ["PC 2", "PC 1"]
    assert [one.name for one in told.ever.best] == ["PC 3", "PC 2", "PC 1"], "what is pending ranks nobody"
    assert told.ever.best[0].team == "team" and told.ever.others == 0


def test_who_has_no_name_is_counted_and_not_listed_but_for_oneself() -> None:
    lines = [Line("digits-1", TODAY, peer(number), 100.0 - number, {}) for number in range(30)]
    lines.append(Line("digits-1", TODAY, ME, 0.5, {}))
    names = {peer(number): Named(f"PC {number}" if number % 2 else "", "team") for number in range(30)}
    ranking = leaderboard(totals(lines, names), ME, TODAY).today
    assert [one.place for one in ranking.best] == [2 * number + 2 for number in range(LISTED)] + [31]
    assert [one.mine for one in ranking.best] == [False] * LISTED + [True]
    assert ranking.others == 31 - LISTED - 1
    whole = sum(one.verified for one in ranking.best) + ranking.others_verified
    assert whole == pytest.approx(sum(line.verified for line in lines))


def test_badges_are_earned_by_what_others_verified() -> None:
    def exchanged(day: int, verified: float, given: bool = True) -> Exchanged:
        return Exchanged("digits-1", day, given, 1, verified, 7e15, [], 1)

    days = [exchanged(TODAY - number, 2e8) for number in range(8)]
    rest = [exchanged(TODAY - 9, 0.0), exchanged(TODAY - 10, 1e18, given=False), exchanged(TODAY, 1e8)]
    days_ladder, flops_ladder = ladders(Credit(TODAY, [*days, *rest], 1.7e9, 0.0, TODAY - 9))
    assert [one.reached for one in days_ladder.milestones] == [TODAY - 7, TODAY - 1, None, None, None]
    assert days_ladder.now == 8 and days_ladder.next is not None and days_ladder.next.amount == 30
    assert [one.reached for one in flops_ladder.milestones] == [TODAY - 3, None, None, None]
    assert flops_ladder.now == pytest.approx(1.7e9)
    nothing = ladders(Credit(TODAY, [], 0.0, 0.0, None))
    assert all(one.reached is None for ladder in nothing for one in ladder.milestones)


def png() -> bytes:
    """One grey pixel."""
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"\0\x80")),
        (b"IEND", b""),
    ]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


def test_a_picture_carries_a_certificate() -> None:
    document = b'{"kind": "hearth certificate 1"}' * 1000
    both = with_certificate(png(), document)
    assert is_picture(both) and certificate_in(both, 1 << 20) == document
    assert certificate_in(png(), 1 << 20) is None
    assert certificate_in(both, len(document) - 1) is None, "no more is unpacked than that"
    for cut in range(0, len(both), 7):
        assert certificate_in(both[:cut], 1 << 20) in (None, document)
    broken = both.replace(KEYWORD, KEYWORD + b"\xff")
    assert certificate_in(broken, 1 << 20) is None


def many_bundles(count: int) -> Certificate:
    """Of as many trainers as a bundle may name."""
    host, trainer = Identity.generate(), Identity.generate()
    entries = tuple(Entry(trainer.peer, (MOST,) * 7, (MOST,) * 7, bytes([n] * 64)) for n in range(ENTRIES))
    shown = [
        signing.sign_bundle(host, Bundle("digits-1", host.peer, week, "", "", entries, ()), False, None)
        for week in range(2900, 2900 + count)
    ]
    return Certificate("hearth certificate 1", host.peer.hex(), {"digits-1": 5}, shown)


def test_a_certificate_has_what_its_file_may_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest of it; more is not read, whatever it is packed in."""
    most = 3 << 20
    for module in (board, verifying):
        monkeypatch.setattr(module, "MAX_CERTIFICATE", most)
    certificate, path = many_bundles(40), tmp_path / "certificate"
    kept = board._that_fit(certificate.bundles)
    assert 10 < len(kept) < 40 and signing.decoded(kept[0]).week == 2939
    document = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(certificate, bundles=kept)))
    assert most * 0.5 < len(document) <= most - (1 << 19)
    path.write_bytes(with_certificate(png(), document))
    assert certificate_in(path.read_bytes(), most) == document
    bomb = b'{"a": [' + b"{}," * (most // 3) + b"{}]}"
    for content in with_certificate(png(), bomb), png() + bytes(most), bomb.replace(b"}]", b"}] "):
        path.write_bytes(content)
        options = Namespace(file=path, data_dir=tmp_path)
        with pytest.raises(CreditError):
            verifying.verify(options)

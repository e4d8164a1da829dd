"""Credit: what trainers sign, hosts countersign, both keep and boards verify; what is tampered with, repeated or made
up is refused with its reason."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import cli
from core.community import signing
from core.community.credit_book import CreditBook
from core.community.credit_history import credit
from core.community.ledger import Ledger
from core.community.reading import read_only
from core.community.rules import PARTS, Record, quarter, shares
from core.contracts.credit import (
    DAY_S,
    MOST,
    BoardTotals,
    Bundle,
    Certificate,
    Entry,
    Named,
    Sheet,
    SignedBundle,
    SignedSheet,
    day_of,
    days_of,
    week_of,
)
from core.contracts.errors import CreditError
from core.identity import Identity
from tests.cheaters import CHEATS, TODAY, outcome

RUN = "digits-1"
MONDAY = days_of(week_of(TODAY))[0] * DAY_S + 600.0
"""Ten minutes after a week has begun."""


class Pair:
    """A trainer and its host, each with a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now = folder, MONDAY
        self.trainer, self.host = self.start("trainer"), self.start("host")

    def start(self, name: str, identity: Identity | None = None) -> CreditBook:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        self.identities = {**getattr(self, "identities", {}), name: identity or Identity.generate()}
        ledger = Ledger(folder, lambda: self.now)
        self.ledgers = {**getattr(self, "ledgers", {}), name: ledger}
        return CreditBook(ledger, self.identities[name], clock=lambda: self.now)

    def again(self, name: str, written: bool) -> CreditBook:
        """The same PC after a restart; if not `written`, it was killed before the ledger wrote."""
        if not written:
            self.ledgers[name]._pending.rows.clear()
        self.ledgers[name].close()
        return self.start(name, self.identities[name])

    def work(self, amount: int, audited: int = 0) -> None:
        self.host.add(RUN, "gave", self.trainer.me, amount)
        self.trainer.add(RUN, "got", self.host.me, amount, audited)

    def exchange(self) -> bool:
        """Sign all that is owed; whether the host took it."""
        taken = True
        for host, offered in self.trainer.owed(RUN):
            assert host == self.host.me
            answer = self.host.offered(RUN, self.trainer.me, offered)
            self.trainer.answered(offered, answer)
            taken = taken and answer.signature is not None
        return taken

    async def told(self, name: str) -> tuple[int, int, int]:
        """What a PC says that was counted, signed and verified, in all."""
        answer = await self.ledgers[name].asked(lambda reader: credit(reader, {RUN: 1}))
        peers = [peer for one in answer.exchanged for peer in one.peers]
        return tuple(sum(getattr(one, what) for one in peers) for what in ("counted", "signed", "verified"))


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


async def test_both_sides_know_the_same_and_keep_it(pair: Pair) -> None:
    pair.work(300_000, audited=200_000)
    assert pair.exchange()
    pair.now += 3 * DAY_S
    pair.work(50_000, audited=60_000)
    assert pair.exchange() and pair.trainer.owed(RUN) == []
    assert await pair.told("trainer") == await pair.told("host") == (350_000, 350_000, 250_000)
    for name in ("trainer", "host"):
        pair.ledgers[name].close()
    kept = credit(read_only(pair.folder / "host"), {RUN: 2})
    assert (kept.verified, kept.pending) == (500_000.0, 200_000.0)
    assert [one.day for one in kept.exchanged] == [day_of(pair.now), day_of(MONDAY)]
    assert credit(read_only(pair.folder / "trainer"), {RUN: 2}).verified == 0.0, "it was given nothing"


async def test_a_killed_trainer_goes_on_from_what_it_has_signed(pair: Pair) -> None:
    pair.work(300_000, audited=300_000)
    assert pair.exchange()
    pair.trainer = pair.again("trainer", written=False)
    pair.work(200_000)
    assert not pair.exchange(), "it has signed for more before"
    assert pair.exchange() and await pair.told("host") == (500_000, 300_000, 300_000)
    pair.work(300_000, audited=10)
    assert pair.exchange() and await pair.told("host") == (800_000, 600_000, 300_010)


async def test_a_host_that_forgot_half_a_minute_is_believed_what_it_says(pair: Pair) -> None:
    pair.work(1_000_000)
    assert pair.exchange()
    pair.host = pair.again("host", written=True)
    pair.trainer.add(RUN, "got", pair.host.me, 5_000_000)
    pair.host.add(RUN, "gave", pair.trainer.me, 1_000_000)
    assert not pair.exchange(), "three times as much as it has counted"
    assert pair.exchange() and await pair.told("host") == (2_000_000, 2_000_000, 0)


async def test_clocks_that_do_not_agree_about_midnight_do_no_harm(pair: Pair) -> None:
    pair.work(2_000_000)
    pair.now = (days_of(week_of(TODAY) + 1)[0]) * DAY_S - 5.0
    pair.trainer.add(RUN, "got", pair.host.me, 3_000_000)
    pair.now += 10.0  # the host counts it for the next week
    pair.host.add(RUN, "gave", pair.trainer.me, 3_000_000)
    assert pair.exchange() and (await pair.told("host"))[1] == 5_000_000


def offer(pair: Pair, **changes: object) -> SignedSheet:
    [(_, signed)] = pair.trainer.owed(RUN)
    return signing.sign(pair.identities["trainer"], msgspec.structs.replace(signed.sheet, **changes))


FORGERIES: dict[str, Callable[[Pair], SignedSheet]] = {
    "credit.forged_sheet": lambda pair: msgspec.structs.replace(offer(pair), signature=bytes(64)),
    "credit.foreign": lambda pair: offer(pair, run="text-1"),
    "credit.untimely": lambda pair: offer(pair, week=week_of(TODAY) + 2),
    "credit.audited_too_much": lambda pair: offer(pair, audited=(MOST,) * 7),
}


@pytest.mark.parametrize("code", list(FORGERIES))
def test_a_host_refuses_what_is_not_true_with_the_reason(pair: Pair, code: str) -> None:
    pair.work(1000)
    with pytest.raises(CreditError) as refused:
        pair.host.offered(RUN, pair.trainer.me, FORGERIES[code](pair))
    assert refused.value.notice.code == code
    with pytest.raises(CreditError):  # and from another one than the trainer
        pair.host.offered(RUN, Identity.generate().peer, offer(pair))
    assert pair.exchange()


async def test_what_is_shown_is_verified_by_anybody_and_a_changed_byte_is_noticed(pair: Pair) -> None:
    pair.work(1000, audited=900)
    pair.host.add(RUN, "saw", pair.trainer.me, 32)
    assert pair.exchange()
    shown = await pair.host.show(RUN, pair.host.week, 0)
    bundle = signing.opened(shown)
    assert bundle.entries[0].work[0] == 1000 and bundle.seen[0].samples[0] == 32 and not shown.more
    richer = msgspec.structs.replace(bundle.entries[0], work=(2000, *bundle.entries[0].work[1:]))
    forged = msgspec.structs.replace(bundle, entries=(richer,))
    again = signing.sign_bundle(pair.identities["host"], forged, False, None)
    for wrong, code in (
        (again, "credit.forged_sheet"),
        (msgspec.structs.replace(shown, bundle=again.bundle), "credit.forged_bundle"),
        (msgspec.structs.replace(shown, bundle=shown.bundle[:-1]), "credit.unreadable"),
    ):
        with pytest.raises(CreditError) as refused:
            signing.opened(wrong)
        assert refused.value.notice.code == code
    with pytest.raises(CreditError):
        signing.check_asked(bundle, "text-1", pair.host.me, bundle.week, TODAY)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400), st.binary(min_size=64, max_size=64))
def test_no_bytes_are_believed_or_fatal(body: bytes, signature: bytes) -> None:
    with pytest.raises(CreditError):
        signing.opened(SignedBundle(body, signature))


def test_a_signature_of_one_kind_is_none_of_another() -> None:
    me = Identity.generate()
    sheet = Sheet(RUN, me.peer, Identity.generate().peer, week_of(TODAY), (1,) * 7, (0,) * 7)
    bundle = Bundle(RUN, me.peer, week_of(TODAY), "", "", (), ())
    body = msgspec.msgpack.encode(bundle)
    assert not signing.is_genuine(SignedSheet(sheet, me.sign(msgspec.msgpack.encode(sheet))))
    with pytest.raises(CreditError):
        signing.opened(SignedBundle(body, me.sign(signing.SHEET + body)))


@given(st.integers(0, 1000), st.lists(st.integers(0, 1000), max_size=12))
def test_no_trainer_gives_more_than_a_quarter(fixed: int, amounts: list[int]) -> None:
    most = quarter(fixed, amounts)
    whole = fixed + sum(min(one, most) for one in amounts)
    assert all(min(one, most) * PARTS <= whole + 1e-6 for one in amounts)


def test_own_and_team_mates_give_nothing_and_reasons_are_told() -> None:
    keys = {name: Identity.generate().peer for name in ("board", "host", "mate", "stranger")}
    records = [Record(RUN, keys[name], keys["host"], TODAY, 100, 90) for name in ("host", "mate", "board", "stranger")]
    teams: dict[bytes, str] = {keys["host"]: "us", keys["mate"]: "us"}
    found = {share.record.trainer: share for share in shares(records, [], 32, {keys["board"]}, teams)}
    assert found[keys["host"]].pending == found[keys["mate"]].pending == {"own": 100.0}
    assert found[keys["board"]].verified == 90.0 and found[keys["board"]].pending == {"audited": 10.0}
    assert found[keys["stranger"]].pending == {"audited": 10.0, "budget": 90.0}, "nobody saw it train"


@pytest.mark.parametrize("cheat", list(CHEATS))
def test_cheaters_gain_next_to_nothing_and_honest_peers_lose_nothing(cheat: str) -> None:
    came = outcome(CHEATS[cheat])
    assert came.gain <= 0.05, came
    assert came.least > 0.9, came


def test_a_certificate_commands_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host, trainer, week = Identity.generate(), Identity.generate(), 2900
    run = "\x1b[2J\x1b]0;owned\x07"
    signed = signing.sign(trainer, Sheet(run, trainer.peer, host.peer, week, (5,) * 7, (0,) * 7))
    entry = Entry(trainer.peer, (5,) * 7, (0,) * 7, signed.signature)
    shown = signing.sign_bundle(host, Bundle(run, host.peer, week, "", "", (entry,), ()), False, None)
    path = tmp_path / "certificate.json"
    path.write_bytes(msgspec.json.encode(Certificate("hearth certificate 1", host.peer.hex(), {}, [shown])))
    assert cli.main(["credit", "verify", str(path), "--data-dir", str(tmp_path)]) == 0
    assert "owned" in (told := capsys.readouterr().out) and "\x1b" not in told


def test_sums_of_no_time_are_refused(tmp_path: Path) -> None:
    board, path = Identity.generate(), tmp_path / "totals.json"
    for moment, code in ((1.7e9, 0), (1e300, CreditError.exit_code), (-1e18, CreditError.exit_code)):
        told = BoardTotals("hearth board 1", board.peer.hex(), moment, {}, [], [], {}, 0, [])
        path.write_bytes(msgspec.json.encode(signing.sign_totals(board, told)))
        assert cli.main(["credit", "verify", str(path), "--data-dir", str(tmp_path)]) == code


@pytest.mark.parametrize("name", ["\x1b[31mred", "a\nb", "\u202eevil", "x\u200f"])
def test_a_name_writes_where_it_stands_and_nothing_else(name: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"name": name, "team": ""}, Named)
    assert msgspec.convert({"name": "Zoë 🔥", "team": ""}, Named).name == "Zoë 🔥"


def test_nothing_is_kept_of_keys_that_did_no_work(pair: Pair) -> None:
    pair.trainer.add(RUN, "got", pair.host.me, 1000)
    assert not pair.exchange() and not pair.host._sheets

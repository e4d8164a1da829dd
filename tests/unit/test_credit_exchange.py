"""Credit over real connections: signing now and then, and a board that follows hosts' pages and weeks back."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from core.community import board, signing
from core.community import credit_book as book_module
from core.community.board_page import page
from core.community.credit_book import CreditBook
from core.community.ledger import Ledger
from core.contracts import manifest
from core.contracts.credit import DAY_S, BoardTotals, Bundle, Entry, Line, Named, Sheet, days_of, week_of
from core.contracts.remote_experts import HELPED, SERVED, Helped
from core.identity import Identity, PeerId
from core.net.rpc import RpcNode
from core.pipe.calls import Calls
from core.swarm import credit_exchange
from core.swarm.credit_exchange import CreditExchange
from tests.cheaters import TODAY
from tests.dht_peers import until
from tests.joined_calls import join

DIGITS = manifest.load("digits")


class Here:
    """One PC: its book, its node, its part in the exchange, and the pipe to its compute process."""

    def __init__(self, folder: Path, name: str) -> None:
        (folder / name).mkdir()
        self.now, self.identity = days_of(week_of(TODAY))[1] * DAY_S + 5.0, Identity.generate()
        self.ledger = Ledger(folder / name, lambda: self.now)
        self.book = CreditBook(self.ledger, self.identity, lambda: (name, ""), lambda: self.now)
        self.node = RpcNode(self.identity, listen=("127.0.0.1:0",))
        self.compute, worker = Calls(), Calls()
        join(worker, self.compute)
        self.saw: dict[bytes, int] = {}
        self.exchange = CreditExchange(DIGITS.run_id, self.node, self.book, worker, self._seen)

    def _seen(self) -> Mapping[bytes, int]:
        return self.saw

    def owes(self, host: "Here", work: int) -> None:
        self.compute.tell(HELPED, [Helped(host.node.peer.hex(), work, work)])
        host.compute.tell(SERVED, {self.node.peer.hex(): work})


@contextlib.asynccontextmanager
async def pcs(folder: Path, *names: str) -> AsyncIterator[list[Here]]:
    found = [Here(folder, name) for name in names]
    async with contextlib.AsyncExitStack() as stack:
        for one in found:
            await stack.enter_async_context(one.node)
        for one in found:
            for other in found:
                one.node.learn(other.node.address())
        for one in found[1:]:
            await found[0].node.pool.link(one.node.peer)
        yield found
    for one in found:
        one.ledger.close()


async def told_of(trainer: Here, host: Here) -> None:
    """Wait until the books of both have what compute tells."""
    await until(lambda: trainer.book.owed(DIGITS.run_id), "the trainer's count")
    today, peer = host.book.today, trainer.node.peer
    await until(lambda: host.book._counted(DIGITS.run_id, "gave", peer, today).work, "the host's count")


async def test_what_compute_tells_is_signed_and_shown_to_a_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book_module, "ENTRIES", 1)
    monkeypatch.setattr(credit_exchange, "ENTRIES", 1)
    async with pcs(tmp_path, "host", "one", "two") as (host, one, two):
        for _ in range(2):  # weeks
            for trainer in (one, two):
                trainer.owes(host, 1000)
                await told_of(trainer, host)
                await trainer.exchange.tend()
                assert not trainer.book.owed(DIGITS.run_id)
            for pc in (host, one, two):
                pc.now += 7 * DAY_S
        one.saw = {two.node.peer: 64}
        await one.exchange.tend()
        for _ in range(2):  # again: nothing counts twice
            known = await one.book.known_weeks(DIGITS.run_id)
            assert await one.exchange.collect([host.node.peer, two.node.peer], known) == []
        told = await board.totals(one.book, one.identity, [DIGITS], [two.node.peer.hex()], [])
        signing.check_totals(told)
        assert told.totals.sheets == 4 and len(told.totals.lines) == 2
        flops = 4000 * 65_536
        assert sum(line.verified for line in told.totals.lines) == flops
        assert told.totals.peers[host.node.peer.hex()].name == "host"
        board.publish(told, tmp_path / "board")
        assert "262 MFLOP verified" in (tmp_path / "board" / "index.html").read_text()


async def test_a_host_that_shows_what_is_not_true_is_named_and_its_lies_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pcs(tmp_path, "host", "trainer") as (host, trainer):
        trainer.owes(host, 1000)
        await told_of(trainer, host)
        await trainer.exchange.tend()
        opened = signing.decoded(await host.book.show(DIGITS.run_id, host.book.week, 0))
        days = (0, 10**9, 0, 0, 0, 0, 0)
        forged = msgspec.structs.replace(opened.entries[0], work=days, audited=days)
        bundle = msgspec.structs.replace(opened, entries=(forged,))

        async def show(*_: object) -> object:
            return signing.sign_bundle(host.identity, bundle, False, None)

        monkeypatch.setattr(host.book, "show", show)
        [why] = await trainer.exchange.collect([PeerId(host.node.peer)], {})
        assert "was not signed by the trainer" in why and why.startswith(host.node.peer.hex()[:8])
        assert await trainer.book.known_weeks(DIGITS.run_id) == {}


async def test_a_host_that_shows_without_end_fills_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of trainers cost nothing: it has as many signatures as it likes, of weeks long before there was a Hearth."""
    async with pcs(tmp_path, "host", "one") as (host, one):
        trainers, days = [Identity.generate() for _ in range(256)], (0, 1, 0, 0, 0, 0, 0)

        async def show(run: str, week: int, start: int) -> object:
            sheets = [Sheet(run, trainer.peer, host.node.peer, week, days, days) for trainer in trainers]
            signed = [signing.sign(trainer, sheet) for trainer, sheet in zip(trainers, sheets, strict=True)]
            entries = tuple(Entry(one.sheet.trainer, days, days, one.signature) for one in signed)
            bundle = Bundle(run, host.node.peer, week, "", "", entries, ())
            return signing.sign_bundle(host.identity, bundle, endless == "pages", week - 1)

        monkeypatch.setattr(host.book, "show", show)
        monkeypatch.setattr(credit_exchange, "HOST_BYTES", 1 << 20)
        for endless in ("pages", "weeks", "weeks"):  # noqa: B007 - `show` reads it
            known = await one.book.known_weeks(DIGITS.run_id)
            assert await one.exchange.collect([PeerId(host.node.peer)], known) == []
        kept = sum(len(bundle.bundle) for bundle in await one.book.bundles(DIGITS.run_id))
        assert 1 << 19 < kept <= 1 << 20, kept


async def test_hosts_of_one_block_of_addresses_leave_room_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pcs(tmp_path, "one", "host", "other", "third") as (one, *hosts):
        for host in hosts:
            one.owes(host, 1000)
            await told_of(one, host)
            await one.exchange.tend()
        whole = len((await hosts[0].book.show(DIGITS.run_id, one.book.week, 0)).bundle)
        monkeypatch.setattr(credit_exchange, "BLOCK_BYTES", 5 * whole // 2)
        links = one.node.pool.links
        for number, host in enumerate(hosts):
            monkeypatch.setattr(links[host.node.peer], "branch", ("192.0.2.0/24", f"192.0.2.{number}", "key"))
        assert await one.exchange.collect([host.node.peer for host in hosts], {}) == []
        known = await one.book.known_weeks(DIGITS.run_id)
        assert len(known) == 2
        [left] = [host for host in hosts if host.node.peer not in known]  # whose answer came last
        monkeypatch.setattr(links[left.node.peer], "branch", ("192.0.3.0/24", "192.0.3.1", "key"))
        assert await one.exchange.collect([host.node.peer for host in hosts], {}) == []
        assert len(await one.book.known_weeks(DIGITS.run_id)) == 3


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, attrs))


def test_the_page_runs_nothing_and_loads_nothing_whatever_names_peers_choose() -> None:
    name = '<script src="http://x/">'
    peer = "ab" * 32
    lines = [Line("digits-1", TODAY, peer, 5e9, {"budget": 1e9, "<b>": 1.0})]
    named = {peer: Named(name, name)}
    totals = BoardTotals("hearth board 1", peer, TODAY * DAY_S, {"digits-1": name}, [peer], lines, named, 1, [name])
    text = page(totals)
    tags = Tags()
    tags.feed(text)
    assert {tag for tag, _ in tags.seen} & {"script", "img", "link", "iframe", "b"} == set()
    assert [value for _, attrs in tags.seen for key, value in attrs if key in ("src", "href")] == ["totals.json"]
    assert "&lt;script" in text and "5 GFLOP" in text

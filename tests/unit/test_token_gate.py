"""The gate of a run among real peers on loopback: who shows a token is let in, others are refused everywhere."""

import asyncio
import contextlib
import functools
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiomqtt
import pytest

from core.access import signed, with_revoked
from core.community import broker
from core.community.broker import EmbeddedBroker
from core.community.credit_book import CreditBook
from core.community.ledger import Ledger
from core.contracts.access import AskRevoked, Introduction, RevokedFollow, RevokedList, Shown, Token
from core.contracts.credit import SignedTotals
from core.contracts.dht import FindValue, Store, Stored, Values
from core.contracts.errors import AccessError, CallRefused, CreditError, NetworkError, PeerUnreachable
from core.contracts.hosting import Hello, HelloReply
from core.contracts.net import of_run
from core.contracts.notices import notice
from core.dht.records import Verdict, key_digest, make, own_subkey
from core.identity import Identity
from core.net.admission import SHOW
from core.net.rpc import RpcNode
from core.store.access_files import REVOKED_FILE, TOKEN_FILE, write
from core.swarm.telling import Figures
from core.swarm.token_gate import READ_REVOKED, TokenGate, keep_token
from core.worker.community import Community
from core.worker.places import BackboneOptions
from tests.dht_peers import LOOPBACK, Peer, peer, until
from tests.mqtt import Server
from tests.unit.test_access import RUN
from tests.unit.test_signed_manifest import ORGANISER, STRANGER
from tests.workers import PATIENCE_S

HELLO = of_run("host.hello", RUN.run_id)
KEY = f"{RUN.run_id}.0.1"
DAY, MINUTE = 86_400_000, 60_000


class Insider:
    """A peer that has joined the run."""

    def __init__(self, made: Peer, folder: Path) -> None:
        self.peer, self.folder = made, folder
        self.gate = TokenGate(RUN, folder, made.rpc, made.dht)
        made.rpc.admission.guard(RUN.run_id, self.gate)
        made.rpc.register(HELLO, Hello, lambda *_: HelloReply((7,)))

    async def greets(self, other: Peer) -> tuple[int, ...]:
        self.peer.rpc.learn(other.rpc.address())
        reply, _ = await self.peer.rpc.call(other.id, HELLO, Hello(), HelloReply, deadline_s=20)
        return reply.versions


def now() -> int:
    return int(time.time() * 1000)


def token(
    of: Identity, *, run: str = RUN.run_id, by: Identity = ORGANISER, issued: int = 0, life: int = 30 * DAY
) -> bytes:
    issued = issued or now()
    return signed(Token(1, run, of.peer, "Somebody", issued, issued + life), by)


class Crowd(contextlib.AsyncExitStack):
    """Peers of the run in one network."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.first: Insider

    async def let_in(self, document: bytes | None = None, identity: Identity | None = None) -> Insider:
        """A peer with such a token, or one that is right; the first one is the organiser, which has none."""
        identity = identity or Identity.generate()
        others = [self.first.peer] if identity is not ORGANISER else []
        made = await self.enter_async_context(peer(*others, identity=identity))
        folder = self._folder / made.id.hex()[:8]
        if identity is not ORGANISER and document != b"":
            write(folder, TOKEN_FILE, document or token(identity))
        return Insider(made, folder)

    async def __aenter__(self) -> "Crowd":
        await super().__aenter__()
        self.first = await self.let_in(identity=ORGANISER)
        return self


@pytest.fixture
async def crowd(tmp_path: Path) -> AsyncIterator[Crowd]:
    async with Crowd(tmp_path) as made:
        yield made


async def test_those_with_a_token_let_each_other_in(crowd: Crowd) -> None:
    ann, bob = await crowd.let_in(), await crowd.let_in()
    assert await ann.greets(bob.peer) == await bob.greets(ann.peer) == await ann.greets(crowd.first.peer) == (7,)
    assert all(one.gate.barred is None and one.gate.notes == [] for one in (ann, bob, crowd.first))


BAD: dict[str, Any] = {
    "none": lambda who: b"",
    "tampered": lambda who: token(who).replace(b"Somebody", b"Somebody!"[1:]),
    "half-written": lambda who: token(who)[:50],
    "another run's": lambda who: token(who, run="digits-00000000"),
    "of another organiser": lambda who: token(who, by=STRANGER),
    "of another peer": lambda who: token(STRANGER),
    "expired": lambda who: token(who, issued=now() - DAY - MINUTE, life=DAY),
}


@pytest.mark.parametrize("kind", BAD)
async def test_nobody_else_is_let_in(crowd: Crowd, kind: str) -> None:
    who = Identity.generate()
    outsider = await crowd.let_in(BAD[kind](who), who)
    with pytest.raises(CallRefused):
        await outsider.greets(crowd.first.peer)
    with pytest.raises(CallRefused):
        await crowd.first.greets(outsider.peer)
    assert crowd.first.peer.rpc.metrics[HELLO].served == 0
    assert "do not let this PC in" in str(outsider.gate.barred)


@pytest.mark.parametrize("kind", [*BAD, "somebody else's"])
async def test_a_hearth_that_was_changed_to_call_all_the_same_is_refused_by_the_others(crowd: Crowd, kind: str) -> None:
    """It has no gate of its own."""
    ann = await crowd.let_in()
    async with peer(crowd.first.peer) as hostile:
        hostile.rpc.learn(ann.peer.rpc.address())
        bad = BAD[kind](hostile.identity) if kind in BAD else ann.gate.showing().token
        shown = Introduction({RUN.run_id: Shown(bad)})
        answer, _ = await hostile.rpc.call(ann.peer.id, SHOW, shown, Introduction, deadline_s=20)
        assert answer.runs[RUN.run_id].token == b"", "a token is shown to those alone who are let in"
        with pytest.raises(CallRefused, match="have shown no token that holds"):
            await hostile.rpc.call(ann.peer.id, HELLO, Hello(), HelloReply, deadline_s=20)


async def test_records_of_the_run_are_neither_taken_from_strangers_nor_read_to_them_nor_believed(crowd: Crowd) -> None:
    ann = await crowd.let_in()
    own = own_subkey(ann.peer.id)
    assert await ann.peer.dht.store_many({KEY: {own: b"here"}}, 60)
    await crowd.first.gate.tend()
    assert (await crowd.first.peer.dht.get(KEY))[own].value == b"here"
    async with peer(crowd.first.peer) as hostile:
        record = make(hostile.identity, KEY, own_subkey(hostile.id), b"lie", now(), time.time() + 60)
        stored, _ = await hostile.rpc.call(
            crowd.first.peer.id, "dht.store", Store([record.raw], True), Stored, deadline_s=20
        )
        assert stored.verdicts == [Verdict.STRANGER]
        for compact in (False, True):
            ask = FindValue([key_digest(KEY)], compact, "", True)
            found, _ = await hostile.rpc.call(crowd.first.peer.id, "dht.find_value", ask, Values, deadline_s=20)
            assert not found.found[0].records and not found.found[0].suffixes
        hostile.dht.storage.put(record, time.time())
        await until(lambda: hostile.dht.contacts() and ann.peer.dht.contacts(), "each other")
        assert [*(await ann.peer.dht.get_many([KEY]))[KEY]] == [own], "the hostile peer's own answer is not believed"


async def test_members_learn_of_each_other_from_records(crowd: Crowd) -> None:
    ann, bob = await crowd.let_in(), await crowd.let_in()
    await ann.gate.tend()
    await bob.gate.tend()
    assert bob.gate.admits(ann.peer.id), "they have never called each other"


async def test_a_revoked_peer_is_out_wherever_the_list_comes(crowd: Crowd) -> None:
    ann, bob, eve = await crowd.let_in(), await crowd.let_in(), await crowd.let_in()
    for one in (ann, bob, crowd.first):
        assert await eve.greets(one.peer) == (7,)
    assert await ann.greets(bob.peer) == await bob.greets(crowd.first.peer) == (7,)
    void = signed(with_revoked(RevokedList(1, RUN.run_id, 0), eve.peer.id, now()), ORGANISER)
    write(crowd.first.folder, REVOKED_FILE, void)
    await crowd.first.gate.tend()
    for one in (crowd.first, ann, bob):
        await until(lambda one=one: not one.gate.admits(eve.peer.id), "the list to have come")  # type: ignore[misc]
        with pytest.raises(NetworkError):
            await eve.greets(one.peer)
    await until(lambda: "has revoked this PC's token" in str(eve.gate.barred), "the reason")
    assert await ann.greets(bob.peer) == (7,)
    assert (ann.folder / REVOKED_FILE).read_bytes() == void, "it is kept for the next start"
    write(eve.folder, TOKEN_FILE, token(eve.peer.identity))
    await eve.gate.tend()
    await until(lambda: ann.gate.admits(eve.peer.id), "a newer token lets it in again")


async def test_what_is_open_to_a_revoked_peer_ends(crowd: Crowd) -> None:
    eve, begun = await crowd.let_in(), asyncio.Event()  # whose own gate is not told: the other side ends it
    eve.gate.meet = lambda *_: None  # type: ignore[method-assign]

    async def wait(*_: object) -> HelloReply:
        begun.set()
        await asyncio.sleep(600)
        return HelloReply(())

    crowd.first.peer.rpc.register(HELLO, Hello, wait)
    call = asyncio.create_task(eve.greets(crowd.first.peer))
    await begun.wait()
    void = signed(with_revoked(RevokedList(1, RUN.run_id, 0), eve.peer.id, now()), ORGANISER)
    write(crowd.first.folder, REVOKED_FILE, void)
    await crowd.first.gate.tend()
    with pytest.raises(PeerUnreachable, match="revoked"):
        await call


async def test_the_broker_of_a_backbone_peer_asks_for_tokens_too(
    crowd: Crowd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "LOOK_S", 0.1)
    server = Server("embedded", {}, tmp_path)
    made = functools.partial(EmbeddedBroker, f"127.0.0.1:{server.port}", frozenset({server.address}), None)
    book, rpc = CreditBook(Ledger(tmp_path), ORGANISER), crowd.first.peer.rpc

    async def sums(*_: object) -> SignedTotals:
        raise CreditError(notice("credit.unreadable"))

    here = Community(tmp_path, rpc, ORGANISER, book, lambda: ("", ""), BackboneOptions(made), sums)
    async with here:
        assert here.telling(RUN, lambda: Figures(0, 0.0, 0, None)).is_board
        who = Identity.generate()
        with pytest.raises(AssertionError):
            async with server.client(who, tries=1):
                pass
        eve = await crowd.let_in(identity=who)
        assert await eve.greets(crowd.first.peer) == (7,)
        async with server.client(who, tries=1) as client:
            await client.subscribe(f"hearth/1/{RUN.run_id}/out/#")
            void = signed(with_revoked(RevokedList(1, RUN.run_id, 0), who.peer, now()), ORGANISER)
            write(crowd.first.folder, REVOKED_FILE, void)
            await crowd.first.gate.tend()
            with pytest.raises(aiomqtt.MqttError):
                async with asyncio.timeout(PATIENCE_S):
                    await anext(aiter(client.messages))
        here.leave(RUN.run_id)


async def test_who_gets_a_newer_list_shows_it_at_once_to_all_that_are_connected(crowd: Crowd) -> None:
    ann, told = await crowd.let_in(), []
    assert await ann.greets(crowd.first.peer) == (7,)

    def note(shown: Introduction, *_: object) -> Introduction:
        told.append(shown.runs[RUN.run_id].number)
        return Introduction({})

    async with RpcNode(Identity.generate(), listen=LOOPBACK) as far:
        far.register(SHOW, Introduction, note)
        far.learn(ann.peer.rpc.address())
        await far.call(ann.peer.id, SHOW, Introduction({}), Introduction, deadline_s=20)
        write(crowd.first.folder, REVOKED_FILE, signed(RevokedList(1, RUN.run_id, 5), ORGANISER))
        await crowd.first.gate.tend()
        await until(lambda: told == [5], "the number of the list, from one who was not its organiser")


async def test_a_renewed_token_takes_the_place_of_the_old_one_over_the_same_connection(crowd: Crowd) -> None:
    who = Identity.generate()
    ann = await crowd.let_in(token(who, life=DAY), who)
    assert await ann.greets(crowd.first.peer) == (7,)
    [note] = ann.gate.notes
    assert note.code == "access.ends_soon"
    link = ann.peer.rpc.pool.links[ORGANISER.peer]
    renewed = token(who, life=30 * DAY)
    keep_token(ann.folder, RUN, renewed, who.peer)
    await ann.gate.tend()
    held = crowd.first.gate._tokens  # what nothing else tells
    await until(lambda: held[who.peer].expires > now() + 20 * DAY, "the new token")
    assert ann.peer.rpc.pool.links[ORGANISER.peer] is link and link.closed_because is None and ann.gate.notes == []


async def test_a_token_ends_by_itself(crowd: Crowd) -> None:
    who = Identity.generate()
    ann = await crowd.let_in(token(who, issued=now() - DAY, life=DAY + 1500), who)
    if ann.gate.admits(who.peer):  # on a slow machine it has ended by now
        await crowd.first.gate.tend()
    await until(lambda: not crowd.first.gate.admits(who.peer) and not ann.gate.admits(ORGANISER.peer), "its end")
    with pytest.raises(CallRefused):
        await ann.greets(crowd.first.peer)


async def test_only_a_token_for_this_pc_is_kept(tmp_path: Path) -> None:
    with pytest.raises(AccessError):
        keep_token(tmp_path, RUN, token(STRANGER), ORGANISER.peer)
    assert not (tmp_path / TOKEN_FILE).exists()


async def test_a_false_list_is_not_believed_and_costs_its_giver_points(crowd: Crowd) -> None:
    ann = await crowd.let_in()
    false = signed(with_revoked(RevokedList(1, RUN.run_id, 8), ORGANISER.peer, now()), STRANGER)
    async with peer(crowd.first.peer) as hostile:

        def give(*_: object) -> tuple[RevokedFollow, bytes]:
            return RevokedFollow(), false

        hostile.rpc.register(of_run(READ_REVOKED, RUN.run_id), AskRevoked, give)
        hostile.rpc.learn(ann.peer.rpc.address())
        shown = Introduction({RUN.run_id: Shown(number=9)})
        await hostile.rpc.call(ann.peer.id, SHOW, shown, Introduction, deadline_s=20)
        await until(lambda: ann.peer.rpc.bans.score(hostile.id, time.monotonic()) > 0, "a strike")
        assert ann.gate.showing().number == 0 and ann.gate.admits(ORGANISER.peer)


async def test_one_that_promises_a_list_and_never_gives_it_holds_up_no_other(crowd: Crowd) -> None:
    ann = await crowd.let_in()
    async with peer(crowd.first.peer) as hostile:
        asked = asyncio.Event()

        async def wait(*_: object) -> RevokedFollow:
            asked.set()
            await asyncio.sleep(600)
            return RevokedFollow()

        hostile.rpc.register(of_run(READ_REVOKED, RUN.run_id), AskRevoked, wait)
        hostile.rpc.learn(ann.peer.rpc.address())
        shown = Introduction({RUN.run_id: Shown(number=2**50)})
        await hostile.rpc.call(ann.peer.id, SHOW, shown, Introduction, deadline_s=20)
        await asked.wait()
        assert await ann.greets(crowd.first.peer) == (7,)
        write(crowd.first.folder, REVOKED_FILE, signed(RevokedList(1, RUN.run_id, 5), ORGANISER))
        await crowd.first.gate.tend()
        await until(lambda: ann.gate.showing().number == 5, "the list")

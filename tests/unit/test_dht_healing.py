"""Peers that are slow, or too busy for a moment, soon have every record that they should have."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from core.contracts.dht import FindNode, FindValue, Nodes, Store, Stored, Values
from core.contracts.errors import CallRefused
from core.dht import crawl, node, protocol
from core.dht.records import key_digest, make
from core.net.method import Context
from tests.dht_peers import Peer, peers, until

LIFE_S = 3600.0
HANG_S = 120.0
"""Ends a hang; nothing here takes that long."""


@pytest.fixture
async def pair() -> AsyncIterator[list[Peer]]:
    async with peers(2) as made:
        for one in made:
            await until(one.dht.contacts, "the other one in the table", HANG_S)
        yield made


async def holds_after_upkeep(publisher: Peer, at: Peer) -> bool:
    await publisher.dht.upkeep()
    return bool(at.dht.storage.of(key_digest("key"), at.dht.clock.now()))


def slow(at: Peer, moment: Callable[[], Awaitable[object]]) -> None:
    """Let a peer answer searches for peers after a while only."""

    async def late(request: FindNode, payload: Any, context: Context) -> Nodes:
        await moment()
        return at.dht.protocol._on_find_node(request, payload, context)

    at.rpc.register("dht.find_node", FindNode, late)


async def store_while_the_other_is_slow(pair: list[Peer], monkeypatch: pytest.MonkeyPatch) -> None:
    """Afterwards its late answer is here."""
    a, b = pair
    awake = asyncio.Event()
    slow(b, awake.wait)
    monkeypatch.setattr(protocol, "CALL_S", 0.05)
    assert not await a.dht.store("key", b"old", LIFE_S), "it was not found in time"
    assert not a.dht.contacts()
    monkeypatch.undo()
    awake.set()
    await until(a.dht.contacts, "the late answer", HANG_S)


async def test_a_peer_that_answers_late_is_back_and_gets_what_it_missed(
    pair: list[Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    pair[0].dht.protocol.serving = False  # it keeps nothing itself that it could hand over
    await store_while_the_other_is_slow(pair, monkeypatch)
    await until(lambda: holds_after_upkeep(*pair), "the record at the peer that was slow", HANG_S)


async def test_a_search_that_found_nobody_is_not_believed_once_somebody_is_there(
    pair: list[Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    await store_while_the_other_is_slow(pair, monkeypatch)
    monkeypatch.setattr(node, "RESPONSIBLE_S", 1e6)

    assert await pair[0].dht.store("key", b"new", LIFE_S), "the next announcement"


async def test_what_a_busy_replica_refused_is_offered_again(pair: list[Peer]) -> None:
    a, b = pair
    busy = True

    async def take(request: Store, payload: Any, context: Context) -> Stored:
        if busy:
            raise CallRefused("Too many calls at once. Try again later.")
        return await b.dht.protocol._on_store(request, payload, context)

    b.rpc.register("dht.store", Store, take)
    assert not await a.dht.store("key", b"v", LIFE_S)
    busy = False
    await until(lambda: holds_after_upkeep(a, b), "the record at the peer that was busy", HANG_S)


async def test_who_was_out_of_reach_for_a_moment_is_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "RESPONSIBLE_S", 0.0)
    for module in node, protocol:
        monkeypatch.setattr(module, "FAILED_S", 0.1)
    for name in "CALL_S", "STORE_S", "LATE_S":
        monkeypatch.setattr(protocol, name, HANG_S)
    async with peers(3) as (publisher, other, away):
        for one in publisher, other, away:
            await until(lambda one=one: len(one.dht.contacts()) == 2, "both others in the table", HANG_S)  # type: ignore[misc]
            await one.dht._upkeep.stop()  # who was away does not call by itself
        away.rpc.hush("A test cuts it off.")
        assert await publisher.dht.store("key", b"v", LIFE_S)
        assert len(publisher.dht.contacts()) == 1
        away.rpc.speak()
        await until(lambda: holds_after_upkeep(publisher, away), "the record at the peer that was away", HANG_S)


async def test_what_is_kept_here_is_never_the_only_answer(pair: list[Peer], monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = pair
    now = a.dht.clock.now()
    both = [make(b.identity, "key", subkey, b"", int(now * 1000), now + LIFE_S) for subkey in ("missed", "kept")]
    for record in both:
        b.dht.storage.put(record, now)
    a.dht.storage.put(both[1], now)
    for module, name in (crawl, "READ_S"), (protocol, "CALL_S"), (protocol, "LATE_S"):
        monkeypatch.setattr(module, name, HANG_S)

    async def late(request: FindValue, payload: Any, context: Context) -> Values:
        await asyncio.sleep(2 * crawl.HEDGE_S)  # a call that takes longer no longer keeps others from being made
        return b.dht.protocol._on_find_value(request, payload, context)

    b.rpc.register("dht.find_value", FindValue, late)
    assert set(await a.dht.get("key")) == set((await a.dht.find_suffixes(["key"]))["key"]) == {"kept", "missed"}

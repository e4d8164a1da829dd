"""Crowds of keys in the hash table: they fill it, bury what is there, stand around a key, and hide nothing by that."""

import contextlib
import time
from collections.abc import AsyncIterator, Callable

import pytest

from core.contracts.dht import FindNode, FindValue, Found, Nodes, Ping, Pong, Store, Stored, Values
from core.contracts.errors import HearthError
from core.dht.records import Verdict, key_digest, make, node_id, own_subkey
from core.identity import Identity
from core.net.rpc import RpcNode
from tests.dht_peers import Peer, peer, peers, until
from tests.long.hostile.crowd import ELSEWHERE

KEY, HONEST, CROWD = "run-1.0.", 12, 40


def identities(near: bytes, made: int) -> list[Identity]:
    """A crowd's keys, made until they lay around a place."""
    keys = [Identity.generate() for _ in range(made)]
    return sorted(keys, key=lambda key: int.from_bytes(node_id(key.peer)) ^ int.from_bytes(near))[:CROWD]


@contextlib.asynccontextmanager
async def liars(honest: list[Peer]) -> AsyncIterator[list[RpcNode]]:
    """A crowd around `KEY` that everybody knows: each names the others, keeps nothing, and says that it does."""
    async with contextlib.AsyncExitStack() as stack:
        made = [RpcNode(identity, listen=(ELSEWHERE,)) for identity in identities(key_digest(KEY), 2000)]
        crowd = [await stack.enter_async_context(node) for node in made]
        nothing = Found([], {}, None)

        def nodes(count: int) -> Nodes:
            named = [node.address() for node in crowd[:20]]
            return Nodes(named, [[*range(len(named))] for _ in range(count)])

        def nowhere(count: int) -> Values:
            return Values([nothing] * count, nodes(count))

        for node in crowd:
            pong: Callable[..., Pong] = lambda *_, node=node: Pong(node.address(), time.time(), True)  # noqa: E731
            node.register("dht.ping", Ping, pong)
            node.register("dht.find_node", FindNode, lambda asked, *_: nodes(len(asked.targets)))
            node.register("dht.find_value", FindValue, lambda asked, *_: nowhere(len(asked.keys)))
            node.register("dht.store", Store, lambda asked, *_: Stored([Verdict.STORED] * len(asked.records)))
            for one in honest:
                node.learn(one.rpc.address())
                with contextlib.suppress(HearthError):
                    await node.call(one.id, "dht.ping", Ping(True), Pong, deadline_s=30)
        yield crowd


async def test_a_crowd_around_a_key_hides_nothing_that_is_stored_there() -> None:
    async with peers(HONEST) as honest, liars(honest) as crowd:
        known = {node.peer for node in crowd}

        def met() -> bool:
            return sum(contact.peer in known for contact in honest[0].dht.contacts()) >= CROWD // 3

        await until(met, "a part of the crowd in a table", 120)
        await honest[0].dht.store_many({KEY: {"3": b"here"}}, 3000)
        async with peer(*honest[1:3]) as newcomer:
            found = await newcomer.dht.get(KEY)
            suffixes = await newcomer.dht.find_suffixes([KEY])
        assert found["3"].value == b"here" and [*suffixes[KEY]] == ["3"]


@pytest.mark.parametrize("value", [b"lie", None])
async def test_eight_keys_that_fill_every_store_keep_nobody_from_it(
    value: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With records, and with tombstones for what others announce."""
    async with peers(4) as honest, contextlib.AsyncExitStack() as stack:
        for one in honest:
            one.dht.storage._limits = type(one.dht.storage._limits)(records=800, publisher_records=400)
        for _ in range(8):
            node = await stack.enter_async_context(RpcNode(Identity.generate(), listen=(ELSEWHERE,)))
            now, names = time.time(), [(KEY, str(number)) for number in range(16)]
            names += [(f"{KEY}{number}", own_subkey(node.peer)) for number in range(300)]
            made = [make(node.identity, key, subkey, value, int(now * 1000), now + 3000).raw for key, subkey in names]
            for one in honest:
                node.learn(one.rpc.address())
                await node.call(one.id, "dht.store", Store(made, False), Stored, deadline_s=60)
        assert all(len(one.dht.storage) >= 790 for one in honest) or value is None
        told = {KEY: {str(number): b"" for number in range(16)}, f"{KEY}x": {own_subkey(honest[0].id): b"host"}}
        assert await honest[0].dht.store_many(told, 60) >= 3, "every other one keeps it"
        async with peer(honest[1]) as newcomer:
            assert (await newcomer.dht.find_suffixes([KEY]))[KEY].keys() >= {str(number) for number in range(16)}
            assert (await newcomer.dht.get(f"{KEY}x"))[own_subkey(honest[0].id)].value == b"host"

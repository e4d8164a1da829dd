"""Where connections or handshakes are too many, those of who has most give way; others get in."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator

import msgspec
import pytest

from core.contracts.net import PeerAddress
from core.identity import Identity
from core.net import limits, pool
from core.net.endpoint import Endpoint
from core.net.rpc import RpcNode

HERE, ELSEWHERE = "127.0.0.1:0", "127.0.0.9:0"


class Number(msgspec.Struct):
    value: int


@pytest.fixture
async def host() -> AsyncIterator[RpcNode]:
    async with RpcNode(Identity.generate(), listen=("0.0.0.0:0",)) as node:
        node.register("add_one", Number, lambda request, payload, context: Number(request.value + 1))
        yield node


async def ask(node: RpcNode, host: RpcNode) -> None:
    node.learn(host.address())
    await node.call(host.peer, "add_one", Number(1), Number, deadline_s=60)


async def test_a_crowd_from_one_address_closes_its_own_connections_and_not_those_of_others(
    host: RpcNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONNECTIONS", 5)
    async with contextlib.AsyncExitStack() as stack:

        async def come(listen: str) -> RpcNode:
            node = await stack.enter_async_context(RpcNode(Identity.generate(), listen=(listen,)))
            await ask(node, host)
            return node

        honest = [await come(HERE) for _ in range(2)]  # the longest unused
        crowd = [await come(ELSEWHERE) for _ in range(8)]
        assert {node.peer for node in honest} <= host.pool.links.keys() and len(host.pool.links) == 5
        late = await come(HERE)
        assert {node.peer for node in [*honest, late]} <= host.pool.links.keys(), "one more gets in"
        assert crowd[-1].peer in host.pool.links, "of the crowd the longest unused goes"


async def test_handshakes_that_go_no_further_keep_nobody_out(host: RpcNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """First packets come from an address that gets no answer, as if it were not the sender's."""
    monkeypatch.setattr(limits, "HANDSHAKES", 4)
    port = host.endpoint.sockets[0].rpartition(":")[2]
    loop, passed = asyncio.get_running_loop(), asyncio.Semaphore(0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as between:
        between.bind(("127.0.0.9", 0))
        between.setblocking(False)

        async def one_way() -> None:
            while True:
                packet = await loop.sock_recv(between, 2048)
                await loop.sock_sendto(between, packet, ("127.0.0.1", int(port)))
                passed.release()

        passing = asyncio.create_task(one_way())
        endpoint = await Endpoint.bind(os.urandom(32), (ELSEWHERE,))
        hole = f"127.0.0.9:{between.getsockname()[1]}"
        dials = [asyncio.create_task(endpoint.dial(host.peer, [hole], limits.HANDSHAKE_S)) for _ in range(16)]
        for _ in dials:
            await passed.acquire()
        async with RpcNode(Identity.generate(), listen=(HERE,)) as node:
            await ask(node, host)
            assert node.peer in host.pool.links and len(host.pool._handshakes) <= limits.HANDSHAKES
        for task in [passing, *dials]:
            task.cancel()
        await asyncio.gather(passing, *dials, return_exceptions=True)
        await endpoint.close()


async def test_who_is_named_to_be_where_a_third_party_is_has_little_sent_there(
    host: RpcNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "is_near", lambda _: False)  # in a local network nobody is kept from being found
    monkeypatch.setattr(limits, "TRY_BURST", 3.0)
    monkeypatch.setattr(limits, "TRIES_PER_S", 0.0)
    async with RpcNode(Identity.generate(), listen=(HERE,)) as node:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as victim:
            victim.bind(("127.0.0.5", 0))
            victim.setblocking(False)
            there = f"127.0.0.5:{victim.getsockname()[1]}"
            keys = [Identity.generate().peer for _ in range(30)]
            for key in keys:
                node.learn(PeerAddress(key, (there,)))
            dials = (node.call(key, "add_one", Number(1), Number, deadline_s=4) for key in keys)
            await asyncio.gather(*dials, return_exceptions=True)
            packets = 0
            with contextlib.suppress(BlockingIOError):
                while victim.recv(2048):
                    packets += 1
        assert 3 <= packets < 30, f"{packets} packets of three dials"
        await ask(node, host)
        for key in keys:
            node.learn(PeerAddress(key, (node.pool.links[host.peer].seen_at() or "",)))
            assert node.pool.known(key), "where somebody is whom this PC knows, others may be, too"

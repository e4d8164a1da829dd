"""Peers that arrange meetings and say that they are backbone peers: what they can have others do, and for how long."""

import asyncio
import contextlib
import socket

import pytest

from core.contracts.errors import CallRefused
from core.contracts.net import Observe, Observed, Payload
from core.identity import Identity
from core.net import punching
from core.net.method import Context
from core.net.punching import Meet, Met
from core.net.reach import BACKBONES, Reach
from core.net.rpc import RpcNode
from tests.dht_peers import until
from tests.workers import PATIENCE_S


async def test_a_host_is_dialled_for_few_meetings_whoever_names_it() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.9", 0))
        deaf.setblocking(False)
        address = "{}:{}".format(*deaf.getsockname())
        async with RpcNode(Identity.generate(), listen=("127.0.0.2:0",)) as node, Reach(node):
            heard = []
            for _ in range(3):
                async with RpcNode(Identity.generate(), listen=("127.0.0.3:0",)) as liar:
                    liar.learn(node.address())
                    for _ in range(5):
                        meet = Meet(Identity.generate().peer, address, 0, "unknown")
                        with contextlib.suppress(CallRefused):
                            heard.append((await liar.call(node.peer, "reach.meet", meet, Met, deadline_s=5))[0].willing)
            assert heard == [True] * 10
            meetings = [task for task in asyncio.all_tasks() if task.get_name() == "reach: meet"]
            await asyncio.wait_for(asyncio.gather(*meetings), PATIENCE_S)
        sizes = []
        with contextlib.suppress(BlockingIOError):
            while True:
                sizes.append(len(deaf.recv(2000)))
        assert 10 <= len(sizes) <= 100 and max(sizes) <= 1200, "as much as the limits reckon with"


async def test_who_arranges_a_meeting_names_no_host_of_a_smaller_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(punching, "seen_at", lambda node, peer: "9.9.9.9:4000")
    async with (
        RpcNode(Identity.generate(), listen=("127.0.0.2:0",)) as node,
        Reach(node),
        RpcNode(Identity.generate(), listen=("127.0.0.3:0",)) as liar,
    ):
        liar.learn(node.address())
        for address in ("192.168.1.2:4000", "127.0.0.1:4000", "[fd00::1]:4000", "example.org:4000", "9.9.9.9"):
            meet = Meet(Identity.generate().peer, address, 0, "unknown")
            assert not (await liar.call(node.peer, "reach.meet", meet, Met, deadline_s=5))[0].willing, address


async def test_few_are_held_on_to_of_those_that_say_they_are_backbone_peers() -> None:
    """Each comes, says so, and goes; who is held on to is dialled for ten minutes."""

    async def observe(request: Observe, payload: Payload, context: Context) -> Observed:
        return Observed(context.address, True, False)

    async with RpcNode(Identity.generate(), listen=("127.0.0.2:0",)) as node, Reach(node) as reach:
        address = node.address()
        for _ in range(3 * BACKBONES):
            async with RpcNode(Identity.generate(), listen=("127.0.0.3:0",)) as liar:
                liar.register("reach.observe", Observe, observe)
                liar.learn(address)
                await liar.pool.link(node.peer)
                await until(lambda: liar.peer in reach.helpers(), "the liar")
            await until(lambda: not node.pool.links, "its end")
        assert len(node.pool.kept) <= BACKBONES
        assert len(reach._roaming.mending) <= BACKBONES

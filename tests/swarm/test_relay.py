"""A relay on loopback: what it passes, what it refuses, and what ends when it goes."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from typing import NamedTuple

import msgspec
import pytest

from core.contracts.errors import HearthError, PeerUnreachable
from core.contracts.net import Payload, PeerAddress
from core.contracts.peer_names import called
from core.identity import Identity
from core.net import relay as limits
from core.net.dial_back import DialBack, DialledBack
from core.net.method import Context
from core.net.punching import Meeting, Punch
from core.net.reach import Reach
from core.net.relay import Done, Open, Piece
from core.net.rpc import RpcNode
from tests.dht_peers import until
from tests.workers import PATIENCE_S

LOOPBACK = ("127.0.0.1:0",)


class Echo(msgspec.Struct, frozen=True):
    """Send my payload back."""


async def echo(request: Echo, payload: Payload, context: Context) -> tuple[Echo, Payload]:
    return request, payload


class Three(NamedTuple):
    """`left` and `right` are connected to `middle`, and do not know each other's addresses."""

    left: RpcNode
    middle: RpcNode
    right: RpcNode
    reaches: list[Reach]


@pytest.fixture
async def three() -> AsyncIterator[Three]:
    async with contextlib.AsyncExitStack() as stack:
        nodes, reaches = [], []
        for relays in (False, True, False):
            node = await stack.enter_async_context(RpcNode(Identity.generate(), listen=LOOPBACK))
            node.register("echo", Echo, echo, max_payload=8_000_000)
            nodes.append(node)
            reach = Reach(node, backbone=relays, relays=relays)
            reaches.append(await stack.enter_async_context(reach))
        left, middle, right = nodes
        for node in (left, right):
            node.learn(middle.address())
            await node.call(middle.peer, "echo", Echo(), Echo, deadline_s=10)
            node.connectors.pop(0)  # no hole punching: on loopback it would always work
        left.learn(PeerAddress(right.peer, (), (middle.peer,)))
        yield Three(left, middle, right, reaches)


async def gone(node: RpcNode, other: RpcNode) -> None:
    """Wait until `node` is not connected to `other`."""
    lost = asyncio.Event()
    node.on_disconnected.append(lambda peer: lost.set() if peer == other.peer else None)
    if other.peer in node.pool.links:
        await asyncio.wait_for(lost.wait(), PATIENCE_S)


async def test_calls_of_all_sizes_pass_in_both_directions_and_the_path_is_shown(three: Three) -> None:
    payloads = [bytes([size % 251]) * size for size in (0, 1, 40_000, 300_000, 600_000)]
    answers = await asyncio.gather(
        *(three.left.call(three.right.peer, "echo", Echo(), Echo, data, deadline_s=30) for data in payloads)
    )
    assert [bytes(data) for _, data in answers] == payloads
    _, data = await three.right.call(three.left.peer, "echo", Echo(), Echo, b"back", deadline_s=10)
    assert bytes(data) == b"back"
    assert three.left.pool.links[three.right.peer].path == f"relayed via {called(three.middle.peer.hex())}"
    assert len(three.reaches[1].relay.pipes) == 1


async def test_a_relayed_connection_becomes_direct_when_the_peers_can_meet(three: Three) -> None:
    await three.left.call(three.right.peer, "echo", Echo(), Echo, deadline_s=10)
    assert three.left.pool.links[three.right.peer].path.startswith("relayed")
    await three.reaches[0].upgrade()
    assert three.left.pool.links[three.right.peer].path == "direct"
    calls = (three.left.call(three.right.peer, "echo", Echo(), Echo, bytes(100_000), deadline_s=10) for _ in range(4))
    assert [len(data) for _, data in await asyncio.gather(*calls)] == [100_000] * 4
    await until(lambda: not three.reaches[1].relay.pipes, "the end of the pipe")
    _, data = await three.right.call(three.left.peer, "echo", Echo(), Echo, b"back", deadline_s=10)
    assert bytes(data) == b"back" and three.right.pool.links[three.left.peer].path == "direct"


async def test_a_cancelled_call_leaves_the_connection_in_use(three: Three) -> None:
    await three.left.call(three.right.peer, "echo", Echo(), Echo, deadline_s=10)
    with pytest.raises(HearthError):
        await three.left.call(three.right.peer, "echo", Echo(), Echo, bytes(4_000_000), deadline_s=0.3)
    _, data = await three.left.call(three.right.peer, "echo", Echo(), Echo, b"still here", deadline_s=20)
    assert bytes(data) == b"still here"


async def test_an_unwilling_peer_relays_nothing(three: Three) -> None:
    three.reaches[1].relay.willing = False
    with pytest.raises(PeerUnreachable):
        await three.left.call(three.right.peer, "echo", Echo(), Echo, deadline_s=10)
    relay = three.reaches[1].relay
    assert (len(relay.pipes), relay.bytes) == (0, 0)


async def test_pipes_are_bounded_and_belong_to_their_ends(three: Three) -> None:
    for number in range(limits.PIPES_BY_PEER):
        request = Open(three.right.peer, bytes([number]) * 32)
        await three.left.call(three.middle.peer, "relay.open", request, Done, deadline_s=10)
    with pytest.raises(HearthError, match="no pipe left"):
        request = Open(three.right.peer, bytes([99]) * 32)
        await three.left.call(three.middle.peer, "relay.open", request, Done, deadline_s=10)
    async with RpcNode(Identity.generate(), listen=LOOPBACK) as stranger:
        stranger.learn(three.middle.address())
        with pytest.raises(HearthError, match="no such pipe"):
            piece = Piece(bytes([0]) * 32, 0)
            await stranger.call(three.middle.peer, "relay.pass", piece, Done, b"x", deadline_s=10)


async def test_one_that_offers_pipes_without_end_keeps_nobody_from_being_reached(three: Three) -> None:
    pipes = three.reaches[2]._ends.pipes
    async with RpcNode(Identity.generate(), listen=LOOPBACK) as stranger:
        stranger.learn(three.right.address())

        async def offers() -> None:
            while True:  # each is waited for until its handshake has taken too long
                with contextlib.suppress(HearthError):
                    offer = limits.Offer(Identity.generate().peer, os.urandom(32))
                    await stranger.call(three.right.peer, "relay.offer", offer, Done, deadline_s=10)

        flood = asyncio.create_task(offers())
        try:
            await until(lambda: len(pipes) == limits.PIPES, "all pipes of a peer")
            _, data = await three.left.call(three.right.peer, "echo", Echo(), Echo, b"hello", deadline_s=10)
        finally:
            flood.cancel()
            await asyncio.gather(flood, return_exceptions=True)
    assert bytes(data) == b"hello" and len(pipes) <= limits.PIPES


async def test_when_an_end_leaves_the_other_end_learns_it(three: Three) -> None:
    await three.left.call(three.right.peer, "echo", Echo(), Echo, deadline_s=10)
    three.right.pool.links[three.middle.peer].close("the line is cut")
    await gone(three.left, three.right)
    await gone(three.right, three.left)
    assert not three.reaches[1].relay.pipes


async def test_when_the_connection_closes_the_pipe_goes(three: Three) -> None:
    await three.left.call(three.right.peer, "echo", Echo(), Echo, deadline_s=10)
    three.left.pool.links[three.right.peer].close("of no more use")
    await gone(three.right, three.left)
    assert not three.reaches[1].relay.pipes


async def test_favours_are_rationed(three: Three) -> None:
    """Nobody can use a backbone peer, or a peer by way of it, to send packets at will."""
    with pytest.raises(HearthError, match="does not dial back"):
        await three.middle.call(three.left.peer, "reach.dialback", DialBack(), DialledBack, deadline_s=10)
    for request, method, reply, most in (
        (DialBack(), "reach.dialback", DialledBack, 5),
        (Punch(three.right.peer, "cone"), "reach.punch", Meeting, 25),
    ):
        asked = (three.left.call(three.middle.peer, method, request, reply, deadline_s=20) for _ in range(2 * most))
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert sum(not isinstance(answer, HearthError) for answer in answers) <= most
        assert any("too often" in str(answer) for answer in answers)

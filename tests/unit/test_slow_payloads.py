"""A payload that comes too slowly makes room for others, and costs nothing but its own call, whatever way it comes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import msgspec
import pytest

from core.contracts.errors import CallRefused
from core.contracts.net import PREFIX, Call
from core.identity import Identity
from core.net.endpoint import LOOPBACK
from core.net.limits import MIB
from core.net.relay import Relay
from core.net.relayed import RelayEnds
from core.net.rpc import RpcNode
from tests.unit.test_tcp import DEADLINE_S, Word, echo, say, warmed_up, within

WHOLE, ARRIVED = 4 * MIB, MIB // 16


@contextlib.asynccontextmanager
async def over_tcp() -> AsyncIterator[tuple[RpcNode, RpcNode]]:
    async with (
        RpcNode(Identity.generate(), listen=LOOPBACK[:1]) as alice,
        RpcNode(Identity.generate(), listen=LOOPBACK[:1]) as bob,
    ):
        alice.register("echo", Word, echo, max_payload=WHOLE)
        bob.register("echo", Word, echo, max_payload=WHOLE)
        alice.learn(bob.address())
        await warmed_up(alice, bob)
        await within(lambda: alice.pool.links[bob.peer].lanes._idle_fast)
        yield alice, bob


@contextlib.asynccontextmanager
async def through_a_relay() -> AsyncIterator[tuple[RpcNode, RpcNode]]:
    async with contextlib.AsyncExitStack() as stack:
        alice, bob, between = [
            await stack.enter_async_context(RpcNode(Identity.generate(), listen=LOOPBACK[:1])) for _ in range(3)
        ]
        stack.push_async_callback(Relay(between, willing=True, bytes_per_s=64 * MIB).close)
        ends = [RelayEnds(node, node.identity) for node in (alice, bob)]
        for node, end in zip((alice, bob), ends, strict=True):
            stack.push_async_callback(end.close)
            node.register("echo", Word, echo, max_payload=WHOLE)
            node.learn(between.address())
            await node.pool.link(between.peer)
        await within(lambda: len(between.pool.links) == 2)
        await ends[0].connect(bob.peer, between.peer)
        await within(lambda: alice.peer in bob.pool.links)
        yield alice, bob


@pytest.mark.parametrize("connected", [over_tcp, through_a_relay])
async def test_a_payload_that_comes_too_slowly_costs_neither_its_lane_nor_the_connection(
    connected: Callable[[], contextlib.AbstractAsyncContextManager[tuple[RpcNode, RpcNode]]],
) -> None:
    async with connected() as (alice, bob):
        link, there = alice.pool.links[bob.peer], bob.pool.links[alice.peer]
        bob._service.memory.by_peer = WHOLE
        lane, number = await link.lanes._take(), link.new_id()
        slow = link.waiting[number] = asyncio.get_running_loop().create_future()
        head = msgspec.msgpack.encode(Call(number, "echo", 600_000, msgspec.Raw(msgspec.msgpack.encode(Word()))))
        await lane.write(PREFIX.pack(len(head), WHOLE) + head + bytes(ARRIVED))
        await within(lambda: there._arriving)
        await say(alice, bob, MIB)  # there is no room for it beside the slow one
        await lane.write(bytes(WHOLE - ARRIVED))
        async with asyncio.timeout(DEADLINE_S):
            with pytest.raises(CallRefused, match="too slowly"):
                await slow
        del link.waiting[number]
        for lanes, idle in ((link.lanes._fast, link.lanes._idle_fast), (link.lanes._slow, link.lanes._idle)):
            if lane in lanes:
                idle.append(lane)  # the next frame goes by it
        await say(alice, bob, MIB)
        assert alice.pool.links[bob.peer] is link and bob.pool.links[alice.peer] is there and not lane.ended
        await within(lambda: bob._service.memory.used == 0)

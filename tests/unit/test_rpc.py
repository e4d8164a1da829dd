"""Calls between real endpoints on loopback, honest and hostile."""

import asyncio
import contextlib
import errno
import gc
import math
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.contracts.errors import (
    CallRefused,
    CallTimeout,
    CheckpointError,
    NetworkError,
    NotServed,
    PeerUnreachable,
    RemoteFault,
)
from core.contracts.net import PREFIX, Answer, Call, Cancel, Header, Payload, PeerAddress, Ping
from core.identity import Identity, PeerId
from core.net import crowds, limits, link
from core.net.endpoint import LOOPBACK, Connection, Endpoint, SendStream
from core.net.memory import Memory
from core.net.method import Context
from core.net.rpc import RpcNode

MIB = limits.MIB


class Number(msgspec.Struct):
    value: int


class Other(msgspec.Struct):
    words: list[str]


DEADLINE_S = 240.0
"""For what must happen, however busy the machine is."""


class Gate:
    """A method that waits until it is opened, and tells when calls begin and how they end."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.begun = asyncio.Semaphore(0)
        self.ended: asyncio.Queue[str] = asyncio.Queue()

    async def __call__(self, request: Number, payload: Payload, context: Context) -> Number:
        self.begun.release()
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.ended.put_nowait("cancelled")
            raise
        self.ended.put_nowait("done")
        return request

    method: Any = __call__


class FutureGate(Gate):
    """The same as a plain function that gives a Future."""

    def method(self, request: Number, payload: Payload, context: Context) -> asyncio.Future[Number]:
        self.begun.release()
        answer: asyncio.Future[Number] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda _: self.ended.put_nowait("cancelled" if answer.cancelled() else "done"))
        return answer


GATES = pytest.mark.parametrize("kind", [Gate, FutureGate])


def add_one(request: Number, payload: Payload, context: Context) -> Number:
    return Number(request.value + 1)


async def echo(request: Number, payload: Payload, context: Context) -> tuple[Number, Payload]:
    return request, payload


async def within(condition: Callable[[], Any]) -> None:
    """Wait until the condition holds."""
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 the other side of a socket has no event to wait on
            await asyncio.sleep(0.005)


Start = Callable[[], Awaitable[RpcNode]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    async with contextlib.AsyncExitStack() as stack:

        async def one() -> RpcNode:
            node = await stack.enter_async_context(RpcNode(Identity.generate(), listen=LOOPBACK))
            node.register("add_one", Number, add_one)
            node.register("echo", Number, echo, max_payload=32 * MIB)
            return node

        yield one


@pytest.fixture
async def alice(start: Start) -> RpcNode:
    return await start()


@pytest.fixture
async def bob(start: Start, alice: RpcNode) -> RpcNode:
    bob = await start()
    alice.learn(bob.address())
    return bob


@pytest.fixture
async def mallory(bob: RpcNode) -> AsyncIterator[Connection]:
    """A raw connection to Bob, from a peer that keeps to no rules."""
    endpoint = await Endpoint.bind(os.urandom(32), LOOPBACK)
    yield await endpoint.dial(bob.peer, bob.address().addresses)
    await endpoint.close()


async def closed(connection: Connection) -> str:
    """Wait for the other side to end the connection; why it did."""
    streams = []  # none is given up before the other side has spoken
    with pytest.raises(PeerUnreachable) as caught:
        async with asyncio.timeout(DEADLINE_S):
            while True:
                streams.append(await connection.accept())
    return str(caught.value)


def frame(header: Header | bytes, payload: bytes = b"") -> bytes:
    data = header if isinstance(header, bytes) else msgspec.msgpack.encode(header)
    return PREFIX.pack(len(data), len(payload)) + data + payload


def call(number: int, method: str, request: Any = None, deadline_ms: int = 5000) -> Call:
    return Call(number, method, deadline_ms, msgspec.Raw(msgspec.msgpack.encode(request or Number(1))))


# --- honest peers


async def test_a_call_is_answered(alice: RpcNode, bob: RpcNode) -> None:
    reply, payload = await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60)
    assert (reply, payload) == (Number(2), b"")
    reply, payload = await alice.call(bob.peer, "echo", Number(1), Number, b"tensor", deadline_s=60)
    assert payload == b"tensor"
    assert await bob.call(alice.peer, "add_one", Number(5), Number, deadline_s=60) == (Number(6), b"")
    assert len(alice.pool.links) == len(bob.pool.links) == 1  # the way back needs no second connection


@pytest.mark.parametrize("size", [1, limits.SMALL - 100, limits.SMALL, limits.CHUNK, limits.CHUNK + 1, 5 * MIB + 3])
async def test_payloads_of_any_size_arrive_whole(alice: RpcNode, bob: RpcNode, size: int) -> None:
    sent = os.urandom(size)
    views: list[Payload] = [memoryview(sent), sent]
    for answer in await asyncio.gather(
        *(alice.call(bob.peer, "echo", Number(i), Number, view, deadline_s=60) for i, view in enumerate(views))
    ):
        assert answer[1] == sent


async def test_large_requests_and_replies_go_in_the_body_too(alice: RpcNode, bob: RpcNode) -> None:
    bob.register("words", Other, lambda request, payload, context: request)
    words = Other(["expert"] * 20_000)
    assert (await alice.call(bob.peer, "words", words, Other, deadline_s=60))[0] == words
    with pytest.raises(CallRefused, match="over the limit"):
        await alice.call(bob.peer, "words", Other(["expert"] * 100_000), Other, deadline_s=60)
    bob.register("flood", Number, lambda request, payload, context: Other(["expert"] * 100_000))
    with pytest.raises(RemoteFault, match="Ask for less"):
        await alice.call(bob.peer, "flood", Number(1), Other, deadline_s=60)
    there = bob.pool.links[alice.peer]
    await within(lambda: not there._frame_deadlines)  # nothing of it is waited for any more


@pytest.mark.parametrize("size", [0, 100, limits.SMALL + 1, 3 * MIB])
async def test_a_method_may_give_a_future(alice: RpcNode, bob: RpcNode, size: int) -> None:
    """What it comes to is answered, large or small, and so is its error; nothing is left behind."""
    futures: dict[int, asyncio.Future[Any]] = {}

    def method(request: Number, payload: Payload, context: Context) -> asyncio.Future[tuple[Number, Payload]]:
        futures[request.value] = asyncio.get_running_loop().create_future()
        return futures[request.value]

    bob.register("wait", Number, method, max_payload=4 * MIB)
    calls = [
        asyncio.create_task(alice.call(bob.peer, "wait", Number(n), Number, bytes(size), deadline_s=60))
        for n in range(2)
    ]
    await within(lambda: len(futures) == 2)
    futures[0].set_result((Number(7), bytes(size)))
    futures[1].set_exception(CheckpointError("too old"))
    assert await calls[0] == (Number(7), bytes(size))
    with pytest.raises(RemoteFault, match="too old"):
        await calls[1]
    there = bob.pool.links[alice.peer]
    await within(lambda: not there.serving and bob._service.memory.used == 0)


async def test_calls_are_answered_out_of_order(alice: RpcNode, bob: RpcNode) -> None:
    gate = Gate()
    bob.register("wait", Number, gate)
    slow = asyncio.create_task(alice.call(bob.peer, "wait", Number(1), Number, deadline_s=60))
    await gate.begun.acquire()
    assert (await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60))[0].value == 2
    assert not slow.done()
    gate.open.set()
    assert (await slow)[0].value == 1


async def test_more_calls_than_may_be_in_flight_wait_their_turn(alice: RpcNode, bob: RpcNode) -> None:
    count = 3 * limits.CALLS_BY_PEER
    numbers = await asyncio.gather(
        *(alice.call(bob.peer, "echo", Number(i), Number, deadline_s=60) for i in range(count))
    )
    assert [reply.value for reply, _ in numbers] == list(range(count))
    assert bob.bans.score(alice.peer, time.monotonic()) == 0


async def test_a_handler_knows_who_calls_from_where_and_until_when(alice: RpcNode, bob: RpcNode) -> None:
    seen: list[Context] = []

    def note(request: Number, payload: Payload, context: Context) -> Number:
        seen.append(context)
        return request

    bob.register("note", Number, note)
    asked = time.monotonic()
    await alice.call(bob.peer, "note", Number(1), Number, deadline_s=5)
    assert seen[0].peer == alice.peer
    assert seen[0].address in alice.endpoint.sockets
    assert asked + 4.9 < seen[0].deadline <= time.monotonic() + 5


async def test_errors_arrive_with_their_type(alice: RpcNode, bob: RpcNode, caplog: pytest.LogCaptureFixture) -> None:
    def damaged(request: Number, payload: Payload, context: Context) -> Number:
        raise CheckpointError("The checkpoint is damaged.")

    async def broken(request: Number, payload: Payload, context: Context) -> Number:
        raise ZeroDivisionError("a secret path")

    bob.register("damaged", Number, damaged)
    bob.register("broken", Number, broken)
    with pytest.raises(RemoteFault, match=r"^The checkpoint is damaged\.$") as caught:
        await alice.call(bob.peer, "damaged", Number(1), Number, deadline_s=60)
    assert caught.value.fault == "checkpoint"
    with pytest.raises(RemoteFault) as caught:
        await alice.call(bob.peer, "broken", Number(1), Number, deadline_s=60)
    assert caught.value.fault == "internal"
    assert "secret" not in str(caught.value)
    assert "ZeroDivisionError" in caplog.text
    with pytest.raises(CallRefused, match="no method 'nothing'"):
        await alice.call(bob.peer, "nothing", Number(1), Number, deadline_s=60)
    with pytest.raises(CallRefused, match="Object missing required field `value`"):
        await alice.call(bob.peer, "add_one", Other([]), Number, deadline_s=60)
    with pytest.raises(RemoteFault, match="wrong types"):
        await alice.call(bob.peer, "add_one", Number(1), Other, deadline_s=60)
    assert (await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60))[0].value == 2


async def test_a_payload_over_the_methods_limit_is_refused_before_it_is_read(alice: RpcNode, bob: RpcNode) -> None:
    for size in (10, 20 * MIB):
        with pytest.raises(CallRefused, match="payload"):
            await alice.call(bob.peer, "add_one", Number(1), Number, bytes(size), deadline_s=60)
    assert alice.pool.links[bob.peer].connection.path().bytes_out < 10 * MIB
    assert (await alice.call(bob.peer, "echo", Number(1), Number, bytes(MIB), deadline_s=60))[1] == bytes(MIB)


@GATES
async def test_a_deadline_ends_the_call_on_both_sides(alice: RpcNode, bob: RpcNode, kind: type[Gate]) -> None:
    gate = kind()
    bob.register("wait", Number, gate.method)
    while gate.begun.locked():  # a busy machine does not get the first one there in time
        with pytest.raises(CallTimeout):
            await alice.call(bob.peer, "wait", Number(1), Number, deadline_s=0.2)
    async with asyncio.timeout(DEADLINE_S):
        assert await gate.ended.get() == "cancelled"


@GATES
async def test_cancelling_a_call_cancels_its_handler(alice: RpcNode, bob: RpcNode, kind: type[Gate]) -> None:
    gate = kind()
    bob.register("wait", Number, gate.method)
    task = asyncio.create_task(alice.call(bob.peer, "wait", Number(1), Number, deadline_s=60))
    await gate.begun.acquire()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(DEADLINE_S):
        assert await gate.ended.get() == "cancelled"
    assert (await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60))[0].value == 2


async def test_cancelling_a_large_call_on_its_way_leaves_the_connection_usable(alice: RpcNode, bob: RpcNode) -> None:
    await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60)
    before = alice.pool.links[bob.peer]
    for _ in range(2 * limits.LANES):
        task = asyncio.create_task(alice.call(bob.peer, "echo", Number(1), Number, bytes(32 * MIB), deadline_s=60))
        await within(lambda: (there := bob.pool.links.get(alice.peer)) and there._arriving)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert (await alice.call(bob.peer, "echo", Number(1), Number, bytes(8 * MIB), deadline_s=60))[1] == bytes(8 * MIB)
    assert alice.pool.links[bob.peer] is before
    await within(lambda: bob._service.memory.used == 0)


@pytest.mark.parametrize("size", [MIB, limits.RECEIVE_WINDOW + 8 * MIB])
async def test_answers_that_come_too_late_take_no_later_frame_with_them(
    alice: RpcNode, bob: RpcNode, size: int
) -> None:
    await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60)
    here, there = alice.pool.links[bob.peer], bob.pool.links[alice.peer]
    there.lanes._slow_until = math.inf  # over QUIC
    late = Answer(2**40, msgspec.Raw(msgspec.msgpack.encode(Number(1))))

    async def after_another(request: Number, payload: Payload, context: Context) -> tuple[Number, Payload]:
        await there.send(late, bytes(size))
        return request, bytes(MIB)

    bob.register("after_another", Number, after_another)
    for _ in range(limits.LANES):
        calls = [alice.call(bob.peer, "after_another", Number(1), Number, deadline_s=60) for _ in range(limits.LANES)]
        assert [len(payload) for _, payload in await asyncio.gather(*calls)] == [MIB] * limits.LANES
    assert alice.pool.links[bob.peer] is here and alice.bans.score(bob.peer, time.monotonic()) == 0
    await within(lambda: not here._frame_deadlines and alice._service.memory.used == 0)


@GATES
async def test_a_lost_connection_fails_the_calls_and_cancels_the_handlers(
    start: Start, alice: RpcNode, bob: RpcNode, kind: type[Gate]
) -> None:
    gate = kind()
    gone: list[PeerId] = []
    bob.register("wait", Number, gate.method)
    bob.on_disconnected.append(gone.append)
    calls = [asyncio.create_task(alice.call(bob.peer, "wait", Number(1), Number, deadline_s=60)) for _ in range(5)]
    for _ in calls:
        await gate.begun.acquire()
    alice.pool.links[bob.peer].close("test")
    for result in await asyncio.gather(*calls, return_exceptions=True):
        assert isinstance(result, PeerUnreachable)
    async with asyncio.timeout(DEADLINE_S):
        assert [await gate.ended.get() for _ in calls] == ["cancelled"] * 5
    assert gone == [alice.peer]
    assert (await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60))[0].value == 2  # dials again


async def test_leaving_tells_the_peers_at_once(alice: RpcNode) -> None:
    gate = Gate()
    async with RpcNode(Identity.generate(), listen=LOOPBACK) as bob:
        bob.register("wait", Number, gate)
        alice.learn(bob.address())
        task = asyncio.create_task(alice.call(bob.peer, "wait", Number(1), Number, deadline_s=60))
        await gate.begun.acquire()
    async with asyncio.timeout(DEADLINE_S):
        with pytest.raises(PeerUnreachable, match="leaves"):
            await task


async def test_leaving_does_not_wait_for_a_peer_that_is_being_dialled_in_vain() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        async with RpcNode(Identity.generate(), listen=("127.0.0.1:0",)) as node:
            ghost = Identity.generate().peer
            node.learn(PeerAddress(ghost, (f"127.0.0.1:{silent.getsockname()[1]}",)))
            dialling = asyncio.create_task(node.pool.link(ghost))
            await asyncio.get_running_loop().run_in_executor(None, silent.recv, 1)  # the first packet came
            began = time.monotonic()
        assert time.monotonic() - began < 2.0  # the transport alone waits for three seconds
        with pytest.raises(PeerUnreachable):
            await dialling


async def test_an_error_of_the_body_is_not_wrapped() -> None:
    with pytest.raises(ZeroDivisionError):
        async with RpcNode(Identity.generate(), listen=LOOPBACK):
            raise ZeroDivisionError


# --- connecting


async def test_an_unknown_and_a_dead_peer_cannot_be_reached(alice: RpcNode, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = Identity.generate().peer
    with pytest.raises(PeerUnreachable):
        await alice.call(stranger, "add_one", Number(1), Number, deadline_s=60)
    alice.learn(PeerAddress(stranger, ("127.0.0.1:9",)))
    with pytest.raises(CallTimeout):  # a dead address does not fail by itself
        await alice.call(stranger, "add_one", Number(1), Number, deadline_s=0.3)
    with pytest.raises(PeerUnreachable, match="cannot call itself"):
        await alice.call(alice.peer, "add_one", Number(1), Number, deadline_s=60)


async def test_a_peer_that_failed_is_left_alone_for_a_while(alice: RpcNode, bob: RpcNode) -> None:
    elsewhere = PeerAddress(bob.peer, ())
    alice.learn(elsewhere)
    with pytest.raises(PeerUnreachable, match="any known address"):
        await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60)
    with pytest.raises(PeerUnreachable, match="next try"):
        await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60)
    alice.learn(bob.address())  # a new address is tried at once
    assert (await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60))[0].value == 2


async def test_a_dial_that_was_cancelled_before_it_began_is_made_again(alice: RpcNode, bob: RpcNode) -> None:
    first = asyncio.create_task(alice.pool.link(bob.peer))
    asyncio.get_running_loop().call_soon(alice.hush, "The user wants it.")  # right after the dial's task was made
    with pytest.raises(PeerUnreachable):
        await first
    alice.speak()
    assert (await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60))[0].value == 2


async def test_who_has_the_address_but_not_the_key_is_not_called(alice: RpcNode, bob: RpcNode, start: Start) -> None:
    carol = await start()
    alice.learn(PeerAddress(carol.peer, bob.address().addresses))
    with pytest.raises(NetworkError):
        await alice.call(carol.peer, "add_one", Number(1), Number, deadline_s=1)
    assert bob.metrics["add_one"].served == 0


@pytest.mark.parametrize("family", [0, 1], ids=["IPv4", "IPv6"])
async def test_either_family_will_do(alice: RpcNode, bob: RpcNode, family: int) -> None:
    address = bob.endpoint.sockets[family]
    alice.learn(PeerAddress(bob.peer, (address, "127.0.0.1:9")))
    assert (await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60))[0].value == 2
    assert alice.pool.links[bob.peer].seen_at() in bob.endpoint.sockets  # the transport may move to the better one


async def test_two_that_dial_each_other_at_once_keep_one_connection(start: Start) -> None:
    async def both(one: RpcNode, two: RpcNode) -> None:
        one.learn(two.address())
        two.learn(one.address())
        answers = await asyncio.gather(
            *(one.call(two.peer, "add_one", Number(i), Number, deadline_s=60) for i in range(4)),
            *(two.call(one.peer, "add_one", Number(i), Number, deadline_s=60) for i in range(4)),
        )
        assert [reply.value for reply, _ in answers] == [1, 2, 3, 4, 1, 2, 3, 4]
        await within(lambda: one.pool.links[two.peer].outgoing != two.pool.links[one.peer].outgoing)
        await within(lambda: not one.pool._retired and not two.pool._retired)
        assert (await one.call(two.peer, "add_one", Number(1), Number, deadline_s=60))[0].value == 2
        assert (await two.call(one.peer, "add_one", Number(1), Number, deadline_s=60))[0].value == 2

    await asyncio.gather(*[both(await start(), await start()) for _ in range(8)])


async def test_a_connector_is_asked_when_dialling_fails(alice: RpcNode, bob: RpcNode) -> None:
    asked: list[PeerId] = []
    addresses = bob.address().addresses
    alice.learn(PeerAddress(bob.peer, ()))

    async def useless(peer: PeerId) -> bool:
        asked.append(peer)
        raise NetworkError("no luck")

    async def punch(peer: PeerId) -> bool:
        await alice.pool.dial_at(peer, addresses, 5)
        return True

    alice.connectors += [useless, punch]
    assert (await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60))[0].value == 2
    assert asked == [bob.peer]


async def test_idle_connections_are_closed_and_made_again(
    alice: RpcNode, bob: RpcNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60)
    bob.keep(alice.peer)
    monkeypatch.setattr(limits, "IDLE_S", 0.1)
    await within(lambda: not alice.pool.links and not bob.pool.links)
    monkeypatch.setattr(limits, "IDLE_S", 60)
    assert (await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60))[0].value == 2


async def test_a_connection_that_cannot_be_looked_after_costs_no_other(
    start: Start, alice: RpcNode, bob: RpcNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    carol = await start()
    alice.learn(carol.address())
    for other in (bob, carol):
        await alice.call(other.peer, "add_one", Number(1), Number, deadline_s=60)
    failing, before = alice.pool.links[bob.peer], alice.pool.links[carol.peer]

    def fail(now: float, kept: bool) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(failing, "tend", fail)
    await within(lambda: failing.closed_because)
    assert (await alice.call(carol.peer, "add_one", Number(1), Number, deadline_s=60))[0].value == 2
    assert alice.pool.links[carol.peer] is before
    assert (await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60))[0].value == 2


async def test_who_connects_again_and_again_has_few_connections(bob: RpcNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RETIRED_S", math.inf)
    endpoint = await Endpoint.bind(os.urandom(32), LOOPBACK)
    made = [await endpoint.dial(bob.peer, bob.address().addresses) for _ in range(6)]
    await within(lambda: sum(connection.closed for connection in made) == len(made) - 1 - limits.RETIRED)
    assert not made[-1].closed and len(bob.pool.links) == 1 and len(bob.pool._retired) == limits.RETIRED
    await endpoint.close()


async def test_the_pool_is_bounded(start: Start, alice: RpcNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONNECTIONS", 4)
    # Each is seen at the address that answers first, of IPv4 or IPv6, and who is alone at one goes last.
    monkeypatch.setattr(crowds, "branch_of", lambda network, peer: ("one block", "one house", peer))
    others = [await start() for _ in range(7)]
    for other in others:
        alice.learn(other.address())
        await alice.call(other.peer, "add_one", Number(1), Number, deadline_s=60)
    assert set(alice.pool.links) == {other.peer for other in others[-4:]}  # the longest unused have gone
    gate = Gate()
    alice.register("wait", Number, gate)
    busy = [asyncio.create_task(o.call(alice.peer, "wait", Number(1), Number, deadline_s=60)) for o in others[-4:]]
    for _ in busy:
        await gate.begun.acquire()
    others[0].learn(alice.address())
    with pytest.raises(PeerUnreachable):  # those in use stay
        await others[0].call(alice.peer, "add_one", Number(1), Number, deadline_s=60)
    gate.open.set()
    await asyncio.gather(*busy)


async def test_peers_that_are_worked_with_stay_where_strangers_crowd_in(
    start: Start, alice: RpcNode, bob: RpcNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONNECTIONS", 4)
    alice.pool.is_stranger = lambda peer: peer != bob.peer
    await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60)
    for stranger in [await start() for _ in range(7)]:
        alice.learn(stranger.address())
        await alice.call(stranger.peer, "add_one", Number(1), Number, deadline_s=60)
    assert bob.peer in alice.pool.links, "the longest unused of them all"


async def test_peers_and_figures_are_shown(alice: RpcNode, bob: RpcNode) -> None:
    for _ in range(20):
        await alice.call(bob.peer, "echo", Number(1), Number, bytes(1000), deadline_s=60)
    with pytest.raises(CallRefused):
        await alice.call(bob.peer, "echo", Other([]), Number, deadline_s=60)
    [link] = alice.pool.links.values()
    assert (link.peer, link.path, link.seen_at() in bob.endpoint.sockets) == (bob.peer, "direct", True)
    moved = link.connection.path()
    assert moved.bytes_in > 20_000
    assert moved.bytes_out > 20_000
    assert abs(link.since_unix - time.time()) < 30
    mine, theirs = alice.metrics["echo"], bob.metrics["echo"]
    size = 20 * (1000 + len(msgspec.msgpack.encode(Number(1))))
    assert (mine.calls, mine.errors, mine.bytes_in, mine.bytes_out) == (20, 1, size, size)
    assert (theirs.served, theirs.refused, theirs.bytes_in, theirs.bytes_out) == (20, 1, size, size)
    assert alice.moved_by_method()["echo"] == (size, size)


# --- limits


async def test_memory_is_shared_out_in_turn() -> None:
    memory = Memory(100, by_peer=60)
    first = await memory.reserve(("here", "here", "a"), 60)
    own = asyncio.create_task(memory.reserve(("here", "here", "a"), 10))
    other = asyncio.create_task(memory.reserve(("there", "there", "b"), 40))
    await other  # a peer over its own share does not hold up the others
    assert not own.done()
    assert memory.used == 100
    own.cancel()
    with pytest.raises(asyncio.CancelledError):
        await own
    first.release()
    first.release()
    other.result().release()
    assert memory.used == 0


async def test_large_payloads_wait_for_memory(alice: RpcNode, bob: RpcNode, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, held = Gate(), []

    async def hold(request: Number, payload: Payload, context: Context) -> Number:
        held.append(len(payload))
        return await gate(request, payload, context)

    bob.register("hold", Number, hold, max_payload=MIB)
    bob._service.memory.by_peer = 2 * MIB
    calls = [
        asyncio.create_task(alice.call(bob.peer, "hold", Number(1), Number, bytes(MIB), deadline_s=60))
        for _ in range(6)
    ]
    await gate.begun.acquire()
    await gate.begun.acquire()
    assert (await alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60))[0].value == 2
    assert len(held) == 2
    gate.open.set()
    await asyncio.gather(*calls)
    await within(lambda: bob._service.memory.used == 0)


async def test_a_run_that_is_left_while_a_payload_comes_costs_no_connection(alice: RpcNode, bob: RpcNode) -> None:
    def leave(peer: PeerId, size: int) -> bool:
        asyncio.get_running_loop().call_soon(bob.unregister, "run")
        return True

    bob.register("hold@run", Number, add_one, max_payload=4 * MIB)
    bob.lets["hold@run"] = leave
    with pytest.raises(NotServed):
        await alice.call(bob.peer, "hold@run", Number(1), Number, bytes(4 * MIB), deadline_s=60)
    assert alice.pool.links[bob.peer].closed_because is None and bob._service.memory.used == 0


async def test_a_payload_on_its_way_over_a_connection_that_is_replaced_arrives(
    alice: RpcNode, bob: RpcNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RETIRED_S", 0.1)
    monkeypatch.setattr(limits, "IDLE_S", 1.0)
    old = await alice.pool.link(bob.peer)
    bob.limit(0, 256 * limits.KIB)  # it takes 4 seconds
    asked, until = msgspec.msgpack.encode(Number(1)), time.monotonic() + 60.0
    call = asyncio.create_task(alice._ask(old, "echo", asked, bytes(MIB), until))
    await within(lambda: (there := bob.pool.links.get(alice.peer)) and there._arriving)
    del alice.pool.links[bob.peer]
    await alice.pool.link(bob.peer)
    _, parts, _ = await call
    assert sum(map(len, parts)) == MIB
    await within(lambda: not bob.pool._retired)


async def test_a_peer_over_its_rate_is_read_more_slowly_but_stays(
    alice: RpcNode, bob: RpcNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CALLS_PER_S", 100.0)
    monkeypatch.setattr(limits, "CALL_BURST", 10.0)
    began = time.monotonic()
    await asyncio.gather(*(alice.call(bob.peer, "add_one", Number(1), Number, deadline_s=60) for _ in range(60)))
    assert time.monotonic() - began > 0.35
    assert bob.bans.score(alice.peer, time.monotonic()) == 0


# --- hostile peers


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: hearth\r\n\r\n",
        PREFIX.pack(limits.MAX_HEADER + 1, 0),
        PREFIX.pack(10, limits.MAX_PAYLOAD + 1),
        PREFIX.pack(0, 0),
        frame(b"\xc1"),
        frame(b"\x93\x01\x01\x01"),
        frame(msgspec.msgpack.encode([1, -1, "add_one", 100, {}])),
        frame(msgspec.msgpack.encode([1, 1, "x" * 65, 100, {}])),
        frame(msgspec.msgpack.encode([1, 1, "add_one", 10**9, {}])),
        frame(msgspec.msgpack.encode([99, 1])),
        frame(b"\x95\x01\x01\xa2\xff\xfe\x01\xc0"),
        frame(b"\x95\x01\x01\xa1a\x01" + b"\x91" * 100_000),
        frame(call(1, "wait")) + frame(call(1, "wait")),
    ],
)
async def test_broken_frames_end_the_connection_with_strikes(bob: RpcNode, mallory: Connection, data: bytes) -> None:
    bob.register("wait", Number, Gate())
    stream = await mallory.open()
    await stream.write(data)
    assert "protocol" in await closed(mallory)
    await within(lambda: not bob.pool.links)
    assert bob.bans.score(mallory.peer, time.monotonic()) == 0
    assert len(bob.bans._records) == 1


async def test_repeated_faults_ban_a_peer_until_they_are_forgotten(bob: RpcNode) -> None:
    seed = os.urandom(32)
    endpoint = await Endpoint.bind(seed, LOOPBACK)
    me = Identity(seed).peer
    for _ in range(2):
        connection = await endpoint.dial(bob.peer, bob.address().addresses)
        await (await connection.open()).write(PREFIX.pack(2**32 - 1, 2**32 - 1))
        assert "protocol" in await closed(connection)
    connection = await endpoint.dial(bob.peer, bob.address().addresses)
    assert "banned" in await closed(connection)
    with pytest.raises(PeerUnreachable, match="banned"):
        await bob.call(me, "add_one", Number(1), Number, deadline_s=60)
    bob.bans._records[me].until = 0.0
    connection = await endpoint.dial(bob.peer, bob.address().addresses)
    await (await connection.open()).write(frame(Ping()))
    await within(lambda: me in bob.pool.links)
    await endpoint.close()


async def test_a_frame_that_never_ends_is_given_up(
    bob: RpcNode, mallory: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FRAME_S", 0.3)
    monkeypatch.setattr(limits, "FRAME_BYTES_PER_S", 1e9)
    stream = await mallory.open()
    data = frame(call(1, "echo"), bytes(MIB))

    async def drip() -> None:
        for byte in range(2000):
            await stream.write(data[byte : byte + 1])
            await asyncio.sleep(0.01)

    task = asyncio.create_task(drip())
    assert "too slow" in await closed(mallory)
    with pytest.raises(PeerUnreachable):
        await task
    assert bob._service.memory.used == 0


async def test_the_users_limit_is_not_held_against_who_sends_a_large_frame(
    bob: RpcNode, mallory: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FRAME_S", 2.0)
    monkeypatch.setattr(limits, "FRAME_BYTES_PER_S", 1e9)
    arrived = Gate()
    bob.register("arrived", Number, arrived.method, max_payload=2 * MIB)
    bob.limit(0, 256 * limits.KIB)  # it takes 4 seconds
    await (await mallory.open()).write(frame(call(1, "arrived"), bytes(MIB)))
    async with asyncio.timeout(DEADLINE_S):
        await arrived.begun.acquire()


async def test_half_frames_and_lost_streams_leave_nothing_behind(bob: RpcNode, mallory: Connection) -> None:
    whole = frame(call(1, "echo"), bytes(MIB))
    for cut in (1, 7, 8, 20, 100, 40_000, 500_000):
        stream: SendStream = await mallory.open()
        await stream.write(whole[:cut])
        await stream.reset()
    stream = await mallory.open()
    await stream.write(frame(call(2, "add_one")))
    answers = await mallory.accept()
    assert b"\x93\x02\x02" in await answers.read(100)  # the connection still works
    link_there = next(iter(bob.pool.links.values()))
    await within(lambda: bob._service.memory.used == 0 and not link_there._frame_deadlines)


async def test_payloads_that_nobody_asked_for_are_not_taken(bob: RpcNode, mallory: Connection) -> None:
    stream = await mallory.open()
    await stream.write(frame(msgspec.msgpack.encode([2, 77, None])))
    await stream.write(frame(Cancel(99)) + frame(msgspec.msgpack.encode([3, 77, "x", "y"])))
    with pytest.raises(PeerUnreachable):
        for header in (msgspec.msgpack.encode([2, 77, None]), msgspec.msgpack.encode([5])):
            await stream.write(PREFIX.pack(len(header), limits.MAX_PAYLOAD) + header)
            for _ in range(64):
                await stream.write(bytes(MIB))
    assert bob._service.memory.used == 0
    assert not mallory.closed


async def test_a_flood_of_calls_is_outlived_with_bounded_memory(bob: RpcNode, start: Start) -> None:
    bob.register("wait", Number, Gate())
    seed = os.urandom(32)
    endpoint = await Endpoint.bind(seed, LOOPBACK)
    connection = await endpoint.dial(bob.peer, bob.address().addresses)
    stream = await connection.open()
    carol = await start()
    carol.learn(bob.address())
    await carol.call(bob.peer, "add_one", Number(1), Number, deadline_s=60)
    gc.collect()
    before = psutil.Process().memory_info().rss
    flood = b"".join(frame(call(number, "wait", deadline_ms=600_000)) for number in range(20_000))

    async def pour() -> None:
        while True:
            await stream.write(flood)

    task = asyncio.create_task(pour())
    await closed(connection)  # what it is told is lost in a flood that fills the socket
    assert bob.distrusts(Identity(seed).peer)
    with pytest.raises(PeerUnreachable):
        await task
    assert (await carol.call(bob.peer, "add_one", Number(1), Number, deadline_s=60))[0].value == 2
    assert psutil.Process().memory_info().rss - before < 64 * MIB
    await endpoint.close()


async def test_a_flood_of_pings_from_a_peer_that_never_reads_is_bounded(bob: RpcNode, mallory: Connection) -> None:
    stream = await mallory.open()
    await within(lambda: bob.pool.links)
    link_there = next(iter(bob.pool.links.values()))
    taken = 0
    spend = bob._service.spend

    def count(*charge: Any) -> float:
        nonlocal taken
        taken += 1
        return spend(*charge)

    bob._service.spend = count  # type: ignore[method-assign, assignment]
    task = asyncio.create_task(stream.write(frame(Ping()) * 60_000))
    await within(lambda: taken > 20_000)
    assert link_there._small._queued <= limits.OUTGOING + 1000
    task.cancel()


async def test_too_many_streams_end_the_connection(bob: RpcNode, mallory: Connection) -> None:
    opened = []
    with pytest.raises(PeerUnreachable):
        async with asyncio.timeout(DEADLINE_S):
            while True:
                stream = await mallory.open()
                await stream.write(b"\x00")
                opened.append(stream)
    assert "too many streams" in await closed(mallory)
    assert len(opened) <= 101


# --- parsers


@given(st.binary(max_size=200))
def test_no_bytes_break_the_header_parser(data: bytes) -> None:
    with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
        assert isinstance(link._decode(data), msgspec.Struct)


_scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=80) | st.binary(max_size=80)
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner), max_leaves=8
)


@given(st.lists(st.integers(0, 8) | _values, max_size=6))
def test_no_values_break_the_header_parser(values: list[Any]) -> None:
    try:
        header = link._decode(msgspec.msgpack.encode(values))
    except msgspec.MsgspecError:
        return
    assert values[0] in range(1, 7)
    if isinstance(header, Call):
        assert 1 <= len(header.method) <= 64


async def test_no_bytes_break_a_node(bob: RpcNode, start: Start) -> None:
    """Random and nearly right frames, each on a connection of its own, while an honest peer calls."""
    carol = await start()
    carol.learn(bob.address())
    endpoint = await Endpoint.bind(os.urandom(32), LOOPBACK)
    good = frame(call(1, "echo"), b"payload")
    for step in range(60):
        bob.bans._records.clear()
        connection = await endpoint.dial(bob.peer, bob.address().addresses)
        data = bytearray(good * 3)
        for index, value in zip(os.urandom(1 + step % 5), os.urandom(5), strict=False):
            data[index % len(data)] = value
        stream = await connection.open()
        with contextlib.suppress(PeerUnreachable):
            await stream.write(bytes(data) if step % 4 else os.urandom(300))
        if step % 3 == 0:
            connection.close("enough")
    assert (await carol.call(bob.peer, "add_one", Number(1), Number, deadline_s=60))[0].value == 2
    await endpoint.close()
    await within(lambda: list(bob.pool.links) == [carol.peer])

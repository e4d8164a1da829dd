"""Lanes over TCP between real nodes on loopback: used where they can be, and no worse than QUIC where not."""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from core.contracts.errors import CallRefused, PeerUnreachable
from core.contracts.net import TCP_NAME, Answer, Payload, Ticket
from core.identity import Identity
from core.net import addresses, limits, tcp
from core.net.addresses import is_near
from core.net.endpoint import LOOPBACK
from core.net.method import Context
from core.net.rpc import RpcNode
from core.net.tcp import TcpReceiver, TcpSender

DEADLINE_S = 240.0
MIB = limits.MIB
KEY = bytes(32)


class Word(msgspec.Struct):
    word: str = ""


async def echo(request: Word, payload: Payload, context: Context) -> tuple[Word, Payload]:
    return request, payload


async def within(condition: Callable[[], Any]) -> None:
    """Wait until the condition holds."""
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 the other side of a socket has no event to wait on
            await asyncio.sleep(0.005)


@pytest.fixture
async def nodes() -> AsyncIterator[tuple[RpcNode, RpcNode]]:
    """Two that know each other."""
    async with contextlib.AsyncExitStack() as stack:
        alice, bob = [
            await stack.enter_async_context(RpcNode(Identity.generate(), listen=LOOPBACK[:1])) for _ in range(2)
        ]
        for node in (alice, bob):
            node.register("echo", Word, echo, max_payload=32 * MIB)
        alice.learn(bob.address())
        yield alice, bob


async def say(alice: RpcNode, bob: RpcNode, size: int) -> bytes:
    payload = bytes(range(256)) * (size // 256)
    _, answer = await alice.call(bob.peer, "echo", Word(), Word, payload, deadline_s=DEADLINE_S)
    assert answer == payload
    return answer


def lanes(node: RpcNode, other: RpcNode) -> list[Any]:
    """Those over TCP that are open."""
    return [lane for lane in node.pool.links[other.peer].lanes._fast if not lane.ended]


async def warmed_up(alice: RpcNode, bob: RpcNode) -> None:
    """Until each has a lane to the other."""
    await say(alice, bob, MIB)
    await within(lambda: lanes(alice, bob) and lanes(bob, alice))


async def test_a_lane_belongs_to_the_connection_that_asked_for_it(nodes: tuple[RpcNode, RpcNode]) -> None:
    """For a moment after two peers have dialled each other, or one was started anew, there are two."""
    alice, bob = nodes
    await warmed_up(alice, bob)
    first = alice.pool.links.pop(bob.peer)
    await alice.pool.link(bob.peer)  # to bob it is the newer one, by which he calls from now on
    first.lanes.renew()
    until, said, payload = time.monotonic() + DEADLINE_S, msgspec.msgpack.encode(Word("by the first")), bytes(MIB)
    async with asyncio.timeout(DEADLINE_S):
        while not first.lanes._idle_fast:
            await alice._ask(first, "echo", said, payload, until)
        lane = first.lanes._idle_fast[0]
        answer, parts, _ = await alice._ask(first, "echo", said, payload, until)
    assert bytes(answer.body) == said and b"".join(parts) == payload and first.lanes._idle_fast == [lane]


async def test_large_frames_go_over_tcp_both_ways_and_are_counted(nodes: tuple[RpcNode, RpcNode]) -> None:
    alice, bob = nodes
    await warmed_up(alice, bob)
    before, quic = alice.moved(), alice.endpoint.moved()
    await say(alice, bob, 8 * MIB)
    after, quic_after = alice.moved(), alice.endpoint.moved()
    for direction in (0, 1):
        assert after[direction] - before[direction] > 8 * MIB
        assert quic_after[direction] - quic[direction] < MIB
    assert min(alice.pool.links[bob.peer].lanes.over_tcp.on_the_wire()) > 8 * MIB, "also by peer"


async def test_an_answer_that_comes_too_late_costs_no_lane(nodes: tuple[RpcNode, RpcNode]) -> None:
    alice, bob = nodes
    await warmed_up(alice, bob)
    before = lanes(bob, alice)
    late = Answer(2**40, msgspec.Raw(msgspec.msgpack.encode(Word())))

    async def after_another(request: Word, payload: Payload, context: Context) -> tuple[Word, Payload]:
        await bob.pool.links[alice.peer].send(late, bytes(12 * MIB))
        return request, bytes(MIB)

    bob.register("after_another", Word, after_another)
    for _ in range(limits.LANES):
        assert len((await alice.call(bob.peer, "after_another", Word(), Word, deadline_s=DEADLINE_S))[1]) == MIB
    assert lanes(bob, alice)[: len(before)] == before


async def test_many_frames_at_once_open_no_more_lanes_than_agreed(nodes: tuple[RpcNode, RpcNode]) -> None:
    alice, bob = nodes
    for _ in range(3):
        await asyncio.gather(*(say(alice, bob, MIB) for _ in range(16)))
    await within(lambda: not alice.pool.links[bob.peer].lanes._opening)
    assert 1 <= len(lanes(alice, bob)) <= limits.LANES
    assert len(bob.pool.links[alice.peer]._readers) <= 1 + 2 * limits.LANES


async def test_a_frame_that_is_cancelled_or_refused_costs_its_lane_only(nodes: tuple[RpcNode, RpcNode]) -> None:
    alice, bob = nodes
    await warmed_up(alice, bob)
    link, there = alice.pool.links[bob.peer], bob.pool.links[alice.peer]
    for _ in range(2 * limits.LANES):
        lane = link.lanes._idle_fast[-1] if link.lanes._idle_fast else None
        task = asyncio.create_task(alice.call(bob.peer, "echo", Word(), Word, bytes(32 * MIB), deadline_s=DEADLINE_S))
        await within(lambda: there._frame_deadlines)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if lane is not None:
            await within(partial(getattr, lane, "ended"))
        with pytest.raises(CallRefused, match="takes at most"):
            await alice.call(bob.peer, "echo", Word(), Word, bytes(33 * MIB), deadline_s=DEADLINE_S)
        await within(lambda: not there._frame_deadlines)
        bob.bans.strike(alice.peer, -bob.bans.score(alice.peer, time.monotonic()), time.monotonic())
    await say(alice, bob, 8 * MIB)
    assert alice.pool.links[bob.peer] is link
    await within(lambda: bob._service.memory.used == 0)


async def test_a_pc_that_moves_opens_new_lanes(nodes: tuple[RpcNode, RpcNode]) -> None:
    alice, bob = nodes
    await warmed_up(alice, bob)
    link = alice.pool.links[bob.peer]
    await within(lambda: not link.lanes._opening)
    before = lanes(alice, bob)
    link.lanes._host = "192.168.1.2"  # as if the peer had been seen there
    await within(lambda: before[0].ended)
    await warmed_up(alice, bob)
    assert alice.pool.links[bob.peer] is link and not set(lanes(alice, bob)) & set(before)


async def test_without_tcp_frames_go_over_quic(nodes: tuple[RpcNode, RpcNode], monkeypatch: pytest.MonkeyPatch) -> None:
    alice, bob = nodes
    monkeypatch.setattr(addresses, "NEAR", [])
    await say(alice, bob, MIB)
    await within(lambda: alice.pool.links[bob.peer].lanes._slow_until)
    await say(alice, bob, MIB)
    assert alice._tcp.moved() == bob._tcp.moved() == (0, 0)


async def test_who_limits_its_bandwidth_takes_and_opens_none(nodes: tuple[RpcNode, RpcNode]) -> None:
    alice, bob = nodes
    bob.limit(100 * MIB, 100 * MIB)
    for _ in range(2):
        await say(alice, bob, MIB)
    await within(lambda: alice.pool.links[bob.peer].lanes._slow_until)
    assert alice._tcp.moved() == bob._tcp.moved() == (0, 0)


async def test_the_end_of_a_connection_ends_its_lanes(nodes: tuple[RpcNode, RpcNode]) -> None:
    alice, bob = nodes
    begun = asyncio.Event()

    async def never(request: Word, payload: Payload, context: Context) -> Word:
        begun.set()
        await asyncio.Event().wait()
        return request

    bob.register("never", Word, never, max_payload=MIB)
    await warmed_up(alice, bob)
    bob._service.memory.by_peer = MIB
    calls = [
        asyncio.create_task(alice.call(bob.peer, "never", Word(), Word, bytes(MIB), deadline_s=DEADLINE_S))
        for _ in range(6)
    ]
    await begun.wait()  # the other frames are on their way: there is no memory for them
    all_lanes = [*alice.pool.links[bob.peer].lanes._fast]
    alice.pool.links[bob.peer].close("test")
    for result in await asyncio.gather(*calls, return_exceptions=True):
        assert isinstance(result, PeerUnreachable)
    await within(lambda: all(lane.ended for lane in all_lanes))
    bob._service.memory.by_peer = limits.RECEIVING_BY_PEER
    await warmed_up(alice, bob)


# strangers, and peers that keep to no rules


def taken(node: RpcNode, other: RpcNode) -> int:
    """Lanes over TCP that another peer has to a node."""
    return sum(isinstance(reader, TcpReceiver) for reader in node.pool.links[other.peer]._readers)


async def connected(ticket: Ticket, said: bytes) -> socket.socket:
    sock = socket.socket()
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", ticket.port))
    await asyncio.get_running_loop().sock_sendall(sock, said)
    return sock


async def ended(sock: socket.socket) -> None:
    """Wait until the other side has closed it."""
    async with asyncio.timeout(DEADLINE_S):
        with contextlib.suppress(ConnectionError):
            assert await asyncio.get_running_loop().sock_recv(sock, 1) == b""
    sock.close()


async def test_a_ticket_is_good_once_and_nobody_gets_in_without(
    nodes: tuple[RpcNode, RpcNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob = nodes
    monkeypatch.setattr(tcp, "TICKET_S", 3600.0)
    await warmed_up(alice, bob)
    link = alice.pool.links[bob.peer]
    ticket = await alice.ask_ticket(link)
    await ended(await connected(ticket, bytes(TCP_NAME)))
    first = await connected(ticket, ticket.name)
    await within(lambda: ticket.name not in bob._tcp._issued)
    await ended(await connected(ticket, ticket.name))
    silent = await connected(ticket, b"")
    await within(lambda: len(bob._tcp._greeting) == 1)
    await say(alice, bob, MIB)
    assert alice.pool.links[bob.peer] is link
    first.close()
    silent.close()
    await within(lambda: not bob._tcp._greeting)


async def test_who_connects_just_when_a_node_leaves_is_closed(nodes: tuple[RpcNode, RpcNode]) -> None:
    alice, bob = nodes
    await warmed_up(alice, bob)
    [listening] = bob._tcp._listening.values()
    earlier = listening.last
    sock = socket.create_connection(listening.getsockname())  # the node's loop has had no turn yet
    # Accepted, but the task that waits for it has not run yet.
    while listening.last is earlier:  # noqa: ASYNC110
        await asyncio.sleep(0)
    [accepting] = [task for task in bob._tasks if task.get_name() == "TCP lanes"]
    accepting.cancel()
    await within(accepting.done)
    assert listening.last is not None and listening.last.fileno() < 0
    sock.close()


async def test_a_ticket_expires_and_a_peer_has_few(
    nodes: tuple[RpcNode, RpcNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob = nodes
    monkeypatch.setattr(tcp, "TICKET_S", 3600.0)
    await warmed_up(alice, bob)
    link = alice.pool.links[bob.peer]
    await within(lambda: not link.lanes._opening and not bob._tcp._issued)
    for _ in range(limits.LANES):
        await alice.ask_ticket(link)
    with pytest.raises(CallRefused):
        await alice.ask_ticket(link)
    for name, issued in [*bob._tcp._issued.items()]:
        bob._tcp._issued[name] = issued._replace(until=time.monotonic() - 1)
    ticket = await alice.ask_ticket(link)
    assert [*bob._tcp._issued] == [ticket.name]
    bob._tcp._issued[ticket.name] = bob._tcp._issued[ticket.name]._replace(until=time.monotonic() - 1)
    await ended(await connected(ticket, ticket.name))


async def test_silent_strangers_keep_no_peer_out(
    nodes: tuple[RpcNode, RpcNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob = nodes
    monkeypatch.setattr(tcp, "TICKET_S", 3600.0)
    await warmed_up(alice, bob)
    link = alice.pool.links[bob.peer]
    await within(lambda: not link.lanes._opening and not bob._tcp._issued)
    before = taken(bob, alice)
    ticket = await alice.ask_ticket(link)
    silent = [await connected(ticket, b"") for _ in range(limits.HANDSHAKES)]
    await within(lambda: len(bob._tcp._greeting) == limits.HANDSHAKES)
    honest = await connected(ticket, ticket.name)
    await within(lambda: taken(bob, alice) == before + 1)
    await ended(silent.pop(0))
    assert len(bob._tcp._greeting) <= limits.HANDSHAKES
    for sock in (*silent, honest):
        sock.close()


async def test_a_peer_has_few_lanes_and_all_together_no_more_than_there_are_files(
    nodes: tuple[RpcNode, RpcNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob = nodes
    await warmed_up(alice, bob)
    link = alice.pool.links[bob.peer]
    await within(lambda: not link.lanes._opening and not bob._tcp._issued)
    held, before = [], taken(bob, alice)
    with pytest.raises(CallRefused):
        for _ in range(limits.STREAMS):
            ticket = await alice.ask_ticket(link)
            held.append(await connected(ticket, ticket.name))
            await within(lambda: not bob._tcp._issued)
    assert before < taken(bob, alice) <= 2 * limits.LANES
    for sock in held:
        sock.close()
    await within(lambda: taken(bob, alice) == before)
    await alice.ask_ticket(link)
    monkeypatch.setattr(limits, "TCP_LANES", 1)
    with pytest.raises(CallRefused):
        await alice.ask_ticket(link)
    with pytest.raises(CallRefused):
        await alice._tcp.open(link)
    await say(alice, bob, MIB)


async def test_a_record_that_has_begun_is_not_waited_for_without_end(
    nodes: tuple[RpcNode, RpcNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob = nodes
    await warmed_up(alice, bob)
    ticket = await alice.ask_ticket(alice.pool.links[bob.peer])
    monkeypatch.setattr(tcp, "RECORD_S", 0.1)
    await ended(await connected(ticket, ticket.name + (tcp.RECORD).to_bytes(4) + bytes(100)))


@pytest.mark.parametrize("said", [bytes(4), b"\xff" * 4, b"\x00\x00\x00\x20" + bytes(32)])
async def test_what_is_not_sealed_by_the_peer_ends_the_connection(nodes: tuple[RpcNode, RpcNode], said: bytes) -> None:
    alice, bob = nodes
    await warmed_up(alice, bob)
    link = bob.pool.links[alice.peer]
    mine = alice.pool.links[bob.peer]
    ticket = await alice.ask_ticket(mine)
    sock = await connected(ticket, ticket.name + said)
    await within(lambda: link.closed_because and mine.closed_because)
    await ended(sock)
    await say(alice, bob, MIB)


async def test_records_cannot_be_changed_repeated_or_left_out() -> None:
    loop = asyncio.get_running_loop()
    sender_end, tapped = socket.socketpair()
    for sock in (sender_end, tapped):
        sock.setblocking(False)
    lost: list[int] = []
    sender = TcpSender(sender_end, KEY, [], lambda: lost.append(1))
    records = []
    for word in (b"one", b"two"):
        await sender.write(word)
        records.append(await loop.sock_recv(tapped, 1000))
    one, two = records
    assert b"one" not in one
    for said in ([two], [one, one], [one[:-1] + bytes([one[-1] ^ 1])], [one, two]):
        near, far = socket.socketpair()
        far.setblocking(False)
        receiver = TcpReceiver(far, KEY, [])
        near.sendall(b"".join(said))
        if said == [one, two]:
            assert await receiver.read_exactly(2) == b"on"
            assert await receiver.read(100) == b"e"
            assert await receiver.read_exactly(3) == b"two"
            near.close()
            assert await receiver.read(100) == b"" and not receiver.broken
        else:
            with pytest.raises(PeerUnreachable):
                await receiver.read_exactly(6)
            assert receiver.broken
            near.close()
        receiver.close()
    tapped.close()
    await within(lambda: sender.ended)
    with pytest.raises(PeerUnreachable):
        await sender.write(b"three")
    assert not lost  # the peer closed it: nothing that was sent can be lost unseen


@pytest.mark.parametrize(
    ("host", "near"),
    [
        ("127.0.0.9", True),
        ("192.168.1.7", True),
        ("10.1.2.3", True),
        ("172.31.0.1", True),
        ("172.32.0.1", False),
        ("203.0.113.5", False),
        ("8.8.8.8", False),
        ("::1", True),
        ("fd00::1", True),
        ("2001:db8::1", False),
        ("fe80::1%eth0", False),
        ("", False),
    ],
)
def test_near_is_this_pc_and_its_local_network(host: str, near: bool) -> None:
    assert is_near(host) is near

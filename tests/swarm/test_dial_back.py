"""Dial-backs on loopback, where each peer has a host of its own: who is a stranger, what is refused, what is a lie."""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

import pytest

from core.contracts.errors import CallRefused, HearthError
from core.contracts.net import Observe, Observed, Payload
from core.identity import Identity, PeerId
from core.net import limits
from core.net import reach as reaching
from core.net.dial_back import KNOWN_HOSTS, DialBack, DialFor, DialledBack
from core.net.method import Context
from core.net.nat import NOT_CERTAIN
from core.net.reach import Reach
from core.net.rpc import RpcNode
from tests.dht_peers import until

NOBODY = Identity.generate().peer


class Swarm(NamedTuple):
    """`inside` is connected to the backbone peer `first`, that to `second`. A dial-back comes from 127.0.0.1."""

    inside: RpcNode
    first: RpcNode
    second: RpcNode
    reach: Reach
    """Of `inside`."""
    known: Reach
    """Of `second`: it knows whom it takes for a backbone peer."""


@contextlib.asynccontextmanager
async def a_peer(host: int, *via: RpcNode, **roles: bool) -> AsyncIterator[tuple[RpcNode, Reach]]:
    async with RpcNode(Identity.generate(), listen=(f"127.0.0.{host}:0",)) as node:
        for other in via:
            node.learn(other.address())
        async with Reach(node, bootstrap=[other.peer for other in via], **roles) as reach:
            yield node, reach


@pytest.fixture
async def swarm() -> AsyncIterator[Swarm]:
    async with contextlib.AsyncExitStack() as stack:
        first, one = await stack.enter_async_context(a_peer(2, backbone=True))
        second, other = await stack.enter_async_context(a_peer(3, first, backbone=True))
        await until(lambda: one.helpers() == [second.peer] and other.helpers() == [first.peer], "the backbone")
        inside, reach = await stack.enter_async_context(a_peer(4, first))
        await until(lambda: reach.state.kind != "unknown", "the first measurement")
        yield Swarm(inside, first, second, reach, other)


@pytest.fixture
def deaf() -> Iterator[socket.socket]:
    """A socket that answers nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind(("127.0.0.9", 0))
        made.setblocking(False)
        yield made


async def ask(asker: RpcNode, dialler: RpcNode, address: str, target: PeerId = NOBODY) -> DialledBack:
    """Have another peer dial an address."""
    answer, _ = await asker.call(dialler.peer, "reach.dialfor", DialFor(target, address), DialledBack, deadline_s=120)
    return answer


async def test_a_stranger_is_the_proof_and_stands_when_it_has_become_an_acquaintance(swarm: Swarm) -> None:
    state = swarm.reach.state
    assert state.kind == "reachable" and state.step.code == "reach.by_stranger" and swarm.inside.relays == ()
    assert "127.0.0.1" in swarm.inside.pool.hosts()
    assert (await swarm.reach.measure()).step == state.step


async def test_who_is_dialled_by_a_host_that_it_writes_to_has_no_proof(swarm: Swarm) -> None:
    async with a_peer(1, backbone=True) as (near, _), a_peer(5, swarm.first, near) as (guest, reach):
        await until(lambda: len(reach.helpers()) == 2, "both")
        state = await reach.measure()
        assert state.kind == "reachable" and state.step == NOT_CERTAIN
        assert set(guest.relays) == {swarm.first.peer, near.peer}, "it can still be met"


async def test_hosts_are_strangers_again_a_while_after_the_last_connection(
    swarm: Swarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {"127.0.0.1", "127.0.0.2"} <= {*swarm.inside.pool.hosts()}
    monkeypatch.setattr(limits, "FORGOTTEN_S", 0.0)
    assert swarm.inside.pool.hosts() == ["127.0.0.2"], "that of the connection which is open"


async def test_a_backbone_peer_that_the_asker_knows_is_not_sent_to_dial_it(swarm: Swarm) -> None:
    def sent() -> list[int]:
        return [node.metrics["reach.dialfor"].served for node in (swarm.first, swarm.second)]

    assert sent() == [0, 1], "for the first measurement"
    async with a_peer(5, swarm.first, swarm.second) as (_, reach):
        await until(lambda: len(reach.helpers()) == 2, "both")
        await reach.measure()
    assert sent() == [0, 1]


async def test_nobody_else_is_dialled_for_who_is_no_backbone_peer(swarm: Swarm, deaf: socket.socket) -> None:
    address = "{}:{}".format(*deaf.getsockname())
    swarm.inside.learn(swarm.second.address())
    with pytest.raises(CallRefused, match="Only backbone peers"):
        await ask(swarm.inside, swarm.second, address)
    with pytest.raises(CallRefused, match="dials for no other"):
        await ask(swarm.first, swarm.inside, address)
    with pytest.raises(BlockingIOError):
        deaf.recv(2000)


@pytest.mark.parametrize(
    "address",
    ["", "127.0.0.9", "127.0.0.9:0", "127.0.0.9:x", "example.org:4000", "224.0.0.1:4000", "0.0.0.0:4000", "[::1]:4000"],
)
async def test_what_is_no_address_of_a_host_is_not_dialled(swarm: Swarm, address: str) -> None:
    with pytest.raises(CallRefused, match="not dialled"):
        await ask(swarm.first, swarm.second, address)


async def test_requests_have_bounds(swarm: Swarm) -> None:
    with pytest.raises(CallRefused, match="length"):
        await ask(swarm.first, swarm.second, "1" * 65)
    with pytest.raises(CallRefused, match="length"):
        known = ("127.0.0.9",) * (KNOWN_HOSTS + 1)
        await swarm.inside.call(swarm.first.peer, "reach.dialback", DialBack(known), DialledBack, deadline_s=120)


async def test_a_target_is_dialled_a_few_times_whoever_asks(swarm: Swarm, deaf: socket.socket) -> None:
    host, port = deaf.getsockname()
    async with a_peer(6, swarm.second, backbone=True) as (another, _):
        await until(lambda: another.peer in swarm.known.helpers(), "another")
        asked = [ask(asker, swarm.second, f"{host}:{port}") for asker in (swarm.first, another) for _ in range(3)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
    assert answers.count(DialledBack(None)) == 3
    assert sum("too often" in str(answer) for answer in answers) == 3
    sizes = []
    with contextlib.suppress(BlockingIOError):
        while True:
            sizes.append(len(deaf.recv(2000)))
    assert 3 <= len(sizes) <= 15 and max(sizes) <= 1200, "as much as the limits reckon with"


async def test_an_asker_gets_few_targets_dialled(swarm: Swarm) -> None:
    began = time.monotonic()
    asked = [ask(swarm.first, swarm.second, f"127.0.1.{n}:9") for n in range(1, 12)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert all("too often" in str(answer) for answer in answers if answer != DialledBack(None))
    assert 3 <= answers.count(DialledBack(None)) <= 5 + 0.2 * (time.monotonic() - began)


async def test_all_targets_together_are_dialled_so_often_and_no_more(swarm: Swarm) -> None:
    began = time.monotonic()
    async with contextlib.AsyncExitStack() as stack:
        askers = [
            (await stack.enter_async_context(a_peer(host, swarm.second, backbone=True)))[0] for host in range(6, 9)
        ]
        await until(lambda: {asker.peer for asker in askers} <= {*swarm.known.helpers()}, "the askers")
        asked = [ask(asker, swarm.second, f"127.0.1.{n}:9") for n, asker in enumerate(askers * 5)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
    assert all("too often" in str(answer) for answer in answers if answer != DialledBack(None))
    assert 5 <= answers.count(DialledBack(None)) <= 10 + time.monotonic() - began


async def test_who_asks_believes_only_in_connections_that_came(swarm: Swarm) -> None:
    """A peer says that this one was dialled: by nobody, itself, who came before, whom this one dialled meanwhile."""
    told = NOBODY

    async def observe(request: Observe, payload: Payload, context: Context) -> Observed:
        return Observed(context.address, True, False)

    async def lie(request: DialBack, payload: Payload, context: Context) -> DialledBack:
        if told == swarm.first.peer:
            guest.learn(swarm.first.address())
            await guest.pool.link(told)
        return DialledBack(told)

    async with RpcNode(Identity.generate(), listen=("127.0.0.7:0",)) as liar:
        liar.register("reach.observe", Observe, observe)
        liar.register("reach.dialback", DialBack, lie)
        async with a_peer(8, liar) as (guest, reach):
            await until(lambda: reach.helpers() == [liar.peer], "the liar")
            swarm.inside.learn(guest.address())
            with contextlib.suppress(HearthError):
                await swarm.inside.call(guest.peer, "no.such", Observe(), Observed, deadline_s=10)
            for told in (NOBODY, liar.peer, swarm.inside.peer, swarm.first.peer):
                state = await reach.measure()
                assert state.kind == "dial-out only", told
            assert {swarm.inside.peer, swarm.first.peer} <= guest.pool.links.keys(), "lies end no connection"


async def test_what_is_still_true_of_the_network_before_is_asked_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first answers after a change may be of before it."""
    monkeypatch.setattr(reaching, "AGAIN_S", 0.1)
    told, asked = "192.0.2.1:4000", 0

    async def observe(request: Observe, payload: Payload, context: Context) -> Observed:
        nonlocal asked
        asked += 1
        return Observed(told, True, False)

    async with RpcNode(Identity.generate(), listen=("127.0.0.7:0",)) as helper:
        helper.register("reach.observe", Observe, observe)
        async with a_peer(8, helper) as (guest, reach):
            await until(lambda: reach.state.outside == (told,), "the first measurement")
            before, here, link = asked, guest.endpoint.addresses(), guest.pool.links[helper.peer]
            monkeypatch.setattr(guest.endpoint, "addresses", lambda: [*here, "127.0.0.8:9"])
            await until(lambda: asked >= before + 2, "the probe, and the first measurement there")
            told = "192.0.2.2:4000"
            await until(lambda: reach.state.outside == (told,), "another measurement")
            assert guest.pool.links[helper.peer] is link, "not only because it came anew"


async def test_who_says_that_nobody_gets_in_does_not_outweigh_who_got_in() -> None:
    """Also where those that lie were here before the backbone peer that the user named."""

    async def observe(request: Observe, payload: Payload, context: Context) -> Observed:
        return Observed(context.address, True, False)

    async def deny(request: DialBack, payload: Payload, context: Context) -> DialledBack:
        return DialledBack(None)

    async with (
        a_peer(2, backbone=True) as (first, _),
        a_peer(8, first) as (guest, reach),
        contextlib.AsyncExitStack() as s,
    ):
        await until(lambda: reach.state.kind == "reachable", "the first measurement")
        address = guest.address()
        for host in (5, 6):
            liar = await s.enter_async_context(RpcNode(Identity.generate(), listen=(f"127.0.0.{host}:0",)))
            liar.register("reach.observe", Observe, observe)
            liar.register("reach.dialback", DialBack, deny)
            liar.learn(address)
            await liar.pool.link(guest.peer)
            await until(lambda peer=liar.peer: peer in reach.helpers(), "the liar")  # type: ignore[misc]
        assert (await reach.measure()).kind == "reachable"
        guest.pool.links[first.peer].close("cut")
        await until(lambda: [*guest.pool.links][-1] == first.peer, "the named one is back, as the last")
        state = await reach.measure()
        assert state.kind == "reachable" and guest.address().addresses and state.step == NOT_CERTAIN

"""How peers come to one group: real endpoints on loopback, with a DHT of their own."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import NamedTuple

import pytest

from core.contracts.net import PeerAddress
from core.contracts.trunk_rounds import Group
from core.dht.node import DHTNode
from core.identity import Identity, PeerId
from core.net.endpoint import LOOPBACK
from core.net.rpc import RpcNode
from core.swarm.trunk.matchmaking import Matchmaking, Wish, equal_shares
from tests.dht_peers import until

DEADLINE_S = 60.0
LONG_S = 40.0
"""In which a group that can be full is full, however busy the machine is."""
NUMBERS = 1001


class Peer(NamedTuple):
    node: RpcNode
    matchmaking: Matchmaking

    def wish(self, step: int = 1, *, numbers: int = NUMBERS, sends: bool = True) -> Wish:
        return Wish(step, self.node.address(), numbers, sends)


Start = Callable[[int], Awaitable[list[Peer]]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    async with contextlib.AsyncExitStack() as stack:

        async def some(count: int) -> list[Peer]:
            peers: list[Peer] = []
            for _ in range(count):
                identity = Identity.generate()
                node = await stack.enter_async_context(RpcNode(identity, listen=LOOPBACK[:1]))
                dht = await stack.enter_async_context(DHTNode(node, identity))
                for other in peers:
                    node.learn(other.node.address())
                await dht.bootstrap([other.node.peer for other in peers])
                found = Matchmaking(node, dht, "run-1", codec="fp32", grace_s=10.0, share=equal_shares)
                peers.append(Peer(node, found))
            return peers

        yield some


async def groups(peers: Sequence[Peer], most: int, within_s: float = LONG_S, step: int = 1) -> list[Group | None]:
    async with asyncio.timeout(DEADLINE_S):
        return await asyncio.gather(*(peer.matchmaking.find(peer.wish(step), most, within_s) for peer in peers))


async def test_all_who_want_a_round_are_in_one_group(start: Start) -> None:
    peers = await start(5)
    found = await groups(peers, 5)
    assert found[0] is not None and all(group == found[0] for group in found)
    assert {member.peer for member in found[0].members} == {peer.node.peer for peer in peers}
    assert sum(found[0].shares) == NUMBERS and max(found[0].shares) - min(found[0].shares) <= 1


async def test_who_comes_first_waits_for_the_others(start: Start) -> None:
    peers = await start(3)
    first = asyncio.create_task(peers[0].matchmaking.find(peers[0].wish(), 3, LONG_S))
    second = asyncio.create_task(peers[1].matchmaking.find(peers[1].wish(), 3, LONG_S))
    async with asyncio.timeout(DEADLINE_S):
        third = await peers[2].matchmaking.find(peers[2].wish(), 3, LONG_S)
        assert third is not None and await first == third == await second


async def test_a_group_is_what_it_is_when_its_time_is_over(start: Start) -> None:
    """It would be full with four; whoever found nobody in so short a time is alone."""
    peers = await start(3)
    found = await groups(peers, 4, within_s=5.0)
    met = [group for group in found if group is not None]
    assert met and all(
        peer.node.peer in {member.peer for member in group.members}
        for peer, group in zip(peers, found, strict=True)
        if group
    )


async def test_whom_nobody_can_call_gathers_nobody(start: Start) -> None:
    for _ in range(3):  # its rank would be the lowest every other time
        [one, other] = peers = await start(2)
        other.node.dial_only = True
        [group, same] = await groups(peers, 2)
        assert group is not None and group == same
        assert PeerId(group.members[0].peer) == one.node.peer and group.shares == (NUMBERS, 0)


async def test_nobody_is_alone_in_a_group(start: Start) -> None:
    [peer] = await start(1)
    assert await peer.matchmaking.find(peer.wish(), 4, 0.2) is None


async def test_each_round_has_a_group_of_its_own(start: Start) -> None:
    peers = await start(4)
    old, new = await asyncio.gather(groups(peers[:2], 2, step=1), groups(peers[2:], 2, step=2))
    assert old[0] is not None and new[0] is not None
    assert {member.peer for member in old[0].members} == {peer.node.peer for peer in peers[:2]}
    assert {member.peer for member in new[0].members} == {peer.node.peer for peer in peers[2:]}
    assert old[0].key != new[0].key


async def test_another_vector_is_no_match(start: Start) -> None:
    peers = await start(3)
    async with asyncio.timeout(DEADLINE_S):
        found = await asyncio.gather(
            peers[0].matchmaking.find(peers[0].wish(), 2, LONG_S),
            peers[1].matchmaking.find(peers[1].wish(), 2, LONG_S),
            peers[2].matchmaking.find(peers[2].wish(numbers=5), 2, 0.5),
        )
    assert found[0] == found[1] is not None and found[2] is None


async def test_who_comes_to_another_plan_refuses_the_group_and_names_its_peer(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING", "core.swarm.trunk")
    peers = await start(2)
    peers[0].matchmaking._share = lambda wishes: [wishes[0].numbers, *[0] * (len(wishes) - 1)]
    looking = [asyncio.create_task(peer.matchmaking.find(peer.wish(), 2, LONG_S)) for peer in peers]
    await until(lambda: "has another plan of round 1" in caplog.text, "a plan that is refused", DEADLINE_S)
    assert any(f"peer {peer.node.peer.hex()[:8]} has another plan" in caplog.text for peer in peers)
    assert not all(task.done() for task in looking), "both are in a group"
    for task in looking:
        task.cancel()
    await asyncio.gather(*looking, return_exceptions=True)


def test_who_only_dials_out_reduces_nothing() -> None:
    known = PeerAddress(bytes([1]) * 32, ("127.0.0.1:1",))
    shares = equal_shares(
        [Wish(1, known, 10, True), Wish(1, PeerAddress(bytes([2]) * 32), 10, True), Wish(1, known, 10, False)]
    )
    assert shares == [5, 0, 5]

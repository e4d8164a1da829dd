"""How peers come to one group: real endpoints on loopback, with a DHT of their own."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import NamedTuple

import msgspec
import pytest

from core.averaging.plan import SOLVER
from core.contracts.errors import RemoteFault
from core.contracts.net import PREFIX, Call, Payload, PeerAddress, of_run
from core.contracts.trunk_rounds import Ability, Group
from core.dht.node import DHTNode
from core.identity import Identity, PeerId
from core.net.endpoint import LOOPBACK, Endpoint
from core.net.method import Context
from core.net.rpc import RpcNode
from core.swarm.trunk.matchmaking import Invitation, Matchmaking, Wish, equal_shares
from core.swarm.trunk.planning import planned_shares
from tests.dht_peers import until

DEADLINE_S = 240.0
LONG_S = 40.0
"""In which a group that can be full is full, however busy the machine is."""
NUMBERS = 1001


class Peer(NamedTuple):
    node: RpcNode
    matchmaking: Matchmaking

    def wish(
        self, step: int = 1, *, numbers: int = NUMBERS, sends: bool = True, ability: Ability | None = None
    ) -> Wish:
        return Wish(step, self.node.address(), numbers, sends, ability or Ability())


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


async def test_who_lets_all_wait_does_not_gather_the_next_time(start: Start) -> None:
    """However often it wishes anew; where there is nobody else it is asked again."""
    peers = sorted(await start(4), key=lambda peer: peer.matchmaking._rank(1, peer.node.peer))
    liar, *honest = peers
    heard: list[PeerId] = []

    async def silence(request: Wish, payload: Payload, context: Context) -> Invitation:
        heard.append(context.peer)
        await asyncio.Event().wait()
        raise AssertionError

    async def search(those: Sequence[Peer], within_s: float) -> list[Group | None]:
        await liar.matchmaking._publish("run-1.round.1", liar.wish(), 3600.0)
        return await groups(those, 3, within_s)

    liar.node.register(of_run("trunk.join", "run-1"), Wish, silence)
    async with asyncio.timeout(4 * DEADLINE_S):
        while not all(one := await search(honest, 5.0)) or one[1:] != one[:-1]:
            pass
        assert heard, "it was to gather them"
        before = len(heard)
        while len(heard) == before:
            await search(honest[:1], 1.0)


async def test_who_gathered_and_was_started_anew_is_in_the_group_of_all(start: Start) -> None:
    """As when its compute is killed: those who waited for it come again."""
    peers = sorted(await start(3), key=lambda peer: peer.matchmaking._rank(1, peer.node.peer))
    gatherer, *others = peers
    ended = asyncio.create_task(gatherer.matchmaking.find(gatherer.wish(), 4, LONG_S))
    found = asyncio.create_task(groups(others, 3))
    await until(lambda: len(gatherer.matchmaking._gathering) == 2, "those who wait for it", DEADLINE_S)
    ended.cancel()
    [group] = await groups([gatherer], 3)
    assert group is not None and len(group.members) == 3 and await found == [group, group]


async def test_nobody_is_alone_in_a_group(start: Start) -> None:
    [peer] = await start(1)
    assert await peer.matchmaking.find(peer.wish(), 4, 0.2) is None


async def test_nobody_is_waited_for_when_the_round_has_taken_place(start: Start) -> None:
    [peer] = await start(1)
    taken: list[bool] = []

    def is_over() -> bool:
        taken.append(True)
        return len(taken) > 2

    async with asyncio.timeout(DEADLINE_S):
        assert await peer.matchmaking.find(peer.wish(), 4, 1e6, is_over) is None


async def test_who_was_asked_in_vain_is_asked_again_only_when_it_wishes_anew(start: Start) -> None:
    """A peer of the lowest rank that is not there yet holds up one search, not each until its wish expires."""
    peers = sorted(await start(3), key=lambda peer: peer.matchmaking._rank(1, peer.node.peer))
    frozen, *others = peers
    asked: list[PeerId] = []

    def refuse(request: Wish, payload: Payload, context: Context) -> Invitation:
        asked.append(context.peer)
        raise RemoteFault("no_round", "Not yet.")

    frozen.node.register(of_run("trunk.join", "run-1"), Wish, refuse)
    await frozen.matchmaking._publish("run-1.round.1", frozen.wish(), 600.0)
    for _ in range(2):
        [group, same] = await groups(others, 2)
        assert group is not None and group == same
        assert {*asked} <= {peer.node.peer for peer in others} and len(asked) == len({*asked})
    before = len(asked)
    assert before
    await frozen.matchmaking._publish("run-1.round.1", frozen.wish(), 600.0)
    await groups(others, 2)
    assert len(asked) > before


async def test_who_has_come_and_is_silent_when_the_group_is_full_is_not_in_it(start: Start) -> None:
    gathers, other = sorted(await start(2), key=lambda peer: peer.matchmaking._rank(1, peer.node.peer))
    seed = os.urandom(32)
    frozen = Identity(seed).peer
    endpoint = await Endpoint.bind(seed, LOOPBACK[:1])
    first = asyncio.create_task(gathers.matchmaking.find(gathers.wish(), 3, LONG_S))
    await until(lambda: gathers.matchmaking._wish, "one who gathers", DEADLINE_S)
    connection = await endpoint.dial(gathers.node.peer, gathers.node.address().addresses)
    wish = msgspec.msgpack.encode(Wish(1, PeerAddress(frozen, ("127.0.0.1:1",)), NUMBERS, True))
    join = msgspec.msgpack.encode(Call(1, of_run("trunk.join", "run-1"), 600_000, msgspec.Raw(wish)))
    await (await connection.open()).write(PREFIX.pack(len(join), 0) + join)  # and no more
    await until(lambda: frozen in gathers.matchmaking._gathering, "one who has come", DEADLINE_S)
    async with asyncio.timeout(DEADLINE_S):
        group = await other.matchmaking.find(other.wish(), 3, LONG_S)
        assert group is not None and group == await first
    assert {member.peer for member in group.members} == {gathers.node.peer, other.node.peer}
    await endpoint.close()


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


LINES = [Ability(line * 1_000_000, line * 1_000_000, SOLVER) for line in (6, 7, 8)]


async def planned(peers: Sequence[Peer], step: int) -> list[Group | None]:
    """A group of three with different lines."""
    async with asyncio.timeout(DEADLINE_S):
        wishes = [peer.wish(step, ability=line) for peer, line in zip(peers, LINES, strict=True)]
        return await asyncio.gather(
            *(peer.matchmaking.find(wish, 3, LONG_S) for peer, wish in zip(peers, wishes, strict=True))
        )


async def plans(start: Start) -> list[Peer]:
    """Three; the first gathers round 1."""
    peers = sorted(await start(3), key=lambda peer: peer.matchmaking._rank(1, peer.node.peer))
    for peer in peers:
        peer.matchmaking._share = planned_shares
    return peers


async def test_the_shares_are_those_of_the_plan_that_all_make(start: Start) -> None:
    peers = await plans(start)
    [group, *same] = await planned(peers, 1)
    assert group is not None and same == [group, group]
    wishes = {peer.node.peer: peer.wish(ability=line) for peer, line in zip(peers, LINES, strict=True)}
    shares = planned_shares([wishes[PeerId(member.peer)] for member in group.members])
    assert group.shares == tuple(shares) != tuple(equal_shares([*wishes.values()]))
    assert {member.peer: ability for member, ability in zip(group.members, group.abilities, strict=True)} == {
        peer: wish.ability for peer, wish in wishes.items()
    }


@pytest.mark.parametrize("lie", ["shares", "lines"])
async def test_who_lies_about_a_plan_is_refused_by_name_and_the_next_groups_have_equal_shares(
    start: Start, caplog: pytest.LogCaptureFixture, lie: str
) -> None:
    caplog.set_level("WARNING", "core.swarm.trunk")
    liar, *honest = peers = await plans(start)

    def spares_itself(wishes: Sequence[Wish]) -> Sequence[int]:
        if lie == "shares":
            return [0, *equal_shares(wishes[1:])]
        slow = msgspec.structs.replace(wishes[0], ability=Ability(1, 1, SOLVER))
        return planned_shares([slow, *wishes[1:]])

    liar.matchmaking._share = spares_itself
    looking = [
        asyncio.create_task(peer.matchmaking.find(peer.wish(ability=line), 3, LONG_S))
        for peer, line in zip(peers, LINES, strict=True)
    ]
    told = f"peer {liar.node.peer.hex()[:8]} has another plan of round 1"
    await until(lambda: caplog.text.count(told) == 2, "two that refuse the plan", DEADLINE_S)
    assert not any(f"peer {peer.node.peer.hex()[:8]} has" in caplog.text for peer in honest)
    for task in looking:
        task.cancel()
    await asyncio.gather(*looking, return_exceptions=True)
    liar.matchmaking._share = planned_shares
    [group, *same] = await planned(peers, 2)
    assert group is not None and same == [group, group]
    assert max(group.shares) - min(group.shares) <= 1


async def test_what_a_group_says_of_a_members_line_is_what_that_member_has_told(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING", "core.swarm.trunk")
    gathers, slandered, other = await plans(start)
    come = gathers.matchmaking._on_join

    def slander(request: Wish, payload: Payload, context: Context) -> asyncio.Future[Invitation]:
        if context.peer == slandered.node.peer:
            request = msgspec.structs.replace(request, ability=Ability(10**12, 10**12, SOLVER))
        return come(request, payload, context)

    gathers.node.register(of_run("trunk.join", "run-1"), Wish, slander)
    looking = [
        asyncio.create_task(peer.matchmaking.find(peer.wish(ability=line), 3, LONG_S))
        for peer, line in zip((gathers, slandered, other), LINES, strict=True)
    ]
    told = f"peer {gathers.node.peer.hex()[:8]} has another plan of round 1"
    await until(lambda: told in caplog.text, "a lie that is found out", DEADLINE_S)
    for task in looking:
        task.cancel()
    await asyncio.gather(*looking, return_exceptions=True)


def test_who_only_dials_out_reduces_nothing() -> None:
    known = PeerAddress(bytes([1]) * 32, ("127.0.0.1:1",))
    shares = equal_shares(
        [Wish(1, known, 10, True), Wish(1, PeerAddress(bytes([2]) * 32), 10, True), Wish(1, known, 10, False)]
    )
    assert shares == [5, 0, 5]

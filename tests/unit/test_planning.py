"""Shares of a group by what its members tell of their lines, and what a peer knows of its own."""

import random
from collections.abc import Sequence

import msgspec
import pytest

from core.averaging.plan import SOLVER, Member, plan
from core.contracts.net import Payload, PeerAddress
from core.contracts.trunk_rounds import Ability
from core.identity import Identity
from core.net.endpoint import LOOPBACK
from core.net.method import Context
from core.net.reach import Reach
from core.net.rpc import RpcNode
from core.net.shaping import LEAST_SEEN, Seen, Shaper
from core.swarm.trunk.matchmaking import Wish, equal_shares
from core.swarm.trunk.planning import PLENTY, planned_shares, wish_of
from tests.dht_peers import until

NUMBERS = 1_000_003
MEGABYTE = 1_000_000


def wish(place: int, upload: int, download: int, *, sends: bool = True, solver: str = SOLVER) -> Wish:
    address = PeerAddress(bytes([place]) * 32, ("127.0.0.1:1",))
    return Wish(1, address, NUMBERS, sends, Ability(upload, download, solver))


def lines(*megabytes: float) -> list[Wish]:
    return [wish(place, int(line * MEGABYTE), int(line * MEGABYTE)) for place, line in enumerate(megabytes)]


def by_plan(wishes: Sequence[Wish]) -> list[int]:
    members = [
        Member(each.address.peer, float(each.sends), each.ability.upload, each.ability.download) for each in wishes
    ]
    made = plan(members, {}, NUMBERS, PLENTY)
    assert made is not None
    return list(made.cut(NUMBERS))


def test_who_has_a_fast_line_reduces_more() -> None:
    wishes = [*lines(1, 2, 10), wish(7, 5 * MEGABYTE, 20 * MEGABYTE, sends=False)]
    shares = planned_shares(wishes)
    assert shares == by_plan(wishes) != equal_shares(wishes)
    assert sum(shares) == NUMBERS and shares[0] < shares[2]


def test_each_has_the_same_share_whoever_gathers() -> None:
    wishes = lines(3, 1, 4, 15, 9, 2, 6)
    shares = dict(zip(wishes, planned_shares(wishes), strict=True))
    random.Random(0).shuffle(wishes)
    assert planned_shares(wishes) == [shares[each] for each in wishes]


@pytest.mark.parametrize(
    "wishes",
    [
        pytest.param(lines(0, 0, 0), id="nobody knows its line"),
        pytest.param([*lines(1, 5), wish(2, MEGABYTE, MEGABYTE, solver="scipy 0.1")], id="another solver"),
        pytest.param([*lines(1, 5), wish(2, MEGABYTE, MEGABYTE, solver="")], id="one makes no plans"),
        pytest.param(lines(1, 5), id="of two each sends and gets all"),
    ],
)
def test_otherwise_the_shares_are_equal(wishes: list[Wish]) -> None:
    assert planned_shares(wishes) == equal_shares(wishes)


def test_whose_line_is_not_known_has_one_in_the_middle() -> None:
    assert planned_shares(lines(1, 2, 10, 0)) == planned_shares(lines(1, 2, 10, 2))


def test_who_only_dials_out_reduces_nothing_however_fast_it_is() -> None:
    wishes = lines(1, 2, 100)
    alone = msgspec.structs.replace(wishes[2], address=PeerAddress(wishes[2].address.peer))
    shares = planned_shares([*wishes[:2], alone])
    assert shares[2] == 0 and sum(shares) == NUMBERS
    none = [msgspec.structs.replace(each, address=PeerAddress(each.address.peer)) for each in wishes]
    assert planned_shares(none) == equal_shares(none)


def test_whatever_peers_tell_the_shares_are_a_whole_vector() -> None:
    dice = random.Random(0)
    for _ in range(50):
        wishes = [
            wish(place, int(10 ** dice.uniform(0, 12)), int(10 ** dice.uniform(0, 12)), sends=dice.random() < 0.7)
            for place in range(dice.randint(3, 12))
        ]
        shares = planned_shares(wishes)
        assert len(shares) == len(wishes) and sum(shares) == NUMBERS and min(shares) >= 0


# what a peer knows of its own line


def test_the_best_that_was_seen_counts_and_never_more_than_the_user_allows() -> None:
    shaper = Shaper()
    assert shaper.speeds() == (0, 0)
    shaper.set(4 * MEGABYTE, 0.0)
    assert shaper.speeds() == (4 * MEGABYTE, 0), "a line is chosen to be no faster than it is"
    for now, moved in enumerate([(0, 0), (5 * MEGABYTE, MEGABYTE), (6 * MEGABYTE, 9 * MEGABYTE)]):
        shaper.seen.note(moved, float(now))
    assert shaper.speeds() == (4 * MEGABYTE, 5 * MEGABYTE)
    shaper.set(0.0, MEGABYTE)
    assert shaper.speeds() == (8 * MEGABYTE, MEGABYTE)


def test_a_little_traffic_tells_nothing_of_a_line_nor_does_a_moment() -> None:
    shaper = Shaper()
    shaper.seen.note((0, 0), 0.0)
    shaper.seen.note((10 * MEGABYTE, 10 * MEGABYTE), 0.1)
    assert shaper.speeds() == (0, 0)
    shaper.seen = Seen()
    for now in range(5):
        shaper.seen.note((now * int(LEAST_SEEN / 2), now * int(LEAST_SEEN / 2)), float(now))
    assert shaper.speeds() == (0, 0) and shaper.seen.upload > 0


async def test_a_peer_sees_how_fast_its_line_is_and_tells_it() -> None:
    async def take(request: Ability, payload: Payload, context: Context) -> Ability:
        return request

    async with (
        RpcNode(Identity.generate(), listen=LOOPBACK[:1]) as node,
        Reach(node),
        RpcNode(Identity.generate(), listen=LOOPBACK[:1]) as other,
    ):
        other.register("test.take", Ability, take, max_payload=MEGABYTE)
        node.learn(other.address())

        async def is_seen() -> bool:
            await node.call(other.peer, "test.take", Ability(), Ability, bytes(MEGABYTE), deadline_s=60)
            return node.shaper.speeds()[0] > 0

        await until(is_seen, "a rate that was seen", 60.0)
        node.limit(MEGABYTE, MEGABYTE)
        told = await wish_of(node, 1, NUMBERS, 3, sends=True)
        assert 0 < told.ability.upload <= MEGABYTE and told.ability.solver == SOLVER
        assert not (await wish_of(node, 1, NUMBERS, 2, sends=True)).ability.solver, "two have nothing to plan"

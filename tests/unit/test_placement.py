"""Who hosts what: whatever the view, peers that decide alone end up with every expert hosted once."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from core.contracts.hosting import MOVES, Member
from core.experts.grid import Grid, Uid
from core.swarm import placement
from core.swarm.placement import Plan, View, plan

GRID = Grid("digits", 2, (4, 4))
CELLS = list(GRID.uids())


class Swarm:
    """Peers that see the same records, each at its own pace, and do what they plan."""

    def __init__(self, capacities: dict[str, int], hosted: dict[str, dict[Uid, int]] | None = None) -> None:
        self.capacities = dict(capacities)
        self.hosted = {peer: dict((hosted or {}).get(peer, {})) for peer in capacities}
        self.saved: dict[Uid, set[str]] = {}
        self.vacant: dict[Uid, float] = {}
        self.now = 0.0

    def hosts(self, uid: Uid) -> dict[str, int]:
        return {peer: held[uid] for peer, held in self.hosted.items() if uid in held}

    def view(self, me: str) -> View:
        active = {uid for held in self.hosted.values() for uid in held}
        self.vacant = {uid: self.vacant.get(uid, self.now) for uid in CELLS if uid not in active}
        mine = dict(self.hosted[me])
        rivals = {uid: {peer: v for peer, v in self.hosts(uid).items() if peer != me} for uid in mine}
        members = {peer: Member(capacity, len(self.hosted[peer])) for peer, capacity in self.capacities.items()}
        keepers = {uid: self.saved[uid] for uid in self.vacant if uid in self.saved}
        return View(CELLS, members, mine, rivals, dict(self.vacant), keepers)

    def act(self, me: str, planned: Plan) -> int:
        """How many experts came or went."""
        moves = 0
        for uid in {*planned.yields, *planned.releases} & self.hosted[me].keys():  # it may have been given away
            del self.hosted[me][uid]
            moves += 1
        for uid in planned.claims:
            self.hosted[me][uid] = 0
            moves += 1
        if planned.ask:
            giver, count = planned.ask
            given = placement.to_give(self.hosted[giver], min(count, placement.surplus(self.view(giver), giver)), me)
            for uid in given:
                self.hosted[me][uid] = self.hosted[giver].pop(uid)
            moves += len(given)
        assert len(self.hosted[me]) <= self.capacities[me]
        return moves

    def together(self) -> int:
        """All decide at the same moment, before any has acted."""
        plans = {peer: plan(self.view(peer), peer, self.now) for peer in self.capacities}
        self.now += 5.0
        return sum(self.act(peer, planned) for peer, planned in plans.items())

    def in_turn(self) -> int:
        self.now += 5.0
        return sum(self.act(peer, plan(self.view(peer), peer, self.now)) for peer in self.capacities)

    def settle(self, together: bool) -> None:
        for _ in range(60):
            if not (self.together() if together else self.in_turn()):
                return
        raise AssertionError("the swarm never comes to rest")

    def check(self) -> None:
        counts = Counter(uid for held in self.hosted.values() for uid in held)
        assert not [uid for uid, count in counts.items() if count > 1]
        assert len(counts) == min(len(CELLS), sum(self.capacities.values()))


capacities = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 40), min_size=1)


@st.composite
def swarms(draw: st.DrawFn) -> Swarm:
    """Any number of peers that host anything, also what others host."""
    rooms = draw(capacities)
    held = {
        peer: draw(st.dictionaries(st.sampled_from(CELLS), st.integers(0, 3), max_size=room))
        for peer, room in rooms.items()
    }
    return Swarm(rooms, held)


@settings(max_examples=60, deadline=None)
@given(swarms(), st.booleans())
def test_every_expert_is_hosted_once_and_nothing_flaps(swarm: Swarm, together: bool) -> None:
    swarm.settle(together)
    swarm.check()
    before = {peer: set(held) for peer, held in swarm.hosted.items()}
    for _ in range(5):
        swarm.now += 100.0
        assert swarm.together() == 0
    assert before == {peer: set(held) for peer, held in swarm.hosted.items()}


@settings(max_examples=30, deadline=None)
@given(swarms())
def test_the_better_version_stays(swarm: Swarm) -> None:
    best = {uid: max(swarm.hosts(uid).values()) for uid in CELLS if swarm.hosts(uid)}
    swarm.settle(together=True)
    for uid, version in best.items():
        hosts = swarm.hosts(uid)
        assert not hosts or max(hosts.values()) in (version, 0)
        if sum(swarm.capacities.values()) >= len(CELLS):
            assert list(hosts.values()) == [version]


def test_newcomers_at_the_same_time_choose_different_cells() -> None:
    swarm = Swarm({"a": 100, "b": 100, "c": 100})
    assert swarm.together() == len(CELLS)
    swarm.check()
    assert sorted(len(held) for held in swarm.hosted.values()) == [10, 11, 11]


def test_a_late_host_gets_its_share_a_few_at_a_time() -> None:
    swarm = Swarm({"a": 100, "b": 100})
    swarm.settle(together=True)
    swarm.capacities["c"], swarm.hosted["c"] = 100, {}
    assert 0 < swarm.in_turn() <= MOVES
    swarm.settle(together=False)
    assert sorted(len(held) for held in swarm.hosted.values()) == [10, 11, 11]
    swarm.check()


def test_the_next_candidate_takes_what_the_first_leaves_vacant() -> None:
    """One of three is dead, but its record still lives."""
    swarm = Swarm({"a": 100, "b": 100, "c": 100})
    for _ in range(12):
        swarm.now += 5.0
        for peer in ("a", "b"):
            swarm.act(peer, plan(swarm.view(peer), peer, swarm.now))
    assert {uid for peer in ("a", "b") for uid in swarm.hosted[peer]} == set(CELLS)


def test_records_of_a_thousand_peers_that_are_none_do_not_keep_orphans_from_being_adopted() -> None:
    members = {"a": Member(100, 0)} | {f"fake {n}": Member(1_000_000, 0) for n in range(500)}
    keepers = {CELLS[0]: {f"fake {n}" for n in range(500)}}
    view = View(CELLS[:1], members, {}, {}, {CELLS[0]: 0.0}, keepers)
    assert not plan(view, "a", 0.0).claims and plan(view, "a", 100.0).claims


def test_what_was_hosted_just_now_is_left_to_be_saved_first() -> None:
    swarm = Swarm({"a": 100})
    swarm.view("a")
    swarm.vacant = dict.fromkeys(CELLS, 5.0)
    assert [len(plan(swarm.view("a"), "a", now).claims) for now in (0.0, 4.9, 5.0)] == [0, 0, len(CELLS)]


def test_orphans_come_before_cells_that_never_had_an_expert() -> None:
    swarm = Swarm({"a": 3})
    orphans = set(CELLS[20:23])
    swarm.saved = {uid: set() for uid in orphans}
    assert set(plan(swarm.view("a"), "a", 0.0).claims) == orphans


def test_who_keeps_the_newest_checkpoint_is_the_first_candidate() -> None:
    swarm = Swarm({"a": 100, "b": 100})
    swarm.saved = {uid: {"ab"[i % 2]} for i, uid in enumerate(CELLS)}
    assert set(plan(swarm.view("b"), "b", 0.0).claims) == {uid for uid in CELLS if swarm.saved[uid] == {"b"}}


def test_layers_are_filled_evenly_and_evened_out() -> None:
    swarm = Swarm({"a": 6})
    assert Counter(uid.layer for uid in plan(swarm.view("a"), "a", 0.0).claims) == {0: 3, 1: 3}
    swarm = Swarm({"a": 6}, {"a": dict.fromkeys(CELLS[:6], 0)})
    swarm.settle(together=True)
    assert Counter(uid.layer for uid in swarm.hosted["a"]) == {0: 3, 1: 3}


def test_what_does_not_fit_any_more_is_released_from_the_fuller_layer() -> None:
    swarm = Swarm({"a": 10}, {"a": dict.fromkeys([*CELLS[:6], *CELLS[-2:]], 0)})
    swarm.capacities["a"] = 4
    released = plan(swarm.view("a"), "a", 0.0).releases
    assert len(released) == 4 and {uid.layer for uid in released} == {0}


def test_capacity_follows_memory_and_speed() -> None:
    assert placement.capacity(1 << 30, 1 << 20, 1e6) == 1024
    assert placement.capacity(1 << 30, 1 << 20, 100.0) == 5
    assert placement.capacity(0, 1 << 20, 1e6) == 0

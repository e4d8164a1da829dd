"""Plans of averaging (DeDLOC, eq. 5 and 6): special cases, limits, one plan for all, the times of the paper's table."""

import random
from collections.abc import Sequence
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from core.averaging.plan import UNITS, Floats, Links, Member, Plan, Whole, apportioned, plan, rounded
from tests.bench.averaging_plan import PLENTY, SETUPS, VECTOR_BYTES, averaging, compared, planned
from tests.bench.transfers import fair_rates, seconds

MEGABYTE = 1_000_000
ROUNDING = 1e-3
"""Of shares to whole units: with few peers less than this part of a plan's speed."""


def key(place: int) -> bytes:
    return place.to_bytes(32)


def members(megabytes: Sequence[float], trains: Sequence[bool]) -> list[Member]:
    return [
        Member(key(place), float(busy), int(speed * MEGABYTE), int(speed * MEGABYTE))
        for place, (speed, busy) in enumerate(zip(megabytes, trains, strict=True))
    ]


def found(peers: Sequence[Member], links: Links | None = None, batch: int = PLENTY) -> Plan:
    made = plan(peers, links or {}, 100 * MEGABYTE, batch)
    assert made is not None
    return made


@st.composite
def swarms(draw: st.DrawFn) -> tuple[list[Member], Links, int]:
    count = draw(st.integers(1, 7))
    speeds = st.integers(10_000, 10**10)
    peers = [
        Member(
            key(place),
            draw(st.sampled_from([0.0, 0.5, 4.0, 30.0])) if place else 1.0,
            draw(speeds),
            draw(speeds),
            draw(st.booleans()),
        )
        for place in range(count)
    ]
    between = st.none() | speeds | st.just(0)
    links = {(a.key, b.key): draw(between) for a in peers for b in peers if a is not b}
    limits = {pair: speed for pair, speed in links.items() if speed is not None}
    return peers, limits, draw(st.sampled_from([1, 100, 10_000, PLENTY]))


many = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def load(made: Plan, peers: Sequence[Member], links: Links) -> list[tuple[int, int]]:
    """What each link carries by the plan, and what it can."""
    places = range(len(peers))

    def flow(source: int, target: int) -> int:
        return made.sent(source, target) + made.returned(source, target) if source != target else 0

    uploads = [(sum(flow(peer, other) for other in places), peers[peer].upload) for peer in places]
    downloads = [(sum(flow(other, peer) for other in places), peers[peer].download) for peer in places]
    pairs = [(flow(made.members.index(a), made.members.index(b)), speed) for (a, b), speed in links.items()]
    return uploads + downloads + pairs


def averages(peers: Sequence[Member], links: Links, shares: Sequence[int], sends: Sequence[bool]) -> float:
    """Averages per second by some shares, reckoned apart from the code under test."""
    units, places = sum(shares), range(len(peers))
    limits = []
    for source in places:
        for_means = sum(1 for other in places if other != source and peers[other].samples_per_s)
        used = shares[source] * for_means + sends[source] * (units - shares[source])
        limits.append((Fraction(used, units), peers[source].upload))
        for_gradients = sum(1 for other in places if other != source and sends[other])
        used = shares[source] * for_gradients + (peers[source].samples_per_s > 0) * (units - shares[source])
        limits.append((Fraction(used, units), peers[source].download))
    for (a, b), speed in links.items():
        source, target = int.from_bytes(a), int.from_bytes(b)
        used = sends[source] * shares[target] + (peers[target].samples_per_s > 0) * shares[source]
        limits.append((Fraction(used, units), speed))
    rate = min((Fraction(speed) / used for used, speed in limits if used), default=Fraction(1 << 44))
    return float(rate) / (100 * MEGABYTE)


def steps(peers: Sequence[Member], links: Links, batch: int, shares: Sequence[int], sends: Sequence[bool]) -> float:
    """Global steps per second."""
    computed = sum(peer.samples_per_s for peer, counts in zip(peers, sends, strict=True) if counts) / batch
    return min(computed, averages(peers, links, shares, sends))


# special cases (section 3.2)


def test_equal_peers_make_a_butterfly_all_reduce() -> None:
    made = found(members([25] * 8, [True] * 8))
    assert made.shares == (UNITS // 8,) * 8
    assert all(made.sends)
    assert made.rate == pytest.approx(25 * MEGABYTE * 8 / 14, rel=0.01)


def test_one_fat_peer_is_a_parameter_server() -> None:
    made = found(members([25] * 8 + [1000], [True] * 8 + [False]))
    assert made.shares == (0,) * 8 + (UNITS,)
    assert made.sends == (True,) * 8 + (False,)


def test_helpers_without_accelerators_divide_the_work_as_in_byteps() -> None:
    """Jiang et al., 2020, section 4.1: with n machines with GPUs and k without, of equal bandwidth."""
    n, k = 8, 4
    made = found(members([125] * (n + k), [True] * n + [False] * k))
    whole = n * n + k * n - 2 * k
    assert made.shares[:n] == pytest.approx([UNITS * (n - k) / whole] * n, abs=1)
    assert made.shares[n:] == pytest.approx([UNITS * 2 * (n - 1) / whole] * k, abs=1)
    assert made.rate > 1.3 * found(members([125] * n, [True] * n)).rate


def test_who_only_dials_out_reduces_nothing() -> None:
    peers = members([25] * 4, [True] * 4)
    peers[2] = msgspec.structs.replace(peers[2], reduces=False)
    made = found(peers)
    assert made.shares[2] == 0
    assert all(made.sends)


def test_who_cannot_be_reached_by_all_reduces_nothing() -> None:
    peers = members([25] * 4, [True] * 4)
    made = found(peers, {(key(1), key(3)): 0})
    assert made.shares[3] == made.shares[1] == 0
    assert plan(peers, {(key(a), key(b)): 0 for a in range(4) for b in range(4) if a != b}, MEGABYTE, PLENTY) is None


def test_the_gradients_of_a_slow_line_are_left_out_if_the_others_have_enough_samples() -> None:
    peers = members([100] * 5, [True] * 5)
    peers[4] = msgspec.structs.replace(peers[4], upload=MEGABYTE)
    made = found(peers, batch=1)
    assert not made.sends[4]
    assert made.trains[4]
    patient = found(peers)  # the batch is so large that nobody can be spared
    assert all(patient.sends)
    assert made.rate > 10 * patient.rate


# the program


@many
@given(swarms())
def test_shares_sum_up_and_nothing_carries_more_than_it_can(swarm: tuple[list[Member], Links, int]) -> None:
    peers, links, batch = swarm
    made = plan(peers, links, 100 * MEGABYTE, batch)
    assume(made is not None)
    assert made is not None
    assert sum(made.shares) == UNITS
    assert min(made.shares) >= 0
    assert [used for used, speed in load(made, peers, links) if used > speed] == []
    assert [share for share, peer in zip(made.shares, peers, strict=True) if share and not peer.reduces] == []
    assert [peer for peer, sends in zip(peers, made.sends, strict=True) if sends and not peer.samples_per_s] == []
    assert sum(made.cut(1_000_003)) == 1_000_003


@many
@given(swarms())
def test_no_plan_is_slower_than_all_reduce_or_a_parameter_server(swarm: tuple[list[Member], Links, int]) -> None:
    peers, links, batch = swarm
    roomy = [
        msgspec.structs.replace(peer, upload=rounded_down(peer.upload), download=rounded_down(peer.download))
        for peer in peers
    ]
    limits = {pair: rounded_down(speed) for pair, speed in links.items()}
    everybody = [peer.samples_per_s > 0 for peer in peers]
    able = [place for place, peer in enumerate(peers) if peer.reduces]
    special = [[int(place == server) for place in range(len(peers))] for server in able]
    special += [[int(peer.reduces) for peer in peers]] if able else []
    best = max((steps(roomy, limits, batch, shares, everybody) for shares in special), default=0.0)
    made = plan(peers, links, 100 * MEGABYTE, batch)
    reached = steps(roomy, limits, batch, made.shares, made.sends) if made else 0.0
    assert reached >= best * (1 - ROUNDING)


def rounded_down(speed: int) -> int:
    return int(rounded(np.array([speed]))[0])


@many
@given(swarms(), st.randoms())
def test_the_bytes_of_a_plan_do_not_depend_on_the_order(
    swarm: tuple[list[Member], Links, int], order: random.Random
) -> None:
    peers, links, batch = swarm
    first = msgspec.msgpack.encode(plan(peers, links, 100 * MEGABYTE, batch))
    pairs = list(links.items())
    order.shuffle(peers)
    order.shuffle(pairs)
    assert msgspec.msgpack.encode(plan(peers, dict(pairs), 100 * MEGABYTE, batch)) == first


def eq_5(peers: Sequence[Member]) -> tuple[float, Floats]:
    """Eq. 5 as it stands in the paper, with c = 1 for all: the bytes per second of the slowest, and g."""
    n = len(peers)
    a, g = np.arange(n * n).reshape(n, n), n * n + np.arange(n * n).reshape(n, n)
    rows, limits = [], []

    def at_most(limit: float, *terms: tuple[float, Sequence[int] | Whole]) -> None:
        row = np.zeros(2 * n * n + 1)
        for factor, variables in terms:
            row[variables] += factor
        rows.append(row)
        limits.append(limit)

    for i in range(n):
        others = [j for j in range(n) if j != i]
        at_most(0, (1, [2 * n * n]), (-1, g[:, i]))
        at_most(peers[i].download, (1, a[others, i]), (1, g[others, i]))
        at_most(peers[i].upload, (1, a[i, others]), (1, g[i, others]))
        for j in range(n):
            for k in range(n):
                at_most(0, (1, [g[i, j]]), (-1, [a[k, i]]))
    objective = np.zeros(2 * n * n + 1)
    objective[-1] = -1
    solution = linprog(objective, A_ub=np.array(rows), b_ub=limits).x
    return solution[-1], solution[g]


@pytest.mark.parametrize("seed", range(6))
def test_a_plan_is_between_eq_5_as_it_stands_and_what_eq_6_leaves_of_it(seed: int) -> None:
    draw = random.Random(seed)
    peers = [
        Member(key(place), 1.0, rounded_down(draw.randint(10**6, 10**8)), rounded_down(draw.randint(10**6, 10**8)))
        for place in range(4)
    ]
    bound, g = eq_5(peers)
    shares = apportioned(g.min(axis=1)).tolist()
    made = found(peers)
    assert made.rate <= bound * (1 + ROUNDING)
    if sum(shares):
        assert made.rate / (100 * MEGABYTE) >= averages(peers, {}, shares, [True] * 4) * (1 - ROUNDING)


def test_what_rounding_leaves_goes_to_those_who_can_carry_it() -> None:
    assert apportioned(np.array([1.0, 1.0, 1.0])).tolist() == [21846, 21845, 21845]
    assert apportioned(np.array([1.0, 0.9e-5, 0.0])).tolist() == [UNITS, 0, 0]
    assert apportioned(np.zeros(3)).tolist() == [0, 0, 0]


# the simulator, and the paper's table by it


def test_transfers_share_links_max_min_fairly() -> None:
    """Three flows out of one peer, of which one ends at a slow one, and a fourth that has the rest of a download."""
    links = np.array([[0, 0, 0, 1], [4, 5, 6, 6]])
    capacity = np.array([10.0, 10.0, 0.0, 0.0, 1.0, 10.0, 10.0])
    assert fair_rates(links, np.ones(4), capacity).tolist() == pytest.approx([1.0, 4.5, 4.5, 5.5])
    assert fair_rates(links, np.array([1.0, 2.0, 1.0, 0.0]), capacity).tolist() == pytest.approx([1.0, 6.0, 3.0, 0.0])


def test_a_simulated_all_reduce_takes_what_it_must_send() -> None:
    setup = SETUPS["A: 8 x 1 Gb/s"]
    ideal = 2 * (7 / 8) * VECTOR_BYTES / 125_000_000
    assert ideal <= seconds(averaging(setup, [1] * 8), VECTOR_BYTES) <= 1.01 * ideal


@pytest.mark.parametrize("name", SETUPS)
def test_the_ratios_of_the_papers_table(name: str) -> None:
    """DeDLOC's table 1 (section 4.1, averaging of ResNet-50): its time by that of the better of the other two."""
    figures = compared(SETUPS[name])
    assert figures["ratio"] == pytest.approx(SETUPS[name].ratio, rel=0.1)
    better = min(figures["all_reduce_s"], figures["parameter_server_s"])
    assert figures["plan_interleaved_s"] <= 1.01 * better


def test_the_papers_hybrid_setup_is_reduced_by_its_servers() -> None:
    assert planned(SETUPS["C: A + B"]).shares == (UNITS // 8,) * 8 + (0,) * 16

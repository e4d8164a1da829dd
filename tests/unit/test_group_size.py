"""The size of groups that average together (DeDLOC, appendix C)."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.group_size import attempts, group_size, smallest_size

RATES = st.lists(st.floats(0, 1), min_size=2, max_size=200)


def test_reliable_peers_average_all_at_once() -> None:
    """As in all the experiments of the paper: few peers, rare failures, m = n."""
    assert group_size([0.0] * 1000) == 1000
    assert group_size([0.001] * 40) == 40


def test_peers_that_often_fail_average_in_pairs() -> None:
    """The fourth special case of section 3.2: like D-PSGD."""
    assert [group_size([0.5] * peers) for peers in (8, 16, 64, 256)] == [2] * 4
    assert group_size([1.0] * 64) == 2


def test_groups_are_smaller_the_more_peers_there_are_and_the_more_often_they_fail() -> None:
    by_rate = [group_size([rate] * 256) for rate in (0, 0.001, 0.01, 0.05, 0.2, 0.5)]
    assert by_rate == sorted(by_rate, reverse=True)
    assert len(set(by_rate)) > 3
    assert group_size([0.02] * 12) == 12
    assert group_size([0.02] * 1200) < 120


@given(RATES, st.randoms())
def test_the_order_of_peers_does_not_matter(rates: list[float], order: random.Random) -> None:
    size = group_size(rates)
    assert 2 <= size <= len(rates)
    order.shuffle(rates)
    assert group_size(rates) == size


@given(st.integers(2, 10_000), st.integers(1, 14))
def test_the_smallest_size_reaches_all(peers: int, rounds: int) -> None:
    size = smallest_size(peers, rounds)
    assert size**rounds >= peers
    assert size == 2 or (size - 1) ** rounds < peers


@pytest.mark.parametrize(("groups", "success"), [(1, 1.0), (1, 0.3), (5, 0.9), (40, 0.5)])
def test_attempts_are_as_many_as_in_trials(groups: int, success: float) -> None:
    draw = random.Random(7)

    def trial() -> int:
        waiting, tries = groups, 0
        while waiting:
            waiting -= sum(draw.random() < success for _ in range(waiting))
            tries += 1
        return tries

    trials = [trial() for _ in range(4000)]
    mean = sum(trials) / len(trials)
    error = math.sqrt(sum((tries - mean) ** 2 for tries in trials)) / len(trials)
    assert attempts(groups, success) == pytest.approx(mean, abs=5 * error + 1e-6)


def test_one_group_succeeds_after_one_in_its_chance() -> None:
    assert attempts(1, 0.25) == pytest.approx(4)
    assert attempts(1, 0.25, enough=3) == math.inf

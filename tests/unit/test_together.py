"""Fragments that come whole are tried together, and rounds that lead too far are tried as well."""

import asyncio
import time
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from core.averaging.fragment import Fragment
from core.contracts.errors import CallTimeout
from core.contracts.taking_on import Compared, Verdict
from core.contracts.trunk import Offer
from core.swarm.trunk import together
from core.swarm.trunk.differences import FAR, Differences
from core.swarm.trunk.together import Together
from core.swarm.trunk.wire import Wire

GOOD, BAD = b"good", b"bad"
FRAGMENTS = {part: Fragment(np.zeros(3, np.float32), 0) for part in (0, 1)}


class Trunk:
    """Of two fragments, each of which is old until it is tried."""

    def __init__(self) -> None:
        self.asked: list[list[list[int]]] = []
        self.heard: dict[int, float] = {}
        self.away = False
        self.together = Together(self.compare, lambda: (0, 1), self.heard, (), FRAGMENTS)

    async def compare(self, states: Sequence[Mapping[int, bytes]]) -> Compared:
        if self.away:
            raise CallTimeout("nobody is here")
        self.asked.append([[*parts] for parts in states])
        verdicts: list[Verdict] = ["worse" if BAD in parts.values() else "good" for parts in states]
        return Compared(verdicts)


async def test_who_was_away_has_all_fragments_tried_at_once_and_liars_told_from_the_others() -> None:
    trunk = Trunk()
    both = [*await asyncio.gather(trunk.together.verdict(0, GOOD), trunk.together.verdict(1, GOOD))]
    assert both == ["good", "good"]
    assert trunk.asked == [[[], [0, 1]]]

    trunk.asked.clear()
    both = [*await asyncio.gather(trunk.together.verdict(0, GOOD), trunk.together.verdict(1, BAD))]
    assert both == ["good", "worse"]
    assert trunk.asked == [[[], [0, 1]], [[], [0], [1]]]

    trunk.asked.clear()
    trunk.heard[1] = time.time()
    assert await trunk.together.verdict(0, BAD) == "worse" and trunk.asked == [[[], [0]]]


async def test_what_cannot_be_tried_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "GATHER_S", 0.0)
    trunk = Trunk()
    trunk.away = True
    with pytest.raises(CallTimeout):
        await trunk.together.verdict(0, GOOD)
    assert await trunk.together.alone(0, GOOD) is None
    trunk.away = False
    assert await trunk.together.verdict(0, GOOD) == "good", "it is tried later, and nobody waits for the other one"
    assert await trunk.together.verdict(0, BAD) is None, "it may be the other one that is old"
    trunk.heard[1] = time.time()
    assert await trunk.together.verdict(0, BAD) == "worse"
    assert trunk.asked == 3 * [[[], [0]]]


async def test_who_is_back_tries_a_fragment_beside_all_that_are_agreed_now() -> None:
    trunk = Trunk()
    assert trunk.together.comes_back(0) and not trunk.together.comes_back(1), "once for all fragments"
    trunk.heard[1] = time.time()
    assert await trunk.together.verdict(0, GOOD) == "good" and trunk.asked == [[[], [0, 1]]]
    trunk.heard[1] -= 1.0
    assert await trunk.together.verdict(0, BAD) is None, "the other one is of before"


async def test_who_is_back_blames_nobody_until_its_experts_are_not_old_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trunk = Trunk()
    assert trunk.together.comes_back(0)
    trunk.heard[1] = time.time()
    assert await trunk.together.verdict(0, BAD) is None
    monkeypatch.setattr(together, "CURRENT_S", 0.0)
    trunk.heard[1] = time.time() + 60.0
    assert not trunk.together.comes_back(0), "what did worse is not excused again and again"
    assert await trunk.together.verdict(0, BAD) == "worse"
    assert trunk.together.comes_back(0), "that was told"


def test_of_the_differences_on_a_version_the_first_is_offered_also_if_its_trainer_was_started_anew() -> None:
    """What was counted is told, so that what was learnt since is not taken for given."""
    differences, zeros, wire = Differences(), np.zeros(100, np.float32), Wire("dense")
    first = differences.message(Offer(0, 1, 8), zeros + 1.0, wire)
    assert differences.message(Offer(0, 1, 8), zeros + 1.0, wire) == first
    assert not differences.answered(0, counted=True), "it is what was given"
    first = differences.message(Offer(0, 2, 8), zeros + 1.0, wire)
    for _ in range(2):
        assert differences.message(Offer(0, 2, 8), zeros + 2.0, wire) == first
    assert differences.answered(0, counted=True)
    assert differences.message(Offer(0, 3, 8), zeros + 2.0, wire) != first
    assert not differences.answered(0, counted=True)


def test_rounds_lead_no_farther_than_differences_like_those_of_the_trainer_here() -> None:
    differences, zeros = Differences(), np.zeros(100, np.float32)
    before = Fragment(zeros, 0)
    differences.message(Offer(0, 1, 8), zeros + 1.0, Wire("dense"))
    near, far = Fragment(zeros + 0.9 * FAR, 0), Fragment(zeros + 1.1 * FAR, 0)
    some = Fragment(zeros + 0.2 * FAR, 0)
    trials = [differences.trial_of(0, before, after) for after in (before, near, some, some, far)]
    assert trials == ["none", "none", "if it can be", "none", "first"], "what many lead to is tried, too"
    assert [differences.trial_of(1, before, after) for after in (before, near)] == ["none", "first"]
    again = before.copy()
    again.numbers = far.numbers
    assert before.numbers is zeros and before.rounds is not again.rounds

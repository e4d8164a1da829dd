"""Claims of experts that nobody serves, or with noise, and members that only take: honest hosts go on hosting."""

from typing import Literal

import pytest

from tests.long.hostile.attacker import Order, attacked
from tests.long.hostile.honest import Swarm, updates
from tests.long.hostile.look_ups import attack
from tests.long.hostile.test_beliefs import GROWN_MB, LEARNT, SLOW_S, WITHIN_2_POINTS, swarm
from tests.workers import wait_until

__all__ = ["swarm"]

LEFT_OUT_S, AFTER_S = 60.0, 30.0
QUESTIONS_PER_S = 8.0
"""Samples a second with which an honest peer goes on asking whether a host is back: a batch has 64, many a second."""
ATTACKS = {
    "claims that nobody serves": Order("", claims="silent", version=2**52),
    "claims a little further than all others": Order("", claims="silent", version=5000),
    "claims that are refused, and ghosts": Order("", claims="refused", version=5000, ghosts=4),
    "claims that are served with noise": Order("", claims="noise", version=5000),
    "one that only takes": Order("", begs=True, claims="silent", version=5000),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_who_does_not_serve_takes_nothing_from_who_does(swarm: Swarm, name: str) -> None:
    with attack(swarm, ATTACKS[name]) as asked:
        for sight in (sights := swarm.watch(LEFT_OUT_S)):
            print(f"{name}: {sight}")
        swarm.watch(AFTER_S)
        per_s = asked.per_s(0.0, LEFT_OUT_S), asked.per_s(LEFT_OUT_S, LEFT_OUT_S + AFTER_S)
        print(f"{name}: asked for {per_s[0]:.1f} samples a second, and later for {per_s[1]:.1f}")
        assert all(sight.steps > 0 and sight.slow_s < SLOW_S and sight.grown_mb < GROWN_MB for sight in sights)
        assert per_s[1] <= QUESTIONS_PER_S * len(swarm.honest), "left out"
        wait_until(lambda: len(updates(swarm.honest)) == 32, "all experts on honest hosts", LEFT_OUT_S)
        for worker in swarm.honest:
            worker.until(lambda status: (status.accuracy or 0.0) >= WITHIN_2_POINTS, "reading as in peace")


@pytest.mark.parametrize("claims", ["silent", "refused"])
def test_what_a_liar_claims_first_is_hosted_by_others_within_a_minute(
    swarm: Swarm, claims: Literal["silent", "refused"]
) -> None:
    """It claims all before anybody else does, so that nothing is vacant."""
    with attacked(Order(swarm.bootstrap, claims=claims, version=5000)):
        swarm.honest[0].call("pause")
        wait_until(lambda: len(updates(swarm.honest[1:])) == 32, "all experts on the one that is left", LEFT_OUT_S)
        swarm.honest[1].until(lambda status: (status.accuracy or 0.0) > LEARNT, "reading")

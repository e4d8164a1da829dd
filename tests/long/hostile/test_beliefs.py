"""States that are none, at versions that cannot be: no expert and no trunk is lost, and nobody counts on from them."""

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from tests.long.hostile.attacker import Order
from tests.long.hostile.honest import Swarm, updates
from tests.long.hostile.look_ups import attack
from tests.workers import Workers

LEARNT = 0.9
WITHIN_2_POINTS = 0.95
"""Of 97 to 99% in peace."""
WATCHED_S = 60.0
POSSIBLE = 10_000_000
"""Steps, far more than any test takes."""
SLOW_S, GROWN_MB = 30.0, 50.0
SIGNS = ("Traceback", "carried something unknown")

ATTACKS = {
    "a trunk at the end of all numbers": Order("", trunk="zeros", version=2**53 - 2),
    "experts of zeros": Order("", experts="zeros", version=2**52),
    "experts one step before the end of all numbers": Order("", experts="noise", version=2**53 - 1),
    "weights that explode": Order("", experts="exploding", trunk="exploding", version=2**52),
    "noise a little further than all others": Order("", experts="noise", trunk="noise", version=5000),
}


@pytest.fixture
def swarm(tmp_path: Path) -> Iterator[Swarm]:
    """Two that have learnt to read."""
    with Workers() as workers:
        swarm = Swarm(tmp_path, workers)
        for name in ("one", "two"):
            swarm.start(name)
        for each in swarm.honest:
            each.until(lambda status: (status.accuracy or 0.0) > LEARNT, "learning")
        yield swarm


@pytest.mark.parametrize("name", ATTACKS)
def test_states_that_are_none_are_set_aside(swarm: Swarm, name: str) -> None:
    with attack(swarm, ATTACKS[name]):
        newcomer = swarm.start("newcomer")
        newcomer.until(lambda status: (status.accuracy or 0.0) > LEARNT, "learning")
        for sight in (sights := swarm.watch(WATCHED_S)):
            print(f"{name}: {sight}")
        assert all(sight.steps > 0 and sight.slow_s < SLOW_S for sight in sights)
        assert all(sight.grown_mb < GROWN_MB for sight in sights[:2])
        assert max(worker.status().step for worker in swarm.honest) < POSSIBLE
        assert max(updates(swarm.honest).values()) < POSSIBLE and len(updates(swarm.honest)) == 32
        for worker in swarm.honest:
            worker.until(lambda status: (status.accuracy or 0.0) >= WITHIN_2_POINTS, "reading as in peace")
            assert not any(sign in worker.log() for sign in SIGNS)


TRUNKS: dict[str, dict[str, object]] = {
    "dedloc": {"target_samples": 256, "alone_samples": 1},
    "diloco": {"inner_steps": 8, "fragments": 2, "grace_s": 5.0},
    "vc_asgd": {"parts": 4, "batches": 8},
}
SET_ASIDE = {"dedloc": "The trunk of step", "diloco": "of the trunk that peer", "vc_asgd": "The parameters that server"}


@pytest.mark.parametrize("strategy", TRUNKS)
def test_a_trunk_of_noise_is_set_aside_whatever_strategy_the_run_has(tmp_path: Path, strategy: str) -> None:
    """Its holder has more voters than the honest have, and is no farther ahead than one can be."""
    document = json.loads(files("resources").joinpath("runs", "digits.json").read_bytes())
    document["trunk"] = {"strategy": strategy, **TRUNKS[strategy]}
    run = tmp_path / "digits.json"
    run.write_text(json.dumps(document))
    with Workers() as workers:
        swarm = Swarm(tmp_path, workers, str(run))
        first = swarm.start("one")
        first.until(lambda status: (status.accuracy or 0.0) > LEARNT, "learning")
        with attack(swarm, Order("", leads=True, ghosts=2, run=str(run))):
            first.until(lambda _: SET_ASIDE[strategy] in first.log(), "a lie that is set aside")
            [sight] = swarm.watch(WATCHED_S)
            print(f"{strategy}: {sight}")
            assert sight.steps > 0 and sight.slow_s < SLOW_S and sight.grown_mb < GROWN_MB
            first.until(lambda status: (status.accuracy or 0.0) >= WITHIN_2_POINTS, "reading as in peace")
            assert first.status().step < POSSIBLE
            assert not any(sign in first.log() for sign in SIGNS)

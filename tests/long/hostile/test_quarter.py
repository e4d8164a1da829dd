"""A quarter of all peers lie and flood at once, each in another way: the honest ones learn on as in peace.

All are on this machine. So that the attackers take no more of it from the others than they could on PCs of their own,
they are held to their part, a quarter.
"""

import asyncio
import contextlib
import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import pytest

from core.contracts.settings import cores
from tests import workers as usual
from tests.long.hostile.attacker import Order, attacked
from tests.long.hostile.crowd import FLOODS, crowd
from tests.long.hostile.held import held
from tests.long.hostile.honest import Sight, Swarm, updates
from tests.long.hostile.look_ups import look_ups
from tests.long.hostile.test_beliefs import GROWN_MB, SIGNS
from tests.long.hostile.test_claims import LEFT_OUT_S, QUESTIONS_PER_S
from tests.scenarios.test_network import address
from tests.workers import Workers, wait_until

HONEST = 12
SHARE = min(100, 3 * cores())
"""Percent of the time for which each computes: the twelve of them take a third of the machine, and their workers nearly
as much beside that."""
STARTING_S, LEARNING_S, READ = 400.0, 1800.0, 0.8
ATTACKED_S = 180.0
FLOOD_S, LOOK_S = 15.0, 5.0
POINTS = 0.02
CLAIMED = 10
"""Times the steps of the honest ones, which the attackers name: more than these take meanwhile."""
KEYS = 8
ATTACKERS = ("tests.long.hostile.attacker", "tests.long.hostile.crowd")

ORDERS = {
    "states": Order("", experts="noise", trunk="noise"),
    "silent": Order("", claims="silent", ghosts=2, begs=True),
    "noise": Order("", claims="noise"),
}

pytestmark = pytest.mark.timeout(3 * 3600)


@pytest.fixture
def swarm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Swarm]:
    """Twelve that have learnt to read."""
    monkeypatch.setattr(usual, "usual_share", SHARE)
    with Workers() as workers:
        swarm = Swarm(tmp_path, workers)
        for name in range(HONEST):
            # one after the other: twelve at once would not begin in time on two cores
            swarm.start(str(name)).until(lambda status: status.step > 0, "its first step", STARTING_S)
        began = time.monotonic()
        for each in swarm.honest:
            each.until(lambda status: (status.accuracy or 0.0) > READ, "learning", LEARNING_S)
        print(f"all read after {time.monotonic() - began:.0f} s")
        yield swarm


def flooded(swarm: Swarm, until: float) -> None:
    """Each flood in turn, at all peers."""
    addresses = [address(worker) for worker in swarm.honest]

    async def flood() -> None:
        for name in itertools.cycle(FLOODS):
            if (left := until - time.monotonic()) <= 0.0:
                return
            async with crowd(name, addresses, KEYS) as tell:
                await tell("go")
                await asyncio.sleep(min(left, FLOOD_S))
                await tell("stop")

    asyncio.run(flood())


def accuracy(sights: list[Sight]) -> float:
    return mean(sight.accuracy for sight in sights)


def test_a_quarter_of_all_that_lie_and_flood_cost_the_others_little(swarm: Swarm) -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(held(ATTACKERS, cores() / 4))
        looked = stack.enter_context(look_ups(swarm.bootstrap))
        peace = swarm.watch(LOOK_S * 12, every_s=LOOK_S)
        before = [worker.status().step for worker in swarm.honest]
        asked, began, claimed = {}, time.monotonic(), CLAIMED * max(updates(swarm.honest).values())
        for name, order in ORDERS.items():
            order.bootstrap, order.version = swarm.bootstrap, claimed
            asked[name] = stack.enter_context(attacked(order))
        flood = threading.Thread(target=flooded, args=(swarm, began + ATTACKED_S))
        flood.start()
        stack.callback(flood.join)
        sights = swarm.watch(ATTACKED_S, every_s=LOOK_S)
        hosted, until = updates(swarm.honest), time.monotonic()
    for before_it, sight in zip(peace, sights, strict=True):
        print(f"{before_it} in peace, {sight} under attack")
    rates = {name: (of.per_s(0.0, LEFT_OUT_S), of.per_s(LEFT_OUT_S, 2 * ATTACKED_S)) for name, of in asked.items()}
    print(f"accuracy {accuracy(peace):.3f} in peace, {accuracy(sights):.3f} under attack")
    print(
        f"steps of all a minute: {sum(sight.steps for sight in peace):.0f} in peace, "
        f"{sum(sight.steps for sight in sights) * 60 / ATTACKED_S:.0f} under attack"
    )
    print(f"samples a second that attackers were asked for, in the first minute and later: {rates}")
    assert len(hosted) == 32 and max(hosted.values()) < claimed
    after = [worker.status().step for worker in swarm.honest]
    assert all(b < a < claimed for b, a in zip(before, after, strict=True)), "no trunk is lost"
    assert accuracy(sights) > accuracy(peace) - POINTS
    looked.compare(began, until)
    assert all(sight.grown_mb < GROWN_MB for sight in sights)
    assert all(later < QUESTIONS_PER_S * HONEST for _, later in rates.values()), "left out"
    wait_until(lambda: len(updates(swarm.honest)) == 32, "all experts on honest hosts", LEFT_OUT_S)
    for worker in swarm.honest:
        assert not any(sign in worker.log() for sign in SIGNS)

"""An honest peer that looks up who hosts the experts, again and again, and how long that takes."""

import asyncio
import contextlib
import math
import random
import statistics
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from core.contracts import manifest
from core.dht.node import DHTNode
from core.experts.dht_directory import DHTDirectory
from core.experts.grid import Grid
from core.identity import Identity
from tests.long.hostile.attacker import Asked, Order, attacked, join
from tests.long.hostile.honest import Swarm
from tests.worked_peers import worked_peer

EXPERTS, EVERY_S, FEWEST = 8, 0.2, 10
PEACE_S = 15.0
FOUND = 0.95
"""Of the experts asked for: what moves has no host for a moment."""
SLACK_S = 0.02
"""Beside twice the time of peace: on one machine the attackers take processor time from those they attack."""


class LookUp(NamedTuple):
    """One of some experts at once."""

    at: float
    took_s: float
    found: int
    """Experts with a host."""


class LookUps:
    """All so far."""

    def __init__(self) -> None:
        self.done: list[LookUp] = []

    def compare(self, attacked: float, until: float = math.inf) -> None:
        """Those since an attack began take at most twice as long as those before, and find hosts.

        Args:
            attacked: when it began, by the monotonic clock.
            until: when it ended.
        """
        peace = [one for one in self.done if one.at + one.took_s < attacked]
        attack = [one for one in self.done if attacked <= one.at < until]
        assert min(len(peace), len(attack)) >= FEWEST, f"{len(peace)} look-ups in peace, {len(attack)} under attack"
        before, since = (statistics.median(one.took_s for one in some) for some in (peace, attack))
        found = statistics.mean(one.found / EXPERTS for one in attack)
        print(f"{len(attack)} look-ups: {before * 1e3:.1f} ms in peace, {since * 1e3:.1f} now, {found:.1%} found")
        assert since <= 2 * before + SLACK_S and found > FOUND


@contextlib.contextmanager
def look_ups(bootstrap: str, run: str = "digits") -> Iterator[LookUps]:
    """While a peer of its own looks up experts.

    Args:
        bootstrap: a peer of the network, with its address.
        run: whose experts.
    """
    found, ended = LookUps(), threading.Event()

    async def look() -> None:
        of = manifest.load(run)
        grid, mine = Grid(of.run, of.model.layers, of.model.grid), Identity.generate()
        uids, chance = [*grid.uids()], random.Random(1)
        async with worked_peer(of.run_id, identity=mine) as node, DHTNode(node, mine) as dht:
            await join(node, dht, bootstrap)
            directory = DHTDirectory(dht, node, grid, of.run_id)
            while not ended.is_set():
                began = time.monotonic()
                read = await directory.read_hosts(chance.sample(uids, EXPERTS))
                some = sum(bool(hosts.living) for hosts in read.values())
                found.done.append(LookUp(began, time.monotonic() - began, some))
                await asyncio.sleep(EVERY_S)

    thread = threading.Thread(target=lambda: asyncio.run(look()), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join(30.0)


@contextlib.contextmanager
def attack(swarm: Swarm, order: Order) -> Iterator[Asked]:
    """While an attacker does what it was ordered. Honest look-ups take at most twice as long meanwhile.

    Args:
        swarm: is attacked.
        order: without the peer by which the attacker joins.
    """
    order.bootstrap = swarm.bootstrap
    with look_ups(swarm.bootstrap, order.run) as looked:
        swarm.watch(PEACE_S)
        began = time.monotonic()
        with attacked(order) as asked:
            yield asked
            looked.compare(began)

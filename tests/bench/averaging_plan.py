"""What is planned before peers average: shares by bandwidth (DeDLOC, eq. 5 and 6), and the size of groups.

`table`: the averaging times of DeDLOC's table 1, by the simulator of transfers. `milliseconds`: what a plan of 24 peers
takes: where all send, where gradients travel so slowly that some are left out, and the same with limits between pairs.
`group_size`: figure 8, by the number of peers and how often they fail.
"""

import random
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from core.averaging.plan import Links, Member, Plan, plan
from tests.bench.anchor import milliseconds
from tests.bench.group_size import group_size
from tests.bench.transfers import Averaging, seconds

PEERS = (8, 16, 64, 256, 1024)
FAILURE_RATES = (0.001, 0.01, 0.05, 0.2, 0.5)
PLANNED = 24
GIGABIT = 125_000_000
"""Bytes."""
VECTOR_BYTES = 70_700_000
"""DeDLOC does not say how large ResNet-50 was on the wire: so large that the all-reduce of setup B takes 5.3 s."""
PLENTY = 10**12
"""A batch that takes longer to compute than to average: everybody sends."""


class Setup(NamedTuple):
    """A row of DeDLOC's table 1 (section 4.1)."""

    gigabits: tuple[float, ...]
    """[peers] of each, up and down."""
    trains: tuple[bool, ...]
    """[peers]"""
    all_reduce_s: float
    parameter_server_s: float
    dedloc_s: float

    @property
    def ratio(self) -> float:
        """DeDLOC's time by that of the better of the other two."""
        return self.dedloc_s / min(self.all_reduce_s, self.parameter_server_s)


SERVERS, WORKSTATIONS = (1.0,) * 8, (0.2,) * 16
SETUPS = {
    "A: 8 x 1 Gb/s": Setup(SERVERS, (True,) * 8, 1.19, 4.73, 1.20),
    "B: 16 x 0.2 Gb/s": Setup(WORKSTATIONS, (True,) * 16, 5.3, 39.6, 5.3),
    "C: A + B": Setup(SERVERS + WORKSTATIONS, (True,) * 24, 5.69, 14.1, 2.96),
    "D: B + 1 x 2.5 Gb/s": Setup((*WORKSTATIONS, 2.5), (*(True,) * 16, False), 5.3, 3.22, 3.18),
}


def measure(quick: bool) -> dict[str, Any]:
    """All figures.

    Args:
        quick: fewer repetitions.
    """
    return {
        "table": {name: compared(setup) for name, setup in SETUPS.items()},
        "milliseconds": planning(5 if quick else 50),
        "group_size": [{"failure_rate": rate, **group_sizes(rate)} for rate in FAILURE_RATES],
    }


def planned(setup: Setup) -> Plan:
    """The plan of a setup.

    Args:
        setup: its peers.
    """
    members = [
        Member(place.to_bytes(32), float(trains), int(gigabits * GIGABIT), int(gigabits * GIGABIT))
        for place, (gigabits, trains) in enumerate(zip(setup.gigabits, setup.trains, strict=True))
    ]
    found = plan(members, {}, VECTOR_BYTES, PLENTY)
    assert found is not None
    return found


def averaging(setup: Setup, shares: Sequence[int]) -> Averaging:
    """A round of a setup.

    Args:
        setup: its peers.
        shares: [peers]
    """
    bandwidth = [gigabits * GIGABIT for gigabits in setup.gigabits]
    return Averaging(bandwidth, bandwidth, setup.trains, setup.trains, shares)


def compared(setup: Setup) -> dict[str, float]:
    """Seconds of a round, by equal shares, by one reducer, the fastest, and by plan, and the ratio beside the paper's.

    Args:
        setup: its peers.
    """
    peers = len(setup.gigabits)
    fastest = max(range(peers), key=lambda peer: setup.gigabits[peer])
    all_reduce = seconds(averaging(setup, [1] * peers), VECTOR_BYTES)
    server = seconds(averaging(setup, [peer == fastest for peer in range(peers)]), VECTOR_BYTES)
    by_plan = averaging(setup, planned(setup).shares)
    took = seconds(by_plan, VECTOR_BYTES)
    figures = {
        "all_reduce_s": all_reduce,
        "parameter_server_s": server,
        "plan_s": took,
        "plan_interleaved_s": seconds(by_plan, VECTOR_BYTES, interleaved=True),
        "ratio": took / min(all_reduce, server),
        "ratio_of_the_paper": setup.ratio,
    }
    return {name: round(value, 3) for name, value in figures.items()}


def swarm(peers: int, seed: int) -> tuple[list[Member], Links]:
    """Members as different as those of volunteers, and limits between all of them.

    Args:
        peers: how many.
        seed: of the draws.
    """
    draw = random.Random(seed)

    def speed() -> int:
        return int(10 ** draw.uniform(5.5, 8.5))

    keys = [draw.randbytes(32) for _ in range(peers)]
    members = [Member(key, draw.choice([0.0, 1.0, 5.0, 20.0]), speed(), speed(), draw.random() < 0.8) for key in keys]
    return members, {(a, b): speed() for a in keys for b in keys if a != b}


def planning(times: int) -> dict[str, dict[str, float]]:
    """How long plans take.

    Args:
        times: how many plans of each kind are made.
    """
    figures = {}
    for name, batch, limited in (("all send", PLENTY, False), ("some send", 10, False), ("pairs limited", 10, True)):
        took = []
        for seed in range(times):
            members, links = swarm(PLANNED, seed)
            start = time.perf_counter()
            plan(members, links if limited else {}, VECTOR_BYTES, batch)
            took.append(time.perf_counter() - start)
        figures[name] = milliseconds(took)
    return figures


def group_sizes(failure_rate: float) -> dict[str, int]:
    """The size of groups for each number of peers.

    Args:
        failure_rate: of every peer.
    """
    return {f"{peers} peers": group_size([failure_rate] * peers) for peers in PEERS}

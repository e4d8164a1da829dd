"""How many peers average together, so that all have the average of all after as few attempts as possible.

Peers fail. An average of all n at once is exact after one round, but one failed peer spoils it for everybody. In groups
of m, drawn anew each round so that no two meet twice, all have the exact average after ceil(log_m n) rounds, and a
failed peer spoils the round of its own group only, which tries again. See DeDLOC, appendix C.
"""

import math
from collections.abc import Sequence

HIGHEST_RATE = 0.9
"""A peer that fails more often is treated as if it failed so often: no size of groups helps it."""
NEGLIGIBLE = 1e-9
"""Chance below which another attempt is not counted, and difference below which two sizes are equally good: rounding
must not decide, for all peers have to come to one size."""


def group_size(failure_rates: Sequence[float]) -> int:
    """The size of groups with the fewest expected attempts; of two that are as good, the one with fewer rounds.

    Args:
        failure_rates: for each peer that takes part, the chance that it fails within a round, between 0 and 1.

    Returns:
        At most as many as there are peers; at least 2, where there are two.
    """
    peers = len(failure_rates)
    if peers <= 2:
        return peers
    survival = math.fsum(math.log1p(-min(rate, HIGHEST_RATE)) for rate in failure_rates) / peers
    best, fewest = peers, math.inf
    for rounds in range((peers - 1).bit_length(), 0, -1):
        size = smallest_size(peers, rounds)  # a larger one would fail more often, and save no round
        expected = rounds * attempts(math.ceil(peers / size), math.exp(size * survival), fewest / rounds)
        if expected < fewest * (1 + NEGLIGIBLE):
            best, fewest = size, min(expected, fewest)
    return best


def smallest_size(peers: int, rounds: int) -> int:
    """The size of groups that brings an average to everybody within so many rounds.

    Args:
        peers: how many take part.
        rounds: at least one.
    """
    size = max(2, math.floor(math.pow(peers, 1 / rounds)) - 1)
    while size**rounds < peers:
        size += 1
    return size


def attempts(groups: int, success: float, enough: float = math.inf) -> float:
    """How often a round is tried, on average, until each of its groups has succeeded once.

    The groups of the next round have members of all those of this one, so that they wait for the last: the mean of the
    greatest of `groups` geometric numbers, the sum over t = 0, 1, ... of 1 - (1 - (1 - success)^t)^groups.

    Args:
        groups: how many try at once.
        success: the chance of each in one attempt.
        enough: a number of attempts that is too many anyway: more are not counted.
    """
    if success * enough < 1 - NEGLIGIBLE:
        return math.inf
    total, unfinished, failing = 0.0, 1.0, 1.0
    while unfinished > NEGLIGIBLE:
        total += unfinished
        failing *= 1 - success
        unfinished = -math.expm1(groups * math.log1p(-failing))
    return total

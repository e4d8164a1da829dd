"""The outer step of DiLoCo: what trainers learnt in some inner steps each, as one step of all (arXiv 2311.08105,
2604.21428)."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.averaging.mean import JUDGED, cosine

Numbers = NDArray[np.float32]
FIRST, DOUBLED = 1, 64
"""A trainer's steps between the first two agreements, and agreements after which they are twice as many. Trainers drift
apart most at first, and the experts that they share must follow all of them: 64 trainers ended 6.9%, 5.6% and 4.4%
behind one with 4, 2 and 1 (`bench convergence`, text to tune by)."""
GROWTH = 4
"""Times the usual length: differences in a round of few trainers are no longer."""
MOST_SAMPLES = 2
"""Times the median of samples: what a trainer counts for at most, as nobody can check what it says."""

AGAINST = -0.25
"""Times the usual cosine to the mean of the others: a difference below that leads back, as one with its signs flipped
does. Of sparse ones, which have few places in common, a liar's came to -0.35 and less."""
NOISE = 0.1
"""Cosine of differences that do not agree at all: chance alone makes it as large."""


class Rule(NamedTuple):
    """How agreed parameters follow the mean difference."""

    rate: float
    momentum: float
    """Of Nesterov; 0: plain SGD."""


NESTEROV = Rule(1.0, 0.5)
"""For dense differences: in the end the trunk moves twice as far as the mean. The usual 0.7 and 0.9 are for hundreds of
steps between two agreements; with 32 and fewer they overshoot."""
PLAIN = Rule(2.0, 0.0)
"""For sparse ones, whose feedback has momentum of its own: the trunk moves as far. 8 trainers ended 4.9%, 2.6%, 1.8%
and 1.6% behind one with a rate of 1, 1.5, 2 and 3 (`bench convergence`, text to tune by)."""


def steps_between(version: int, most: int) -> int:
    """How many steps a trainer takes from one agreement on a fragment to the next.

    Args:
        version: agreements on it so far.
        most: steps, once trainers have agreed often enough.
    """
    if version >= DOUBLED * math.log2(most):
        return most
    return min(most, int(FIRST * 2 ** (version / DOUBLED)))


def length(norms: Sequence[float], usual: float = math.inf) -> float:
    """What a difference is scaled down to if it is longer: the median of all, of two the shorter one.

    Args:
        norms: of the differences.
        usual: where these are few of all trainers, the length when most were there: several times that is the limit.
    """
    return min(median(norms), GROWTH * usual)


def believed(samples: Sequence[int], usual: float = math.inf) -> list[int]:
    """What trainers' samples count as: a trainer says how many they are, and everybody's learning rate goes by them.

    Args:
        samples: that made the differences, as their trainers say.
        usual: where these are few of all trainers, the median when most were there.
    """
    most = int(min(MOST_SAMPLES * max(1, median(samples)), GROWTH * usual))
    return [min(max(1, count), most) for count in samples]


def shares(norms: Sequence[float], weights: Sequence[int], longest: float) -> list[float]:
    """By what each trainer's difference is multiplied so that their sum is the mean.

    Whoever sends a hundred times as much moves the others no further than anybody else.

    Args:
        norms: of the differences.
        weights: how much each counts (`believed`).
        longest: what a difference is scaled down to (`length`).
    """
    total = sum(weights)
    return [
        weight / total * (min(1.0, longest / norm) if norm > 0 else 1.0)
        for weight, norm in zip(weights, norms, strict=True)
    ]


def mean(differences: Iterable[Numbers], factors: Sequence[float]) -> Numbers:
    """Their sum; only one of them is in memory at a time.

    Args:
        differences: of the trainers, at least one.
        factors: what each is multiplied by (`shares`).
    """
    total: Numbers | None = None
    for difference, factor in zip(differences, factors, strict=True):
        part = np.float32(factor) * difference
        total = part if total is None else np.add(total, part, out=total)
    assert total is not None
    return total


def opposed(differences: Iterable[Numbers], factors: Sequence[float], whole: Numbers) -> list[bool]:
    """Which of them lead back from where the others go, as one with its signs flipped does. Of two nobody can tell.

    Where few numbers of each travel, even honest ones agree little: they tell what is usual.

    Args:
        differences: as in `mean`.
        factors: as in `mean`.
        whole: their mean.
    """
    if len(factors) < JUDGED:
        return [False] * len(factors)
    cosines = [
        cosine(difference, whole - np.float32(factor) * difference)
        for difference, factor in zip(differences, factors, strict=True)
    ]
    usual = median(cosines)
    return [value < AGAINST * (usual if usual > NOISE else 1.0) for value in cosines]


def change(rule: Rule, mean: Numbers, momentum: Numbers | None, share: float = 1.0) -> Numbers:
    """What is added to the agreed parameters.

    Args:
        rule: of the step.
        mean: of the trainers' differences.
        momentum: as after the last step; None: zeros.
        share: of all trainers, those whose differences these are. Where they come in several rounds, all of these
            together are one step: else each latecomer would make the momentum move all parameters once more.
    """
    part = np.float32(share)
    if not rule.momentum:
        return np.float32(rule.rate) * part * mean
    moved = part * mean if momentum is None else np.float32(rule.momentum**share) * momentum + part * mean
    changed: Numbers = np.float32(rule.rate) * part * (mean + np.float32(rule.momentum) * moved)
    return changed


def momentum_after(rule: Rule, changed: Numbers, momentum: Numbers | None, share: float = 1.0) -> Numbers | None:
    """The momentum, from what was added: everybody who applies a change keeps it alike, also if the change was rounded
    on its way.

    Args:
        rule: of the step.
        changed: as `change` gave it, or rounded.
        momentum: before the step.
        share: as in `change`.
    """
    if not rule.momentum:
        return None
    kept = np.float32(rule.momentum**share) * (np.float32(0) if momentum is None else momentum)
    m, part = np.float32(rule.momentum), np.float32(share)
    mean = (changed / (np.float32(rule.rate) * part) - m * kept) / (np.float32(1) + m * part)
    after: Numbers = (kept + part * mean).astype(np.float32)
    return after


def median(values: Sequence[float]) -> float:
    """The lower one of an even count."""
    return sorted(values)[(len(values) - 1) // 2]

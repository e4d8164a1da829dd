"""The outer step of DiLoCo: what trainers learnt in some inner steps each, as one step of all (arXiv 2311.08105,
2604.21428)."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float32]
GROWTH = 4
"""Times the usual length: so much longer may differences become from one round to the next, as rates rise."""
MOST_SAMPLES = 2
"""Times the median of samples: what a trainer counts for at most, as nobody can check what it says."""


class Rule(NamedTuple):
    """How agreed parameters follow the mean difference."""

    rate: float
    momentum: float
    """Of Nesterov; 0: plain SGD."""


PLAIN = Rule(1.0, 0.0)
"""For sparse differences: their feedback has momentum of its own."""
NESTEROV = Rule(0.7, 0.9)
"""For dense ones."""


def length(norms: Sequence[float], usual: float = math.inf) -> float:
    """What a difference is scaled down to if it is longer: the median of all, of two the shorter one.

    Args:
        norms: of the differences.
        usual: of the last rounds; several times that is the limit too, for a trainer that is alone in a round.
    """
    return min(_median(norms), GROWTH * usual)


def shares(norms: Sequence[float], samples: Sequence[int], longest: float) -> list[float]:
    """By what each trainer's difference is multiplied so that their sum is the mean.

    Whoever sends a hundred times as much moves the others no further than anybody else.

    Args:
        norms: of the differences.
        samples: that made them.
        longest: what a difference is scaled down to (`length`).
    """
    most = MOST_SAMPLES * max(1, _median(samples))
    weights = [min(max(1, count), most) for count in samples]
    total = sum(weights)
    return [
        weight / total * (min(1.0, longest / norm) if norm > 0 else 1.0)
        for weight, norm in zip(weights, norms, strict=True)
    ]


def change(rule: Rule, mean: Numbers, momentum: Numbers | None) -> Numbers:
    """What is added to the agreed parameters.

    Args:
        rule: of the step.
        mean: of the trainers' differences.
        momentum: as after the last step; None: zeros.
    """
    if not rule.momentum:
        return np.float32(rule.rate) * mean
    moved = mean if momentum is None else np.float32(rule.momentum) * momentum + mean
    changed: Numbers = np.float32(rule.rate) * (mean + np.float32(rule.momentum) * moved)
    return changed


def momentum_after(rule: Rule, changed: Numbers, momentum: Numbers | None) -> Numbers | None:
    """The momentum, from what was added: everybody who applies a change keeps it alike, also if the change was rounded
    on its way.

    Args:
        rule: of the step.
        changed: as `change` gave it, or rounded.
        momentum: before the step.
    """
    if not rule.momentum:
        return None
    m, before = np.float32(rule.momentum), np.float32(0) if momentum is None else momentum
    mean = (changed / np.float32(rule.rate) - m * m * before) / (np.float32(1) + m)
    after: Numbers = (m * before + mean).astype(np.float32)
    return after


def _median(values: Sequence[float]) -> float:
    """The lower one of an even count."""
    return sorted(values)[(len(values) - 1) // 2]

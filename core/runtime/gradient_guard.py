"""What the callers of one expert sent it: gradients far larger than everybody else's are scaled down or refused."""

from typing import NamedTuple

CLIP = 5.0
"""A caller whose moving norm is beyond so many times the median of all callers' is scaled down to it."""
SPIKE = 100.0
"""No single request counts for more than so many times the median. An honest one may be forty times the mean, late in
training, when most samples have nothing left to teach."""
ABSURD = 1e4
"""Beyond so many times the median a request is refused: no honest trainer sends it."""
FLOOR = 0.1
"""Of the median over all experts here: so much is usual anywhere. An expert that the gates pass by gets gradients next
to none, and when they turn to it again, honest ones are millions of times as large."""
HALF_LIFE = 256
"""Samples over which a moving norm forgets."""
CALLERS = 256
"""Callers remembered; those that contributed least go first."""


class _Caller(NamedTuple):
    total: float
    """Sum of the samples' norms, decayed."""
    weight: float
    """Number of the samples, decayed likewise, as a share."""
    samples: float
    """That counted, each by its factor."""


class GradientGuard:
    """Moving norms of gradients, by caller. One caller alone is its own median: it is never scaled down.

    In the median each caller weighs as much as what it has contributed: neither tiny gradients nor huge ones of a
    stranger make those of a trainer that has been here for long look wrong.
    """

    def __init__(self) -> None:
        self._callers: dict[str, _Caller] = {}

    def factor(self, caller: str, norm: float, rows: int, usual: float = 0.0) -> float:
        """What to multiply a request's gradients by, which are noted; 0: refuse them.

        Args:
            caller: who sent it.
            norm: the mean norm of its samples' gradients by the expert's outputs.
            rows: the number of its samples.
            usual: the median over all experts here; 0: not known.
        """
        before = self._measure(usual)
        kept = 0.5 ** (rows / HALF_LIFE)
        total, weight, samples = self._callers.get(caller, _Caller(0.0, 0.0, 0.0))
        noted = min(norm, SPIKE * before) if before else norm
        known = _Caller(kept * total + (1 - kept) * noted, kept * weight + (1 - kept), samples)
        self._callers[caller] = known
        if len(self._callers) > CALLERS:
            del self._callers[min(self._callers, key=lambda name: (self._callers[name].samples, name != caller))]
        if before and norm > ABSURD * before:
            return 0.0
        typical, moving = self._measure(usual), known.total / known.weight
        factor = min(1.0, CLIP * typical / moving) if typical and moving else 1.0
        factor = min(factor, SPIKE * typical / norm) if typical and norm else factor
        if caller in self._callers:
            self._callers[caller] = known._replace(samples=samples + factor * rows)
        return factor

    def _measure(self, usual: float) -> float:
        typical = self.typical()
        return max(typical, FLOOR * usual) if typical else 0.0

    def typical(self) -> float:
        """The median of the callers' moving norms, weighted by what they contributed (of two, the smaller)."""
        norms = sorted((known.total / known.weight, known.samples) for known in self._callers.values())
        half = sum(samples for _, samples in norms) / 2
        for norm, samples in norms:
            half -= samples
            if half <= 0:
                return norm
        return norms[-1][0] if norms else 0.0

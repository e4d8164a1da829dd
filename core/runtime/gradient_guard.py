"""What the callers of one expert sent it: gradients far larger than everybody else's are scaled down or refused, and
nobody counts for much more than all others together."""

from typing import NamedTuple

CLIP = 2.0
"""A caller whose moving norm is beyond so many times the median of all callers' is scaled down to it. Of what is larger
Adam learns to take smaller steps, for a thousand of them."""
SPIKE = 100.0
"""No single request counts for more than so many times the median. An honest one may be forty times the mean, late in
training, when most samples have nothing left to teach."""
NOTHING = 1 / 16
"""A caller whose moving norm is below this part of the median sends next to nothing."""
ABSURD = 1e4
"""Beyond so many times the median a request is refused: no honest trainer sends it."""
FLOOR = 0.1
"""Of the median over all experts here: so much is usual anywhere. An expert that the gates pass by gets gradients next
to none, and when they turn to it again, honest ones are millions of times as large."""
HALF_LIFE = 256
"""Samples over which a moving norm forgets."""
LASTING = 16_384
"""Samples of all callers over which it is forgotten by half who sent them."""
FEW, PART, ENOUGH = 3, 1 / 8, 1024
"""Nobody has too large a share before so many callers have each sent this part of at least so many samples: strangers
who send next to nothing must not silence the one who trains an expert most."""
SHARED = 0.25
"""By so much a caller with a larger share than all others together is scaled down at most."""
CALLERS = 256
"""Callers remembered; those that contributed least go first."""


class _Caller(NamedTuple):
    total: float
    """Sum of the samples' norms, decayed."""
    weight: float
    """Number of the samples, decayed likewise, as a share."""
    samples: float
    """All that it sent, of late, each by how far it agreed with others."""


class GradientGuard:
    """Moving norms of gradients, by caller. One caller alone is its own median: it is never scaled down.

    In the median each caller weighs as much as what it has sent: neither tiny gradients nor huge ones of a stranger
    make those of a trainer that has been here for long look wrong. What was scaled down or refused weighs as much as
    the rest: else a liar that came first would set the measure for ever.
    """

    def __init__(self) -> None:
        self._callers: dict[str, _Caller] = {}
        self._unit = 1.0
        """What a sample adds now: more and more, in place of less and less for all those before."""

    def factor(self, caller: str, norm: float, rows: int, usual: float = 0.0, agreed: float = 1.0) -> float:
        """What to multiply a request's gradients by, which are noted; 0: refuse them.

        Args:
            caller: who sent it.
            norm: the mean norm of its samples' gradients by the expert's outputs.
            rows: the number of its samples.
            usual: the median over all experts here; 0: not known.
            agreed: how much the caller's gradients count for their direction.
        """
        before = self._measure(usual)
        kept = 0.5 ** (rows / HALF_LIFE)
        total, weight, samples = self._callers.get(caller, _Caller(0.0, 0.0, 0.0))
        noted = min(norm, SPIKE * before) if before else norm
        self._age(rows)
        samples += agreed * rows * self._unit
        known = _Caller(kept * total + (1 - kept) * noted, kept * weight + (1 - kept), samples)
        self._callers[caller] = known
        if len(self._callers) > CALLERS:
            del self._callers[min(self._callers, key=lambda name: (self._callers[name].samples, name != caller))]
        if before and norm > ABSURD * before:
            return 0.0
        typical, moving = self._measure(usual), known.total / known.weight
        factor = min(1.0, CLIP * typical / moving) if typical and moving else 1.0
        factor = min(factor, SPIKE * typical / norm) if typical and norm else factor
        return agreed * factor * self._share(samples)

    def sends_nothing(self, caller: str) -> bool:
        """Whether a caller's gradients would not move an expert, however many it sends.

        Args:
            caller: who sent some.
        """
        known = self._callers.get(caller)
        return known is not None and known.total < NOTHING * self.typical() * known.weight

    def _age(self, rows: int) -> None:
        self._unit *= 2 ** (rows / LASTING)
        if self._unit > 1e9:
            for name, known in self._callers.items():
                self._callers[name] = known._replace(samples=known.samples / self._unit)
            self._unit = 1.0

    def _share(self, samples: float) -> float:
        """1, or less for one that sent more than all others together."""
        sent = [known.samples for known in self._callers.values()]
        others = sum(sent) - samples
        if others >= samples or samples + others < ENOUGH * self._unit:
            return 1.0
        large = sum(one >= PART * (samples + others) for one in sent)
        return max(SHARED, others / samples) if large >= FEW else 1.0

    def _measure(self, usual: float) -> float:
        typical = self.typical()
        return max(typical, FLOOR * usual) if typical else 0.0

    def typical(self) -> float:
        """The median of the callers' moving norms, weighted by what they sent (of two, the smaller)."""
        norms = sorted((known.total / known.weight, known.samples) for known in self._callers.values())
        half = sum(samples for _, samples in norms) / 2
        for norm, samples in norms:
            half -= samples
            if half <= 0:
                return norm
        return norms[-1][0] if norms else 0.0

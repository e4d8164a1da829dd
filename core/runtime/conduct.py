"""What the callers of one expert sent it: gradients far larger than everybody else's are scaled down or refused."""

CLIP = 5.0
"""A caller whose moving norm is beyond so many times the median of all callers' is scaled down to it."""
SPIKE = 100.0
"""No single request counts for more than so many times the median. An honest one may be forty times the mean, late in
training, when most samples have nothing left to teach."""
ABSURD = 1e4
"""Beyond so many times the median a request is refused: no honest trainer sends it."""
HALF_LIFE = 256
"""Samples over which a moving norm forgets."""
CALLERS = 256
"""Callers remembered; the longest unheard go first."""


class Conduct:
    """Moving norms of gradients, by caller. One caller alone is its own median: it is never scaled down."""

    def __init__(self) -> None:
        self._norms: dict[str, tuple[float, float]] = {}
        """Sum and weight of the samples' norms, both decayed."""

    def factor(self, caller: str, norm: float, rows: int) -> float:
        """What to multiply a request's gradients by, which are noted; 0: refuse them.

        Args: who sent it, the mean norm of its samples' gradients by the expert's outputs, and their number.
        """
        before = self._typical()
        kept = 0.5 ** (rows / HALF_LIFE)
        total, weight = self._norms.pop(caller, (0.0, 0.0))
        noted = min(norm, SPIKE * before) if before else norm
        self._norms[caller] = kept * total + (1 - kept) * noted, kept * weight + (1 - kept)
        if len(self._norms) > CALLERS:
            del self._norms[next(iter(self._norms))]
        if before and norm > ABSURD * before:
            return 0.0
        typical, moving = self._typical(), self.norm(caller)
        factor = min(1.0, CLIP * typical / moving) if typical else 1.0
        return min(factor, SPIKE * typical / norm) if typical and norm else factor

    def norm(self, caller: str) -> float:
        """The caller's moving norm."""
        total, weight = self._norms[caller]
        return total / weight

    def _typical(self) -> float:
        """The median of the callers' moving norms (of two, the smaller)."""
        norms = sorted(total / weight for total, weight in self._norms.values())
        return norms[(len(norms) - 1) // 2] if norms else 0.0

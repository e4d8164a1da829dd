"""Coming back gradually: after the user has gone, the share of the time that is computed grows in steps."""

import dataclasses
import math

STEPS = (0.25, 0.5, 0.75)
"""Shares of what is allowed, before all of it."""
RISE_S = 20.0
"""From the first step to the whole, after a long time of standing still; fans and the user's ears get used to it."""
SHORT_S = 120.0
"""Who was back for a shorter time than this had hardly anything cool down or swap in."""
SHORT_RISE_S = 6.0


@dataclasses.dataclass(frozen=True)
class Ramp:
    """Since when it computes again, and how fast it comes back."""

    since: float = -math.inf
    rise_s: float = RISE_S
    stopped: float = -math.inf
    """When it stood still last; the past for ever: it has not."""

    def share(self, now: float) -> float:
        """The part of what is allowed at `now`."""
        step = int((now - self.since) / self.rise_s * len(STEPS)) if now < self.since + self.rise_s else len(STEPS)
        return STEPS[step] if 0 <= step < len(STEPS) else 1.0


def follow(ramp: Ramp, computes: bool, gradual: bool, now: float) -> Ramp:
    """What to remember at `now`.

    Args:
        computes: whether it may compute now.
        gradual: False where the user asked for it by a word: then all that is allowed comes at once.
        now: seconds, of any clock that only grows.
    """
    if not computes:
        return ramp if ramp.stopped > ramp.since else dataclasses.replace(ramp, stopped=now)
    if ramp.stopped <= ramp.since:
        return ramp
    if not gradual:
        return Ramp(since=now, rise_s=0.0)
    return Ramp(now, SHORT_RISE_S if now - ramp.stopped < SHORT_S else RISE_S)

"""The duty cycle: a process computes for a share of the time and rests in between, in short turns.

What counts is processor time of all its threads, as the system accounts for it: also that of saving, of decoding and
of waiting in a spin. Time in which there was nothing to do counts as rest.
"""

import time
from collections.abc import Callable

PERIOD_S = 0.2
"""One turn of work and rest: short enough that no fan and no caller notices it, and some passes long."""
LONGEST_S = 2.0
"""Of one rest, whatever happened before it: a caller's patience is not much longer."""


class DutyCycle:
    """How long to rest before the next kernel. Credit grows with time and is spent by work; at zero it is time to rest
    until a turn's work is saved up."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, spent: Callable[[], float] = time.process_time
    ) -> None:
        """No work was done yet.

        Args:
            clock: the time, in seconds.
            spent: the processor time that this process has used so far, in seconds.
        """
        self._clock, self._spent = clock, spent
        self.share = 1.0
        """Of the time, over 0 and at most 1; 1: never rest."""
        self.threads = 1
        """That compute: a share of 0.5 with two threads is one core's time."""
        self._credit = 0.0
        self._at, self._used = clock(), spent()
        self._until = 0.0

    def meter(self, spent: Callable[[], float]) -> None:
        """Count what `spent` returns, in seconds, as work from now on."""
        self._settle()
        self._spent, self._used = spent, spent()

    def set(self, share: float) -> None:
        """Change the share; a rest that has begun ends as it would have."""
        self._settle()
        rested, self.share = self.share >= 1.0, min(1.0, max(share, 0.01))
        self._credit = self._full if rested else min(self._credit, self._full)

    @property
    def _full(self) -> float:
        """Credit at the begin of a turn, in which work spends it faster than it grows."""
        return PERIOD_S * self.share * (1 - self.share)

    def _settle(self) -> None:
        now, used = self._clock(), self._spent()
        self._credit += (now - self._at) * self.share - (used - self._used) / self.threads
        self._credit = max(-LONGEST_S * self.share, min(self._full, self._credit))
        self._at, self._used = now, used

    def rest_s(self) -> float:
        """Seconds until the next kernel may start; 0: now."""
        if self.share >= 1.0:
            return 0.0
        now = self._clock()
        if now < self._until:
            return self._until - now
        self._settle()
        if self._credit > 0.0:
            return 0.0
        rest = min(LONGEST_S, (self._full - self._credit) / self.share)
        self._until = now + rest
        return rest

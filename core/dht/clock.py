"""The clock that peers agree on."""

import math
import statistics
import sys
import time
from collections.abc import Callable

from core.contracts.notices import Notice, notice
from core.dht.records import SKEW_S
from core.net.limits import Newest

MOST_S = 1e9
"""More than this nobody's clock is told to be wrong by: 31 years."""


def steady() -> float:
    """Seconds of a clock that nobody sets, and that goes on while the PC sleeps."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    if sys.platform == "darwin":
        return time.clock_gettime(time.CLOCK_MONOTONIC)  # time.monotonic() stands still meanwhile
    return time.monotonic()


class NetworkClock:
    """This PC's clock, corrected by the median of what other peers say, by `SKEW_S` at most.

    One liar among few moves it by half of that; its own clock has a vote. A clock that is set while Hearth runs is not
    followed, unless the others' clocks agree with it: records made by it would count as expired, or as of the future,
    everywhere, and those of others here.
    """

    VOTES = 64

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = steady) -> None:
        """A clock that nobody has corrected yet.

        Args:
            wall: the time of day, unix seconds.
            steady: seconds of a clock that nobody sets.
        """
        self._wall, self._steady = wall, steady
        self._ahead = wall() - steady()
        """Of what is believed, before the correction, to the steady clock."""
        self._offsets = Newest[bytes, float](self.VOTES)

    def hear(self, voter: bytes, clock: float, sent: float, received: float) -> None:
        """A clock, and this PC's (`wall`) when it was asked and when it had answered; of each voter the newest counts
        (`core.net.crowds.voter_of`)."""
        offset = clock - (sent + received) / 2
        self._offsets[voter] = min(MOST_S, max(-MOST_S, offset)) if math.isfinite(offset) else 0.0

    @property
    def offset(self) -> float:
        """Seconds by which this PC's clock is behind the others'."""
        return statistics.median([0.0, *(min(SKEW_S, max(-SKEW_S, offset)) for offset in self._offsets.values())])

    @property
    def apart(self) -> float:
        """Seconds by which the time of day of this PC, believed or not, is behind what most others say."""
        return self.wall() - self._wall() + self._said() if self._offsets else 0.0

    @property
    def notes(self) -> list[Notice]:
        """What the user is told of it."""
        apart = self.apart
        return [notice("network.clock_wrong", seconds=abs(apart))] if abs(apart) > SKEW_S else []

    def now(self) -> float:
        return self.wall() + self.offset

    def wall(self) -> float:
        """This PC's own time of day."""
        wall, believed = self._wall(), self._steady() + self._ahead
        jump = wall - believed
        if abs(jump) > SKEW_S:
            said = self._said()
            if abs(said - jump) >= abs(said):
                return believed
            self._offsets.clear()
        self._ahead += jump
        return wall

    def _said(self) -> float:
        return statistics.median(self._offsets.values()) if self._offsets else 0.0

"""The clock that peers agree on."""

import math
import statistics
import time
from collections.abc import Callable

from core.dht.records import SKEW_S
from core.net.limits import Newest


class NetworkClock:
    """This PC's clock, corrected by the median of what other peers say, by `SKEW_S` at most.

    One liar among few moves it by half of that; its own clock has a vote. A clock that is set back while Hearth runs is
    not followed, unless the others' clocks agree with it: records made by it would count as expired everywhere.
    """

    VOTES = 64

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        """A clock that nobody has corrected yet.

        Args:
            wall: the time of day, unix seconds.
            steady: seconds of a clock that nobody sets.
        """
        self._wall, self._steady = wall, steady
        self._ahead = wall() - steady()
        """Of what is believed, before the correction, to the steady clock."""
        self._offsets = Newest[bytes, float](self.VOTES)

    def hear(self, peer: bytes, clock: float, sent: float, received: float) -> None:
        """A peer's clock, and this PC's (`wall`) when it was asked and when it had answered."""
        offset = clock - (sent + received) / 2
        self._offsets[peer] = offset if math.isfinite(offset) else 0.0

    @property
    def offset(self) -> float:
        """Seconds by which this PC's clock is behind the others'."""
        return statistics.median([0.0, *(min(SKEW_S, max(-SKEW_S, offset)) for offset in self._offsets.values())])

    def now(self) -> float:
        return self.wall() + self.offset

    def wall(self) -> float:
        """This PC's own time of day."""
        wall, believed = self._wall(), self._steady() + self._ahead
        back = believed - wall
        if back > SKEW_S:
            said = statistics.median(self._offsets.values()) if self._offsets else 0.0
            if abs(said + back) >= abs(said):
                return believed
            self._offsets.clear()
        self._ahead -= back
        return wall

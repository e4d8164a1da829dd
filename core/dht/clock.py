"""The clock that peers agree on."""

import time
from collections.abc import Callable

from core.dht.records import SKEW_S


class NetworkClock:
    """This PC's clock, corrected by the median of what other peers say, by `SKEW_S` at most.

    One liar among few moves it by half of that; its own clock has a vote.
    """

    VOTES = 64

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._offsets: dict[bytes, float] = {}

    def hear(self, peer: bytes, clock: float, sent: float, received: float) -> None:
        """A peer's clock, and this PC's (`wall`) when it was asked and when it had answered."""
        offset = clock - (sent + received) / 2
        self._offsets.pop(peer, None)
        self._offsets[peer] = min(SKEW_S, max(-SKEW_S, offset)) if offset == offset else 0.0
        if len(self._offsets) > self.VOTES:
            self._offsets.pop(next(iter(self._offsets)))

    @property
    def offset(self) -> float:
        """Seconds by which this PC's clock is behind the others'."""
        offsets = sorted([0.0, *self._offsets.values()])
        return (offsets[len(offsets) // 2] + offsets[~(len(offsets) // 2)]) / 2

    def now(self) -> float:
        return self._wall() + self.offset

    def wall(self) -> float:
        return self._wall()

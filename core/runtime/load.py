"""How busy this process is, and how fast."""

import math
import time
from collections import defaultdict

WINDOW_S = 5.0
"""Over which busy time is averaged."""
FIRST_PACE = 1e-10
"""Seconds for a multiplication of a weight with a number of a sample, until it is measured: a slow core's."""


class Load:
    """Moving measures of busy time and of the time that a piece of work takes."""

    def __init__(self) -> None:
        self._share = 0.0
        self._at = time.monotonic()
        self.paces: defaultdict[str, float] = defaultdict(lambda: FIRST_PACE)
        """Seconds for each unit of work (see `core.runtime.task_pool.Task.cost`), by device."""
        self.seconds = 0.0
        """Of all kernels so far."""

    def worked(self, seconds: float, end: float) -> None:
        """A kernel took so long and ended at `end`, time.monotonic()."""
        self.seconds += seconds
        self._share = self._share * math.exp((self._at - end) / WINDOW_S) + seconds / WINDOW_S
        self._at = end

    def served(self, seconds: float, cost: int, device: str) -> None:
        """A pass of so much work took so long. One that was held up, such as the first, tells little of the next."""
        weight, pace = min(0.2, seconds / 0.1), self.paces[device]
        self.paces[device] += weight * (min(seconds / max(cost, 1), 4 * pace) - pace)

    def share(self) -> float:
        """Of the last seconds, the part that kernels ran: 0 idle, 1 without pause."""
        return min(1.0, self._share * math.exp((self._at - time.monotonic()) / WINDOW_S))

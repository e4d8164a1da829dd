"""How a trainer's differences travel: as its link to the syncers turns out to be."""

from typing import Literal

from core.averaging.dense import encoded_size

DENSE_S = 1.0
"""A dense difference and the answer to it may take so long; if they took longer, sparse ones travel."""
MEASURED = 32 << 10
"""Bytes with which a call tells more of the bandwidth than of the way's latency."""
PROBES = 32
"""One of so many differences is dense on a slow link: it may have become faster."""
GAIN = 1 / 4


class Wire:
    """Of one trainer."""

    def __init__(self, chosen: Literal["measured", "sparse", "dense"]) -> None:
        """
        Args:
            chosen: what the manifest says.
        """
        self._chosen = chosen
        self.bytes_per_s: float | None = None
        """None: not measured yet."""
        self._asked = 0

    def note(self, size: int, seconds: float) -> None:
        """So many bytes took so long, both ways."""
        if size >= MEASURED:
            rate = size / max(seconds, 1e-3)
            self.bytes_per_s = rate if self.bytes_per_s is None else self.bytes_per_s + GAIN * (rate - self.bytes_per_s)

    def is_sparse(self, count: int) -> bool:
        """Whether the next difference, of so many numbers, travels sparse."""
        if self._chosen != "measured":
            return self._chosen == "sparse"
        self._asked += 1
        slow = self.bytes_per_s is not None and 2 * encoded_size(count) > DENSE_S * self.bytes_per_s
        return slow and self._asked % PROBES != 0

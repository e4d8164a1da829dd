"""Figures of a method: how often, how fast, how much."""

from array import array
from typing import NamedTuple

_RECENT = 128
"""Latencies remembered by method: enough for a p95, 1 KB."""


class MethodMetrics(NamedTuple):
    """Of the calls made by this peer and of those it served."""

    calls: int
    served: int
    errors: int
    refused: int
    bytes_in: int
    """Of requests, replies and their payloads."""
    bytes_out: int
    mean_ms: float
    """Of all calls made; of those served if none was made."""
    p95_ms: float
    """Of the latest 128."""


class Meter:
    """Counts for one method."""

    def __init__(self) -> None:
        self._calls = self._served = self._errors = self._refused = self._in = self._out = 0
        self._call_s = self._serve_s = 0.0
        self._recent = array("f")

    def called(self, seconds: float, sent: int, received: int) -> None:
        """A call of ours was answered."""
        self._calls += 1
        self._call_s += seconds
        self._out += sent
        self._in += received
        self._remember(self._calls, seconds)

    def served(self, seconds: float, received: int, sent: int) -> None:
        """A call of a peer was answered."""
        self._served += 1
        self._serve_s += seconds
        self._in += received
        self._out += sent
        if not self._calls:
            self._remember(self._served, seconds)

    def failed(self) -> None:
        """A call, made or served, failed."""
        self._errors += 1

    def refused(self) -> None:
        """A peer's call was declined."""
        self._refused += 1

    @property
    def moved(self) -> tuple[int, int]:
        """Bytes received and sent."""
        return self._in, self._out

    def _remember(self, count: int, seconds: float) -> None:
        if len(self._recent) < _RECENT:
            self._recent.append(seconds)
        else:
            self._recent[count % _RECENT] = seconds

    def read(self) -> MethodMetrics:
        """The figures so far."""
        ordered = sorted(self._recent)
        total, count = (self._call_s, self._calls) if self._calls else (self._serve_s, self._served)
        return MethodMetrics(
            self._calls,
            self._served,
            self._errors,
            self._refused,
            self._in,
            self._out,
            1000 * total / count if count else 0.0,
            1000 * ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))] if ordered else 0.0,
        )

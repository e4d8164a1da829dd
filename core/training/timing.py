"""How long batches took of late."""

import asyncio
import contextlib
from collections.abc import Iterator

from core.runtime.kernel_gate import KernelGate

LONGEST_OF_S = 60


class Longest:
    """The longest of what the last minute brought."""

    def __init__(self) -> None:
        self._by_second: dict[int, float] = {}

    def note(self, now: float, seconds: float) -> None:
        """One more.

        Args:
            now: by the loop's clock.
            seconds: how long it took.
        """
        self._by_second[int(now)] = max(seconds, self._by_second.get(int(now), 0.0))

    def of(self, now: float) -> float | None:
        """None: there was nothing."""
        self._by_second = {at: longest for at, longest in self._by_second.items() if at > int(now) - LONGEST_OF_S}
        return max(self._by_second.values(), default=None)


class Batch:
    """One that is being timed."""

    blocked_s = 0.0
    """For how long it waited for nobody but hosts that did not answer, and those asked in their place."""


class Timing:
    """Of the batches that came to their end, as long as the gate stayed open: one that was interrupted says nothing."""

    def __init__(self, kernel_gate: KernelGate) -> None:
        """Nothing was timed yet.

        Args:
            kernel_gate: that interrupts batches.
        """
        self._slowest, self._blocked = Longest(), Longest()
        self._turns = 0
        kernel_gate.listen(self._opened)

    def _opened(self) -> None:
        self._turns += 1

    @contextlib.contextmanager
    def batch(self) -> Iterator[Batch]:
        """Time one, unless it fails."""
        batch, loop, turns = Batch(), asyncio.get_running_loop(), self._turns
        start = loop.time()
        yield batch
        if turns == self._turns:
            now = loop.time()
            self._slowest.note(now, now - start)
            self._blocked.note(now, batch.blocked_s)

    @property
    def slowest_s(self) -> float | None:
        """The longest that a batch of the last minute took, from its first segment to the trunk's step."""
        return self._slowest.of(asyncio.get_running_loop().time())

    @property
    def blocked_s(self) -> float | None:
        """The longest that one of them waited for nobody but hosts that did not answer, and those asked instead."""
        return self._blocked.of(asyncio.get_running_loop().time())

"""How long batches took of late."""

import asyncio
import contextlib
from collections.abc import Iterator

from core.runtime.kernel_gate import KernelGate

LONGEST_OF_S = 60


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
        self._longest: dict[int, tuple[float, float]] = {}
        """By the second of the loop's clock: the longest of a batch, and of what blocked one."""
        self._openings = 0
        kernel_gate.listen(self._opened)

    def _opened(self) -> None:
        self._openings += 1

    @contextlib.contextmanager
    def batch(self) -> Iterator[Batch]:
        """Time one, unless it fails."""
        batch, loop, openings = Batch(), asyncio.get_running_loop(), self._openings
        start = loop.time()
        yield batch
        if openings == self._openings:
            now = loop.time()
            took_s, blocked_s = self._longest.get(int(now), (0.0, 0.0))
            self._longest[int(now)] = max(took_s, now - start), max(blocked_s, batch.blocked_s)

    def longest_s(self) -> tuple[float, float] | tuple[None, None]:
        """The longest that a batch of the last minute took, from its first segment to the trunk's step, and that one
        of them waited for nobody but hosts that did not answer, and those asked instead; None: there was no batch."""
        begin = int(asyncio.get_running_loop().time()) - LONGEST_OF_S
        self._longest = {at: longest for at, longest in self._longest.items() if at > begin}
        if not self._longest:
            return None, None
        took_s, blocked_s = zip(*self._longest.values(), strict=True)
        return max(took_s), max(blocked_s)

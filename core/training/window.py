"""How many batches a trainer has on the way at once."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator

QUEUE = 0.25
"""Of its patience, how long a batch's calls may wait at the experts' peers before fewer batches are on the way."""


class Window:
    """At most `most` batches, fewer where the peers do not keep up: answers that come too late are work for nothing.
    One where all is computed here, in calls that are not joined with others: a second batch would only have each
    gradient come a step late.

    Twice as many a round until there were too many; then one more, and a third fewer whenever there are too many again
    (Chiu and Jain, 1989; Jacobson, 1988).
    """

    def __init__(self, most: int, patience_s: float, queue_s: Callable[[], float] | None) -> None:
        """Begin with one batch, or with all of them where nobody has to keep up.

        Args:
            most: batches.
            patience_s: the longest that a peer's answer is waited for.
            queue_s: tells for how long calls wait at the experts' peers; None: they always keep up.
        """
        self._most, self._queue_s = float(most), queue_s
        self._longest_s = QUEUE * patience_s
        self._size = self._most if queue_s is None else 1.0
        self._crowded = False
        self._changed = asyncio.Event()
        """Set whenever a batch has come to its end."""
        self.in_flight = 0
        """Batches on the way."""

    async def room(self) -> None:
        """Until one more batch may start."""
        while self.in_flight >= max(1, int(self._size)):
            self._changed.clear()
            await self._changed.wait()

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """A batch is on the way."""
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
            self._changed.set()

    def adapt(self, lost: bool, serial: bool = False) -> None:
        """Learn from a batch.

        Args:
            lost: whether nobody answered a layer of it in time; else it went through.
            serial: whether no other peer was asked, and no call joined with another batch's.
        """
        if serial:
            self._size = 1.0
        elif self._queue_s is None:
            self._size = self._most
        elif lost or self._queue_s() > self._longest_s:
            self._crowded = True
            self._size = max(1.0, self._size - 0.33)
        else:
            self._size = min(self._most, self._size + (1.0 / self._size if self._crowded else 1.0))

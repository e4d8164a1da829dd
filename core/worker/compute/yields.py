"""How long each yield took: the promise is measured. The ledger keeps them over restarts."""

import time
from collections import deque
from collections.abc import Callable, Iterable

from core.contracts.ledger import Yield
from core.contracts.status import RECENT_YIELDS, YieldStatus

KEPT = 200
"""Over which the promise is measured."""
CAUSE_S = 5.0
"""Nobody returns without being noticed for so long: an older cause is none."""


def recent(cause: float, noticed: float) -> float:
    """The moment from which a yield counts: what ended long ago, such as the last input when the battery is empty, did
    not cause it."""
    return cause if noticed - cause < CAUSE_S else noticed


class Yields:
    """The last ones of this PC."""

    def __init__(
        self,
        earlier: Iterable[Yield] = (),
        count: int = 0,
        note: Callable[[str, Yield], None] = lambda run, measured: None,
    ) -> None:
        """Go on counting.

        Args:
            earlier: the last ones so far, oldest first.
            count: how many there were ever.
            note: is called with the run's id and each new one.
        """
        self.recent = deque(earlier, KEPT)
        """The oldest first."""
        self._count, self._note = count, note

    def add(self, run: str, cause: float, noticed: float, told: float, stopped: float) -> None:
        """Note one of a run that has just ended; its moments are those of time.monotonic(). See `Owner.yielded`."""
        stop_ms, noticed_ms, told_ms = (1000 * max(0.0, moment - cause) for moment in (stopped, noticed, told))
        measured = Yield(time.time() - time.monotonic() + cause, stop_ms, noticed_ms, told_ms)
        self._count += 1
        self.recent.append(measured)
        self._note(run, measured)

    def status(self) -> YieldStatus:
        """Number, last, and 95th percentile (nearest rank) of the last ones, ms."""
        ordered = sorted(item.stop_ms for item in self.recent)
        if not ordered:
            return YieldStatus(self._count, None, None)
        p95 = ordered[-(-len(ordered) * 95 // 100) - 1]
        recent = [round(item.stop_ms, 1) for item in list(self.recent)[-RECENT_YIELDS:]]
        return YieldStatus(self._count, self.recent[-1].stop_ms, p95, recent)

"""What hosts did for the Trainer here, and what was done here for others' Trainers: for credit, which the worker keeps.

Work of a host counts as audited once it passes an audit: all that it answered in that direction until then. What it
answered before it was caught is never audited any more.
"""

from collections import Counter
from collections.abc import Sequence

from core.contracts.credit import BACKWARD, FORWARD
from core.contracts.expert_calls import Direction
from core.contracts.remote_experts import HELPED, SERVED, Helped
from core.pipe.calls import Calls

WORK: dict[Direction, int] = {"inference": 0, "forward": FORWARD, "backward": BACKWARD}
"""Of a row. To ask the model a question trains nothing."""


class Tally:
    """Of one compute process."""

    def __init__(self, calls: Calls) -> None:
        """Nothing was done yet.

        Args:
            calls: to the worker, which is told.
        """
        self._calls = calls
        self._got: Counter[str] = Counter()
        self._audited: Counter[str] = Counter()
        self._gave: Counter[str] = Counter()
        """Since the worker was told last, by peer."""
        self._open: Counter[tuple[str, Direction]] = Counter()
        """What no audit has confirmed as yet."""

    def helped(self, peer: str, direction: Direction, rows: Sequence[int], answered: Sequence[bool]) -> None:
        """A peer has answered the Trainer here.

        Args:
            peer: its key as hex digits.
            direction: which of the three calls.
            rows: of each call.
            answered: which of them it answered.
        """
        if work := _work(direction, rows, answered):
            self._got[peer] += work
            self._open[peer, direction] += work

    def vouch(self, peer: str, direction: Direction) -> None:
        """The peer has passed an audit."""
        self._audited[peer] += self._open.pop((peer, direction), 0)

    def doubt(self, peer: str) -> None:
        """The peer gave an answer that cannot be right."""
        for direction in WORK:
            self._open.pop((peer, direction), None)

    def served(self, peer: str, direction: Direction, rows: Sequence[int], answered: Sequence[bool]) -> None:
        """A peer's Trainer was answered. See `helped`."""
        if work := _work(direction, rows, answered):
            self._gave[peer] += work

    def tell(self) -> None:
        """Tell the worker what was done since the last time."""
        if peers := self._got.keys() | self._audited.keys():
            self._calls.tell(HELPED, [Helped(peer, self._got[peer], self._audited[peer]) for peer in sorted(peers)])
        if self._gave:
            self._calls.tell(SERVED, dict(self._gave))
        for told in (self._got, self._audited, self._gave):
            told.clear()


def _work(direction: Direction, rows: Sequence[int], answered: Sequence[bool]) -> int:
    return WORK[direction] * sum(count for count, is_answered in zip(rows, answered, strict=True) if is_answered)

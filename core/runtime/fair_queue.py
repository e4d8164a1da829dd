"""Whose turn it is: callers share the experts' time evenly, however many requests each of them sends."""

import itertools

CALLERS = 1024
"""Callers remembered while work waits; those whose turn is past are forgotten beyond this."""


class FairQueue:
    """Start-time fair queueing (Goyal, Vin and Cheng, 1996).

    Each caller has a clock of its own that each task advances by its work; tasks are served in the order of the clock
    readings at which they start. A caller that floods so runs ahead of the others and waits for them; one that was
    away starts at the present, and gains nothing by having waited.
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._ends: dict[str, float] = {}
        self._waiting: dict[str, int] = {}
        self._numbers = itertools.count()
        self.waiting = 0
        """Work of all tasks that wait."""

    def arrive(self, caller: str, cost: int) -> tuple[float, int]:
        """The turn of a new task of `cost` work."""
        start = max(self._now, self._ends.get(caller, 0.0))
        self._ends[caller] = start + cost
        self._waiting[caller] = self._waiting.get(caller, 0) + cost
        self.waiting += cost
        if len(self._ends) > CALLERS:
            self._ends = {name: end for name, end in self._ends.items() if end > self._now}
        return start, next(self._numbers)

    def leave(self, caller: str, cost: int, turn: tuple[float, int] | None = None) -> None:
        """A task waits no more; with its `turn` if it is served, and was the first."""
        self.waiting -= cost
        self._waiting[caller] -= cost
        if not self._waiting[caller]:
            del self._waiting[caller]
        if turn is not None:
            self._now = max(self._now, turn[0])
        if not self._waiting:  # nothing waits: all callers are equal again
            self._ends.clear()

    @property
    def others_wait(self) -> bool:
        """Whether a task of another caller than this process waits."""
        return any(self._waiting)

    def ahead(self, caller: str, cost: int) -> int:
        """Work that is done before a new task of `cost` begins, if every caller goes on asking; 0 if none waits."""
        mine = self._waiting.get(caller, 0)
        return mine + sum(min(mine + cost, other) for name, other in self._waiting.items() if name != caller)

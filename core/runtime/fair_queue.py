"""Whose turn it is: callers share the experts' time evenly, however many requests each of them sends."""

import itertools

CALLERS = 1024
"""Callers remembered while work waits; those whose turn is past are forgotten beyond this."""
QUESTION = "?"
"""What the turn of a caller begins with that asks the model, and does not train."""
QUESTIONS = 4
"""All questions of other peers together get the turn of one caller in so many: the run's training comes first."""


def turn_of(caller: str, is_question: bool) -> str:
    """The name under which a caller waits: one that asks has another turn than the same one that trains.

    Args:
        caller: its name.
        is_question: whether it asks the model.
    """
    return QUESTION + caller if is_question else caller


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
        self._askers = 0
        """Of those that wait, who ask."""
        self._numbers = itertools.count()
        self.waiting = 0
        """Work of all tasks that wait."""

    def arrive(self, caller: str, cost: int) -> tuple[float, int]:
        """The turn of a new task of `cost` work."""
        start = max(self._now, self._ends.get(caller, 0.0))
        if caller not in self._waiting:
            self._waiting[caller] = 0
            self._askers += caller.startswith(QUESTION)
        self._ends[caller] = start + cost * self._pace(caller)
        self._waiting[caller] += cost
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
            self._askers -= caller.startswith(QUESTION)
        if turn is not None:
            self._now = max(self._now, turn[0])
        if not self._waiting:  # nothing waits: all callers are equal again
            self._ends.clear()

    def _pace(self, caller: str) -> int:
        """How much faster than others' a caller's clock goes."""
        return QUESTIONS * max(1, self._askers) if caller.startswith(QUESTION) else 1

    @property
    def others_wait(self) -> bool:
        """Whether a task of another caller than this process waits."""
        return any(self._waiting)

    def ahead(self, caller: str, cost: int) -> int:
        """Work that is done before a new task of `cost` begins, if every caller goes on asking; 0 if none waits."""
        mine = self._waiting.get(caller, 0)
        until = (mine + cost) * self._pace(caller)
        others = (min(until // self._pace(name), other) for name, other in self._waiting.items() if name != caller)
        return mine + sum(others)

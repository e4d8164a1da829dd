"""Badges: what others have verified of this PC's work, by days and by operations. Being online earns none."""

from collections import defaultdict
from typing import NamedTuple

from core.contracts.credit import Credit

DAYS = (1, 7, 30, 100, 365)
FLOPS = (1e9, 1e12, 1e15, 1e18)


class Milestone(NamedTuple):
    """A badge, whether it was earned or not."""

    amount: float
    """That it takes: days or FLOPs."""
    reached: int | None
    """The day (UTC) since which it is earned."""


class Ladder(NamedTuple):
    """The badges of one kind."""

    milestones: tuple[Milestone, ...]
    now: float
    """What there is."""

    @property
    def next(self) -> Milestone | None:
        """The first one that was not reached; None: all were."""
        return next((one for one in self.milestones if one.reached is None), None)


def ladders(credit: Credit) -> tuple[Ladder, Ladder]:
    """By days on which work of this PC was verified, and by the operations of all of that work."""
    verified = defaultdict[int, float](float)
    for one in credit.exchanged:
        if one.given and one.verified:
            verified[one.day] += one.verified
    days, flops = list[tuple[int, float]](), list[tuple[int, float]]()
    whole = 0.0
    for number, day in enumerate(sorted(verified), 1):
        whole += verified[day]
        days.append((day, number))
        flops.append((day, whole))
    return _ladder(DAYS, days), _ladder(FLOPS, flops)


def _ladder(steps: tuple[float, ...], course: list[tuple[int, float]]) -> Ladder:
    reached = [next((day for day, amount in course if amount >= step), None) for step in steps]
    return Ladder(tuple(map(Milestone, steps, reached)), course[-1][1] if course else 0.0)

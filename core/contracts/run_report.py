"""How a run stands, as far as one PC knows: `run_report` of the control socket, and what follows from its curve."""

from collections.abc import Sequence

import msgspec

from core.contracts.status import Count, CurvePoint, Text, Time

DAY_S = 86_400
LATELY_S = DAY_S
"""The run's pace is the mean of so long: what volunteers do changes with the hour."""


class DayOfRun(msgspec.Struct, frozen=True):
    """The last evaluation of a day (UTC)."""

    day: int
    """Days since 1 January 1970."""
    samples: Count
    loss: float
    accuracy: float


class RunReport(msgspec.Struct, frozen=True):
    """`run_report` -> how a run stands; what `hearth run status --json` prints."""

    time: Time
    id: Text
    title: Text
    description: Text
    task: Text
    """What the model is for (`core.contracts.kinds.TASKS`)."""
    organiser: Text | None
    """Who signed it; None: nobody."""
    step: Count
    """Batches whose gradients the trunk has applied."""
    samples: Count
    """In the trunk, of all trainers whose work this PC knows of."""
    pass_samples: Count | None
    """Of one pass over the data that are trained on; None: this PC does not know them."""
    planned_samples: Count | None
    """After which the manifest plans the end; None: it goes on."""
    reached: bool
    """The model is as good as the organiser wants."""
    here_per_s: float
    """Samples a second that this PC trains now."""
    pace: float | None
    """Samples a second of all trainers, the mean of the last day with its pauses; None: nothing was evaluated twice."""
    ends: Time | None
    """When the plan is fulfilled at this pace; None: nothing is planned, or there is no pace."""
    experts: Count
    """That the grid has."""
    alive: Count | None
    """Those that somebody hosts now; None: the grid is too large to be known whole, or this PC is not let in."""
    peers: Count
    """PCs that say in the DHT that they take part, this one included, be they computing or not."""
    trainers: Count
    """Of the last agreement on the trunk; 0: this PC knows of none."""
    curve: list[CurvePoint]
    """Evaluations on held-out data, the oldest first; this PC makes them when it trains."""
    days: list[DayOfRun]

    @property
    def last(self) -> CurvePoint | None:
        """The newest evaluation."""
        return self.curve[-1] if self.curve else None


def days_of(curve: Sequence[CurvePoint]) -> list[DayOfRun]:
    """The last evaluation of each day of which there is one.

    Args:
        curve: all evaluations, the oldest first.
    """
    found: dict[int, DayOfRun] = {}
    for point in curve:
        if point.time is not None:
            day = int(point.time // DAY_S)
            found[day] = DayOfRun(day, point.samples, point.loss, point.accuracy)
    return [found[day] for day in sorted(found)]


def pace_of(curve: Sequence[CurvePoint], now: float) -> float | None:
    """Samples a second of the last day; None: there are no two evaluations of it.

    Args:
        curve: all evaluations, the oldest first.
        now: unix time.
    """
    lately = [(point.time, point.samples) for point in curve if point.time and now - LATELY_S <= point.time <= now]
    if not lately:
        return None
    (begun, before), (ended, after) = lately[0], lately[-1]
    return (after - before) / (ended - begun) if ended > begun and after > before else None


def end_of(samples: int, planned: int | None, pace: float | None, now: float) -> float | None:
    """The unix time at which the plan is fulfilled; None: nobody can say.

    Args:
        samples: trained so far.
        planned: the plan; None: there is none.
        pace: samples a second.
        now: unix time.
    """
    if planned is None or not pace:
        return None
    return min(now + max(0, planned - samples) / pace, 1e11)

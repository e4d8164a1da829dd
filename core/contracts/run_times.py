"""From when and until when a run is trained, as its organiser says."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec

from core.contracts.notices import Notice, notice

_DAY, _TIME = r"20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])", r"([01][0-9]|2[0-3]):[0-5][0-9]"
Moment = Annotated[str, msgspec.Meta(pattern=rf"^{_DAY}( {_TIME})?\Z")]
"""2026-12-01, or 2026-12-01 18:00; in UTC."""


BEGINS = {"run.not_yet": notice("run.begins_then"), "run.over": notice("run.join_another")}
"""What ends that nothing is trained, by why that is."""


class Times(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a manifest calls `schedule`."""

    start: Moment | None = None
    """None: at once."""
    end: Moment | None = None
    """None: it has no end."""


def impossible_times(times: Times) -> Notice | None:
    """What is wrong with them beyond how they are written."""
    for text in filter(None, (times.start, times.end)):
        try:
            _unix(text)
        except ValueError:
            return notice("manifest.no_such_day", text=text)
    if times.start and times.end and _unix(times.end) <= _unix(times.start):
        return notice("manifest.ends_early", start=times.start, end=times.end)
    return None


def closed(times: Times | None, now: float) -> Notice | None:
    """Why nothing is trained now; None: it is.

    Args:
        times: the run's, which are possible.
        now: unix time.
    """
    if times and times.start and now < _unix(times.start):
        return notice("run.not_yet", at=times.start)
    if times and times.end and now >= _unix(times.end):
        return notice("run.over", at=times.end)
    return None


def told(times: Times | None) -> Notice | None:
    """Both in words; None: there is nothing to say."""
    if times and times.start and times.end:
        return notice("run.from_to", start=times.start, end=times.end)
    if times and times.start:
        return notice("run.from", start=times.start)
    return notice("run.to", end=times.end) if times and times.end else None


def _unix(moment: str) -> float:
    return datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()

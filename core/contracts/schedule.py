"""Times of the week: "mo-fr 18:00-08:00; sa,su 0:00-24:00". A leaf: the settings check their texts with it.

A schedule holds clock times of wherever this PC is; summer time comes and goes without moving them.
"""

import dataclasses
import functools
import itertools
import re
import time
from collections.abc import Sequence

from core.contracts.errors import SettingsError
from core.contracts.notices import notice

DAYS = ("mo", "tu", "we", "th", "fr", "sa", "su")
NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DAY, WEEK = 24 * 60, 7 * 24 * 60
"""Minutes."""
MAX_TEXT = 1200
"""Characters of a schedule; one that changes every hour, in another way each day, has 1,050."""
TIME = re.compile(r"([0-9]{1,2})(?::([0-9]{2}))?")


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A weekly table: when it is on, in minutes since Monday 0:00 of the local clock, sorted, apart from each other."""

    spans: tuple[tuple[int, int], ...]

    @property
    def always(self) -> bool:
        return self.spans == ((0, WEEK),)

    def on(self, moment: float) -> bool:
        """Whether it is on at a unix time."""
        local = time.localtime(moment)
        minute = local.tm_wday * DAY + local.tm_hour * 60 + local.tm_min
        return any(start <= minute < end for start, end in self.spans)

    def next_change(self, now: float) -> float | None:
        """The unix time, after `now`, at which it goes on or off; None: never."""
        return None if self.always else _next_change(self, int(now // 60))


ALWAYS = Schedule(((0, WEEK),))


@functools.lru_cache(maxsize=16)
def parse(text: str) -> Schedule:
    """The table of a text; an empty one is always on. A time without days holds every day, days without a time all day.

    Raises:
        SettingsError: a part cannot be understood.
    """
    if not text.strip():
        return ALWAYS
    if len(text) > MAX_TEXT:
        raise SettingsError(notice("schedule.too_long", most=MAX_TEXT))
    text = re.sub(r"\s*([,;-])\s*", r"\1", text.lower().replace("\N{EN DASH}", "-"))
    spans: list[tuple[int, int]] = []
    for part in filter(None, text.split(";")):
        words = part.split()
        days = _days(words.pop(0)) if words and words[0][0].isalpha() else list(range(7))
        if len(words) > 1:
            raise SettingsError(notice("schedule.no_part", text=part.strip()))
        times = [_times(word) for word in words[0].split(",")] if words else [(0, DAY)]
        spans += [(day * DAY + start, day * DAY + end) for day, (start, end) in itertools.product(days, times)]
    if not spans:
        raise SettingsError(notice("schedule.no_time", text=text))
    return Schedule(_merged(spans))


def _days(text: str) -> list[int]:
    days: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        start, end = _day(first), _day(last or first)
        days += [(start + step) % 7 for step in range((end - start) % 7 + 1)]
    return days


def _day(text: str) -> int:
    for index, name in enumerate(NAMES):
        if len(text) >= 2 and name.startswith(text):
            return index
    raise SettingsError(notice("schedule.no_day", text=text))


def _times(text: str) -> tuple[int, int]:
    start_text, _, end_text = text.partition("-")
    start, end = _minute(start_text, text), _minute(end_text, text)
    if start in (end, DAY):
        raise SettingsError(notice("schedule.no_span", text=text))
    return start, end if end > start else end + DAY  # over midnight


def _minute(text: str, span: str) -> int:
    found = TIME.fullmatch(text)
    hours, minutes = (int(found[1]), int(found[2] or 0)) if found else (99, 0)
    if minutes > 59 or hours * 60 + minutes > DAY:
        raise SettingsError(notice("schedule.no_such_span", text=span))
    return hours * 60 + minutes


def _merged(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sorted, without overlaps; what goes past Sunday's end begins on Monday."""
    wrapped = [(0, end - WEEK) for _, end in spans if end > WEEK]
    merged: list[tuple[int, int]] = []
    for start, end in sorted([(start, min(end, WEEK)) for start, end in spans] + wrapped):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def written(minutes: Sequence[bool]) -> str:
    """The text of a table, as `parse` reads it: "" if it is always on.

    Args:
        minutes: whether it is on, of each minute since Monday 0:00; some are.
    """
    edges = [minute for minute in range(WEEK) if minutes[minute] != minutes[minute - 1]]
    if not edges:
        return ""
    if not minutes[edges[0]]:
        edges = [*edges[1:], edges[0] + WEEK]  # what goes past Sunday's end begins on Sunday
    days: dict[int, list[tuple[int, int]]] = {}
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        for first, last in [(start, end)] if end - start < DAY else _by_days(start, end):
            days.setdefault(first // DAY % 7, []).append((first % DAY, last - first // DAY * DAY))
    alike: dict[str, list[int]] = {}
    for day in sorted(days):
        alike.setdefault(",".join(map(_span_text, sorted(days[day]))), []).append(day)
    return "; ".join(f"{_days_text(found)}{times}" for times, found in alike.items())


def _by_days(start: int, end: int) -> list[tuple[int, int]]:
    """A span of a day or more, cut at each midnight."""
    cuts = [start, *range((start // DAY + 1) * DAY, end, DAY), end]
    return list(itertools.pairwise(cuts))


def _span_text(span: tuple[int, int]) -> str:
    start, end = span
    end = end if end <= DAY else end - DAY
    return f"{start // 60}:{start % 60:02}-{end // 60}:{end % 60:02}"


def _days_text(days: list[int]) -> str:
    """ "mo-fr " or "mo,th-su ", with a blank behind it; "" for all."""
    if len(days) == 7:
        return ""
    parts = []
    for _, numbered in itertools.groupby(enumerate(days), lambda one: one[1] - one[0]):
        names = [DAYS[day] for _, day in numbered]
        parts += [f"{names[0]}-{names[-1]}"] if len(names) > 2 else names
    return ",".join(parts) + " "


@functools.lru_cache(maxsize=16)
def _next_change(schedule: Schedule, minute: int) -> float | None:
    """The first change after the beginning of a minute of unix time.

    It is one of the table's edges in the next eight days, or a moment at which the clocks are changed. A clock time can
    come twice or not at all; both readings are tried, and a moment counts only if the table differs from now.
    """
    now = minute * 60.0
    local, on = time.localtime(now), schedule.on(now)
    moments = set(_clock_changes(now))
    for day in range(9):
        for edge in {edge for span in schedule.spans for edge in span}:
            at = edge % WEEK - (local.tm_wday + day) % 7 * DAY
            if 0 <= at < DAY:
                date = (local.tm_year, local.tm_mon, local.tm_mday + day, at // 60, at % 60, 0, 0, 0)
                moments |= {time.mktime((*date, summer)) for summer in (0, 1, -1)}
    return min((moment for moment in moments if moment > now and schedule.on(moment) != on), default=None)


def _clock_changes(now: float) -> list[float]:
    """When the local clock jumps within eight days, to the second."""
    found = []
    for day in range(8):
        low, high = int(now) + day * 86_400, int(now) + (day + 1) * 86_400
        if _offset(low) == _offset(high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _offset(middle) == _offset(low) else (low, middle)
        found.append(float(high))
    return found


def _offset(moment: float) -> int:
    return time.localtime(moment).tm_gmtoff

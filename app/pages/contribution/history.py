"""What the contribution page shows of the ledger's answers: metrics, ranges, and bars made of series. No widget."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from itertools import pairwise
from typing import Literal, NamedTuple

from PySide6.QtCore import QLocale

from app.formats import count, data_size, number
from app.language import clock, day, locale, mark, told, tr
from app.widgets.bar_plot import Bars, Part
from core.community.calendar import HOUR, MINUTE, midnight
from core.contracts.ledger import Amounts, Metric, Series, SeriesParams, Session, traffic_kind
from core.contracts.words import WHOLE_HOURS, electricity

METRICS: tuple[Metric, ...] = Amounts.__struct_fields__  # type: ignore[assignment]
By = Literal["run", "device", "both"]
BY: tuple[By, ...] = ("device", "run")
RANGES: dict[str, str] = {
    "day": mark("24 hours"),
    "week": mark("7 days"),
    "month": mark("30 days"),
    "year": mark("1 year"),
}
GROUPS: dict[str, str] = {"all": mark("All"), "device": mark("Devices"), "run": mark("Runs")}
DAYS = {"week": 7, "month": 30, "year": 52 * 7}
"""Of a range, with today; the remaining one is asked for by hours."""
HOURS = 24
WEEK, LEAST = 7, 12
"""Days of a bar of the year, and its bars at least."""
PARTS = (0.85, 0.5, 0.25)
"""Heat of what a bar is made of, the largest first: all of it is this PC's, so none is in the colour of others."""
REST = mark("All else")
MEASURED = 0.99
"""Energy of which less was measured is an estimate."""
NO_DEVICE = "this PC"
"""In a table, the device of what belongs to none, as times given back to the user do."""
GAP = 2
"""So many bars without anything ask why."""


class Kind(NamedTuple):
    """A figure that one can choose."""

    title: str
    metrics: tuple[tuple[Metric, str, str], ...]
    """What it is the sum of: the ledger's metric, its name, its colour role where they are told apart."""
    write: Callable[[float], str]
    """An amount with its unit."""
    scale: Callable[[float], tuple[float, str]]
    """For the greatest amount: by what the axis divides, and its unit."""
    usual: float = 1.0
    """An amount of which nothing has the unit."""
    work: bool = True
    """Whether there is none of it while this PC does not compute."""

    def short(self, amount: float) -> str:
        """As `write` does, but a count without a unit, and from a million on in three figures: "1.24 M"."""
        if self.scale is PLAIN:
            return count(amount, SHORTENED)
        return self.write(amount) if amount else f"0 {self.scale(self.usual)[1]}"


def _hours(seconds: float) -> str:
    if round(seconds) < MINUTE:
        return f"{number(seconds, 0 if seconds >= 10 or not seconds else 1)} s"
    hours, rest = divmod(round(seconds / MINUTE), MINUTE)
    has_minutes = bool(rest) and hours < WHOLE_HOURS
    return " ".join([f"{number(hours)} h"] * bool(hours) + [f"{rest} min"] * has_minutes)


def tight(seconds: float) -> str:
    """A time above a bar, rounded as elsewhere: "1:39 h"."""
    hours, rest = divmod(round(seconds / MINUTE), MINUTE)
    return f"{hours}:{rest:02} h" if 0 < hours < WHOLE_HOURS else _hours(seconds)


def _count(words: str) -> Callable[[float], str]:
    """What writes a number.

    Args:
        words: a text with "%Ln".
    """
    return lambda amount: tr(words, round(amount))


def _tokens(amount: float) -> str:
    return tr("{count} tokens", count=count(amount))


def _energy(kwh: float) -> str:
    return electricity(kwh, lambda value, most: number(value, most if value else 0))


def _by_size(*steps: tuple[float, float, str]) -> Callable[[float], tuple[float, str]]:
    """What chooses the unit of a scale by its greatest amount.

    Args:
        steps: from which amount on it is divided by what, and the unit then; the smallest first.
    """
    return lambda most: next((step[1:] for step in reversed(steps) if most >= step[0]), steps[0][1:])


EXACT = 100_000
"""Counts below are written with all their digits at a scale."""
SHORTENED = 1_000_000
"""And elsewhere, as sentences have them with all of theirs."""
PLAIN = _by_size((0, 1, ""), (EXACT, 1e3, "k"), (1e6, 1e6, "M"), (1e9, 1e9, mark("bn")))
TOKENS = _by_size((0, 1, mark("tokens")), (EXACT, 1e3, mark("k tokens")), (1e6, 1e6, mark("M tokens")))
SIZE = _by_size((0, 1, "B"), (1e3, 1e3, "kB"), (1e6, 1e6, "MB"), (1e9, 1e9, "GB"), (1e12, 1e12, "TB"))
TIME = _by_size((0, 1, "s"), (MINUTE, MINUTE, "min"), (HOUR, HOUR, "h"))
ENERGY = _by_size((0, 1e-3, "Wh"), (0.1, 1, "kWh"))
KINDS: dict[str, Kind] = {
    "seconds": Kind(mark("Compute time"), (("seconds", "", ""),), _hours, TIME, MINUTE),
    "samples": Kind(mark("Samples trained"), (("samples", "", ""),), _count(mark("%Ln sample(s)")), PLAIN),
    "tokens": Kind(mark("Tokens trained"), (("tokens", "", ""),), _tokens, TOKENS),
    "peer_calls": Kind(mark("Calls for others"), (("peer_calls", "", ""),), _count(mark("%Ln call(s)")), PLAIN),
    "calls": Kind(mark("Calls to experts here"), (("calls", "", ""),), _count(mark("%Ln call(s)")), PLAIN),
    "accepted": Kind(mark("In the common trunk"), (("accepted", "", ""),), number, PLAIN),
    "reduced": Kind(mark("Combined for the trunk"), (("reduced", "", ""),), data_size, SIZE, work=False),
    "bytes": Kind(
        mark("Traffic with peers"),
        (("bytes_out", mark("Sent"), "ember_fill"), ("bytes_in", mark("Received"), "peer")),
        data_size,
        SIZE,
        work=False,
    ),
    "kwh": Kind(mark("Energy"), (("kwh", "", ""),), _energy, ENERGY),
    "yields": Kind(
        mark("Times your PC was given back"), (("yields", "", ""),), _count(mark("%Ln time(s)")), PLAIN, work=False
    ),
}
WHY = {
    "paused": mark("paused"),
    "user": mark("in use"),
    "quit": mark("off"),
    "lost": mark("off"),
    "battery": mark("on battery"),
    "hours": mark("by schedule"),
    "failed": mark("trouble"),
}
"""What ended a session, as a note between bars; whatever is not here: "stopped"."""


def trained(amounts: Amounts) -> list[Metric]:
    """What says how much was trained: samples of pictures, tokens of text, or both after runs of either."""
    metrics: tuple[Metric, ...] = ("samples", "tokens")
    return [metric for metric in metrics if getattr(amounts, metric)]


def together(kinds: Sequence[Kind], amounts: Sequence[float], exact: bool = False) -> str:
    """One phrase for a figure that is of several kinds, "44.5 k + 674 k tokens": what there is none of is left out.

    Args:
        kinds: one or more.
        amounts: one of each.
        exact: with all digits, where `Kind.short` has three.
    """
    write = [kind.write if exact else kind.short for kind in kinds]
    told = [words(amount) for words, amount in zip(write, amounts, strict=True) if amount]
    return " + ".join(told) or write[0](0.0)


def for_others(amounts: Amounts) -> str:
    """What was done for other peers, apart from this PC's own training: "1,204 calls + 3.1 MB" that it combined."""
    kinds = KINDS["peer_calls"], KINDS["reduced"]
    return together(kinds, (amounts.peer_calls, amounts.reduced), exact=True)


def is_estimate(amounts: Amounts) -> bool:
    """Whether too little of the energy was measured to say it plainly."""
    return amounts.kwh_measured < MEASURED * amounts.kwh


def question(metric: Metric, chosen: str, now: float, by: By | None) -> SeriesParams:
    """What the ledger is asked.

    Args:
        metric: what is counted.
        chosen: the range, a key of `DAYS` or a day.
        now: unix time.
        by: what the series are told apart by.
    """
    if chosen in DAYS:
        return SeriesParams(metric, midnight(now, 1 - DAYS[chosen]), now, "day", by)
    return SeriesParams(metric, now - (HOURS - 1) * HOUR, now, "hour", by)


def last_week(now: float) -> SeriesParams:
    """What the ledger is asked for the hours of the last seven days."""
    return SeriesParams("seconds", midnight(now, 1 - DAYS["week"]), now, "hour")


def device_name(device: str, names: Mapping[str, str]) -> str:
    """A device or kind of traffic in words.

    Args:
        device: its key in the ledger.
        names: of devices, by their id.
    """
    kind = device.removeprefix("network.")
    if kind != device:
        return told(traffic_kind(kind))
    return names.get(device, device.upper() if device == "cpu" else device) if device else tr("This PC")


def day_name(moment: float) -> str:
    """ "4 September 2026"."""
    return day(date.fromtimestamp(moment), year=True)


def weekday(of: date) -> str:
    """ "Fri"."""
    return locale().dayName(of.isoweekday(), QLocale.FormatType.ShortFormat)


def _names(times: Sequence[int], chosen: str) -> tuple[list[str], list[str]]:
    """Short and full words for the stretches between `times`."""
    starts = [date.fromtimestamp(moment) for moment in times[:-1]]
    if chosen == "day":
        clocks = [clock(datetime.fromtimestamp(moment)) for moment in times]
        full = [
            tr(
                "{day} {start} to {end}",
                day=weekday(start),
                start=clocks[at],
                end=clocks[at + 1] if at + 2 < len(times) else tr("now"),
            )
            for at, start in enumerate(starts)
        ]
        return [*clocks[: len(starts) - 1], tr("Now")], full
    full = [day(start, short=True, weekday=True) for start in starts]
    if chosen == "year":
        full = [tr("week from {day}", day=day(start, short=True, year=True)) for start in starts]
        return [*(day(start, short=True) for start in starts[:-1]), tr("This week")], full
    labels = [weekday(start) if chosen == "week" else day(start, short=True) for start in starts]
    return [*labels[:-1], tr("Today")], [*full[:-1], tr("today")]


def _weekly(times: Sequence[int], values: Sequence[float]) -> tuple[list[int], list[float]]:
    """Days summed up by sevens, counted from the last one."""
    first = (len(values)) % WEEK
    starts = [*([0] if first else []), *range(first, len(values), WEEK)]
    ends = [*starts[1:], len(values)]
    return [*(times[start] for start in starts), times[-1]], [
        sum(values[start:end]) for start, end in zip(starts, ends, strict=True)
    ]


class Answer(NamedTuple):
    """The series of one metric."""

    by_run: Series
    by_device: Series


def bars(
    kind: Kind, answers: Sequence[Answer], group: str, chosen: str, names: Mapping[str, str], ended: Sequence[Session]
) -> Bars:
    """What the plot shows.

    Args:
        kind: the figure.
        answers: in the order of its metrics.
        group: what bars are made of.
        chosen: the range.
        names: of devices and runs, by their id.
        ended: sessions, oldest first, to tell why nothing was done.
    """
    times = answers[0].by_run.times
    rows: dict[str, list[float]] = {}
    tones: dict[str, str] = {}
    for (_, name, tone), answer in zip(kind.metrics, answers, strict=True):
        series = answer.by_run if group in ("all", "run") else answer.by_device
        for key, values in series.values.items():
            word = tr(name) if group == "all" else device_name(key, names) if group == "device" else names.get(key, key)
            rows[word] = [one + other for one, other in zip(rows.get(word, [0.0] * len(values)), values, strict=True)]
            if group == "all" and tone:
                tones[word] = tone
    if group != "all":
        rows = _largest(rows)
    stretches: list[int] = list(times)
    if chosen == "year":
        for word, values in rows.items():
            stretches, rows[word] = _weekly(times, values)
        if not rows:
            stretches, _ = _weekly(times, [0.0] * (len(times) - 1))
        empty = next((at for at, each in enumerate(zip(*rows.values(), strict=True)) if any(each)), 0)
        empty = min(empty, len(stretches) - 1 - LEAST)  # before the first work there is nothing to be seen
        stretches, rows = stretches[empty:], {word: values[empty:] for word, values in rows.items()}
    labels, full = _names(stretches, chosen)
    parts = [
        Part(word, tones.get(word) or _tone(at, word, len(rows)), values)
        for at, (word, values) in enumerate(rows.items())
    ]
    found = Bars(labels, full, parts)
    return found._replace(notes=_notes(stretches, found.sums(), ended)) if rows and kind.work else found


def _tone(at: int, word: str, count: int) -> str | float:
    return "ember_fill" if count == 1 else "peer_rest" if word == tr(REST) else PARTS[at]


def _largest(rows: dict[str, list[float]]) -> dict[str, list[float]]:
    """The greatest few, the first at the foot; all else as one."""
    order = sorted(rows, key=lambda word: -sum(rows[word]))
    kept = {word: rows[word] for word in order[: len(PARTS)]}
    others = [rows[word] for word in order[len(PARTS) :]]
    if others:
        kept[tr(REST)] = [sum(values) for values in zip(*others, strict=True)]
    return kept


def _notes(times: Sequence[int], sums: Sequence[float], ended: Sequence[Session]) -> list[tuple[int, int, str]]:
    """Why there is nothing in bars that follow each other: what ended the last session before them."""
    notes: list[tuple[int, int, str]] = []
    start: int | None = None
    for at in range(len(sums) + 1):
        empty = at < len(sums) and not sums[at]
        if empty and start is None:
            start = at
        elif not empty and start is not None:
            before = next((one for one in reversed(ended) if one.end <= times[start] + 1), None)
            if at - start >= GAP and before is not None:
                notes.append((start, at, tr(WHY.get(before.why, mark("stopped")))))
            start = None
    return notes


def shares(answers: Sequence[Answer], by: By, names: Mapping[str, str]) -> list[tuple[str, float]]:
    """Who did how much of it, the most first."""
    found: dict[str, float] = {}
    for answer in answers:
        series = answer.by_run if by == "run" else answer.by_device
        for key, values in series.values.items():
            word = names.get(key, key) if by == "run" else device_name(key, names)
            found[word] = found.get(word, 0.0) + sum(values)
    return sorted(((word, amount) for word, amount in found.items() if amount > 0), key=lambda one: -one[1])


def table(answers: Mapping[str, Series]) -> str:
    """All metrics of a range as comma-separated values, a row for each stretch of time, run and device.

    Args:
        answers: the series of each metric by both, over the same time.
    """
    times = next(iter(answers.values())).times
    keys = sorted({key for series in answers.values() for key in series.values})
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["start", "end", "run", "device", *answers])
    for at, (start, end) in enumerate(pairwise(times)):
        moments = [datetime.fromtimestamp(moment).astimezone().isoformat() for moment in (start, end)]
        for key in keys:
            amounts = [series.values[key][at] if key in series.values else 0 for series in answers.values()]
            run, _, device = key.partition(" ")
            if any(amounts):
                writer.writerow([*moments, run, device or NO_DEVICE, *amounts])
    return text.getvalue()

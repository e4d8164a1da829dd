"""How a run stands, in words and as one static HTML page."""

import html
import math
import time
from collections.abc import Iterator, Sequence

from core.community.html_page import curve, date, document, figure
from core.contracts.kinds import TASKS
from core.contracts.run_report import DAY_S, RunReport
from core.contracts.status import CurvePoint
from core.contracts.words import clock, counted

DRAWN = 200
"""Points of a plot, of which a page may have few thousand."""
DAYS = 60
"""In the table."""


def lines(report: RunReport) -> Iterator[tuple[str, str]]:
    """What there is to say, each with its heading.

    Args:
        report: of the run.
    """
    unit, done = TASKS[report.task].unit, report.samples
    passes = f", {done / report.pass_samples:.2f} passes over the data" if report.pass_samples else ""
    plan = f" of {report.planned_samples:,} planned" if report.planned_samples else ""
    yield "Progress", f"{done:,}{plan} {unit}{passes}, step {report.step:,}"
    yield "Loss", _loss(report) if report.last else "not measured yet: this PC evaluates when it trains"
    pace = "not known yet" if report.pace is None else f"{report.pace:,.0f} {unit}/s in the mean of the last day"
    yield "Speed", f"{pace}; this PC now {report.here_per_s:,.0f} {unit}/s"
    if report.experts:
        alive = ", unknown how many alive" if report.alive is None else " alive"
        known = f"{report.experts:,}" if report.alive is None else f"{report.alive:,} of {report.experts:,}"
        yield "Experts", f"{known}{alive}"
    trainers = f", {counted(report.trainers, 'trainer')} in the last agreement" if report.trainers else ""
    yield "Peers", f"{counted(report.peers, 'PC takes', 'PCs take')} part{trainers}"
    yield "End", _end(report)


def _loss(report: RunReport) -> str:
    assert report.last
    task, last = TASKS[report.task], report.last
    bits = f" ({last.bits_per_byte:.3f} bits per byte)" if task.in_tokens else ""
    return f"{last.loss:.4f}{bits} on held-out data, {last.accuracy:.1%} right"


def _end(report: RunReport) -> str:
    if report.reached:
        return "reached: the model is as good as its organiser wants"
    if report.planned_samples is None:
        return "none planned; training continues as long as somebody trains"
    if report.samples >= report.planned_samples:
        return "reached: all that was planned is trained"
    if report.ends is None:
        return "not known yet: there is no speed to reckon with"
    left = (report.ends - report.time) / DAY_S
    return f"about {clock(report.ends, report.time)}" if left < 1 else f"about {date(report.ends)}, in {left:,.0f} days"


def page(report: RunReport) -> str:
    """The document.

    Args:
        report: of the run.
    """
    shown = [("Run", report.id), ("Signed by", report.organiser or "nobody"), *lines(report)]
    rows = "".join(f"<tr><td>{name}</td><td>{html.escape(text)}</td></tr>" for name, text in shown)
    parts = [f"<p>{html.escape(report.description)}</p>"] if report.description else []
    parts += [f'<table class="facts">{rows}</table>', *_plots(report), *_days(report)]
    told = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(report.time))
    parts.append(f"<p>As one PC that takes part knew it on {told}: <code>hearth run status</code>.</p>")
    return document(f"Hearth: {report.title}", report.title, parts)


def _plots(report: RunReport) -> Iterator[str]:
    unit = TASKS[report.task].unit
    if len(points := [point for point in _thinned(report.curve) if point.samples]) > 1:
        drawn = curve([(math.log(one.samples), one.loss, _said(one.loss, f"{one.samples:,} {unit}")) for one in points])
        first, last = points[0], points[-1]
        yield figure(
            "Loss by samples",
            drawn,
            f"Loss on held-out data by {unit} trained (logarithmic), from {first.loss:.3f} at {first.samples:,} to "
            f"{last.loss:.3f} at {last.samples:,}.",
        )
    if len(days := report.days) > 1:
        begin, end = days[0], days[-1]
        yield figure(
            "Loss by day",
            curve([(one.day, one.loss, _said(one.loss, date(one.day * DAY_S))) for one in days]),
            f"Loss on held-out data at the end of each day, from {begin.loss:.3f} on {date(begin.day * DAY_S)} to "
            f"{end.loss:.3f} on {date(end.day * DAY_S)}.",
        )


def _days(report: RunReport) -> Iterator[str]:
    if not report.days:
        return
    unit = TASKS[report.task].unit.capitalize()
    rows = "".join(
        f"<tr><td>{date(one.day * DAY_S)}</td><td>{one.samples:,}</td><td>{one.loss:.4f}</td>"
        f"<td>{one.accuracy:.1%}</td></tr>"
        for one in report.days[: -DAYS - 1 : -1]
    )
    yield f"<h2>By day</h2><table><tr><th>Day (UTC)</th><th>{unit}</th><th>Loss</th><th>Right</th></tr>{rows}</table>"


def _thinned(points: Sequence[CurvePoint]) -> list[CurvePoint]:
    """No more than `DRAWN`, the last one among them."""
    every = -(-len(points) // DRAWN) or 1
    return [*points[::-1][::every]][::-1]


def _said(loss: float, at: str) -> str:
    return f"{at}: {loss:.4f}"

"""The words and figures of the picture: the time, the state with its reason and what ends it, the swarm, the legend."""

import math
from datetime import datetime
from typing import NamedTuple

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPixmap

from app.formats import milliseconds, number, rate
from app.language import clock, mark, told, tr
from app.screensaver.feed import PLANES, Feed
from app.theme import theme
from core.contracts.kinds import TASKS
from core.contracts.status import STATE_WORD

MIN_YIELDS = 5
"""Fewer measurements promise nothing."""
ALONE = mark("Hearth is not running")
SMALLEST_TEXT = 11
LARGER = {"clock": 2.2, "body": 1.12}
"""Than in the window: it is seen from farther away."""
SPOT, RING = "\N{BLACK CIRCLE}", "\N{WHITE CIRCLE}"


class Line(NamedTuple):
    """A paragraph, or a figure with what it means."""

    text: str
    role: str
    tone: str
    figure: str = ""
    """Before the text, in a column of its own and in a tone of its own."""
    figure_tone: str = "text"


def heading(feed: Feed, now: datetime) -> list[Line]:
    """The time, then state, reason and what ends it; or why there is nothing to see."""
    lines = [Line(clock(now), "clock", "text")]
    status = feed.status
    if status is None:
        if feed.sentence:
            lines += [Line(tr(ALONE), "nums", "text"), Line(feed.sentence, "body", "text2")]
        return lines
    lines.append(Line(tr(STATE_WORD[status.state]), "nums", "text"))
    lines += [Line(told(text), "body", "text2") for text in (status.reason, status.until) if text]
    yields = status.yields
    if status.idle_only and status.state == "contributing" and yields.p95_ms is not None and yields.count >= MIN_YIELDS:
        promise = tr(
            "Touch it and it is yours within {time} (p95, last {count} times).",
            time=milliseconds(yields.p95_ms),
            count=number(yields.count),
        )
        lines.append(Line(promise, "body", "text2"))
    return lines


def figures(feed: Feed) -> list[Line]:
    """What the swarm and this PC do."""
    status = feed.status
    if status is None:
        return []
    lines = []
    cells = feed.cells
    if cells:
        here, layers = number(sum(cell.here for cell in cells)), feed.layer_count
        if layers > PLANES:
            some = {"shown": number(PLANES), "layers": number(layers)}
            what = tr("experts in {shown} of {layers} layers, {here} of them here", here=here, **some)
        elif feed.whole or feed.peers is None:
            what = tr("experts, {here} of them here", here=here)
        else:
            what = tr("experts known, {here} of them here", here=here)
        lines.append(_figure(number(len(cells)), what, "ember"))
    if feed.peers is not None:
        lines.append(_figure(number(feed.peers), tr("peer connected" if feed.peers == 1 else "peers connected")))
    if status.state == "contributing":
        lines.append(_figure(rate(status.calls_per_s), tr("calls to experts here per second")))
    steps = number(status.step)
    seen = {
        "bytes": tr("bytes of text seen by the model in {steps} steps", steps=steps),
        "tokens": tr("tokens seen by the model in {steps} steps", steps=steps),
        "samples": tr("samples seen by the model in {steps} steps", steps=steps),
    }
    what = seen[TASKS[status.task].unit]
    lines.append(_figure(number(status.samples), what))
    if status.loss is not None:
        lines.append(_figure(number(status.loss, 3), tr("training loss")))
    return lines


def _figure(value: str, meaning: str, tone: str = "text") -> Line:
    return Line(meaning, "body", "text2", value, tone)


def legend(feed: Feed, still: bool) -> list[Line]:
    """What the lights mean; nothing where there are none."""
    if feed.status is None or not feed.cells:
        return []
    called = tr("answered a call" if still else "calls")
    updated = tr("changed by gradients" if still else "gradients back")
    return [
        Line(called, "cap", "text2", SPOT, "ember"),
        Line(updated, "cap", "text2", SPOT, "peer"),
        Line(tr("hosted on this PC"), "cap", "text2", RING, "ember"),
    ]


class Block:
    """Some lines, drawn once and kept until they change.

    Args:
        unit: how large the picture is, as a factor of the one that the type roles are meant for.
        width: pixels that paragraphs may take.
    """

    def __init__(self, unit: float, width: float, ratio: float) -> None:
        self._unit, self._width, self._ratio = max(0.75, unit), width, ratio
        self._lines: list[Line] = []
        self.pixmap = QPixmap()
        self.size = QSize()

    def set_lines(self, lines: list[Line]) -> bool:
        """Whether they are other ones."""
        if lines == self._lines:
            return False
        self._lines = lines
        places, self.size = self._lay_out()
        self.pixmap = QPixmap(self.size * self._ratio)
        self.pixmap.setDevicePixelRatio(self._ratio)
        self.pixmap.fill(Qt.GlobalColor.transparent)
        if not self.size.isEmpty():
            painter = QPainter(self.pixmap)
            for rect, font, tone, text in places:
                painter.setFont(font)
                painter.setPen(theme().color(tone))
                painter.drawText(rect, Qt.TextFlag.TextWordWrap, text)
            painter.end()
        return True

    def _font(self, role: str) -> QFont:
        font = theme().font("display" if role == "clock" else role)
        font.setPixelSize(max(SMALLEST_TEXT, round(LARGER.get(role, 1.0) * font.pixelSize() * self._unit)))
        if role == "clock":
            font.setWeight(QFont.Weight.Normal)
        return font

    def _lay_out(self) -> tuple[list[tuple[QRectF, QFont, str, str]], QSize]:
        places: list[tuple[QRectF, QFont, str, str]] = []
        big = self._font("head" if all(line.role == "cap" for line in self._lines) else "title")
        column = max((QFontMetricsF(big).horizontalAdvance(line.figure) for line in self._lines), default=0.0)
        left = column + 14 * self._unit if column else 0.0
        y = widest = 0.0
        for line in self._lines:
            font = self._font(line.role)
            room = QRectF(left, y, max(60.0, self._width - left), 10_000)
            rect = QFontMetricsF(font).boundingRect(room, Qt.TextFlag.TextWordWrap, line.text)
            height = rect.height()
            if line.figure:
                height = max(height, QFontMetricsF(big).height())
                places.append((QRectF(0, y, column + 4, height), big, line.figure_tone, line.figure))
                rect.moveTop(y + QFontMetricsF(big).ascent() - QFontMetricsF(font).ascent())
                height = max(height, rect.bottom() - y)
            places.append((rect.adjusted(0, 0, 4, 4), font, line.tone, line.text))
            widest = max(widest, rect.right())
            y += height + (9 if line.figure else 4) * self._unit
        return places, QSize(math.ceil(widest) + 6, math.ceil(y) + 2) if places else QSize()

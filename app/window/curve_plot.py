"""A curve over the steps of training."""

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QRectF
from PySide6.QtGui import QBrush, QLinearGradient
from PySide6.QtWidgets import QHBoxLayout

from app.language import tr
from app.theme import theme
from app.window.plot import Plot, ticks
from app.window.widgets import Label
from app.window.words import number

MAX_POINTS = 600
"""A longer curve is thinned to about so many points; more cannot be told apart."""
LINE_WIDTH = 1.6


def thin(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """At most about `MAX_POINTS` of the points, always with the newest one."""
    stride = 1 + max(0, len(points) - 1) // MAX_POINTS
    kept = list(points[::stride])
    if points and kept[-1] != points[-1]:
        kept.append(points[-1])
    return kept


class CurvePlot(Plot):
    """Values over steps: thin line, soft fill, a dot at the newest.

    Args:
        name: accessible name.
        tone: colour role of the line.
        write: a value as text, exactly and with its unit.
        mark: a value of the axis as text.
        top: fixed upper end of the axis; None takes the greatest value.
        empty: sentence while there are no points.
        moment: the place of a value as text; by default its step.
    """

    def __init__(
        self,
        name: str,
        tone: str,
        write: Callable[[float], str],
        mark: Callable[[float], str],
        top: float | None,
        empty: str,
        moment: Callable[[float], str] | None = None,
    ) -> None:
        super().__init__(name, mark, empty)
        self._moment = moment or (lambda step: tr("step {step}", step=number(step)))
        self._told_last = moment or number
        self._tone = self._shown_tone = tone
        self._write, self._top = write, top
        self._points: list[tuple[int, float]] = []
        self._height = 1.0
        self._first = Label("", "cap", "text3")
        self._last = Label("", "cap", "text3", tabular=True)
        self._foot = QHBoxLayout()
        self._foot.addWidget(self._first)
        self._foot.addStretch(1)
        self._foot.addWidget(self._last)
        self._column.addLayout(self._foot)

    def set_points(self, points: Sequence[tuple[int, float]]) -> None:
        """Show (step, value) pairs, oldest first."""
        self._points = thin(points)
        self._draw()

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old."""
        self._shown_tone = "text3" if stale else self._tone
        self._style()

    def describe(self) -> str:
        """The curve in words."""
        if not self._points:
            return self._empty.text()
        (first, start), (last, now) = self._points[0], self._points[-1]
        return tr(
            "{name}: {now} at {last}; {start} at {first}, the first one measured.",
            name=self._name,
            now=self._write(now),
            last=self._moment(last),
            start=self._write(start),
            first=self._moment(first),
        )

    def _fill(self, item: Any) -> None:
        self._line = item.plot(antialias=True)
        self._dot = self._pg.ScatterPlotItem(size=theme().px(8), pen=None, antialias=True)
        item.addItem(self._dot)

    def _style(self) -> None:
        super()._style()
        if self._plot is not None:
            color = theme().color(self._shown_tone)
            # pyqtgraph's pens count device pixels.
            self._line.setPen(self._pg.mkPen(color, width=LINE_WIDTH * self.devicePixelRatioF()))
            self._shade()
            self._dot.setBrush(color)

    def _shade(self) -> None:
        """A soft fill that fades towards zero, in the plot's own units: pyqtgraph paints it in several pieces."""
        gradient = QLinearGradient(0, self._height, 0, 0)
        for place, alpha in ((0.0, 0.24), (1.0, 0.02)):
            color = theme().color(self._shown_tone)
            color.setAlphaF(alpha)
            gradient.setColorAt(place, color)
        self._line.setFillBrush(QBrush(gradient))

    def _draw(self) -> None:
        shown = bool(self._points)
        self.setAccessibleDescription(self.describe())
        self._last.setText(self._told_last(self._points[-1][0]) if shown else "")
        self._first.setText(_sentence_case(self._moment(0)))
        self._first.setVisible(shown)
        self._empty.setVisible(not shown)
        if self._plot is None:
            return
        if not shown:
            self._scale(1, self._top or 1.0, [0.0, self._top or 1.0])
            self._line.clear()
            self._dot.clear()
            return
        steps = [step for step, _ in self._points]
        values = [value for _, value in self._points]
        top = self._top if self._top is not None else max(*values, 1e-6)
        self._scale(max(1, steps[-1]), top, ticks(top))
        self._line.setData(steps, values)
        self._line.setFillLevel(0.0)
        self._dot.setData([steps[-1]], [values[-1]])

    def _scale(self, last: int, top: float, places: list[float]) -> None:
        self._foot.setContentsMargins(self._set_ticks(places), 0, 0, 0)
        if top != self._height:
            self._height = top
            self._shade()
        box = self._plot.getPlotItem().getViewBox()
        box.setRange(QRectF(0, -0.07 * top, last * 1.015, top * 1.16), padding=0)

    def _words_at(self, x: float) -> str:
        """The evaluation nearest to a place, as text."""
        if not self._points:
            return ""
        step, value = min(self._points, key=lambda point: abs(point[0] - x) if x < float("inf") else -point[0])
        return f"{_sentence_case(self._moment(step))}: {self._write(value)}"


def _sentence_case(words: str) -> str:
    return words[:1].upper() + words[1:]

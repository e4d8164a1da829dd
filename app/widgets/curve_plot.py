"""A curve over the steps of training."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QLinearGradient, QPainter, QPen, QPolygonF

from app.formats import number
from app.language import tr
from app.theme import theme
from app.widgets.basics import Label
from app.widgets.boxes import STRETCH, hbox
from app.widgets.plot import Plot, sentence_case, ticks

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
    """Values over steps: thin line, soft fill, a dot at the newest. Arrow keys or the mouse choose a point.

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
        self._foot = hbox(self._first, STRETCH, self._last)
        self._column.addLayout(self._foot)

    def set_points(self, points: Sequence[tuple[int, float]]) -> None:
        """Show (step, value) pairs, oldest first."""
        kept = thin(points)
        if kept != self._points:
            self._points = kept
            if self.at is not None:
                self.at = min(self.at, len(kept) - 1) if kept else None
            self._draw()

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old."""
        tone = "text3" if stale else self._tone
        if tone != self._shown_tone:
            self._shown_tone = tone
            self._canvas.update()

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

    @property
    def _dot(self) -> float:
        """Radius of the dot at the newest point, pixels."""
        return theme().px(8) / 2

    def _edges(self) -> tuple[float, float, float]:
        return 0.0, self._dot, 0.0

    def paint(self, painter: QPainter) -> None:
        if not self._points:
            return
        points = [self.place(step, value) for step, value in self._points]
        color = theme().color(self._shown_tone)
        # A soft fill that fades towards zero.
        foot, crest = self.place(0, 0), self.place(0, self._height)
        gradient = QLinearGradient(crest, foot)
        for at, alpha in ((0.0, 0.24), (1.0, 0.02)):
            shade = theme().color(self._shown_tone)
            shade.setAlphaF(alpha)
            gradient.setColorAt(at, shade)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QBrush(gradient))
        ends = [QPointF(points[-1].x(), foot.y()), QPointF(points[0].x(), foot.y())]
        painter.drawPolygon(QPolygonF(points + ends))
        painter.setBrush(color)
        painter.drawEllipse(points[-1], self._dot, self._dot)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        pen = QPen(color, LINE_WIDTH)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.setPen(pen)
        painter.drawPolyline(QPolygonF(points))
        if self.at is not None:
            self._mark_point(painter, points[self.at])

    def _mark_point(self, painter: QPainter, point: QPointF) -> None:
        """The chosen one: a line down to the foot, and a ring."""
        painter.setPen(QPen(theme().color("text2"), 1, Qt.PenStyle.DashLine))
        painter.drawLine(QPointF(point.x(), self._area.top()), QPointF(point.x(), self._area.bottom()))
        painter.setPen(QPen(theme().color("text"), LINE_WIDTH))
        painter.setBrush(theme().color("surface"))
        painter.drawEllipse(point, self._dot, self._dot)

    def _draw(self) -> None:
        shown = bool(self._points)
        self._retell()
        self._last.setText(self._told_last(self._points[-1][0]) if shown else "")
        self._first.setText(sentence_case(self._moment(0)))
        self._first.setVisible(shown)
        self._empty.setVisible(not shown)
        last = self._points[-1][0] if shown else 1
        top = self._top or max((value for _, value in self._points), default=1.0)
        self._height = top if top > 1e-6 else 1.0
        places = ticks(self._height) if shown else [0.0, self._height]
        self._show(QRectF(0, -0.07 * self._height, max(1, last), 1.16 * self._height), places)
        self._foot.setContentsMargins(self._axis, 0, 0, 0)

    def words(self, at: int) -> str:
        """A point in words."""
        step, value = self._points[at]
        return f"{sentence_case(self._moment(step))}: {self._write(value)}"

    # choosing

    def _nearest(self, x: float) -> int | None:
        if x == float("inf"):
            return self._start()
        return min(range(len(self._points)), key=lambda at: abs(self._points[at][0] - x), default=None)

    def _count(self) -> int:
        return len(self._points)

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        rows = [[sentence_case(self._moment(step)), self._write(value)] for step, value in self._points]
        return [tr("When"), self._name], rows

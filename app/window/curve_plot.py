"""A curve over the steps of training, drawn by pyqtgraph, which is loaded only after the window is shown."""

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QBrush, QColor, QFontMetrics, QHelpEvent, QLinearGradient, QPen, QShowEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from app.theme import theme
from app.window.widgets import Label
from app.window.words import number

MAX_POINTS = 600
"""A longer curve is thinned to about so many points; more cannot be told apart."""
LINE_WIDTH = 1.6
AXIS_GAP = 8
"""Between the axis' figures and the plot, pixels."""
LOAD_MS = 150
"""After the window is shown: it is on the screen before numpy and pyqtgraph are read."""


def thin(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """At most about `MAX_POINTS` of the points, always with the newest one."""
    stride = 1 + max(0, len(points) - 1) // MAX_POINTS
    kept = list(points[::stride])
    if points and kept[-1] != points[-1]:
        kept.append(points[-1])
    return kept


def ticks(top: float) -> list[float]:
    """Two to five round values from 0 up to about `top` (> 0)."""
    for exponent in range(-6, 12):
        for factor in (1.0, 2.0, 5.0):
            step: float = factor * 10.0**exponent
            if top / step <= 4.0:
                return [step * i for i in range(int(top / step) + 1)]
    return [0.0]


class CurvePlot(QWidget):
    """Values over steps: thin line, soft fill, a dot at the newest.

    Args:
        name: accessible name.
        tone: colour role of the line.
        write: a value as text, exactly and with its unit.
        mark: a value of the axis as text.
        top: fixed upper end of the axis; None takes the greatest value.
        empty: sentence while there are no points.
    """

    def __init__(
        self,
        name: str,
        tone: str,
        write: Callable[[float], str],
        mark: Callable[[float], str],
        top: float | None,
        empty: str,
    ) -> None:
        super().__init__()
        self._name, self._tone, self._write, self._mark, self._top = name, tone, write, mark, top
        self._shown_tone = tone
        self._points: list[tuple[int, float]] = []
        self._height = 1.0
        self._plot: Any = None
        self._loading = False
        self._empty = Label(empty, "cap", "text3", wrap=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._first = Label("Step 0", "cap", "text3")
        self._last = Label("", "cap", "text3", tabular=True)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(2)
        self._area = QGridLayout()
        self._area.addWidget(self._empty, 0, 0)
        self._column.addLayout(self._area, 1)
        self._foot = QHBoxLayout()
        self._foot.addWidget(self._first)
        self._foot.addStretch(1)
        self._foot.addWidget(self._last)
        self._column.addLayout(self._foot)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(name)
        self.setAccessibleDescription(empty)
        theme().changed.connect(self._style)

    def sizeHint(self) -> QSize:
        return QSize(theme().px(240), theme().px(110))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(160), theme().px(80))

    def set_points(self, points: Sequence[tuple[int, float]]) -> None:
        """Show (step, value) pairs, oldest first."""
        self._points = thin(points)
        self._draw()

    @property
    def loaded(self) -> bool:
        """pyqtgraph is there and draws."""
        return self._plot is not None

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old."""
        self._shown_tone = "text3" if stale else self._tone
        self._style()

    def set_empty(self, sentence: str) -> None:
        """The sentence while there are no points."""
        self._empty.setText(sentence)
        self.setAccessibleDescription(self.describe())

    def describe(self) -> str:
        """The curve in words."""
        if not self._points:
            return self._empty.text()
        (first, start), (last, now) = self._points[0], self._points[-1]
        return (
            f"{self._name}: {self._write(now)} at step {number(last)}; "
            f"{self._write(start)} at step {number(first)}, the first one measured."
        )

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._loading:
            self._loading = True
            QTimer.singleShot(LOAD_MS, self, self._load)

    def _load(self) -> None:
        import pyqtgraph  # deferred: 60 MB and a quarter of a second that the window need not wait for

        self._pg = pyqtgraph
        plot = pyqtgraph.PlotWidget(background=None)
        plot.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        for part in (plot, plot.viewport()):
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        plot.setFrameShape(plot.Shape.NoFrame)
        plot.setStyleSheet("background: transparent")
        plot.setMinimumHeight(theme().px(60))
        plot.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        item = plot.getPlotItem()
        item.hideButtons()
        item.setMenuEnabled(False)
        item.hideAxis("bottom")
        item.setContentsMargins(0, 0, 0, 0)
        item.getViewBox().setDefaultPadding(0)
        item.getViewBox().setMouseEnabled(False, False)
        axis = item.getAxis("left")
        axis.setStyle(
            tickFont=theme().font("cap", tabular=True), tickLength=-1, tickTextOffset=AXIS_GAP
        )  # a mark of no length would leave a dot
        axis.setPen(None)
        axis.setTickPen(None)
        self._line = item.plot(antialias=True)
        self._dot = pyqtgraph.ScatterPlotItem(size=theme().px(8), pen=None, antialias=True)
        item.addItem(self._dot)
        self._rules: list[Any] = []
        self._plot = plot
        self._area.addWidget(plot, 0, 0)
        self._empty.raise_()
        self._style()
        self._draw()

    def _style(self) -> None:
        if self._plot is None:
            return
        colors = theme()
        axis = self._plot.getPlotItem().getAxis("left")
        axis.setTextPen(colors.color("text3"))
        # pyqtgraph's pens count device pixels.
        self._line.setPen(self._pg.mkPen(colors.color(self._shown_tone), width=LINE_WIDTH * self.devicePixelRatioF()))
        self._fill()
        self._dot.setBrush(colors.color(self._shown_tone))
        for rule in self._rules:
            rule.setPen(self._rule_pen())

    def _fill(self) -> None:
        """A soft fill that fades towards zero, in the plot's own units: pyqtgraph paints it in several pieces."""
        gradient = QLinearGradient(0, self._height, 0, 0)
        for place, alpha in ((0.0, 0.24), (1.0, 0.02)):
            color = theme().color(self._shown_tone)
            color.setAlphaF(alpha)
            gradient.setColorAt(place, color)
        self._line.setFillBrush(QBrush(gradient))

    def _rule_pen(self) -> QPen:
        pen = QPen(QColor(theme().colors.border), 1)
        pen.setCosmetic(True)
        return pen

    def _draw(self) -> None:
        shown = bool(self._points)
        self.setAccessibleDescription(self.describe())
        self._last.setText(number(self._points[-1][0]) if shown else "")
        self._first.setVisible(shown)
        self._empty.setVisible(not shown)
        if self._plot is None:
            return
        if not shown:
            self._set_ticks([0.0, self._top or 1.0])
            self._line.clear()
            self._dot.clear()
            self._scale(1, self._top or 1.0)
            return
        steps = [step for step, _ in self._points]
        values = [value for _, value in self._points]
        top = self._top if self._top is not None else max(*values, 1e-6)
        self._set_ticks(ticks(top))
        self._line.setData(steps, values)
        self._line.setFillLevel(0.0)
        self._dot.setData([steps[-1]], [values[-1]])
        self._scale(max(1, steps[-1]), top)

    def _scale(self, last: int, top: float) -> None:
        if top != self._height:
            self._height = top
            self._fill()
        box = self._plot.getPlotItem().getViewBox()
        box.setRange(QRectF(0, -0.07 * top, last * 1.015, top * 1.16), padding=0)

    def _set_ticks(self, places: list[float]) -> None:
        item = self._plot.getPlotItem()
        if [rule.value() for rule in self._rules] == places:
            return
        for rule in self._rules:
            item.removeItem(rule)
        self._rules = [self._pg.InfiniteLine(place, angle=0, movable=False, pen=self._rule_pen()) for place in places]
        for rule in self._rules:
            rule.setZValue(-10)
            item.addItem(rule)
        axis = item.getAxis("left")
        axis.setTicks([[(place, self._mark(place)) for place in places]])
        metrics = QFontMetrics(theme().font("cap", tabular=True))
        width = max(metrics.horizontalAdvance(self._mark(place)) for place in places) + AXIS_GAP + 2
        axis.setWidth(width)
        self._foot.setContentsMargins(width, 0, 0, 0)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent) and self._points:
            QToolTip.showText(event.globalPos(), self._at(event.pos()), self)
            return True
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._style()
        return super().event(event)

    def _at(self, place: QPoint) -> str:
        """The evaluation nearest to a place in the widget, as text."""
        step, value = self._points[-1]
        if self._plot is not None:
            box = self._plot.getPlotItem().getViewBox()
            scene = self._plot.mapToScene(self._plot.mapFrom(self, place))
            x = box.mapSceneToView(QPointF(scene)).x()
            step, value = min(self._points, key=lambda point: abs(point[0] - x))
        return f"Step {number(step)}: {self._write(value)}"

"""What the window's plots share: pyqtgraph, loaded only after the window is shown, with one axis and its rules."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QPointF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QPen, QShowEvent
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from app.theme import theme
from app.window.widgets import Label

AXIS_GAP = 8
"""Between the axis' figures and the plot, pixels."""
LOAD_MS = 150
"""After the window is shown: it is on the screen before numpy and pyqtgraph are read."""


def ticks(top: float) -> list[float]:
    """Two to five round values from 0 up to about `top` (> 0)."""
    for exponent in range(-12, 16):
        for factor in (1.0, 2.0, 5.0):
            step: float = factor * 10.0**exponent
            if top / step <= 4.0:
                return [step * i for i in range(int(top / step) + 1)]
    return [0.0]


class Plot(QWidget):
    """A plot with an axis at the left, a sentence while it is empty, and words for those who do not see it.

    Args:
        name: accessible name.
        mark: a value of the axis as text.
        empty: sentence while there is nothing to draw.
    """

    def __init__(self, name: str, mark: Callable[[float], str], empty: str) -> None:
        super().__init__()
        self._name, self._mark = name, mark
        self._plot: Any = None
        self._loading = False
        self._rules: list[Any] = []
        self._marks: list[tuple[float, str]] = []
        self._empty = Label(empty, "cap", "text3", wrap=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(2)
        self._area = QGridLayout()
        self._area.addWidget(self._empty, 0, 0)
        self._column.addLayout(self._area, 1)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(name)
        self.setAccessibleDescription(empty)
        theme().changed.connect(self._style)

    def sizeHint(self) -> QSize:
        return QSize(theme().px(240), theme().px(110))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(160), theme().px(80))

    @property
    def loaded(self) -> bool:
        """pyqtgraph is there and draws."""
        return self._plot is not None

    def set_empty(self, sentence: str) -> None:
        """The sentence while there is nothing to draw."""
        self._empty.setText(sentence)
        self.setAccessibleDescription(self.describe())

    # what a kind of plot has to say

    def describe(self) -> str:
        """The plot in words."""
        raise NotImplementedError

    def _fill(self, item: Any) -> None:
        """Put what is drawn into pyqtgraph's plot, once it is there."""
        raise NotImplementedError

    def _style(self) -> None:
        """Take the colours of the theme."""
        if self._plot is not None:
            self._plot.getPlotItem().getAxis("left").setTextPen(theme().color("text3"))
            for rule in self._rules:
                rule.setPen(self._rule_pen())

    def _draw(self) -> None:
        """Draw what is to be shown."""
        raise NotImplementedError

    def _words_at(self, x: float) -> str:
        """What is at this place of the horizontal axis; "" for nothing."""
        raise NotImplementedError

    # pyqtgraph

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
        self._plain_axis(item.getAxis("left"))
        self._fill(item)
        self._plot = plot
        self._area.addWidget(plot, 0, 0)
        self._empty.raise_()
        self._style()
        self._draw()

    @staticmethod
    def _plain_axis(axis: Any) -> None:
        """Figures only."""
        axis.setStyle(
            tickFont=theme().font("cap", tabular=True), tickLength=-1, tickTextOffset=AXIS_GAP
        )  # a mark of no length would leave a dot
        axis.setPen(None)
        axis.setTickPen(None)

    def _rule_pen(self) -> QPen:
        pen = QPen(QColor(theme().colors.border), 1)
        pen.setCosmetic(True)
        return pen

    def _set_ticks(self, places: list[float]) -> int:
        """Rules at these values, with their figures; returns the width of the axis."""
        marks = [(place, self._mark(place)) for place in places]
        item = self._plot.getPlotItem()
        axis = item.getAxis("left")
        if marks != self._marks:
            self._marks = marks
            for rule in self._rules:
                item.removeItem(rule)
            self._rules = [
                self._pg.InfiniteLine(place, angle=0, movable=False, pen=self._rule_pen()) for place in places
            ]
            for rule in self._rules:
                rule.setZValue(-10)
                item.addItem(rule)
            axis.setTicks([marks])
            metrics = QFontMetrics(theme().font("cap", tabular=True))
            axis.setWidth(max(metrics.horizontalAdvance(mark) for _, mark in marks) + AXIS_GAP + 2)
        return int(axis.width())

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self._words_at(self._x_of(event.pos())), self)
            return True
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._style()
        return super().event(event)

    def _x_of(self, place: QPoint) -> float:
        """The place in the widget on the horizontal axis; far right while nothing is drawn yet."""
        if self._plot is None:
            return float("inf")
        box = self._plot.getPlotItem().getViewBox()
        scene = self._plot.mapToScene(self._plot.mapFrom(self, place))
        return float(box.mapSceneToView(QPointF(scene)).x())

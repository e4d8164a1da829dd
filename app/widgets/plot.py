"""What the window's plots share: figures at the left, rules across, a sentence while there is nothing to draw.

Painted here: pyqtgraph takes 50 MB, a third of what the whole app may, and a quarter of a second when it is loaded.
"""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QContextMenuEvent, QFontMetrics, QHelpEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QToolTip, QWidget

from app.formats import tip
from app.icons import smooth
from app.language import tr
from app.theme import theme
from app.widgets.basics import Label
from app.widgets.boxes import vbox
from app.widgets.menu import Menu
from app.widgets.picking import Picking, beside
from app.widgets.plot_table import PlotTable

AXIS_GAP = 8
"""Between the axis' figures and the plot, pixels."""


def ticks(top: float) -> list[float]:
    """Two to five round values from 0 up to about `top` (> 0)."""
    for exponent in range(-12, 16):
        for factor in (1.0, 2.0, 5.0):
            step: float = factor * 10.0**exponent
            if top / step <= 4.0:
                return [step * i for i in range(int(top / step) + 1)]
    return [0.0]


def sentence_case(words: str) -> str:
    """With a capital letter."""
    return words[:1].upper() + words[1:]


class Plot(Picking):
    """A plot with an axis at the left, a sentence while it is empty, and words for those who do not see it.

    Args:
        name: accessible name.
        mark: a value of the axis as text.
        empty: sentence while there is nothing to draw.
    """

    def __init__(self, name: str, mark: Callable[[float], str], empty: str) -> None:
        super().__init__()
        self._name, self._mark = name, mark
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # also where one reads from the right
        self._shown = QRectF(0, 0, 1, 1)
        """What is seen of the plane, in the units of both axes; its top is the lowest value."""
        self._marks: list[tuple[float, str]] = []
        self._area = QRectF()
        """Where it is drawn, on the canvas."""
        self._canvas = _Canvas(self)
        self._empty = Label(empty, "cap", "text3", wrap=True, align=Qt.AlignmentFlag.AlignCenter)
        self._column = vbox(spacing=2, within=self)
        area = QGridLayout()
        area.addWidget(self._canvas, 0, 0)
        area.addWidget(self._empty, 0, 0)
        self._column.addLayout(area, 1)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(theme().px(160), theme().px(80))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(name)
        self.setAccessibleDescription(empty)
        theme().changed.connect(self._draw)

    def sizeHint(self) -> QSize:
        return QSize(theme().px(240), theme().px(110))

    def set_empty(self, sentence: str) -> None:
        """The sentence while there is nothing to draw."""
        self._empty.setText(sentence)
        self._retell()

    # what a kind of plot has to say

    def paint(self, painter: QPainter) -> None:
        """Paint what is between the rules, by `place`."""
        raise NotImplementedError

    def _draw(self) -> None:
        """Draw what is to be shown."""
        raise NotImplementedError

    def _nearest(self, x: float) -> int | None:
        """The part at this place of the horizontal axis, or next to it; None: there is nothing."""
        raise NotImplementedError

    def _count(self) -> int:
        """How many parts there are, numbered from the left."""
        raise NotImplementedError

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The same as a table: heads of the columns, and a row for each part."""
        raise NotImplementedError

    # choosing

    def _whole(self) -> str:
        told = self.describe()
        return f"{told} {tr('Arrow keys read out each value, Enter shows a table.')}" if self._count() else told

    def _under(self, place: QPointF) -> int | None:
        return self._nearest(self._x_of(place.toPoint()))

    def _start(self) -> int | None:
        return self._count() - 1 if self._count() else None

    def _beside(self, at: int, key: Qt.Key) -> int | None:
        return beside(at, key, self._count(), self._count())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.show_table()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = Menu()
        menu.addAction(tr("Show as a table")).triggered.connect(self.show_table)
        menu.open_under(self)

    def show_table(self) -> None:
        """Open the figures as a table."""
        if self._count():
            PlotTable(self, self._name, *self.table()).open()

    # the canvas

    def _show(self, shown: QRectF, places: list[float]) -> None:
        """What is to be seen (x, lowest value, width, height), and the values with a rule."""
        self._shown, self._marks = shown, [(place, self._mark(place)) for place in places]
        self._canvas.update()

    @property
    def _axis(self) -> int:
        """Width of the figures and the gap beside them, pixels."""
        metrics = QFontMetrics(theme().font("cap", tabular=True))
        widths = [metrics.horizontalAdvance(mark) for _, mark in self._marks]
        return max(widths) + AXIS_GAP + 2 if widths else 0

    def _edges(self) -> tuple[float, float, float]:
        """Pixels that are left free above what is drawn, at its right and below it."""
        return 0.0, 0.0, 0.0

    def lay_out(self) -> None:
        """Find the place for what is painted next; measuring words for each part of it takes longer than painting."""
        above, right, below = self._edges()
        self._area = QRectF(self._canvas.rect()).adjusted(self._axis, above, -right, -below)

    def place(self, x: float, value: float) -> QPointF:
        """On the canvas."""
        area, shown = self._area, self._shown
        across, up = (x - shown.left()) / shown.width(), (value - shown.top()) / shown.height()
        return QPointF(area.left() + across * area.width(), area.bottom() - up * area.height())

    def paint_axis(self, painter: QPainter) -> None:
        """Figures and rules."""
        rule = QPen(theme().color("border"), 1)
        painter.setFont(theme().font("cap", tabular=True))
        metrics, area = painter.fontMetrics(), self._area
        for value, mark in self._marks:
            y = self.place(0, value).y()
            painter.setPen(rule)
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(theme().color("text3"))
            box = QRectF(0, y - metrics.height() / 2, area.left() - AXIS_GAP, metrics.height())
            painter.drawText(box, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), mark)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            at = self._nearest(self._x_of(event.pos()))
            QToolTip.showText(event.globalPos(), "" if at is None else tip(self.words(at)), self)
            return True
        return super().event(event)

    def _x_of(self, spot: QPoint) -> float:
        """The place of a spot of the widget on the horizontal axis."""
        area, shown = self._area, self._shown
        across = (self._canvas.mapFrom(self, spot).x() - area.left()) / max(1.0, area.width())
        return shown.left() + across * shown.width()


class _Canvas(QWidget):
    def __init__(self, plot: Plot) -> None:
        super().__init__()
        self._plot = plot
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setMinimumHeight(theme().px(60))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # else "h 5.9"
        self._plot.lay_out()
        self._plot.paint_axis(painter)
        self._plot.paint(painter)

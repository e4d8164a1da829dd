"""Number fields, sliders and drop-down lists that follow the theme."""

from collections.abc import Callable

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPaintEvent, QPen, Qt, QValidator, QWheelEvent
from PySide6.QtWidgets import QComboBox, QLineEdit, QSlider, QSpinBox, QWidget

from app import theme as look
from app.formats import duration, number, seconds_of
from app.icons import paint_icon, placed, smooth
from app.language import locale
from app.theme import theme
from app.widgets.basics import Label

ARROW = 14


class NumberField(QSpinBox):
    """A whole number; scrolling the page does not change it under the mouse."""

    def __init__(self) -> None:
        super().__init__()
        theme().set_sheet(self, "field")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.lineEdit().setTextMargins(theme().px(8), 0, 0, 0)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        half = self.height() / 2
        paint_arrow(self, half + 1, down=True)
        paint_arrow(self, half - ARROW - 1, down=False)


class _ReadField(NumberField):
    """A number that is read and written in a way of its own."""

    def _read(self, text: str) -> int | None:
        """None: it is no such number."""
        raise NotImplementedError

    def valueFromText(self, text: str) -> int:
        value = self._read(text)
        return self.value() if value is None else value

    def validate(self, text: str, at: int) -> tuple[QValidator.State, str, int]:
        value = self._read(text)
        if value is None or not self.minimum() <= value <= self.maximum():
            return QValidator.State.Intermediate, text, at  # left like this, the old value comes back
        return QValidator.State.Acceptable, text, at


class DurationField(_ReadField):
    """Seconds, read and written as "5 min" or "1 min 30 s"; "1:30" is taken too.

    A number alone counts the largest unit of the value that it replaces: 10 in the place of "5 min" is 10 min.
    """

    def textFromValue(self, value: int) -> str:
        return duration(value)

    def _read(self, text: str) -> int | None:
        return seconds_of(text, duration(self.value()).split()[1])


class DecimalField(_ReadField):
    """A number with two decimals as whole hundredths, read and written as the locale does; "0.3" is taken too."""

    def textFromValue(self, value: int) -> str:
        return number(value / 100, 2)

    def _read(self, text: str) -> int | None:
        value, good = locale().toDouble(text.strip())
        try:
            return round((value if good else float(text)) * 100)
        except (ValueError, OverflowError):
            return None


class Slider(QSlider):
    """A value on a line, with its figure as a label that the caller places.

    Args:
        name: what it sets, for those who do not see it.
        least, most, value: whole steps.
        words: how a value is written.
    """

    def __init__(self, name: str, least: int, most: int, value: int, words: Callable[[int], str]) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.figure = Label(
            "", "strong", tabular=True, align=Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        )
        self.figure.setMinimumWidth(self.figure.fontMetrics().horizontalAdvance(words(most)) + 4)
        self.setRange(least, most)
        self.setPageStep(max(1, (most - least) // 4))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(theme().px(80), theme().px(24))
        self.setAccessibleName(name)
        self.valueChanged.connect(lambda value: self.figure.setText(words(value)))
        self.setValue(value)
        self.figure.setText(words(value))

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the page scrolls

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, colors = smooth(self), theme()
        painter.setPen(Qt.PenStyle.NoPen)
        radius, line, middle = colors.px(8), colors.px(4), self.height() / 2
        share = (self.value() - self.minimum()) / (self.maximum() - self.minimum())
        at = radius + share * (self.width() - 2 * radius)
        for tone, end in (("line", float(self.width())), ("ember_fill", at)):
            painter.setBrush(colors.color(tone))
            painter.drawRoundedRect(placed(self, QRectF(0, middle - line / 2, end, line)), line / 2, line / 2)
        painter.setPen(QPen(colors.color("line"), 1))
        painter.setBrush(colors.color("raised"))
        painter.drawEllipse(placed(self, QRectF(at, middle, 0, 0)).center(), radius - 1, radius - 1)


class Field(QLineEdit):
    """A line of text."""

    def __init__(self) -> None:
        super().__init__()
        theme().set_sheet(self, "field")


class Choice(QComboBox):
    """One of many."""

    def __init__(self) -> None:
        super().__init__()
        theme().set_sheet(self, "choice")

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        paint_arrow(self, (self.height() - ARROW) / 2, down=True)


def paint_arrow(widget: QWidget, top: float, down: bool) -> None:
    """A chevron in the arrows' part of a field."""
    painter = QPainter(widget)
    color = theme().color("text2" if widget.isEnabled() else "text3")
    rect = placed(widget, QRectF(widget.width() - (look.ARROWS_WIDTH + ARROW) / 2, top, ARROW, ARROW))
    if not down:
        painter.translate(rect.center())
        painter.rotate(180)
        painter.translate(-rect.center())
    paint_icon(painter, "chevron-down", rect, color)

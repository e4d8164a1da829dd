"""The window's buttons, switches and choices. All take their colours from `theme()` when they paint."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QRectF, QSize, Qt, Signal, SignalInstance
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QPushButton, QSizePolicy, QWidget

from app import theme as look
from app.colors import mix
from app.icons import hairline, paint_icon, placed, rounded, smooth
from app.theme import theme
from app.widgets.boxes import hbox
from app.widgets.menu import Menu


class Button(QPushButton):
    """A button with its word and, where it helps, an icon.

    Args:
        text: the word; also the accessible name.
        kind: "primary" (filled, at most one a page), "plain" (outlined) or "link".
        icon: a file of `resources/icons`, "" for none.
        icon_after: the icon follows the word.
        clicked: called, or emitted, at a click.
        name: accessible name where the word says too little.
        tip: tooltip.
    """

    def __init__(
        self,
        text: str,
        kind: str = "plain",
        icon: str = "",
        icon_after: bool = False,
        *,
        clicked: Callable[[], object] | SignalInstance | None = None,
        name: str = "",
        tip: str = "",
    ) -> None:
        super().__init__(text)
        self.kind, self._icon, self._icon_after = kind, icon, icon_after
        self.joined: Qt.Edge | None = None
        """The edge at which it touches the other part of a split button, read from left to right."""
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)  # it is painted anew when the mouse comes and goes
        self.setFont(theme().font("strong"))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name or text)
        self.setToolTip(tip)
        self.setAutoDefault(True)  # Enter presses it too, not in dialogs alone
        if clicked is not None:
            self.clicked.connect(clicked)

    def set_kind(self, kind: str) -> None:
        if kind != self.kind:
            self.kind = kind
            self.updateGeometry()
            self.update()

    def set_icon(self, icon: str) -> None:
        if icon != self._icon:
            self._icon = icon
            self.updateGeometry()
            self.update()

    def setText(self, text: str) -> None:
        super().setText(text)
        self.setAccessibleName(text)

    def _inset(self) -> int:
        return 0 if self.kind == "link" else theme().px(14)

    def _icon_side(self) -> int:
        return theme().px(14 if self.kind == "link" else 18)

    def sizeHint(self) -> QSize:
        if not self.text():
            return QSize(theme().px(look.BUTTON_HEIGHT), theme().px(look.BUTTON_HEIGHT))
        metrics = QFontMetrics(self.font())
        width = metrics.horizontalAdvance(self.text()) + 2 * self._inset()
        if self._icon:
            width += self._icon_side() + theme().px(6)
        return QSize(width, theme().px(24 if self.kind == "link" else look.BUTTON_HEIGHT))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def _tone(self) -> str:
        if not self.isEnabled():
            return "text3"
        return {"primary": "on_fill", "link": "ember"}.get(self.kind, "text")

    def _paint_body(self, painter: QPainter, rect: QRectF) -> None:
        """The filled or outlined shape behind the word."""
        colors = theme()
        if self.kind == "link":
            return
        primary = self.kind == "primary" and self.isEnabled()
        fill = colors.color("ember_fill" if primary else "raised")
        if self.isDown():
            fill = mix(fill, colors.color("text"), 0.14)
        elif self.underMouse() and self.isEnabled():
            fill = mix(fill, colors.color("text"), 0.07)
        edge = colors.color("line" if self.isEnabled() else "border")
        painter.setPen(Qt.PenStyle.NoPen)
        if not primary:
            rect = hairline(painter, rect, edge)
        painter.setBrush(fill)
        joined = self.joined
        if joined is not None and self.layoutDirection() is Qt.LayoutDirection.RightToLeft:
            joined = Qt.Edge.LeftEdge if joined is Qt.Edge.RightEdge else Qt.Edge.RightEdge
        beyond = 2.0 * look.RADIUS_CONTROL  # the widget's edge cuts off what reaches over the joint
        if joined is Qt.Edge.RightEdge:
            rect.setRight(rect.right() + beyond)
        elif joined is Qt.Edge.LeftEdge:
            rect.setLeft(rect.left() - beyond)
        painter.drawRoundedRect(rect, look.RADIUS_CONTROL, look.RADIUS_CONTROL)
        if self.joined is Qt.Edge.LeftEdge:
            tone = mix(fill, colors.color(self._tone()), 0.35)
            line = QRectF(0, self.height() * 0.25, 1, self.height() * 0.5)
            painter.fillRect(placed(self, line), tone)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        self._paint_body(painter, QRectF(self.rect()))
        self._paint_label(painter, QRectF(self.rect()))

    def _paint_label(self, painter: QPainter, rect: QRectF) -> None:
        """Icon and word, centred in `rect` (links: from where lines begin)."""
        color = theme().color(self._tone())
        side, gap = (self._icon_side(), theme().px(6) if self.text() else 0) if self._icon else (0, 0)
        text_width = QFontMetrics(self.font()).horizontalAdvance(self.text())
        left = rect.left() + (0.0 if self.kind == "link" else (rect.width() - text_width - side - gap) / 2)
        icon_left = left + text_width + gap - 2 if self._icon_after else left
        text_left = left if self._icon_after else left + side + gap
        if self._icon:
            place = QRectF(icon_left, rect.center().y() - side / 2, side, side)
            paint_icon(painter, self._icon, placed(self, place), color)
        font = QFont(self.font())
        font.setUnderline(self.kind == "link" and self.underMouse())
        painter.setFont(font)
        painter.setPen(color)
        painter.drawText(
            placed(self, QRectF(text_left - 1, rect.top(), text_width + 2, rect.height())),
            int(Qt.AlignmentFlag.AlignCenter),
            self.text(),
        )


class SplitButton(QWidget):
    """A button whose arrow part opens a menu with the other choices.

    Args:
        text, kind, icon: as of `Button`.
        menu_name: accessible name of the arrow part.
        make_menu: called each time the menu opens, so that its entries can name times.
    """

    clicked = Signal()

    def __init__(self, text: str, kind: str, icon: str, menu_name: str, make_menu: Callable[[], Menu]) -> None:
        super().__init__()
        self.main = Button(text, kind, icon, clicked=self.clicked)
        self.arrow = Button("", kind, "chevron-down", name=menu_name, tip=menu_name, clicked=self.open_menu)
        self.main.joined, self.arrow.joined = Qt.Edge.RightEdge, Qt.Edge.LeftEdge
        self._make_menu = make_menu
        hbox(self.main, self.arrow, spacing=0, within=self)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_kind(self, kind: str) -> None:
        self.main.set_kind(kind)
        self.arrow.set_kind(kind)

    def open_menu(self) -> None:
        """Show the menu under the button."""
        self._make_menu().open_under(self)


class Toggle(QAbstractButton):
    """A button that is on or off.

    An assistive program sets that by an action of its own, of which Qt tells no click: it would seem to work, and
    nothing would follow. Here it is a click like one by the mouse.
    """

    def __init__(self) -> None:
        super().__init__()
        self._is_told = False
        """By a click, or as this program sets it."""
        self.setCheckable(True)
        self.toggled.connect(self._changed)

    def setChecked(self, on: bool) -> None:
        self._is_told = True
        super().setChecked(on)
        self._is_told = False

    def nextCheckState(self) -> None:
        self._is_told = True
        super().nextCheckState()
        self._is_told = False

    def _changed(self, on: bool) -> None:
        gives_way = self.autoExclusive() and not on
        if not self._is_told and not gives_way:
            clicked: Any = self.clicked  # without its type named, Qt takes it for the one that tells nothing
            clicked[bool].emit(on)


class Switch(Toggle):
    """An on-off control; `toggled(bool)` tells the new state.

    Args:
        name: accessible name, the label beside it.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFixedSize(theme().px(36), theme().px(24))

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme()
        painter = smooth(self)
        height = colors.px(20)
        track = QRectF(0, (self.height() - height) / 2, self.width(), height)
        inset = 3.0
        side = height - 2 * inset
        if self.isChecked():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colors.color("ember_fill" if self.isEnabled() else "text3"))
            knob, knob_color = track.right() - inset - side, colors.color("on_fill")
        else:
            track = hairline(painter, track, colors.color("line"))
            painter.setBrush(colors.color("surface"))
            knob, knob_color = track.left() + inset, colors.color("line")
            side -= 1
        painter.drawRoundedRect(track, track.height() / 2, track.height() / 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(knob_color)
        painter.drawEllipse(placed(self, QRectF(knob, track.center().y() - side / 2, side, side)))


class Segmented(QWidget):
    """A choice among few, side by side; arrow keys move it, as with all of Qt's buttons that exclude each other.

    Args:
        choices: value to label, in order.
        name: accessible name of the whole.
    """

    chosen = Signal(str)
    """The user chose this value."""

    def __init__(self, choices: dict[str, str], name: str) -> None:
        super().__init__()
        self._value = next(iter(choices))
        self.setAccessibleName(name)
        self._buttons = {value: _Segment(label, f"{name}: {label}") for value, label in choices.items()}
        for value, button in self._buttons.items():
            button.clicked.connect(lambda _=False, value=value: self._choose(value))
        hbox(*self._buttons.values(), spacing=0, margins=(3, 3, 3, 3), within=self)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.set_value(self._value)

    def value(self) -> str:
        return self._value

    def set_value(self, value: str) -> None:
        """Show `value` as the chosen one; does not emit `chosen`."""
        self._value = value
        for one, button in self._buttons.items():  # as Qt does once one of them has had the focus
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus if one == value else Qt.FocusPolicy.ClickFocus)
        self._buttons[value].setChecked(True)

    def _choose(self, value: str) -> None:
        if value != self._value:
            self._value = value
            self.chosen.emit(value)

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme()
        painter = smooth(self)
        rounded(
            painter,
            QRectF(self.rect()),
            look.RADIUS_CONTROL + 1,
            colors.color("border" if not colors.dark else "raised"),
            colors.color("border"),
        )


class _Segment(Toggle):
    def __init__(self, text: str, name: str) -> None:
        super().__init__()
        self.setText(text)
        self.setAccessibleName(name)
        self.setAutoExclusive(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFont(theme().font("strong"))
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:
        bold = QFontMetrics(theme().font("head"))
        return QSize(bold.horizontalAdvance(self.text()) + theme().px(24), theme().px(look.BUTTON_HEIGHT - 6))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme()
        painter = smooth(self)
        if self.isChecked():
            rounded(
                painter,
                QRectF(self.rect()),
                look.RADIUS_CONTROL - 2,
                colors.color("surface"),
                colors.color("line" if colors.dark else "border"),
            )
        font = QFont(self.font())
        font.setWeight(QFont.Weight.DemiBold if self.isChecked() else QFont.Weight.Medium)
        painter.setFont(font)
        painter.setPen(colors.color("text3" if not self.isEnabled() else "text" if self.isChecked() else "text2"))
        painter.drawText(self.rect(), int(Qt.AlignmentFlag.AlignCenter), self.text())

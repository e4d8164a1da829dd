"""The focus ring: two pixels outside of the control, for keyboard focus only."""

import itertools
from collections.abc import Iterator

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QLayout, QScrollArea, QWidget
from shiboken6 import isValid

from app import theme as look
from app.icons import smooth
from app.theme import theme
from app.widgets.boxes import items_of
from app.window.page import Page

REACH = 4
"""Two pixels of gap and two of ring."""


def order_focus(root: QWidget) -> None:
    """Let Tab go through what is in a widget as its layouts have it, also where some of it was made late."""
    for one, following in itertools.pairwise(stops(root)):
        QWidget.setTabOrder(one, following)


def order_page(part: QWidget) -> None:
    """`order_focus` for the page on which `part` is: for all pages together it takes a thirtieth of a second."""
    page: QWidget | None = part
    while page is not None and not isinstance(page, Page):
        page = page.parentWidget()
    if page is not None:
        order_focus(page)


def stops(widget: QWidget) -> Iterator[QWidget]:
    """What Tab reaches in a widget, as its layouts have it."""
    if widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
        yield widget
    layout = widget.layout()
    if layout is not None:
        yield from _within(layout)
    elif isinstance(widget, QScrollArea) and (inner := widget.widget()) is not None:
        yield from stops(inner)


def _within(layout: QLayout) -> Iterator[QWidget]:
    for item in items_of(layout):
        widget, inner = item.widget(), item.layout()
        if widget is not None:
            yield from stops(widget)
        elif inner is not None:
            yield from _within(inner)


class FocusRing(QWidget):
    """Lies over the window and follows the control that has the focus.

    The window sets `by_keyboard` while it moves the focus for Tab or a shortcut; a focus that came with the mouse
    shows no ring. A control that is larger than what it shows tells by a method `ring_rect` what the ring goes round.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.hide()
        self._window = window
        self.by_keyboard = False
        self._ring = QRectF()
        self._target: QWidget | None = None
        self._watched: list[QWidget] = []
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._focus_changed)

    @property
    def target(self) -> QWidget | None:
        """The control with the ring."""
        return self._target

    def _focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:
        if not isValid(self) or new is None or new is self._target or not self._window.isAncestorOf(new):
            return  # a menu or another window: the ring waits for the focus to come back
        for widget in filter(isValid, self._watched):
            widget.removeEventFilter(self)
        self._watched = []
        # Arrow keys move the focus inside of a group without asking the window.
        moved_on = self._target is not None and QApplication.mouseButtons() == Qt.MouseButton.NoButton
        # Qt moves the focus on, as if by Tab, when its control is hidden or disabled: a ring goes along, none appears.
        pushed = self._target is None and old is not None and self._has_gone(old)
        self._target = new if moved_on or (self.by_keyboard and not pushed) else None
        step: QWidget | None = self._target
        while step is not None and step is not self._window:
            step.installEventFilter(self)
            self._watched.append(step)
            step = step.parentWidget()
        self._place()

    def leave(self) -> None:
        """Show none until the focus moves by keyboard."""
        self._target = None
        self._place()

    def _has_gone(self, widget: QWidget) -> bool:
        step: QWidget | None = widget if isValid(widget) else None
        while step is not None and step is not self._window:
            if step.isHidden() or not step.isEnabled():
                return True
            step = step.parentWidget()
        return False

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.Hide):
            self._place()
        return False

    def _place(self) -> None:
        target = self._target
        if target is None or not isValid(target) or not target.isVisible():
            self.hide()
            return
        window = self._window
        around: QRect = getattr(target, "ring_rect", target.rect)()
        ring = around.translated(target.mapTo(window, QPoint(0, 0))).adjusted(-REACH, -REACH, REACH, REACH)
        shown = ring & window.rect()
        for step in self._watched[1:]:
            if isinstance(step, QAbstractScrollArea):
                viewport = step.viewport()
                shown &= QRect(viewport.mapTo(window, viewport.rect().topLeft()), viewport.size())
        self._ring = QRectF(ring).translated(-shown.topLeft()).adjusted(1, 1, -1, -1)
        self.setGeometry(shown)
        self.setVisible(not shown.isEmpty())
        self.raise_()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        painter.setPen(QPen(theme().color("ember"), 2))
        radius = look.RADIUS_CONTROL + REACH - 1
        painter.drawRoundedRect(self._ring, radius, radius)

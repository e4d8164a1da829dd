"""A sheet over the window: a panel at the end of its lines over a scrim. It holds the focus and gives it back."""

from PySide6.QtCore import QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app import theme as look
from app.icons import placed
from app.theme import theme
from app.widgets.basics import Label
from app.widgets.boxes import STRETCH, Part, hbox, scrolling, vbox
from app.widgets.buttons import Button
from app.window.focus_ring import FocusRing

SCRIM = {False: 0.47, True: 0.65}
"""How much of the window behind is taken away, in the light and in the dark theme."""


class Sheet(QWidget):
    """Put the content into `panel`, as `fill` does; Esc or a click beside it closes it.

    Args:
        window: what it lies over.
        ring: the window's focus ring.
        width: of the panel, pixels at the usual text size; a narrower window leaves it less.
    """

    def __init__(self, window: QWidget, ring: FocusRing, width: int) -> None:
        super().__init__(window)
        self._window, self._ring, self._width = window, ring, width
        self._before: QWidget | None = None
        self._ringed = False
        """Whether that had the ring."""
        self.panel = _Panel(self)
        window.installEventFilter(self)
        self.hide()

    def fill(self, heading: Label, close: Button, *parts: Part, foot: tuple[QWidget, ...] = ()) -> None:
        """Lay its content out.

        Args:
            heading: at the top.
            close: beside it.
            parts: below it, one below the other; they scroll.
            foot: what stays below these.
        """
        content = QWidget()
        vbox(*parts, STRETCH, spacing=look.M, margins=(4, 0, look.XL, look.XL), within=content)
        head = hbox((heading, 1), (close, Qt.AlignmentFlag.AlignTop), spacing=look.M, margins=(4, 0, look.XL, 0))
        margins = (look.XL - 4, look.XL, 0, look.M if foot else 0)
        vbox(head, (scrolling(content), 1), *foot, spacing=look.M, margins=margins, within=self.panel)

    def open(self, first: QWidget) -> None:
        """Show it and give `first` the focus."""
        if self.isVisible():
            return
        self._before = self._window.focusWidget()
        self._ringed = self._before is not None and self._ring.target is self._before
        self.lie_over()
        self.show()
        self.raise_()
        by_keyboard = self._ring.by_keyboard or self._ring.isVisible()
        self._ring.by_keyboard, kept = by_keyboard, self._ring.by_keyboard
        first.setFocus(Qt.FocusReason.PopupFocusReason)
        self._ring.by_keyboard = kept

    def close_sheet(self, *, leads_on: bool = False) -> None:
        """Hide it; the focus goes back to where it was, with a ring if it had one.

        Args:
            leads_on: to a page, where whoever came by keyboard goes on with the ring.
        """
        if not self.isVisible():
            return
        before, self._before = self._before, None
        if before is not None and isValid(before) and before.isVisible():
            before.setFocus(Qt.FocusReason.PopupFocusReason)
        self.hide()
        if before is None and (pushed := self._window.focusWidget()) is not None:
            pushed.clearFocus()  # Qt has moved it on to whatever comes next
        if not self._ringed and not leads_on:
            self._ring.leave()

    def lie_over(self) -> None:
        """Take the window's whole area."""
        self.setGeometry(self._window.rect())
        width = min(theme().px(self._width), self.width() - theme().px(64))
        left = 0 if self.layoutDirection() is Qt.LayoutDirection.RightToLeft else self.width() - width
        self.panel.setGeometry(left, 0, width, self.height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.lie_over()
        return False

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Round among the panel's own controls."""
        controls = self._controls()
        if not controls:
            return True
        here = self._window.focusWidget()
        at = controls.index(here) if here in controls else -1 if forward else 0
        self._ring.by_keyboard = True
        reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        controls[(at + (1 if forward else -1)) % len(controls)].setFocus(reason)
        self._ring.by_keyboard = False
        return True

    def _controls(self) -> list[QWidget]:
        found: list[QWidget] = []
        step: QWidget | None = self.nextInFocusChain()
        while step is not None and step is not self:
            usable = step.isVisible() and step.isEnabled() and bool(step.focusPolicy() & Qt.FocusPolicy.TabFocus)
            # a number's inner line has a proxy, the number: it would keep the focus for ever
            if usable and step.focusProxy() is None and self.panel.isAncestorOf(step):
                found.append(step)
            step = step.nextInFocusChain()
        return found

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_sheet()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if not self.panel.geometry().contains(event.position().toPoint()):
            self.close_sheet()

    def paintEvent(self, event: QPaintEvent) -> None:
        shade = QColor(Qt.GlobalColor.black)
        shade.setAlphaF(SCRIM[theme().dark])
        QPainter(self).fillRect(self.rect(), shade)


class _Panel(QWidget):
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme().color("surface"))
        painter.fillRect(placed(self, QRectF(0, 0, 1, self.height())), theme().color("border"))

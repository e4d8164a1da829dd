"""The first run: what Hearth does, consent, what to share; and the key and starting at login, while speed is measured.

It fills the main window until it is done. Nothing runs before consent; the worker starts after the step behind it.
"""

from pathlib import Path
from typing import Any

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QFontMetrics,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShortcut,
)
from PySide6.QtWidgets import QAbstractButton, QApplication, QScrollArea, QStackedWidget, QWidget

from app import theme as look
from app.first_run.step import Step
from app.first_run.steps import Consent, Lend, Ready, Welcome
from app.icons import paint_icon, placed, smooth
from app.language import mark, told, tr
from app.theme import theme
from app.tray.tray_icons import paint_app_icon
from app.widgets.basics import Label
from app.widgets.boxes import STRETCH, hbox, scrolling, vbox
from app.widgets.buttons import Button
from app.window.focus_ring import FocusRing
from app.worker.client import WorkerClient
from core.contracts.errors import HearthError

SIDE, ROW, DOT = 224, 44, 22
WIDTH, LEAST = 760, 480
"""Of the cards; where they have less, the list of steps beside them gives way."""
ENTER_AGAIN = mark("Press Enter again if you agree.")
NOTHING_YET = mark("Nothing runs and nothing is sent until you agree.")
AGREED = mark("You have agreed. You can quit at any time.")


class StepList(QWidget):
    """The steps by number; those that are done have a check."""

    def __init__(self, titles: list[str]) -> None:
        super().__init__()
        self._titles, self._at = titles, 0
        self.setFixedHeight(theme().px(ROW) * len(titles))

    def set_current(self, at: int) -> None:
        self._at = at
        self.setAccessibleName(
            tr("Step {at} of {all}: {title}", at=at + 1, all=len(self._titles), title=self._titles[at])
        )
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors, painter = theme(), smooth(self)
        row, side = colors.px(ROW), colors.px(DOT)
        for number, title in enumerate(self._titles):
            top = number * row + (row - side) / 2
            dot = placed(self, QRectF(1, top, side, side))
            done, now = number < self._at, number == self._at
            if number:
                line = placed(self, QRectF(side / 2, top - (row - side), 2, row - side))
                painter.fillRect(line, colors.color("ok" if number <= self._at else "border"))
            painter.setPen(QPen(colors.color("ok" if done else "ember" if now else "line"), 2 if now else 1))
            painter.setBrush(colors.color("ok" if done else "surface"))
            painter.drawEllipse(dot)
            if done:
                paint_icon(painter, "check", dot.adjusted(4, 4, -4, -4), colors.color("surface"))
            else:
                painter.setFont(colors.font("micro_strong"))
                painter.setPen(colors.color("ember" if now else "text2"))
                painter.drawText(dot, int(Qt.AlignmentFlag.AlignCenter), str(number + 1))
            font = QFont(colors.font("body"))
            font.setWeight(QFont.Weight.DemiBold if now else QFont.Weight.Normal)
            painter.setFont(font)
            painter.setPen(colors.color("text" if now else "text2"))
            words = QRectF(side + colors.px(12), number * row, self.width() - side - colors.px(12), row)
            painter.drawText(placed(self, words), int(Qt.AlignmentFlag.AlignVCenter), title)


class _Side(QWidget):
    def __init__(self, titles: list[str]) -> None:
        super().__init__()
        font = QFont(theme().font("body"))
        font.setWeight(QFont.Weight.DemiBold)
        widest = max(map(QFontMetrics(font).horizontalAdvance, titles))
        self.setFixedWidth(max(SIDE, widest + theme().px(DOT + 12) + 28 + 20))
        self.steps = StepList(titles)
        self.note = Label(tr(NOTHING_YET), "cap", "text3", wrap=True)
        parts = (_Mark(), look.S, Label("Hearth", "title"), look.XL, self.steps, STRETCH, self.note)
        vbox(*parts, margins=(28, 28, 20, 28), within=self)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme().color("sidebar"))
        painter.fillRect(placed(self, QRectF(self.width() - 1, 0, 1, self.height())), theme().color("border"))


class _Mark(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.setFixedSize(theme().px(44), theme().px(44))

    def paintEvent(self, event: QPaintEvent) -> None:
        paint_app_icon(QPainter(self), QRectF(self.rect()))


class FirstRun(QWidget):
    """All steps, with Back and Next.

    Args:
        folder: the data folder.
        client: the worker, once it runs.
    """

    declined = Signal()
    """Not now: nothing was stored or started."""
    agreed = Signal()
    start_worker = Signal()
    """All is chosen that the worker needs for its start."""
    restart_worker = Signal()
    """Another run was chosen while it runs."""
    finished = Signal()

    def __init__(self, folder: Path, client: WorkerClient) -> None:
        super().__init__()
        self._client = client
        self.has_agreed = False
        self.welcome, self.consent, self.lend = Welcome(), Consent(folder), Lend(folder)
        self.ready = Ready(folder, client)
        self.speed = self.ready.speed
        self.steps: list[Step] = [self.welcome, self.consent, self.lend, self.ready]
        self._side = _Side([step.title for step in self.steps])
        self.stack = QStackedWidget()
        for step in self.steps:
            self.stack.addWidget(_scrolling(step))
        self.decline = Button(tr("Not now"), clicked=self.declined)
        self.back = Button(tr("Back"), clicked=self.go_back)
        self.next = Button(tr("Next"), "primary", clicked=self.go_on)
        self._build()
        for keys, slot in (("Alt+Right", self._key_on), ("Alt+Left", self.go_back)):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(slot)
        self._show(0)

    def _build(self) -> None:
        foot = QWidget()  # its buttons end where the cards do
        foot.setMaximumWidth(theme().px(WIDTH) + 2 * look.PAGE_MARGIN)
        hbox(
            self.back,
            STRETCH,
            self.decline,
            self.next,
            spacing=look.S,
            margins=(look.PAGE_MARGIN, look.M, look.PAGE_MARGIN, look.XL),
            within=foot,
        )
        hbox(self._side, (vbox((self.stack, 1), foot, spacing=0), 1), spacing=0, within=self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        least = self._side.minimumSizeHint()
        self._side.setVisible(
            self.width() >= self._side.width() + theme().px(LEAST) and self.height() >= least.height()
        )

    @property
    def current(self) -> Step:
        return self.steps[self.stack.currentIndex()]

    def _show(self, at: int) -> None:
        step = self.steps[at]
        step.notice.set_text("")
        self.stack.setCurrentIndex(at)
        self._side.steps.set_current(at)
        self.back.setVisible(at > 0)
        asks = step is self.consent and not self.has_agreed
        self.decline.setVisible(step in (self.welcome, self.consent) and not self.has_agreed)
        self.next.setText(tr("I agree") if asks else tr("Open Hearth") if step is self.ready else tr("Next"))
        self.next.set_icon("check" if asks else "")
        step.heading.setFocus(Qt.FocusReason.OtherFocusReason)

    def go_back(self) -> None:
        if self.stack.currentIndex() > 0:
            self._show(self.stack.currentIndex() - 1)

    def _key_on(self) -> None:
        if self.current is not self.consent or self.has_agreed:
            self.go_on()
        else:  # nobody agrees by a key that means "on"; the next one is for the button, which is seen to wait for it
            ring = self.window().findChild(FocusRing)
            if ring is not None:
                ring.by_keyboard = True
            self.next.setFocus(Qt.FocusReason.ShortcutFocusReason)
            if ring is not None:
                ring.by_keyboard = False
            self.consent.notice.set_text(tr(ENTER_AGAIN), calm=True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter presses the button that has the focus; elsewhere it goes on."""
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter) or event.isAutoRepeat():
            super().keyPressEvent(event)
        elif isinstance(button := QApplication.focusWidget(), QAbstractButton):
            button.click()
        else:
            self._key_on()

    def go_on(self) -> None:
        """Do what the step is for, and show the next one if that succeeded."""
        step = self.current
        try:
            if step is self.consent and not self.has_agreed:
                self.consent.agree()
                self.has_agreed = True
                self._side.note.setText(tr(AGREED))
                self.agreed.emit()
                self.lend.load()
            elif step is self.lend:
                self._take_choices()
                return
        except HearthError as error:
            step.notice.set_text(told(error.notice))
            return
        self._advance()

    def _advance(self) -> None:
        if self.current is self.ready:
            self.finished.emit()
        else:
            self._show(self.stack.currentIndex() + 1)

    def _take_choices(self) -> None:
        """What was chosen goes to the worker if there is one, else to the file that it will read.

        Raises:
            HearthError: the file cannot be written, or a link is none.
        """
        changes = dict(self.lend.changes)
        self.lend.linked()
        if not self._client.is_connected:
            self.lend.save()
            self.start_worker.emit()
            self._advance()
        elif not changes:
            self._advance()
        else:
            self.next.setEnabled(False)
            self._client.set_settings(changes, lambda values: self._taken(changes, values), self._refused)

    def _taken(self, changes: dict[str, Any], values: dict[str, Any]) -> None:
        self.next.setEnabled(True)
        self.lend.show_values(values)
        if "run" in changes:
            self.restart_worker.emit()
        self._advance()

    def _refused(self, error: HearthError) -> None:
        self.next.setEnabled(True)
        self.lend.notice.set_text(told(error.notice))


def _scrolling(step: Step) -> QScrollArea:
    step.setMaximumWidth(theme().px(WIDTH))
    canvas = QWidget()
    vbox(step, margins=(look.PAGE_MARGIN, 28, look.PAGE_MARGIN, look.S), within=canvas)
    return scrolling(canvas)

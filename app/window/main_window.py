"""The main window: sidebar, pages, and the footer that tells whether the worker is there."""

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShortcut,
    QShowEvent,
    QWindow,
)
from PySide6.QtWidgets import QStackedWidget, QWidget

from app import formats
from app import theme as look
from app.actions import Actions
from app.icons import Icon
from app.language import told, tr
from app.theme import theme
from app.tray.tray_icons import app_icon
from app.widgets.basics import ElidedLabel, Label, Panel
from app.widgets.boxes import add, hbox, vbox
from app.widgets.buttons import Button
from app.widgets.room import fit
from app.widgets.sight import sight
from app.window.dropped import run_in
from app.window.focus_ring import FocusRing
from app.window.page import Page
from app.window.run_chooser import RunChooser
from app.window.sheet import Sheet
from app.window.sidebar import Sidebar
from app.window.why_panel import WhyPanel
from core.contracts.status import CurvePoint, State, Status

MINIMUM = (480, 220)
"""Fits on a screen of 1366 x 768 at 250%."""
DEFAULT = (1040, 720)
RAIL_BELOW = 1000
MIN_YIELDS = 5
"""Fewer measured yields are no promise."""
NOTE_MS = 8000


class Footer(QWidget):
    """Whether the worker is connected, the run, the measured promise and the version."""

    def __init__(self) -> None:
        super().__init__()
        row = hbox(spacing=6, margins=(look.PAGE_MARGIN, 0, look.PAGE_MARGIN, 0), within=self)
        self._icon = Icon("refresh", "text3", 14)
        self._link = ElidedLabel(tr("Connecting to the worker"), "cap_strong", "text2")
        self.run = RunChooser()
        self._yields = Label("", "cap_strong", "text2", tabular=True)
        self._version = Label("", "cap", "text3")
        add(row, self._icon, self._link, 10, (self.run, 1), self._yields, 10, self._version)
        self.setFixedHeight(theme().px(35))

    def set_connected(self, connected: bool, sentence: str, calm: bool) -> None:
        self._icon.set(*("check", "ok") if connected else ("refresh", "text3") if calm else ("alert", "bad"))
        self._link.setText(tr("Worker connected") if connected else sentence)
        theme().set_tone(self._link, "text2" if connected or calm else "bad")

    def update_status(self, status: Status) -> None:
        self.run.update_status(status)
        p95 = status.yields.p95_ms
        measured = status.yields.count >= MIN_YIELDS and p95 is not None
        said = tr("Gives your PC back in {p95} ms", p95=formats.number(p95 or 0.0))
        how = tr("It took no longer in 19 of 20 cases. Measured the last %Ln time(s).", status.yields.count)
        self._yields.setText(said if measured else "")
        self._yields.setToolTip(how if measured else "")
        self._version.setText(f"Hearth {status.version}")

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(0, 0, self.width(), 1, theme().color("border"))


class Note(Panel):
    """A short message over the foot of the page, with at most one thing to do about it.

    It goes away by itself, or when it is dismissed, and moves nothing of the page.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__("raised", "line", look.RADIUS_CONTROL)
        self.setParent(window)
        self._label = Label("", "body", wrap=True)
        self._button = Button("", "link")
        self.dismiss = Button("", "link", "close", name=tr("Dismiss"), tip=tr("Dismiss"))
        parts = (Icon("info", "text2", 18), (self._label, 1), self._button, self.dismiss)
        self._row = hbox(*parts, spacing=look.M, margins=(look.M, look.XS, look.XS, look.XS), within=self)
        self._timer = QTimer(self, singleShot=True, interval=NOTE_MS)
        self._timer.timeout.connect(self.hide)
        self._button.clicked.connect(self.hide)
        self.dismiss.clicked.connect(self.hide)
        self.hide()

    def tell(self, text: str, button: str = "") -> Button:
        self._label.setText(text)
        self._button.setText(button)
        self._button.setVisible(bool(button))
        self.show()
        self.raise_()
        self._timer.start()
        return self._button

    def take_back(self, text: str) -> None:
        """Hide if it says this, which is no longer so."""
        if self._label.text() == text:
            self.hide()

    def lie_over(self, area: QRect) -> None:
        """Take the foot of an area of the window."""
        width = area.width() - 2 * look.PAGE_MARGIN
        height = self._row.totalHeightForWidth(width)
        self.setGeometry(area.left() + look.PAGE_MARGIN, area.bottom() + 1 - look.S - height, width, height)


class MainWindow(QWidget):
    """The window around the pages.

    Args:
        pages: in the order of the sidebar, those that it does not list last; the first one is shown.
        actions: what the user asks for.
    """

    close_requested = Signal()
    """The user closed the window; it stays until somebody hides it, or sets `may_close` and closes it."""

    def __init__(self, pages: Sequence[Page], actions: Actions) -> None:
        super().__init__()
        self.may_close = False
        self._keys: list[QShortcut] = []
        self._cover: QWidget | None = None
        self._handle: QWindow | None = None
        """Whose screen is followed."""
        self.pages = list(pages)
        self._actions = actions
        self._state: State = "preparing"
        self._link = False, "", True
        """As `set_connected` was told."""
        self._status: Status | None = None
        self._curve: list[CurvePoint] = []
        self._newer: set[Literal["status", "curve"]] = set()
        """Of these two, what came while the window was not seen: the pages are told once it is."""
        self._untold: list[Page] = []
        """Hidden pages that do not know of `_link` yet: to tell all of them in one turn holds the window up."""
        self._telling = QTimer(self, interval=0)
        self._telling.timeout.connect(self._tell_next)
        self.sight = sight(self)
        self.sight.changed.connect(lambda seen: self._tell_newer())
        self.setWindowTitle("Hearth")
        self.setWindowIcon(app_icon())
        self.setMinimumSize(*MINIMUM)
        self.setAcceptDrops(True)
        self.resize(*DEFAULT)
        self.sidebar = Sidebar([(page.title, page.icon) for page in self.pages if page.listed])
        self._stack = QStackedWidget()
        for page in self.pages:
            self._stack.addWidget(page)
        self.footer = Footer()
        self.footer.run.chosen.connect(actions.show_run)
        self._build()
        self.note = Note(self)
        self.sidebar.chosen.connect(self._show)
        self.sidebar.state_clicked.connect(actions.why)
        actions.open_page.connect(self.open_page)
        self.sidebar.chip.set_state("preparing", tr("The worker is starting"))
        self.ring = FocusRing(self)
        self.why = WhyPanel(self, self.ring, actions)
        actions.why.connect(self.why.open_panel)
        self._shortcuts()
        self._show(0)

    def _build(self) -> None:
        self._content = QWidget()
        vbox((self._stack, 1), self.footer, spacing=0, within=self._content)
        self._row = hbox(self.sidebar, (self._content, 1), spacing=0, within=self)

    def _shortcuts(self) -> None:
        for number in range(len(self.sidebar.buttons)):
            self._shortcut(f"Ctrl+{number + 1}", lambda number=number: self._show(number, by_keyboard=True))
        self._shortcut("Ctrl+,", lambda: self.open_page("settings", by_keyboard=True))
        self._shortcut("F1", self._why_by_keyboard)
        self._shortcut("Ctrl+Shift+P", self._pause_or_resume)

    def _shortcut(self, keys: str, slot: object) -> None:
        shortcut = QShortcut(QKeySequence(keys), self)
        shortcut.activated.connect(slot)
        self._keys.append(shortcut)

    def cover(self, whole: QWidget) -> None:
        """Show `whole` in the place of sidebar, pages and footer, and take their shortcuts away."""
        self.sidebar.hide()
        self._content.hide()
        for shortcut in self._keys:
            shortcut.setEnabled(False)
        self._cover = whole
        self._row.addWidget(whole, 1)

    def uncover(self) -> None:
        """Show the pages again; what covered them is deleted."""
        if self._cover is None:
            return
        self._cover.hide()
        self._cover.deleteLater()
        self._cover = None
        self.sidebar.show()
        self._content.show()
        for shortcut in self._keys:
            shortcut.setEnabled(True)
        self._show(0, by_keyboard=True)

    def _why_by_keyboard(self) -> None:
        self.ring.by_keyboard = True
        self.why.open_panel()
        self.ring.by_keyboard = False

    def _pause_or_resume(self) -> None:
        if self._state == "paused":
            self._actions.resume.emit()
        else:
            self._actions.pause.emit(None)

    def open_page(self, name: str, by_keyboard: bool = False) -> None:
        """Show the page of this name; by keyboard, the focus goes to its button."""
        for number, page in enumerate(self.pages):
            if page.name == name:
                self._show(number, by_keyboard)

    def _show(self, number: int, by_keyboard: bool = False) -> None:
        for sheet in self.findChildren(Sheet):
            sheet.close_sheet(leads_on=True)  # or the page would change behind it, and take the focus from it
        if self.pages[number] in self._untold:
            self._tell_page(self.pages[number])
        self._stack.setCurrentIndex(number)
        if number >= len(self.sidebar.buttons):
            return  # not listed: the page that led here stays marked
        self.sidebar.buttons[number].setChecked(True)
        self.sidebar.show_button(number)
        if by_keyboard:
            self.ring.by_keyboard = True
            self.sidebar.buttons[number].setFocus(Qt.FocusReason.ShortcutFocusReason)
            self.ring.by_keyboard = False

    def current_page(self) -> Page:
        return self.pages[self._stack.currentIndex()]

    def update_status(self, status: Status) -> None:
        """Hand a new status to every page, the sidebar and the footer, once the window is seen."""
        self._state, self._status = status.state, status
        self._newer.add("status")
        self._tell_newer()

    def update_curve(self, points: list[CurvePoint]) -> None:
        """Hand all evaluations so far, oldest first, to every page, once the window is seen."""
        self._curve = points
        self._newer.add("curve")
        self._tell_newer()

    def _tell_newer(self, even_unseen: bool = False) -> None:
        """Hand on what is newer than what the pages know: a window in the tray would work each second for nobody."""
        if not (self.sight.seen or even_unseen):
            return
        newer, self._newer = self._newer, set()
        if "curve" in newer:
            for page in self.pages:
                page.update_curve(self._curve)
        if "status" in newer and self._status is not None:
            self._tell_status(self._status)

    def _tell_status(self, status: Status) -> None:
        self.sidebar.chip.set_state(status.state, told(status.reason))
        self.footer.update_status(status)
        self.why.update_status(status)
        hosted = len(status.experts)
        for number, page in enumerate(self.pages):
            if page.name == "experts":
                count = formats.number(hosted) if hosted else ""
                self.sidebar.buttons[number].set_count(count, tr("%Ln hosted here", hosted) if hosted else "")
        for page in self.pages:
            if page not in self._untold:
                page.update_status(status)

    def set_connected(self, connected: bool, sentence: str = "", calm: bool = False) -> None:
        """The worker is reachable or not.

        Args:
            connected: it is.
            sentence: what happens while it is not: "Worker stopped, restarting in 4 s".
            calm: it comes back by itself, so that nobody has to be alarmed.
        """
        self._tell_newer(even_unseen=True)  # the last figures before it, which stay
        self.footer.set_connected(connected, sentence, calm)
        if not connected:
            self._state = "preparing" if calm else "attention"
            self.sidebar.chip.set_state(self._state, sentence)
        self.why.set_connected(connected, sentence, calm)
        self._link, self._status = (connected, sentence, calm), None
        self._untold = [page for page in self.pages if page is not self.current_page()]
        self._telling.start()
        self.current_page().set_connected(connected, sentence, calm)

    def _tell_next(self) -> None:
        if self._untold:
            self._tell_page(self._untold[0])
        else:
            self._telling.stop()

    def _tell_page(self, page: Page) -> None:
        self._untold.remove(page)
        page.set_connected(*self._link)
        if self._status is not None:
            page.update_status(self._status)

    def tell(self, text: str, button: str = "") -> Button:
        """Show a sentence over the footer for 8 s; returns its button, whose `clicked` the caller may connect."""
        told = self.note.tell(text, button)
        self._place_note()
        return told

    def _place_note(self) -> None:
        self.note.lie_over(QRect(self._stack.mapTo(self, QPoint(0, 0)), self._stack.size()))

    def focusNextPrevChild(self, forward: bool) -> bool:
        self.ring.by_keyboard = True
        moved = super().focusNextPrevChild(forward)
        self.ring.by_keyboard = False
        return moved

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        handle = self.windowHandle()
        if handle is not self._handle:
            self._handle = handle
            handle.screenChanged.connect(lambda screen: fit(self))
        fit(self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.sidebar.set_rail(self.width() < theme().px(RAIL_BELOW))
        self._row.activate()
        self._place_note()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._cover is None and run_in(event.mimeData()) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Show what was dropped, and ask whether to join it."""
        if (run := run_in(event.mimeData())) is not None:
            event.acceptProposedAction()
            self._actions.add_run.emit(run)

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.may_close:
            event.accept()
        else:
            event.ignore()
            self.close_requested.emit()

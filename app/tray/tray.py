"""The tray icon: the state by shape and colour, why, and the most wanted actions."""

import os
import sys

from PySide6.QtCore import QObject, QSettings, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QIcon, Qt
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from app.actions import Actions
from app.language import tr
from app.system.desktop_notes import SHOWN_MS, DesktopNotes
from app.theme import theme
from app.tray.tray_icons import tray_icon
from app.window.pause_button import Pausable, ask_for_gpu, fill_pause_menu, gpu_word
from core.contracts.status import STATE_WORD, State

POLL_MS = 2000
"""No desktop tells when its tray comes or goes."""
NOTE_ICON = 64
"""Of a notification, pixels."""
TOOLTIP_CHARACTERS = 120
"""Windows shows 127 at most."""


def panel_is_dark() -> bool:
    """Whether the desktop's panel is dark; it need not look like the windows."""
    if sys.platform == "win32":
        key = r"HKEY_CURRENT_USER\Software\Microsoft\Windows\CurrentVersion\Themes\Personalize"
        return QSettings(key, QSettings.Format.NativeFormat).value("SystemUsesLightTheme", 1) == 0
    if "GNOME" in os.environ.get("XDG_CURRENT_DESKTOP", ""):
        return True
    return QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark


def no_html(text: str) -> str:
    """Many desktops read HTML, and would load the pictures that a run's title names."""
    return text.replace("<", "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}")


class Tray(QObject):
    """Shown whenever the desktop has a tray."""

    open_asked = Signal()
    """Show the window."""
    available_changed = Signal(bool)

    def __init__(self, actions: Actions, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self.available = False
        self.name = "Hearth"
        """What the tooltip begins with; of another PC's worker, what that PC is called."""
        self._state: State = "preparing"
        self._told = ("", "")
        """State and reason, and what was lent today, as the tooltip has them."""
        self._pausable = Pausable()
        self._drawn: tuple[State, bool] | None = None
        self.menu = QMenu()
        theme().set_sheet(self.menu, "menu")
        self.menu.aboutToShow.connect(self._fill_pauses)
        self._build_menu()
        self.icon = QSystemTrayIcon(self)
        self.icon.setContextMenu(self.menu)
        self.icon.activated.connect(self._activated)
        self.icon.messageClicked.connect(self.open_asked)
        self._notes = DesktopNotes(self)
        self._notes.opened.connect(self.open_asked)
        self._notes.refused.connect(self._tell_here)
        self.show_state("preparing", tr("The worker is starting."))
        theme().changed.connect(self._draw)
        self._poll = QTimer(self, interval=POLL_MS)
        self._poll.timeout.connect(self.look)
        self._poll.start()
        self.look()

    def look(self) -> None:
        """Notice that the desktop's tray came or went."""
        available = QSystemTrayIcon.isSystemTrayAvailable()
        if available != self.available:
            self.available = available
            self.icon.setVisible(available)
            self.available_changed.emit(available)

    def show_state(self, state: State, reason: str, pausable: Pausable = Pausable()) -> None:  # noqa: B008 - frozen
        """The icon is drawn anew only if the state is another one; `pausable` is that of the status."""
        self._state, self._pausable = state, pausable
        self._draw()
        self._tip(f"{self.name}: {tr(STATE_WORD[state])}\n{reason}", self._told[1])
        self._headline.setText(tr(STATE_WORD[state]))
        running = state not in ("paused", "leaving")
        self._start.setVisible(pausable.start_now)
        self._resume.setVisible(state == "paused")
        self._pause.setVisible(running)
        self._pauses.menuAction().setVisible(running)
        self._gpu.setVisible(running and pausable.gpu)
        self._gpu.setText(gpu_word(pausable))

    def show_today(self, lent: str) -> None:
        """What was shared since midnight, in words, for the tooltip; "" if that is not known."""
        self._tip(self._told[0], lent)

    def _tip(self, state: str, today: str) -> None:
        """The reason gives way where there is no room for all."""
        self._told = state, today
        last = f"\n{today}" if today else ""
        room = TOOLTIP_CHARACTERS - len(last)
        tooltip = no_html((state if len(state) <= room else f"{state[: room - 1]}…") + last)
        if tooltip != self.icon.toolTip():
            self.icon.setToolTip(tooltip)

    def tell(self, text: str) -> None:
        """A notification by the desktop, for what happens while no window is seen."""
        plain = no_html(text)
        if self._notes.possible():
            self._notes.show(plain, self._icon_now().pixmap(NOTE_ICON).toImage())
        else:
            self._tell_here(plain)

    def _tell_here(self, text: str) -> None:
        if self.available:
            self.icon.showMessage("Hearth", text, self._icon_now(), SHOWN_MS)

    def hide(self) -> None:
        self._poll.stop()
        self.icon.hide()

    def _draw(self) -> None:
        wanted = (self._state, panel_is_dark())
        if wanted != self._drawn:
            self._drawn = wanted
            self.icon.setIcon(tray_icon(*wanted))

    def _icon_now(self) -> QIcon:
        return self.icon.icon()

    def _build_menu(self) -> None:
        menu, actions = self.menu, self._actions
        self._headline = menu.addAction("")
        self._headline.setEnabled(False)
        menu.addSeparator()
        menu.addAction(tr("Open Hearth"), self.open_asked.emit)
        self._start = menu.addAction(tr("Start now"), actions.start_now.emit)
        self._pause = menu.addAction(tr("Pause"), lambda: actions.pause.emit(None))
        self._pauses = menu.addMenu(tr("Pause for a time"))
        self._gpu = menu.addAction("", lambda: ask_for_gpu(self._pausable, actions))
        self._resume = menu.addAction(tr("Resume"), actions.resume.emit)
        menu.addAction(tr("Try the model"), self._try_model)
        menu.addSeparator()
        menu.addAction(tr("Quit"), actions.quit.emit)
        self._fill_pauses()

    def _fill_pauses(self) -> None:
        """The times at which the pauses end go on with the clock."""
        self._pauses.clear()
        fill_pause_menu(self._pauses, self._actions)

    def _try_model(self) -> None:
        self._actions.open_page.emit("model")
        self.open_asked.emit()

    def _activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason in (QSystemTrayIcon.ActivationReason.Trigger, QSystemTrayIcon.ActivationReason.DoubleClick):
            self.open_asked.emit()

"""Where the window is: in front, or in the tray, minimised or just hidden, as the desktop allows."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QSettings

from app.language import mark, tr
from app.system.desktops import minimises, on_wayland
from app.tray.tray import Tray
from app.window.main_window import MainWindow

IN_TRAY = mark("Hearth keeps running in the tray. Its icon opens the window again; choose Quit to stop it.")
NO_TRAY = mark("This desktop shows no tray, so the window is minimised instead. Ctrl+Q ends Hearth.")
HIDDEN = mark(
    "This desktop shows no tray. Hearth keeps running when its window is closed; start it again to open the window."
)
"""Where nothing can be minimised."""


class Whereabouts(QObject):
    """Brings the window in front, and puts it out of the way."""

    def __init__(self, window: MainWindow, tray: Tray, view: QSettings, notify: Callable[[str], object]) -> None:
        """
        Args:
            window: the main one.
            tray: where it goes if the desktop has one.
            view: what the window remembers.
            notify: shows a notification.
        """
        super().__init__(window)
        self._window, self._tray, self._view, self._notify = window, tray, view, notify
        tray.available_changed.connect(self._tray_changed)

    def begin(self, hidden: bool) -> None:
        """Show it for the first time.

        Args:
            hidden: do not open it; where there is no tray, it is minimised if the desktop can do so.
        """
        if not hidden:
            self._window.show()
        elif not self._tray.available and minimises():
            self._window.showMinimized()

    def bring(self) -> None:
        """Show it in front of the others. On Wayland no window may come forward by itself; one that appears anew is in
        front."""
        window = self._window
        if on_wayland() and not window.isActiveWindow():
            window.hide()
        if window.isMinimized():
            window.showNormal()
        window.show()
        window.raise_()
        window.activateWindow()

    def close(self) -> None:
        """Put it out of the way; the first time that is told."""
        if self._tray.available:
            self._window.hide()
            self._tell_once("told_about_tray", IN_TRAY)
        elif minimises():
            self._window.tell(tr(NO_TRAY))
            self._window.showMinimized()
        else:
            self._window.hide()
            if self._tell_once("told_about_no_tray", HIDDEN):
                self._window.tell(tr(HIDDEN))  # for when it is back: such desktops need not have notifications either

    def _tell_once(self, known: str, where: str) -> bool:
        """Whether it was told now; `known` names in the window's settings that it was."""
        first = self._view.value(known) is None
        if first:
            self._view.setValue(known, "yes")
            self._notify(tr(where))
        return first

    def _tray_changed(self, available: bool) -> None:
        if available:
            self._window.note.take_back(tr(NO_TRAY))
        elif not self._window.isVisible() and minimises():
            self._window.tell(tr(NO_TRAY))
            self._window.showMinimized()

"""The screensaver: `python -m app.screensaver`, as `hearth screensaver` calls it."""

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from PySide6.QtCore import QCoreApplication, QElapsedTimer, QObject, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app import __main__ as app
from app.language import speak
from app.screensaver.embedded import Embedded, Host, host_of, use_x11
from app.screensaver.feed import Feed
from app.screensaver.options import Options, parse
from app.screensaver.screens import Screens
from app.screensaver.surroundings import Surroundings
from app.screensaver.view import View
from app.system.desktops import quieten
from app.system.garbage import GarbageCollector
from app.system.signal_watch import SignalWatch
from app.theme import theme
from app.window.view_settings import view_settings
from core.contracts.errors import AlreadyRunning, HearthError
from core.contracts.notices import notice
from core.contracts.settings import Settings
from core.store.data_folder import data_folder, data_path

LOCK_FILE = "screensaver.lock"
WAIT_MS = 1000
"""For the power source to be known; what tells nothing in that time hinders nothing."""
SETTLED_MS = 2000
"""Input of the time around its start was no touch of the screensaver."""
ON_BATTERY = "The screensaver does not run on battery. Plug this PC in."


class Saver(QObject):
    """Everything of the screensaver that lives as long as the process.

    Args:
        host: the other program's window that it is shown in; None: all screens.
    """

    def __init__(self, app: QApplication, folder: Path, options: Options, host: Host | None) -> None:
        super().__init__(app)
        self._app, self._options, self._host = app, options, host
        self._shown: Screens | Embedded | None = None
        self._values: dict[str, Any] = {}
        """The settings, as far as a worker has told them."""
        self._is_black = False
        self._why = ""
        """What the user is told when it has ended."""
        self._since = QElapsedTimer()
        self._black = QTimer(self, singleShot=True)
        self._black.timeout.connect(self._look)
        self._wait = QTimer(self, singleShot=True, interval=WAIT_MS)
        self._wait.timeout.connect(self._look)
        self._wait.start()
        self._signals = SignalWatch(self.end)
        self._feed = Feed(folder, self)
        self._feed.settings.connect(self._set)
        self._feed.changed.connect(self._look_at_input)
        self._feed.start()
        self._surroundings = Surroundings(self)
        self._surroundings.changed.connect(self._look)

    def close(self) -> None:
        """After the event loop."""
        if self._why:
            print(f"hearth: {self._why}", file=sys.stderr)  # noqa: T201
        self._feed.stop()
        self._surroundings.close()
        self._signals.close()

    def end(self) -> None:
        """Uncover the screens, and end."""
        if self._shown is not None:
            self._shown.close()
        self._app.quit()

    @property
    def _black_ms(self) -> int:
        """After so long it is black; 0: never."""
        if self._options.black_s is not None:
            return round(1000 * self._options.black_s)
        minutes = self._values.get("screensaver_black_min")
        return 60_000 * (minutes if isinstance(minutes, int) else Settings().screensaver_black_min)

    @property
    def _still(self) -> bool:
        return bool(self._values.get("reduced_motion")) or self._surroundings.reduces_motion

    def _set(self, values: dict[str, Any]) -> None:
        self._values = values
        self._look()

    def _look(self) -> None:
        around = self._surroundings
        if self._host is None and around.on_battery:
            self._why = ON_BATTERY
            self.end()
        elif self._host is None and around.locked:
            self.end()
        elif self._shown is not None:
            self._refresh()
        elif around.known or not self._wait.isActive():
            self._show()

    def _look_at_input(self) -> None:
        """Where the desktop gave the focus to no window of ours, keys go elsewhere: the worker tells of them."""
        status = self._feed.status
        if not isinstance(self._shown, Screens) or status is None or status.idle_s is None:
            return
        focused = self._app.applicationState() == Qt.ApplicationState.ApplicationActive
        if not focused and 1000 * status.idle_s < self._since.elapsed() - SETTLED_MS:
            self.end()

    def _show(self) -> None:
        self._since.start()
        if self._host is None:
            self._shown = Screens(self._app, self._make, self.end)
        else:
            self._shown = Embedded(self._make(), self._host, self.end)
        self._refresh()

    def _make(self) -> View:
        view = View(self._feed)
        view.still = self._still
        view.set_black(self._is_black)
        return view

    def _refresh(self) -> None:
        left = self._black_ms - self._since.elapsed()
        over = self._black_ms > 0 and left <= 0
        if self._black_ms > 0 and not over:
            self._black.start(left)
        else:
            self._black.stop()
        black = over or self._surroundings.on_battery
        assert self._shown is not None
        for view in self._shown.views:
            view.still = self._still
            if black != self._is_black:
                view.set_black(black)
        if black != self._is_black:
            self._is_black = black
            self._feed.rest(black)


def main(arguments: list[str] | None = None) -> int:
    """Show it; returns its exit code."""
    try:
        options = parse(sys.argv[1:] if arguments is None else arguments, os.environ)
        if options.settings:
            return _settings(options)
        if options.window is not None:
            use_x11()
            return _run(data_path(options.folder), options, host_of(options.window))
        folder = data_folder(options.folder)
        with _alone(folder):
            return _run(folder, options, None)
    except HearthError as error:
        print(f"hearth: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code


def _settings(options: Options) -> int:
    folder = [] if options.folder is None else ["--data-dir", str(options.folder)]
    return app.main([*folder, "--page", "settings"])


@contextlib.contextmanager
def _alone(folder: Path) -> Any:
    """One at a time covers the screens.

    Raises:
        AlreadyRunning: another one does.
    """
    try:
        with FileLock(folder / LOCK_FILE, timeout=0):
            yield
    except Timeout:
        raise AlreadyRunning(notice("screensaver.shown_already")) from None


def _run(folder: Path, options: Options, host: Host | None) -> int:
    QCoreApplication.setApplicationName("Hearth")
    quieten()
    QGuiApplication.setApplicationDisplayName("Hearth")
    QGuiApplication.setDesktopFileName("hearth")
    QGuiApplication.setQuitOnLastWindowClosed(False)
    app = QApplication(["hearth"])
    GarbageCollector(app)
    theme().set_mode("dark")
    speak(str(view_settings(folder).value("language", "system")))
    saver = Saver(app, folder, options, host)
    try:
        return app.exec()
    finally:
        saver.close()


if __name__ == "__main__":
    sys.exit(main())

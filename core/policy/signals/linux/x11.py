"""Idle time from an X server's XScreenSaver extension; the first touch after a pause from SYNC.

Only on X11 sessions: on Wayland the X server sees the input of X programs alone. Opening a display, and every
question to it, can hang.
"""

import contextlib
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

from Xlib import display
from Xlib.ext import screensaver

from core.contracts.notices import notice
from core.policy.signals.linux.x11_sync import ask_for_returns
from core.policy.signals.reading import AbsentError, SourceError

AWAY_S = 1.0
"""Once nobody has touched the PC for so long, the next touch is told: while somebody works it costs nothing."""


def open_display() -> Any:
    """The session's X server.

    Raises:
        SourceError: the session is not X11. The errors of Xlib pass.
    """
    if os.environ.get("WAYLAND_DISPLAY") or os.environ.get("XDG_SESSION_TYPE", "x11") not in ("x11", "tty", ""):
        raise AbsentError(notice("x11.none"))
    if not os.environ.get("DISPLAY"):
        raise AbsentError(notice("desktop.none"))
    return display.Display()


class XScreenSaver:
    """Seconds since the last input."""

    name = "XScreenSaver"

    def __init__(self, wake: Callable[[], None]) -> None:
        self._display = open_display()
        try:
            if not self._display.has_extension(screensaver.extname):
                raise SourceError(notice("idle.no_xscreensaver"))
            self._root = self._display.screen().root
            self._touches = _Touches(wake)
        except BaseException:
            self._display.close()
            raise

    def read(self) -> float:
        return float(screensaver.query_info(self._root).idle) / 1000

    @property
    def tells_return(self) -> bool:
        return self._touches.works

    def close(self) -> None:
        self._touches.close()
        with contextlib.suppress(Exception):  # Xlib may find out here that the server is gone
            self._display.close()


class _Touches:
    """Tells the first touch after a pause, on a connection and a thread of its own."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._display = open_display()
        self._event = ask_for_returns(self._display, int(AWAY_S * 1000))
        self.works = self._event is not None
        if self.works:
            threading.Thread(target=self._follow, name="touches", daemon=True).start()
        else:
            self._display.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._display.display.socket.shutdown(socket.SHUT_RDWR)  # the thread wakes, and closes it

    def _follow(self) -> None:
        try:
            while True:
                if self._display.next_event().type == self._event:
                    self._wake()
        except Exception:  # Xlib raises what it likes when the server is gone; who asks for the idle time sees it too
            self.works = False
        with contextlib.suppress(Exception):
            self._display.close()

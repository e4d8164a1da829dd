"""Idle time from an X server's XScreenSaver extension; the first touch after a pause from XInput 2.

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
from Xlib.ext import screensaver, xinput

from core.policy.signals.reading import SourceError

AWAY_S = 1.0
"""Once nobody has touched the PC for so long, the next touch is asked for: while somebody works it costs nothing."""
RAW_TOUCH_BEGIN = 22
TOUCHES = xinput.RawKeyPressMask | xinput.RawButtonPressMask | xinput.RawMotionMask | 1 << RAW_TOUCH_BEGIN


def open_display() -> Any:
    """The session's X server.

    Raises:
        SourceError: the session is not X11. The errors of Xlib pass.
    """
    if os.environ.get("WAYLAND_DISPLAY") or os.environ.get("XDG_SESSION_TYPE", "x11") not in ("x11", "tty", ""):
        raise SourceError("This session is not X11.")
    if not os.environ.get("DISPLAY"):
        raise SourceError("There is no desktop session.")
    return display.Display()


class XScreenSaver:
    """Seconds since the last input."""

    name = "XScreenSaver"

    def __init__(self, notice: Callable[[], None]) -> None:
        self._display = open_display()
        try:
            if not self._display.has_extension(screensaver.extname):
                raise SourceError("The X server has no XScreenSaver extension.")
            self._root = self._display.screen().root
            self._touches = _Touches(notice) if self._display.has_extension(xinput.extname) else None
        except BaseException:
            self._display.close()
            raise

    def read(self) -> float:
        return _idle_s(self._root)

    def hurry(self, computing: bool) -> bool:
        """Whether it need not be asked more often while computing: touches are told."""
        return self._touches is not None and self._touches.works

    def close(self) -> None:
        if self._touches is not None:
            self._touches.close()
        with contextlib.suppress(Exception):  # Xlib may find out here that the server is gone
            self._display.close()


class _Touches:
    """Tells the first touch after a pause, on a connection and a thread of its own.

    XInput's raw events come for each motion of the mouse, so they are asked for only while nobody touches the PC.
    """

    def __init__(self, notice: Callable[[], None]) -> None:
        self._notice = notice
        self._stop = threading.Event()
        self._display = open_display()
        self._root = self._display.screen().root
        opcode = self._display.display.get_extension_major(xinput.extname)
        version = xinput.XIQueryVersion(display=self._display.display, opcode=opcode, major_version=2, minor_version=2)
        self.works = (version.major_version, version.minor_version) >= (2, 2)
        """Before 2.1 a menu or game that grabs the mouse keeps its events to itself; 2.2 has touch screens."""
        if self.works:
            threading.Thread(target=self._follow, name="touches", daemon=True).start()
        else:
            self._display.close()

    def close(self) -> None:
        self._stop.set()
        with contextlib.suppress(OSError):
            self._display.display.socket.shutdown(socket.SHUT_RDWR)  # the thread wakes, and closes it

    def _follow(self) -> None:
        try:
            while not self._stop.is_set():
                if (idle_s := _idle_s(self._root)) < AWAY_S:
                    self._stop.wait(AWAY_S - idle_s + 0.01)
                    continue
                self._root.xinput_select_events([(xinput.AllMasterDevices, TOUCHES)])
                self._display.next_event()
                self._notice()
                self._root.xinput_select_events([(xinput.AllMasterDevices, 0)])
                self._display.sync()
                while self._display.pending_events():
                    self._display.next_event()
        except Exception:  # Xlib raises what it likes when the server is gone; who asks for the idle time sees it too
            self.works = False
        with contextlib.suppress(Exception):
            self._display.close()


def _idle_s(root: Any) -> float:
    return float(screensaver.query_info(root).idle) / 1000

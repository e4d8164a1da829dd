"""Linux: idle time from the X server's XScreenSaver extension.

Only on X11 sessions: on Wayland the X server sees the input of X programs alone, and opening a display can hang.
The connection is used in a thread of its own, so that an X server that hangs never stalls the worker.
"""

import logging
import os
import threading
import time
from collections.abc import Callable

from core.policy.signals.reading import Idle

log = logging.getLogger(__name__)

STALE_S = 5.0
"""An answer older than this means that the X server hangs: idle time is unknown then."""
RETRY_S = 10.0


class IdleWatch:
    """Asks the X server for the idle time again and again.

    `notice` is called from the watching thread when the user came back (the idle time fell).
    """

    def __init__(self, interval_s: float, notice: Callable[[], None]) -> None:
        self._interval_s = interval_s
        self._notice = notice
        self._stop = threading.Event()
        self._read_at = float("-inf")
        self._last = Idle(None, self._obstacle() or "The X server has not answered yet.")
        self._thread = threading.Thread(target=self._watch, name="idle", daemon=True)
        if self._obstacle() is None:
            self._thread.start()

    @staticmethod
    def _obstacle() -> str | None:
        if os.environ.get("WAYLAND_DISPLAY") or os.environ.get("XDG_SESSION_TYPE", "x11") not in ("x11", "tty", ""):
            return "Idle time cannot be measured on this Wayland session yet."
        if not os.environ.get("DISPLAY"):
            return "Idle time cannot be measured without a desktop session."
        return None

    def read(self) -> Idle:
        """The newest reading; its age is added, so that it goes on between two answers."""
        age = time.monotonic() - self._read_at
        if self._last.seconds is None:
            return self._last
        if age > STALE_S:
            return Idle(None, "Idle time cannot be measured: the X server does not answer.")
        return Idle(self._last.seconds + age, self._last.source)

    def close(self) -> None:
        """End the thread; one that hangs in the X server is left behind (it is a daemon)."""
        self._stop.set()

    def _watch(self) -> None:
        from Xlib.error import ConnectionClosedError, DisplayError

        while not self._stop.is_set():
            try:
                self._follow_display()
            except (DisplayError, ConnectionClosedError, OSError) as error:
                self._last = Idle(
                    None, f"Idle time cannot be measured: {str(error).strip() or 'the X server is gone'}."
                )
                log.info("%s", self._last.source)
            self._stop.wait(RETRY_S)

    def _follow_display(self) -> None:
        from Xlib import display
        from Xlib.ext import screensaver

        connection = display.Display()
        try:
            if not connection.has_extension("MIT-SCREEN-SAVER"):
                self._last = Idle(None, "Idle time cannot be measured: the X server has no XScreenSaver extension.")
                return
            root = connection.screen().root
            before = 0.0
            while not self._stop.is_set():
                seconds = screensaver.query_info(root).idle / 1000
                self._last, self._read_at = Idle(seconds, "XScreenSaver"), time.monotonic()
                if seconds < before:
                    self._notice()
                before = seconds
                self._stop.wait(self._interval_s)
        finally:
            connection.close()

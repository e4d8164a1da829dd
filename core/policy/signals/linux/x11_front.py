"""The window in front on X11, as its window manager says (Extended Window Manager Hints)."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from Xlib import X, display, error

from core.contracts.notices import notice
from core.policy.signals.linux.front import HIDDEN, covering, program_of
from core.policy.signals.linux.x11 import open_display
from core.policy.signals.reading import Front, SourceError

WORDS = 64
"""As many 32-bit words of a property are read."""


class XWindow:
    """The active window: does it fill the screen, and whose is it?

    Args:
        connection: to the X server; to that of an X11 session if None.
    """

    def __init__(self, wake: Callable[[], None], connection: Any = None) -> None:
        self._display = connection or open_display()
        names = ("_NET_SUPPORTED", "_NET_ACTIVE_WINDOW", "_NET_WM_STATE", "_NET_WM_STATE_FULLSCREEN", "_NET_WM_PID")
        self._atoms = {name: self._display.intern_atom(name) for name in names}
        self._root = self._display.screen().root

    def look(self) -> Front:
        return self.active() or Front("window")

    def active(self) -> Front | None:
        """None: no window of the X server is active."""
        active = self._property(self._root, "_NET_ACTIVE_WINDOW")
        if active is None and self._property(self._root, "_NET_SUPPORTED") is None:
            raise SourceError(notice("front.window_manager_silent"))
        if not active or not active[0]:
            return None
        window = self._display.create_resource_object("window", active[0])
        try:
            state = self._property(window, "_NET_WM_STATE") or []
            return covering(self._atoms["_NET_WM_STATE_FULLSCREEN"] in state, self._program(window))
        except (error.BadWindow, error.BadDrawable):  # it was closed meanwhile
            return None

    def close(self) -> None:
        with contextlib.suppress(Exception):  # Xlib may find out here that the server is gone
            self._display.close()

    def _program(self, window: Any) -> str:
        name = window.get_property(self._display.get_atom("WM_CLASS"), X.AnyPropertyType, 0, WORDS)
        if name is not None and isinstance(name.value, bytes):
            parts = [part for part in name.value.split(b"\0") if part]  # instance, class
            if parts:
                return parts[-1].decode("utf8", "replace")
        pid = self._property(window, "_NET_WM_PID")
        return program_of(pid[0]) if pid else ""

    def _property(self, window: Any, name: str) -> list[int] | None:
        """Its numbers; None if there is none of that name."""
        found = window.get_property(self._atoms[name], X.AnyPropertyType, 0, WORDS)
        return None if found is None or found.format != 32 else list(found.value)


class XwaylandWindow:
    """On Wayland desktops that hide their windows (GNOME, KDE): an X program in front, as most games are."""

    def __init__(self, wake: Callable[[], None]) -> None:
        # Connecting would start Xwayland, and a connection keeps it: neither for a look.
        if not os.environ.get("DISPLAY") or not _xwayland_runs():
            raise SourceError(HIDDEN)
        self._window = XWindow(wake, display.Display())

    def look(self) -> Front:
        front = self._window.active()
        if front is None:
            raise SourceError(HIDDEN)
        return front

    def close(self) -> None:
        self._window.close()


def _xwayland_runs() -> bool:
    return any(
        program_of(int(process.name)) == "Xwayland" for process in Path("/proc").iterdir() if process.name.isdigit()
    )

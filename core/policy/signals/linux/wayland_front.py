"""The window in front on Wayland: zwlr_foreign_toplevel_manager_v1 (Sway, Hyprland, labwc, Wayfire; not GNOME, KDE)."""

import struct
from collections.abc import Callable

from core.policy.signals.linux.front import HIDDEN, covering
from core.policy.signals.linux.wayland import Arguments, Wayland
from core.policy.signals.reading import Front, SourceError

MANAGER = "zwlr_foreign_toplevel_manager_v1"
VERSION = 2
"""The first that tells what fills the screen."""
TOPLEVEL = 0
APP_ID, STATE, CLOSED = 1, 4, 6
DESTROY = 7
ACTIVATED, FULLSCREEN = 2, 3


class WaylandWindow:
    """The active window: does it fill the screen, and whose is it?"""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._windows: dict[int, _Window] = {}
        self._closed: list[int] = []
        self._wayland = Wayland()
        try:
            if self._wayland.version(MANAGER) < VERSION:
                raise SourceError(HIDDEN)
            self._wayland.bind(MANAGER, VERSION, self._on_manager)
            self._wayland.round_trip()
        except BaseException:
            self._wayland.close()
            raise

    def look(self) -> Front:
        while self._closed:
            self._wayland.request(self._closed.pop(), DESTROY)
        self._wayland.round_trip()
        active = next((window for window in list(self._windows.values()) if ACTIVATED in window.states), None)
        return covering(FULLSCREEN in active.states, active.app_id) if active else Front("window")

    def close(self) -> None:
        self._wayland.close()

    # in the connection's own thread

    def _on_manager(self, opcode: int, arguments: Arguments) -> None:
        if opcode == TOPLEVEL:
            number, window = arguments.uint(), _Window()
            self._wayland.adopt(number, lambda opcode, arguments: self._on_window(number, window, opcode, arguments))
            self._windows[number] = window

    def _on_window(self, number: int, window: "_Window", opcode: int, arguments: Arguments) -> None:
        if opcode == APP_ID:
            window.app_id = arguments.string()
        elif opcode == STATE:
            states = arguments.array()
            window.states = frozenset(word for (word,) in struct.iter_unpack("=I", states))
        elif opcode == CLOSED:
            self._windows.pop(number, None)
            self._wayland.forget(number)
            self._closed.append(number)


class _Window:
    app_id = ""
    states: frozenset[int] = frozenset()

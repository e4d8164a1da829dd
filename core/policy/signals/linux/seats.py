"""Whether anybody can be at a screen of this PC: a server without a desktop has no user to give way to."""

import os
from collections.abc import Callable
from pathlib import Path

from core.policy.signals.linux.bus import Object, OnBus
from core.policy.signals.linux.logind import DESKTOPS, MANAGER, SESSION
from core.policy.signals.reading import Stateless

X_SOCKETS = Path("/tmp/.X11-unix")
SCREENS = Path("/sys/class/drm")
MOST = 64
"""Sessions that are looked at; with more of them somebody is taken to be there."""


def _shown() -> bool:
    """Whether a display server is known to this process, or listens where they all do."""
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return True
    return X_SOCKETS.is_dir() and any(X_SOCKETS.iterdir())


class LogindSeats(OnBus):
    """Sessions of users at a seat (screen and keyboard) or on a desktop; those over the network are none."""

    name = "logind"

    def _begin(self, wake: Callable[[], None]) -> None:
        self._bus.listen(MANAGER, "SessionNew", lambda args: wake())
        self._bus.listen(MANAGER, "SessionRemoved", lambda args: wake())

    def read(self) -> bool:
        if _shown():
            return True
        sessions = self._bus.call(MANAGER, "ListSessions", returns="a(susso)")[0]
        return len(sessions) > MOST or any(
            (seat or self._on_a_desktop(path)) and self._of_a_user(path) for _, _, _, seat, path in sessions
        )

    def _on_a_desktop(self, path: str) -> bool:
        return self._bus.get(self._session(path), "Type", "s") in DESKTOPS

    def _of_a_user(self, path: str) -> bool:
        """Not the login screen's own."""
        return not str(self._bus.get(self._session(path), "Class", "s")).startswith(("greeter", "manager"))

    def _session(self, path: str) -> Object:
        return MANAGER.at(path, SESSION)


class Screens(Stateless):
    """Where there is no logind: a display server, or a screen that is connected. A container sees the PC's own."""

    name = "the kernel's list of screens"

    def read(self) -> bool:
        return _shown() or any(
            status.read_text().strip() != "disconnected" for status in SCREENS.glob("card*-*/status")
        )

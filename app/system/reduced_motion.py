"""Whether the user asked the system for less motion; Qt does not tell it."""

import ctypes
import subprocess
import sys
from functools import cache

from app.background import in_background
from core.policy.signals.reading import SourceError

TOOL_S = 2.0
GET_CLIENT_AREA_ANIMATION = 0x1042
"""SPI_GETCLIENTAREAANIMATION, winuser.h."""


class Motion:
    """Whether something may move in the window."""

    def __init__(self) -> None:
        self.unwanted = False
        """By Hearth's own setting."""
        self._by_system: bool | None = None

    @property
    def allowed(self) -> bool:
        """Nothing moves before the system has been asked, which happens as soon as somebody wants to know."""
        if self._by_system is None:
            self._by_system = True
            in_background("reduced motion", system_reduces_motion, self._take)
        return not (self.unwanted or self._by_system)

    def _take(self, reduced: bool) -> None:
        self._by_system = reduced


@cache
def motion() -> Motion:
    """That of this process."""
    return Motion()


def system_reduces_motion() -> bool:
    """Ask the system; what cannot be told is no wish. It may block for some seconds: for a thread of its own."""
    if sys.platform == "win32":
        return _windows()
    return _macos() if sys.platform == "darwin" else _desktop()


def _desktop() -> bool:
    """As GNOME and others tell through the desktop portal."""
    from core.policy.signals.linux.bus import Bus, Object  # its library is there on Linux only

    portal = Object(
        "The desktop portal",
        "org.freedesktop.portal.Desktop",
        "/org/freedesktop/portal/desktop",
        "org.freedesktop.portal.Settings",
    )
    try:
        bus = Bus("session")
    except SourceError:
        return False
    try:
        found = bus.call(portal, "Read", "ss", ("org.gnome.desktop.interface", "enable-animations"), returns="v")[0]
    except SourceError:
        return False
    finally:
        bus.close()
    while isinstance(found, tuple):  # a variant, in older portals within another one
        found = found[-1]
    return found is False


def _windows() -> bool:
    """Not yet run on Windows."""
    animated = ctypes.c_int32(1)
    user = ctypes.WinDLL("user32")  # type: ignore[attr-defined,unused-ignore]
    known = user.SystemParametersInfoW(GET_CLIENT_AREA_ANIMATION, 0, ctypes.byref(animated), 0)
    return bool(known and not animated.value)


def _macos() -> bool:
    """Not yet run on macOS."""
    command = ["/usr/bin/defaults", "read", "com.apple.universalaccess", "reduceMotion"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TOOL_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.stdout.strip() == b"1"

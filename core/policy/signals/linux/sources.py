"""What a Linux desktop tells, best source first."""

import os
from collections.abc import Callable
from typing import Any

from core.policy.signals.linux.front import FrontSource, GameMode, LogindInhibitors, Part, SessionInhibitors
from core.policy.signals.linux.logind import LogindIdle, LogindLock
from core.policy.signals.linux.mutter import Mutter
from core.policy.signals.linux.network import NetworkManager
from core.policy.signals.linux.power import PowerSupplies, UPower
from core.policy.signals.linux.screensaver import FREEDESKTOP, GNOME, saver
from core.policy.signals.linux.seats import LogindSeats, Screens
from core.policy.signals.linux.wayland_front import WaylandWindow
from core.policy.signals.linux.wayland_idle import WaylandIdle
from core.policy.signals.reading import Front, Open, Source, SourceError


def sources() -> dict[str, list[Open[Any]]]:
    """By the fields of `Signals`."""
    return {
        "idle_s": [Mutter, WaylandIdle, _x_screen_saver, LogindIdle],
        "locked": [saver(GNOME), saver(FREEDESKTOP), LogindLock],
        "front": [_front],
        "desktop": [LogindSeats, lambda wake: Screens()],
        "power": [UPower, lambda wake: PowerSupplies()],
        "metered": [NetworkManager],
    }


# Xlib is 60 modules: they are loaded only where there is an X session.


def _x_screen_saver(wake: Callable[[], None]) -> Source[float]:
    from core.policy.signals.linux.x11 import XScreenSaver

    return XScreenSaver(wake)


def _x_window(wake: Callable[[], None]) -> Part:
    from core.policy.signals.linux.x11_front import XWindow

    return XWindow(wake)


def _wayland_window(wake: Callable[[], None]) -> Part:
    try:
        return WaylandWindow(wake)
    except SourceError:
        from core.policy.signals.linux.x11_front import XwaylandWindow

        return XwaylandWindow(wake)


def _front(wake: Callable[[], None]) -> Source[Front]:
    window = _wayland_window if os.environ.get("WAYLAND_DISPLAY") else _x_window
    return FrontSource(window, [GameMode, SessionInhibitors, LogindInhibitors], wake)

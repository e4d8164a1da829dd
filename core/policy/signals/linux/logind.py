"""What logind knows of the session that Hearth runs in: idle, locked."""

import os
import time
from collections.abc import Callable

from core.contracts.notices import notice
from core.policy.signals.linux.bus import Bus, Object, OnBus
from core.policy.signals.reading import SourceError

MANAGER = Object("logind", "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")
SESSION = "org.freedesktop.login1.Session"
DESKTOPS = ("x11", "wayland", "mir")


def own_session(bus: Bus) -> Object:
    """The session of this process, else the desktop session of its user (a service of the user has none itself).

    Raises:
        SourceError: there is none.
    """
    try:
        path = bus.call(MANAGER, "GetSession", "s", ("auto",), returns="o")[0]
    except SourceError:  # "auto" is younger than many an installed logind
        path = bus.call(MANAGER, "GetSessionByPID", "u", (os.getpid(),), returns="o")[0]
    return MANAGER.at(path, SESSION)


class _OfSession(OnBus):
    name = "logind"

    def _begin(self, wake: Callable[[], None]) -> None:
        self._session = own_session(self._bus)
        self._bus.listen_to_properties(self._session, wake)


class LogindIdle(_OfSession):
    """Seconds since the session became idle; 0 while it is not.

    Terminals: logind looks at their last use. Desktops have to tell logind, and some never do; there it says nothing.
    """

    tells_return = True
    """As early as it knows itself."""

    def _begin(self, wake: Callable[[], None]) -> None:
        super()._begin(wake)
        self._on_a_desktop = self._bus.get(self._session, "Type", "s") in DESKTOPS

    def read(self) -> float:
        idle = self._bus.get(self._session, "IdleHint", "b")
        since_us = self._bus.get(self._session, "IdleSinceHintMonotonic", "t")
        if not since_us and (idle or self._on_a_desktop):
            raise SourceError(notice("idle.logind_not_told"))
        if not idle:
            return 0.0
        seconds: float = time.monotonic() - since_us / 1e6
        if seconds < 0:
            raise SourceError(notice("idle.logind_future"))
        return seconds


class LogindLock(_OfSession):
    """Whether the session is locked."""

    def read(self) -> bool:
        return bool(self._bus.get(self._session, "LockedHint", "b"))

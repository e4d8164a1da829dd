"""What the user looks at: a game, something that fills the screen, a presentation or film, or just a window.

Several parts of a desktop each know a little of it; this source asks them all.
"""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from core.contracts.notices import Notice, notice
from core.policy.signals.linux.bus import Object, OnBus
from core.policy.signals.linux.logind import MANAGER
from core.policy.signals.reading import OWN, AbsentError, Front, SourceError

GAME_MODE = Object.main("GameMode", "com.feralinteractive.GameMode")
SESSION_MANAGER = Object.main("GNOME's session manager", "org.gnome.SessionManager")
POWERDEVIL = Object(
    "KDE's power manager",
    "org.kde.Solid.PowerManagement",
    "/org/kde/Solid/PowerManagement/PolicyAgent",
    "org.kde.Solid.PowerManagement.PolicyAgent",
)
_INHIBITED = ((SESSION_MANAGER, "IsInhibited", 8), (POWERDEVIL, "HasInhibition", 4))
"""Whom to ask for what: 8 is becoming idle, 4 is changing the screen."""
RETRY_S = 10.0
NAME_CHARACTERS = 100
HIDDEN = notice("front.wayland_hidden")
_RANK = ("game", "fullscreen", "presentation", "window")


class Part(Protocol):
    """Something that knows a little of what the user looks at."""

    def look(self) -> Front | None:
        """None: nothing that matters, as far as this part knows.

        Raises:
            SourceError: it cannot tell. Any other exception is treated alike.
        """

    def close(self) -> None:
        """Never raises."""


OpenPart = Callable[[Callable[[], None]], Part]


class FrontSource:
    """Asks all parts.

    Args:
        window: knows the window in front. What fills the screen is unknown without it, unless another part says so.
        others: know of games and presentations.
    """

    name = "the desktop"

    def __init__(self, window: OpenPart, others: list[OpenPart], wake: Callable[[], None]) -> None:
        self._window = _Kept(window, wake)
        self._others = [_Kept(part, wake) for part in others]

    def read(self) -> Front:
        found = [front for part in (self._window, *self._others) if (front := part.look()) is not None]
        if found:
            return min(found, key=lambda front: _RANK.index(front.kind))
        raise SourceError(self._window.why or notice("front.desktop_silent"))

    def close(self) -> None:
        for part in (self._window, *self._others):
            part.close()


class _Kept:
    """A part, opened again some time after it failed."""

    def __init__(self, make: OpenPart, wake: Callable[[], None]) -> None:
        self._make, self._wake = make, wake
        self._part: Part | None = None
        self._rest_until = 0.0
        self.why: Notice | None = None
        """Why it cannot tell; None if it can."""

    def look(self) -> Front | None:
        if time.monotonic() < self._rest_until:
            return None
        try:
            if self._part is None:
                self._part = self._make(self._wake)
            front = self._part.look()
        except Exception as error:  # Xlib's errors have no root of their own
            why = str(error).strip() or type(error).__name__
            self.why = error.notice if isinstance(error, SourceError) else notice("front.unknown", why=why[:200])
            self._rest_until = time.monotonic() + RETRY_S
            self.close()
            return None
        self.why = None
        return front

    def close(self) -> None:
        if self._part is not None:
            self._part.close()
            self._part = None


class GameMode(OnBus):
    """Feral's GameMode, which games ask for while they run."""

    bus = "session"
    watched = GAME_MODE

    def look(self) -> Front | None:
        try:
            count = self._bus.get(GAME_MODE, "ClientCount", "i")
            if count <= 0:
                return None
            games = self._bus.call(GAME_MODE, "ListGames", returns="a(io)")[0]
        except AbsentError:
            return None
        return Front("game", program_of(games[0][0]) if games else "")


class SessionInhibitors(OnBus):
    """Programs that keep the desktop from turning the screen off: films, presentations, calls."""

    bus = "session"

    def look(self) -> Front | None:
        for desktop, method, kind in _INHIBITED:
            with contextlib.suppress(AbsentError):
                if self._bus.call(desktop, method, "u", (kind,), returns="b")[0]:
                    return Front("presentation")
        return None


class LogindInhibitors(OnBus):
    """Programs that keep logind from thinking that the session is idle."""

    def look(self) -> Front | None:
        for what, who, _, mode, _, _ in self._bus.call(MANAGER, "ListInhibitors", returns="a(ssssuu)")[0]:
            if "idle" in what.split(":") and mode == "block" and who.casefold() != OWN:
                return Front("presentation", who[:NAME_CHARACTERS])
        return None


def program_of(pid: int) -> str:
    """Name of a process's program; empty if it is gone."""
    try:
        with Path(f"/proc/{pid:d}/comm").open("rb") as file:
            return file.read(NAME_CHARACTERS).decode("utf8", "replace").strip()
    except OSError:
        return ""


def covering(fills_the_screen: bool, program: str) -> Front:
    """What the window in front is, by its program."""
    own = program.casefold() == OWN
    return Front("fullscreen" if fills_the_screen and not own else "window", program[:NAME_CHARACTERS])

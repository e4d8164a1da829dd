"""Idle time from Mutter, the compositor of GNOME (org.gnome.Mutter.IdleMonitor)."""

from collections.abc import Callable
from typing import Any

from core.policy.signals.linux.bus import Object, OnBus

MONITOR = Object(
    "Mutter", "org.gnome.Mutter.IdleMonitor", "/org/gnome/Mutter/IdleMonitor/Core", "org.gnome.Mutter.IdleMonitor"
)
AWAY_S = 1.0
"""Once nobody has touched the PC for so long, the next touch is asked for: while somebody works it costs nothing."""


class Mutter(OnBus):
    """Seconds since the last input. Mutter tells the first touch after a pause by itself."""

    name, bus = "Mutter", "session"
    tells_return = True

    def _begin(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._watch: int | None = None
        self._bus.listen(MONITOR, "WatchFired", self._fired)
        self._wait_for_touch()

    def read(self) -> float:
        seconds: float = self._bus.call(MONITOR, "GetIdletime", returns="t")[0] / 1000
        if self._watch is None and seconds >= AWAY_S:
            self._wait_for_touch()
        return seconds

    def _wait_for_touch(self) -> None:
        self._watch = self._bus.call(MONITOR, "AddUserActiveWatch", returns="u")[0]

    def _fired(self, args: tuple[Any, ...]) -> None:
        if args == (self._watch,):
            self._watch = None
            self._wake()

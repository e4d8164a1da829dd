"""Idle time on Wayland: ext_idle_notifier_v1 (KDE Plasma, Sway, Hyprland, labwc, COSMIC and others), and what older
versions of them have in its place, org_kde_kwin_idle (Sway before 1.8, Plasma before 5.27)."""

import time
from collections.abc import Callable

from core.contracts.notices import notice
from core.policy.signals.linux.wayland import Arguments, Wayland, uint
from core.policy.signals.reading import SourceError

NOTIFIER, OLDER, SEAT = "ext_idle_notifier_v1", "org_kde_kwin_idle", "wl_seat"
TIMEOUT_S = 1.0
"""The compositor tells when nobody has touched the PC for so long, and the first touch after it."""
GET_IDLE, GET_INPUT_IDLE = 1, 2
OLDER_GET_IDLE = 0
IDLED, RESUMED = 0, 1
"""Events, of both protocols."""


class WaylandIdle:
    """Seconds since the last input, as far as two events tell: 0 until the time-out, then the time since."""

    name = "Wayland"
    tells_return = True

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._since: float | None = None
        """When the last input was, by the monotonic clock; None while somebody is here."""
        self._wayland = Wayland()
        try:
            self._ask()
            self._wayland.round_trip()
        except BaseException:
            self._wayland.close()
            raise

    def read(self) -> float:
        self._wayland.round_trip()  # a compositor that hangs tells nothing either
        since = self._since
        return 0.0 if since is None else max(0.0, time.monotonic() - since)

    def close(self) -> None:
        self._wayland.close()

    def _ask(self) -> None:
        version, older = self._wayland.version(NOTIFIER), self._wayland.version(OLDER)
        if not ((version or older) and self._wayland.version(SEAT)):
            raise SourceError(notice("idle.wayland_not_told"))
        seat, timeout = self._wayland.bind(SEAT, 1, _ignore), int(TIMEOUT_S * 1000)
        notifier = self._wayland.bind(NOTIFIER if version else OLDER, min(version, 2) or 1, _ignore)
        notification = self._wayland.new(self._told)
        if version:
            # A film keeps the screen on, but nobody touches the PC: version 2 can tell.
            opcode = GET_INPUT_IDLE if version >= 2 else GET_IDLE
            self._wayland.request(notifier, opcode, uint(notification) + uint(timeout) + uint(seat))
        else:
            self._wayland.request(notifier, OLDER_GET_IDLE, uint(notification) + uint(seat) + uint(timeout))

    def _told(self, opcode: int, arguments: Arguments) -> None:
        if opcode == IDLED:
            self._since = time.monotonic() - TIMEOUT_S
        elif opcode == RESUMED:
            self._since = None
            self._wake()


def _ignore(opcode: int, arguments: Arguments) -> None:
    pass

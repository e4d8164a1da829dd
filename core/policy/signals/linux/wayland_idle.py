"""Idle time on Wayland: ext_idle_notifier_v1 (KDE Plasma, Sway, Hyprland, labwc, COSMIC and others)."""

import time
from collections.abc import Callable

from core.contracts.notices import notice
from core.policy.signals.linux.wayland import Arguments, Wayland, uint
from core.policy.signals.reading import SourceError

NOTIFIER, SEAT = "ext_idle_notifier_v1", "wl_seat"
TIMEOUT_S = 1.0
"""The compositor tells when nobody has touched the PC for so long, and the first touch after it."""
GET_IDLE, GET_INPUT_IDLE = 1, 2
IDLED, RESUMED = 0, 1


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
            version = self._wayland.version(NOTIFIER)
            if not (version and self._wayland.version(SEAT)):
                raise SourceError(notice("idle.wayland_not_told"))
            notifier = self._wayland.bind(NOTIFIER, min(version, 2), _ignore)
            seat = self._wayland.bind(SEAT, 1, _ignore)
            # A film keeps the screen on, but nobody touches the PC: version 2 can tell.
            opcode = GET_INPUT_IDLE if version >= 2 else GET_IDLE
            notification = self._wayland.new(self._told)
            self._wayland.request(notifier, opcode, uint(notification) + uint(int(TIMEOUT_S * 1000)) + uint(seat))
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

    def _told(self, opcode: int, arguments: Arguments) -> None:
        if opcode == IDLED:
            self._since = time.monotonic() - TIMEOUT_S
        elif opcode == RESUMED:
            self._since = None
            self._wake()


def _ignore(opcode: int, arguments: Arguments) -> None:
    pass

"""Whether the session is locked, from the desktop's screensaver."""

from collections.abc import Callable

from core.policy.signals.linux.bus import Object, opened
from core.policy.signals.reading import Open

GNOME = Object("GNOME's screensaver", "org.gnome.ScreenSaver", "/org/gnome/ScreenSaver", "org.gnome.ScreenSaver")
FREEDESKTOP = Object(
    "The screensaver", "org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver", "org.freedesktop.ScreenSaver"
)


class ScreenSaver:
    """Locked while the screensaver is on."""

    def __init__(self, saver: Object, wake: Callable[[], None]) -> None:
        self.name = saver.label
        self._saver = saver
        with opened("session") as self._bus:
            self._bus.listen(saver, "ActiveChanged", lambda args: wake())

    def read(self) -> bool:
        return bool(self._bus.call(self._saver, "GetActive", returns="b")[0])

    def close(self) -> None:
        self._bus.close()


def saver(which: Object) -> Open[bool]:
    return lambda wake: ScreenSaver(which, wake)

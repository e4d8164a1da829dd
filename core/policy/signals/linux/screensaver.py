"""Whether the session is locked, from the desktop's screensaver."""

from collections.abc import Callable

from core.policy.signals.linux.bus import Object, OnBus
from core.policy.signals.reading import Open

GNOME = Object.main("GNOME's screensaver", "org.gnome.ScreenSaver")
FREEDESKTOP = Object.main("The screensaver", "org.freedesktop.ScreenSaver")


class ScreenSaver(OnBus):
    """Locked while the screensaver is on."""

    bus = "session"

    def __init__(self, saver: Object, wake: Callable[[], None]) -> None:
        self.name, self._saver = saver.label, saver
        super().__init__(wake)

    def _begin(self, wake: Callable[[], None]) -> None:
        self._bus.listen(self._saver, "ActiveChanged", lambda args: wake())

    def read(self) -> bool:
        return bool(self._bus.call(self._saver, "GetActive", returns="b")[0])


def saver(which: Object) -> Open[bool]:
    return lambda wake: ScreenSaver(which, wake)

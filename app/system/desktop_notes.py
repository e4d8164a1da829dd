"""Notifications by the desktop on Linux, through org.freedesktop.Notifications 1.2.

Qt shows them through a tray only, and tells the urgency as a number of another type than the specification has, so that
mako and others refuse them.
"""

import queue
import sys
from typing import Any, Literal

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage

from app.background import in_background
from app.language import tr
from core.policy.signals.reading import AbsentError, SourceError

Answer = Literal["opened", "closed", "refused"]

SHOWN_MS = 8000
LISTENED_S = 60.0
"""For a click; a desktop may keep what was shown in a list."""
NORMAL = 1
"""Urgency."""
TEXT, DEFAULT = "susssasa{sv}i", "default"


class DesktopNotes(QObject):
    """Shows notifications without holding up the window."""

    opened = Signal()
    """One was clicked."""
    refused = Signal(str)
    """The desktop shows none; here is the text."""

    @staticmethod
    def possible() -> bool:
        """Whether this session has a bus that can be asked."""
        if sys.platform != "linux":
            return False
        from core.policy.signals.linux.bus import address  # its library is there on Linux only

        try:
            address("session")
        except SourceError:
            return False
        return True

    def show(self, text: str, picture: QImage) -> None:
        """Show a text, beside it a picture; `opened` or `refused` may follow."""
        image = picture.convertToFormat(QImage.Format.Format_RGBA8888)
        data = bytes(image.constBits())
        row = image.width(), image.height(), image.bytesPerLine(), True, 8, 4, data
        hints = {"urgency": ("y", NORMAL), "desktop-entry": ("s", "hearth"), "image-data": ("(iiibiiay)", row)}
        actions = [DEFAULT, tr("Open Hearth")]
        arguments = ("Hearth", 0, "hearth", "Hearth", text, actions, hints, SHOWN_MS)
        in_background("notification", lambda: _show(arguments), lambda answer: self._take(answer, text))

    def _take(self, answer: Answer, text: str) -> None:
        if answer == "opened":
            self.opened.emit()
        elif answer == "refused":
            self.refused.emit(text)


def _show(arguments: tuple[Any, ...]) -> Answer:
    """Show one, and wait until it is clicked or gone."""
    from core.policy.signals.linux.bus import Bus, Object

    server = Object.main("The desktop's notifications", "org.freedesktop.Notifications")
    daemon = Object.main("The bus", "org.freedesktop.DBus")
    ends: queue.SimpleQueue[tuple[Answer, int]] = queue.SimpleQueue()
    try:
        bus = Bus("session")
    except SourceError:
        return "refused"
    try:
        bus.listen(server, "ActionInvoked", lambda args: ends.put(("opened", args[0])))
        bus.listen(server, "NotificationClosed", lambda args: ends.put(("closed", args[0])))
        try:
            number = bus.call(server, "Notify", TEXT, arguments, returns="u")[0]
        except AbsentError:
            bus.call(daemon, "StartServiceByName", "su", (server.service, 0), returns="u")
            number = bus.call(server, "Notify", TEXT, arguments, returns="u")[0]
        while True:
            answer, which = ends.get(timeout=LISTENED_S)
            if which == number:
                return answer
    except SourceError:
        return "refused"
    except queue.Empty:
        return "closed"
    finally:
        bus.close()

"""The end as the system asks for it, told in the event loop."""

import signal
import socket
from collections.abc import Callable

from PySide6.QtCore import QObject, QSocketNotifier


class SignalWatch(QObject):
    """Turns SIGINT and SIGTERM into a call in the event loop, without a timer that wakes up to look."""

    def __init__(self, ended: Callable[[], None]) -> None:
        super().__init__()
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._old = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._handlers = {
            number: signal.signal(number, lambda number, frame: None) for number in (signal.SIGINT, signal.SIGTERM)
        }
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._wake)
        self._ended = ended

    def close(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old)
        self._notifier.setEnabled(False)
        self._reader.close()
        self._writer.close()

    def _wake(self) -> None:
        if self._reader.recv(64):
            self._ended()

"""One app for each data folder; a second one raises the first one's window and ends."""

import hashlib
import os
import time
from pathlib import Path

from filelock import FileLock, Timeout
from PySide6.QtCore import QDeadlineTimer, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from core.contracts.errors import DataFolderError
from core.contracts.notices import notice

LOCK_FILE = "app.lock"
DEADLINE_MS = 10_000
"""For an answer: on a busy machine a window takes seconds until it is there."""
RETRY_S = 0.05
ANSWER = b"1"
PAGES = ("", "settings")
"""What one may ask the first app to show, each by a socket of its own; "" is the page that is shown."""


class Instance(QObject):
    """Holds the data folder's app lock as long as it lives; the system frees it if the app dies."""

    raise_asked = Signal()
    page_asked = Signal(str)
    """Besides, show this one of `PAGES`."""

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.folder = folder
        self._lock = FileLock(folder / LOCK_FILE, thread_local=False)
        self._servers: dict[str, QLocalServer] = {}

    def acquire(self) -> bool:
        """Whether this is the folder's only app.

        Raises:
            DataFolderError: the lock file cannot be made.
        """
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            return False
        except (OSError, NotImplementedError) as error:
            file = str(self.folder / LOCK_FILE)
            raise DataFolderError(notice("file.cannot_be_locked", file=file, reason=str(error))) from error
        return True

    def listen(self) -> None:
        """Let later apps raise this one; without it they just end, so a failure is no fault."""
        for page in PAGES:
            server = self._servers[page] = QLocalServer(self)
            server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
            name = socket_name(self.folder, page)
            QLocalServer.removeServer(name)  # left by an app that was killed; the lock says it is gone
            server.newConnection.connect(lambda page=page: self._greet(page))
            server.listen(name)

    def raise_first(self, page: str = "") -> bool:
        """Ask the app that holds the folder to show its window, and one of `PAGES`; whether it answered in time.

        An app that was started a moment ago does not listen yet: it is asked again until it does.
        """
        deadline = QDeadlineTimer(DEADLINE_MS)
        while not deadline.hasExpired():
            socket = QLocalSocket()
            socket.connectToServer(socket_name(self.folder, page))
            if socket.waitForConnected(deadline.remainingTime()) and socket.waitForReadyRead(deadline.remainingTime()):
                return True
            time.sleep(RETRY_S)
        return False

    def release(self) -> None:
        for server in self._servers.values():
            server.close()
        self._lock.release()

    def _greet(self, page: str) -> None:
        """To connect is to ask; nothing is read. The answer says that this app is alive: a frozen one's system connects
        too. Who asked closes the connection, as on Windows the answer would be lost with it."""
        while (socket := self._servers[page].nextPendingConnection()) is not None:
            socket.disconnected.connect(socket.deleteLater)
            socket.write(ANSWER)
            socket.flush()
            self.raise_asked.emit()
            if page:
                self.page_asked.emit(page)


def socket_name(folder: Path, page: str = "") -> str:
    """Of the local socket: short, the same for each spelling of the folder, another for each user and page."""
    user = str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    return "hearth-" + hashlib.sha256(f"{user}\n{folder.resolve()}".encode()).hexdigest()[:24] + page

"""One app for each data folder; a second one raises the first one's window and ends."""

import hashlib
import os
from pathlib import Path

from filelock import FileLock, Timeout
from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from core.errors import DataFolderError

LOCK_FILE = "app.lock"
DEADLINE_MS = 2000


class Instance(QObject):
    """Holds the data folder's app lock as long as it lives; the system frees it if the app dies."""

    raise_asked = Signal()

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.folder = folder
        self._lock = FileLock(folder / LOCK_FILE, thread_local=False)
        self._server: QLocalServer | None = None

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
            raise DataFolderError(f"{self.folder / LOCK_FILE} cannot be locked: {error}.") from error
        return True

    def listen(self) -> None:
        """Let later apps raise this one; without it they just end, so a failure is no fault."""
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        QLocalServer.removeServer(socket_name(self.folder))  # left by an app that was killed; the lock says it is gone
        self._server.newConnection.connect(self._greet)
        self._server.listen(socket_name(self.folder))

    def raise_first(self) -> bool:
        """Ask the app that holds the folder to show its window; whether it heard."""
        socket = QLocalSocket()
        socket.connectToServer(socket_name(self.folder))
        return socket.waitForConnected(DEADLINE_MS)

    def release(self) -> None:
        if self._server is not None:
            self._server.close()
        self._lock.release()

    def _greet(self) -> None:
        """To connect is to ask; nothing is read."""
        while self._server is not None and (socket := self._server.nextPendingConnection()) is not None:
            socket.close()
            socket.deleteLater()
            self.raise_asked.emit()


def socket_name(folder: Path) -> str:
    """Of the local socket: short, the same for each spelling of the folder, another for each user."""
    user = str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    return "hearth-" + hashlib.sha256(f"{user}\n{folder.resolve()}".encode()).hexdigest()[:24]

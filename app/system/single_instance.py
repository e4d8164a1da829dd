"""One app for each data folder; a second one raises the first one's window and ends."""

import hashlib
import logging
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout
from PySide6.QtCore import QDeadlineTimer, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from core.contracts.errors import DataFolderError
from core.contracts.notices import notice
from core.contracts.run_link import MAX_LINK, is_link

logger = logging.getLogger(__name__)

LOCK_FILE = "app.lock"
START_MS = 60_000
"""Within which an app listens: where the disk is slow or the machine busy, its window takes as long to be there."""
ANSWER_MS = 10_000
"""Within which an app that listens answers."""
LINKS = "links"
"""The socket that takes a link."""
RETRY_S = 0.05
ANSWER = b"1"
First = Literal["raised", "gone", "silent"]
"""What became of the first app: its window is shown; it has ended, so the folder is this one's; it does not answer."""
PAGES = ("", "settings")
"""What one may ask the first app to show, each by a socket of its own; "" is the page that is shown."""


class Instance(QObject):
    """Holds the data folder's app lock as long as it lives; the system frees it if the app dies."""

    raise_asked = Signal()
    link_asked = Signal(str)
    """Besides, show the run of this link."""
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
        """Let later apps raise this one; without it they just end, so a failure is no fault. Only for when the event
        loop runs: who could connect before would take this app for a frozen one."""
        for page in PAGES:
            self._serve(page, partial(self._greet, page))
        self._serve(LINKS, self._hear)

    def _serve(self, name: str, came: Callable[[], None]) -> None:
        server = self._servers[name] = QLocalServer(self)
        server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        address = socket_name(self.folder, name)
        QLocalServer.removeServer(address)  # left by an app that was killed; the lock says it is gone
        server.newConnection.connect(came)
        if not server.listen(address):
            logger.warning("cannot listen for later starts: %s", server.errorString())

    def raise_first(self, page: str = "", link: str = "") -> First:
        """Ask the app that holds the folder to show its window, and one of `PAGES` or the run of a link.

        An app that was started a moment ago does not listen yet: it is asked again until it does. Of one that just
        quits, the folder is taken over.

        Raises:
            DataFolderError: the lock file cannot be made.
        """
        deadline = QDeadlineTimer(START_MS)
        while not deadline.hasExpired():
            socket = QLocalSocket()
            socket.connectToServer(socket_name(self.folder, LINKS if link else page))
            if socket.waitForConnected(ANSWER_MS):
                if link:
                    socket.write(link.encode() + b"\n")
                if socket.waitForReadyRead(ANSWER_MS):
                    return "raised"
                if socket.state() is QLocalSocket.LocalSocketState.ConnectedState:
                    break
            if self.acquire():
                return "gone"
            time.sleep(RETRY_S)
        return "silent"

    def release(self) -> None:
        for server in self._servers.values():
            server.close()
        self._lock.release()

    def _greet(self, page: str) -> None:
        """To connect is to ask; nothing is read. The answer says that this app is alive: a frozen one's system connects
        too. Who asked closes the connection, as on Windows the answer would be lost with it."""
        while (socket := self._servers[page].nextPendingConnection()) is not None:
            self._answer(socket)
            if page:
                self.page_asked.emit(page)

    def _hear(self) -> None:
        """Of a link, one line is read, and no more than a link has."""
        while (socket := self._servers[LINKS].nextPendingConnection()) is not None:
            socket.setReadBufferSize(MAX_LINK + 1)
            socket.readyRead.connect(partial(self._take, socket))
            self._take(socket)  # it may have come already

    def _take(self, socket: QLocalSocket) -> None:
        if socket.canReadLine():
            link = bytes(socket.readLine().data()).decode("utf-8", "replace").strip()
            self._answer(socket)
            if is_link(link):
                self.link_asked.emit(link)
        elif socket.bytesAvailable() > MAX_LINK:
            socket.deleteLater()

    def _answer(self, socket: QLocalSocket) -> None:
        socket.disconnected.connect(socket.deleteLater)
        socket.write(ANSWER)
        socket.flush()
        self.raise_asked.emit()


def socket_name(folder: Path, page: str = "") -> str:
    """Of the local socket: short, the same for each spelling of the folder, another for each user and page."""
    user = str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    return "hearth-" + hashlib.sha256(f"{user}\n{folder.resolve()}".encode()).hexdigest()[:24] + page

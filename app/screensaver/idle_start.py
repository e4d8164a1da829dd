"""Shows the screensaver when nobody has touched this PC for as long as the settings say."""

import logging
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QProcess

from app.worker.client import WorkerClient
from app.worker.supervisor import hearth
from core.contracts.control import Snapshot
from core.contracts.status import Status

logger = logging.getLogger(__name__)

END_MS = 1000
"""It ends as soon as it is asked to; one that does not is killed."""


def is_due(status: Status, after_s: float) -> bool:
    """Whether the screensaver may be shown now. What is unknown keeps it from nothing, but for the idle time.

    Args:
        after_s: seconds without input; 0: never.
    """
    away = after_s > 0 and status.idle_s is not None and status.idle_s >= after_s
    return away and status.front in (None, "window") and status.mains is not False and not status.locked


class IdleStart(QObject):
    """Starts it once each time that the user goes away, as a process of its own; the next input ends it."""

    def __init__(self, folder: Path, client: WorkerClient, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folder = folder
        self._after_s = 0.0
        self._started = False
        """In this absence: one that something else than the user's return has ended does not come again."""
        self._process = QProcess(self)
        self._process.setProcessChannelMode(QProcess.ProcessChannelMode.ForwardedChannels)
        self._process.errorOccurred.connect(self._failed)
        client.connected.connect(self._connected)
        client.settings.connect(self._set)
        client.status.connect(self._look)

    def close(self) -> None:
        """End the screensaver if it is shown."""
        if self.is_shown:
            self._process.terminate()
            if not self._process.waitForFinished(END_MS):
                self._process.kill()
                self._process.waitForFinished(END_MS)

    @property
    def is_shown(self) -> bool:
        return self._process.state() != QProcess.ProcessState.NotRunning

    def _connected(self, snapshot: Snapshot) -> None:
        self._set(snapshot.settings)
        self._look(snapshot.status)

    def _set(self, settings: dict[str, Any]) -> None:
        minutes = settings.get("screensaver_min", 0)  # a worker of another version tells what it likes
        self._after_s = 60.0 * minutes if isinstance(minutes, int) else 0.0

    def _look(self, status: Status) -> None:
        if status.idle_s is None or status.idle_s < self._after_s:
            self._started = False
        elif is_due(status, self._after_s) and not self._started and not self.is_shown:
            self._started = True
            program, *arguments = hearth(self._folder, "screensaver", "--full-screen")
            self._process.start(program, arguments)
            logger.info("started the screensaver after %.0f s without input", status.idle_s)

    def _failed(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart:
            logger.warning("The screensaver could not be started: %s.", self._process.errorString())

"""Keeps a worker running for the data folder: finds the one that runs, starts one if none does, says why one stopped.

`app.worker.supervision` decides, this does. The worker is started in a session of its own, so that it outlives the app.
"""

import contextlib
import logging
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from app.worker.client import WorkerClient
from app.worker.supervision import Do, Phase, Report, Supervision, exit_reason
from core import consent
from core.contracts import errors
from core.contracts.build import hearth_command
from core.contracts.control import ADDRESS_FILE, Address
from core.contracts.notices import FAULTS_AS_NOTICES, Notice, fault_of, notice
from core.regular_files import empty_regular, open_regular, read_json
from core.version import VERSION

logger = logging.getLogger(__name__)

STDERR_FILE = Path("logs") / "worker-stderr.txt"
STDERR_BYTES = 1_000_000
STDERR_CHECK_MS = 60_000
if sys.platform == "win32":
    DETACHED = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
else:
    DETACHED = 0


def hearth(folder: Path, *words: str) -> list[str]:
    """A command line of Hearth's that concerns a data folder."""
    return hearth_command(*words, "--data-dir", str(folder))


def worker_command(folder: Path) -> list[str]:
    return hearth(folder, "worker", "--join")


def is_elsewhere(folder: Path) -> bool:
    """Whether a folder only leads to the worker of another PC: it has a copy of that one's address, and nobody has
    agreed to a worker of its own."""
    address = read_json(folder / ADDRESS_FILE, Address)
    return address is not None and address.folder not in ("", str(folder)) and not (folder / consent.FILE).exists()


def supervise(folder: Path) -> "Supervisor":
    """The supervisor of a data folder's worker: it looks for one, or starts one, if the user has agreed."""
    supervisor = Supervisor(folder, WorkerClient(folder, VERSION))
    if supervisor.elsewhere or consent.read(folder) is not None:
        supervisor.start()
    return supervisor


class Supervisor(QObject):
    """Does what `Supervision` decides for the worker behind `client`."""

    changed = Signal(object)
    """A `Report`; once a second while one counts down."""
    ended = Signal()
    """The worker is gone because this app, or somebody else, wanted it; or it took too long."""

    def __init__(self, folder: Path, client: WorkerClient, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.folder, self.client = folder, client
        self.process: subprocess.Popen[bytes] | None = None
        self.elsewhere = is_elsewhere(folder)
        """The worker is another PC's: it is neither started here nor ended."""
        self._supervision = Supervision(self.elsewhere)
        self._quit_sent = False
        self._may_run = False
        """A worker that was not asked to end may be there, although the last dial failed: for want of time."""
        self._last_report: Report | None = None
        client.connected.connect(lambda snapshot: self._connected())
        client.disconnected.connect(self._unreachable)
        client.bye.connect(lambda bye: self._goodbye())
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._tick)
        self._stderr_timer = QTimer(self, interval=STDERR_CHECK_MS)
        self._stderr_timer.timeout.connect(self._bound_stderr)

    @property
    def report(self) -> Report:
        return self._supervision.report(time.monotonic())

    def start(self) -> None:
        """Look for the worker, or start one, unless the app quits."""
        if self._supervision.phase is Phase.LEAVING:
            return
        self._may_run = True
        self._do(self._supervision.begin(time.monotonic()))

    def retry(self) -> None:
        self._do(self._supervision.retry(time.monotonic()))

    def restart(self) -> None:
        """Let the worker save and end and start another, as for a setting that it reads at its start only."""
        if self._supervision.restart(time.monotonic()):
            self.client.quit_worker()
            self._do(Do.NOTHING)

    def leave(self) -> None:
        """Ask the worker to save and end; `ended` comes when it did, or after `LEAVE_S`, or at once if it is left as
        it is."""
        if self._supervision.phase is Phase.LEAVING:
            return
        if self.elsewhere or self._supervision.phase is Phase.ENDED:
            self._end()
            return
        if self.client.refused and self.client.pid is not None:
            with contextlib.suppress(OSError):  # it has gone; Windows says that in another way
                os.kill(self.client.pid, signal.SIGTERM)  # of another version: it understands nothing else
        self._ask_to_quit()
        self._leaving(asked=self._quit_sent)

    def close(self) -> None:
        """Do nothing any more; the worker is left as it is."""
        self._supervision.end(time.monotonic())
        self._timer.stop()
        self._stderr_timer.stop()
        self.client.hang_up()

    # events

    def _connected(self) -> None:
        if self._supervision.phase is Phase.LEAVING:
            self._ask_to_quit()
        self._do(self._supervision.connected(time.monotonic()))

    def _unreachable(self, reason: Notice) -> None:
        if self._supervision.phase is Phase.RUNNING:
            logger.warning("%s", reason)
        ours = self._child_is_there()
        self._do(self._supervision.unreachable(time.monotonic(), reason, self.client.refused, ours))

    def _goodbye(self) -> None:
        if self._supervision.phase is not Phase.RESTARTING and not self.elsewhere:
            if self.process is not None and self.process.pid != self.client.pid:
                self.process.terminate()  # it came too late for the folder, which it would find free now
            self._leaving(asked=True)

    def _leaving(self, asked: bool) -> None:
        self._quit_sent = asked
        self._supervision.leave(time.monotonic())
        self._do(Do.NOTHING)

    def _tick(self) -> None:
        now = time.monotonic()
        if self._supervision.phase is Phase.LEAVING:
            met = self.client.is_connected or self.client.is_dialling  # the worker of another app is asked as well
            if not met and not self._child_is_there() and (self._quit_sent or not self._may_run):
                self._end()
            elif self._supervision.due is not None and now >= self._supervision.due:
                if self.process is not None and not self._quit_sent:
                    self.process.terminate()  # it never answered; a kind signal is all that is left
                self._end()
            elif not met and not self._quit_sent:
                self._may_run = False
                self.client.dial()
        else:
            self._child_is_there()
        self._do(self._supervision.tick(time.monotonic()))

    # actions

    def _do(self, action: Do) -> None:
        if action is Do.START:
            self._start_worker()
        elif action is Do.DIAL:
            self.client.dial()
        report = self.report
        if report != self._last_report:
            self._last_report = report
            self.changed.emit(report)
        self._plan_tick()

    def _plan_tick(self) -> None:
        """Wake up when something is due, once a second while counting down, often while a process may end."""
        supervision, now = self._supervision, time.monotonic()
        if supervision.phase is Phase.LEAVING:
            self._timer.start(50)
        elif supervision.due is not None:
            wait = supervision.due - now
            if supervision.phase is Phase.WAITING:
                wait = min(wait, (wait % 1.0) or 1.0)
            self._timer.start(max(1, math.ceil(wait * 1000)))
        else:
            self._timer.stop()

    def _start_worker(self) -> None:
        path = self.folder / STDERR_FILE
        try:
            path.parent.mkdir(exist_ok=True)
            with empty_regular(path, append=True) as stderr:
                self.process = subprocess.Popen(
                    worker_command(self.folder),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    env={**os.environ, **FAULTS_AS_NOTICES},
                    start_new_session=True,  # POSIX
                    creationflags=DETACHED,  # Windows
                )
        except OSError as error:
            fault = notice("worker.not_started", reason=str(error.strerror), file=str(error.filename))
            if not self.folder.is_dir():
                fault = self._gone()
            self._do(self._supervision.exited(time.monotonic(), errors.DataFolderError.exit_code, fault))
            return
        logger.info("started a worker, pid %d", self.process.pid)
        self._stderr_timer.start()

    def _child_is_there(self) -> bool:
        """Whether a worker that this app started runs; notes its end, once."""
        if self.process is None:
            return False
        code = self.process.poll()
        if code is None:
            return True
        self.process = None
        self._stderr_timer.stop()
        fault = self._last_fault()
        logger.info("the worker ended: %s", exit_reason(code, fault))
        if code == 0 and self._supervision.phase is not Phase.RESTARTING:
            self._leaving(asked=True)  # somebody asked it to quit, before this app could hear its goodbye
        else:
            self._supervision.exited(time.monotonic(), code, fault)
        return False

    def _ask_to_quit(self) -> None:
        if self.client.is_connected:
            self._quit_sent = True
            self.client.quit_worker()

    def _end(self) -> None:
        self.close()
        self.ended.emit()

    def _last_fault(self) -> Notice | None:
        try:
            with open_regular(self.folder / STDERR_FILE) as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
                lines = file.read().decode("utf-8", "replace").split("\n")
        except FileNotFoundError:
            # The folder may be there again, as the worker's last checkpoint makes it anew; the consent is not.
            return self._gone() if consent.read(self.folder) is None else None
        except OSError:
            return None
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return fault_of(last) if last else None

    def _gone(self) -> Notice:
        return notice("data_folder.gone", folder=str(self.folder))

    def _bound_stderr(self) -> None:
        """The file is open for appending, so that it can be cut while the worker writes."""
        path = self.folder / STDERR_FILE
        try:
            if path.stat().st_size > STDERR_BYTES:
                os.truncate(path, 0)
        except OSError as error:
            logger.warning("%s cannot be cut: %s", path, error)

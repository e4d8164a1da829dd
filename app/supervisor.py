"""Keeps a worker running for the data folder: finds the one that runs, starts one if none does, says why one stopped.

`Supervision` decides and knows neither clock nor processes; `Supervisor` does what it decided. The worker is started
in a session of its own, so that it outlives the app.
"""

import logging
import math
import os
import signal
import subprocess
import sys
import time
from enum import Enum, auto
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QObject, QTimer, Signal

from app.worker_client import WorkerClient
from core import errors

logger = logging.getLogger(__name__)

FIRST_DELAY_S = 1.0
LAST_DELAY_S = 60.0
HEALTHY_S = 60.0
"""After so long without a fault the next restart is quick again."""
DIAL_EVERY_S = 0.1
SLOW_S = 15.0
"""A worker that was started and does not answer for so long is reported, and asked less often."""
LEAVE_S = 10.0
STDERR_FILE = Path("logs") / "worker-stderr.txt"
STDERR_BYTES = 1_000_000
STDERR_CHECK_MS = 60_000
UNMENDABLE = {
    errors.SettingsError.exit_code,
    errors.ManifestError.exit_code,
    errors.DataFolderError.exit_code,
    errors.PortInUse.exit_code,
}
"""Exit codes of faults that are still there at the next start."""
if sys.platform == "win32":
    DETACHED = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
else:
    DETACHED = 0


class Phase(Enum):
    LOOKING = auto()
    """Dialling a worker that may run already."""
    STARTING = auto()
    """Ours was started and does not answer yet."""
    RUNNING = auto()
    LOST = auto()
    """The connection is gone, perhaps the worker is not."""
    WAITING = auto()
    """It stopped; it is looked for, then started again, after the back-off."""
    FAILED = auto()
    """Somebody has to do something first."""
    LEAVING = auto()
    """It was asked to end."""
    ENDED = auto()


class Do(Enum):
    NOTHING = auto()
    DIAL = auto()
    START = auto()


class Report(NamedTuple):
    """What the window shows about the worker; `sentence` is empty while all is well."""

    phase: Phase
    sentence: str


class Supervision:
    """The decisions: each event returns what to do now, and `due` is the time of the next `tick`, if there is one."""

    def __init__(self) -> None:
        self.phase = Phase.LOOKING
        self.due: float | None = None
        self._reason = ""
        self._delay = FIRST_DELAY_S
        self._since = 0.0

    def begin(self, now: float) -> Do:
        self._enter(Phase.LOOKING, now)
        return Do.DIAL

    def connected(self, now: float) -> Do:
        if self.phase not in (Phase.LEAVING, Phase.ENDED):
            self._enter(Phase.RUNNING, now)
        return Do.NOTHING

    def unreachable(self, now: float, reason: str, refused: bool, ours: bool) -> Do:
        """A dial failed or the connection was lost; `ours`: a worker that this app started is still there."""
        if self.phase in (Phase.LEAVING, Phase.ENDED, Phase.FAILED, Phase.WAITING):
            return Do.NOTHING
        if refused:
            self._enter(Phase.FAILED, now, reason=reason)
        elif self.phase is Phase.RUNNING:
            if now - self._since >= HEALTHY_S:
                self._delay = FIRST_DELAY_S
            self._enter(Phase.LOST, now, now + DIAL_EVERY_S, reason)
        elif ours:
            slow = now - self._since > SLOW_S
            self.due = now + (1.0 if slow else DIAL_EVERY_S)
        elif self.phase is Phase.LOOKING:
            self._enter(Phase.STARTING, now, now + DIAL_EVERY_S)
            return Do.START
        else:
            self._back_off(now, "it stopped unexpectedly")
        return Do.NOTHING

    def exited(self, now: float, code: int, last_line: str) -> Do:
        """The worker that this app started has ended; `code` as in `subprocess`, negative for a signal."""
        if self.phase in (Phase.LEAVING, Phase.ENDED):
            return Do.NOTHING
        if code in UNMENDABLE:
            self._enter(Phase.FAILED, now, reason=last_line or f"The worker cannot run (exit code {code}).")
        else:
            self._back_off(now, exit_reason(code, last_line))
        return Do.NOTHING

    def tick(self, now: float) -> Do:
        """What to do as `due` has come."""
        if self.due is None or now < self.due:
            return Do.NOTHING
        self.due = None
        if self.phase is Phase.WAITING:
            self._enter(Phase.LOOKING, now, reason=self._reason)
        return Do.DIAL if self.phase in (Phase.LOOKING, Phase.STARTING, Phase.LOST) else Do.NOTHING

    def retry(self, now: float) -> Do:
        """Somebody pressed Try again."""
        if self.phase not in (Phase.FAILED, Phase.WAITING):
            return Do.NOTHING
        self._delay = FIRST_DELAY_S
        return self.begin(now)

    def leave(self, now: float) -> None:
        """The end is wanted; nothing is started any more."""
        if self.phase is not Phase.ENDED:
            self._enter(Phase.LEAVING, now, now + LEAVE_S)

    def end(self, now: float) -> None:
        self._enter(Phase.ENDED, now)

    def report(self, now: float) -> Report:
        """The sentence for the window; it counts down while waiting."""
        match self.phase:
            case Phase.WAITING if self.due is not None:
                seconds = max(1, math.ceil(self.due - now))
                return Report(self.phase, f"Worker stopped: {self._reason}. Restarting in {seconds} s.")
            case Phase.FAILED:
                return Report(self.phase, self._reason)
            case Phase.LOST:
                return Report(self.phase, f"{self._reason} Trying to reach it again.")
            case Phase.LOOKING | Phase.STARTING:
                slow = now - self._since > SLOW_S
                return Report(self.phase, "The worker takes long to start." if slow else "The worker is starting.")
            case Phase.LEAVING:
                return Report(self.phase, "Leaving: the worker saves its work.")
            case _:
                return Report(self.phase, "")

    def _enter(self, phase: Phase, now: float, due: float | None = None, reason: str = "") -> None:
        self.phase, self.due, self._reason, self._since = phase, due, reason, now

    def _back_off(self, now: float, reason: str) -> None:
        if self.phase is Phase.RUNNING and now - self._since >= HEALTHY_S:
            self._delay = FIRST_DELAY_S
        self._enter(Phase.WAITING, now, now + self._delay, reason)
        self._delay = min(2 * self._delay, LAST_DELAY_S)


def exit_reason(code: int, last_line: str) -> str:
    """Why a process ended, for the middle of a sentence."""
    if code < 0:
        return f"it was killed (signal {-code})"
    if code == 0:
        return "it ended by itself"
    detail = last_line.rstrip(".")
    return f"it ended with exit code {code} ({detail})" if detail else f"it ended with exit code {code}"


def worker_command(folder: Path) -> list[str]:
    """A packaged app is its own worker; from the sources Python is asked for it."""
    start = [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-m", "core"]
    return [*start, "worker", "--data-dir", str(folder)]


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
        self._supervision = Supervision()
        self._quit_sent = False
        self._last_report: Report | None = None
        client.connected.connect(lambda snapshot: self._connected())
        client.disconnected.connect(self._unreachable)
        client.bye.connect(lambda bye: self._leaving(asked=True))
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._tick)
        self._stderr_timer = QTimer(self, interval=STDERR_CHECK_MS)
        self._stderr_timer.timeout.connect(self._bound_stderr)

    @property
    def report(self) -> Report:
        return self._supervision.report(time.monotonic())

    def start(self) -> None:
        self._do(self._supervision.begin(time.monotonic()))

    def retry(self) -> None:
        self._do(self._supervision.retry(time.monotonic()))

    def leave(self) -> None:
        """Ask the worker to save and end; `ended` comes when it did, or after `LEAVE_S`."""
        if self._supervision.phase in (Phase.LEAVING, Phase.ENDED):
            return
        if self.client.refused and self.client.pid is not None:
            os.kill(self.client.pid, signal.SIGTERM)  # of another version: it understands nothing else
        self._ask_to_quit()
        self._leaving(asked=self._quit_sent)

    # events

    def _connected(self) -> None:
        if self._supervision.phase is Phase.LEAVING:
            self._ask_to_quit()
        self._do(self._supervision.connected(time.monotonic()))

    def _unreachable(self, sentence: str) -> None:
        if self._supervision.phase is Phase.RUNNING:
            logger.warning("%s", sentence)
        ours = self._child_is_there()
        self._do(self._supervision.unreachable(time.monotonic(), sentence, self.client.refused, ours))

    def _leaving(self, asked: bool) -> None:
        self._quit_sent = asked
        self._supervision.leave(time.monotonic())
        self._do(Do.NOTHING)

    def _tick(self) -> None:
        now = time.monotonic()
        if self._supervision.phase is Phase.LEAVING:
            if not self.client.is_connected and not self._child_is_there():
                self._end(now)
            elif self._supervision.due is not None and now >= self._supervision.due:
                if self.process is not None and not self._quit_sent:
                    self.process.terminate()  # it never answered; a kind signal is all that is left
                self._end(now)
            elif not self.client.is_connected and not self._quit_sent:
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
            path.write_bytes(b"")
            with path.open("ab") as stderr:
                self.process = subprocess.Popen(
                    worker_command(self.folder),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    start_new_session=True,  # POSIX
                    creationflags=DETACHED,  # Windows
                )
        except OSError as error:
            reason = f"The worker could not be started: {error.strerror} ({error.filename})."
            self._do(self._supervision.exited(time.monotonic(), errors.DataFolderError.exit_code, reason))
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
        line = self._last_stderr_line()
        logger.info("the worker ended: %s", exit_reason(code, line))
        self._supervision.exited(time.monotonic(), code, line)
        return False

    def _ask_to_quit(self) -> None:
        if self.client.is_connected:
            self._quit_sent = True
            self.client.quit_worker()

    def _end(self, now: float) -> None:
        self._supervision.end(now)
        self._timer.stop()
        self.client.hang_up()
        self.ended.emit()

    def _last_stderr_line(self) -> str:
        try:
            with (self.folder / STDERR_FILE).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
                lines = file.read().decode("utf-8", "replace").split("\n")
        except OSError:
            return ""
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def _bound_stderr(self) -> None:
        """The file is open for appending, so that it can be cut while the worker writes."""
        path = self.folder / STDERR_FILE
        try:
            if path.stat().st_size > STDERR_BYTES:
                os.truncate(path, 0)
        except OSError as error:
            logger.warning("%s cannot be cut: %s", path, error)

"""The app's end of the control socket: signals for what the worker tells, callbacks for what it answers.

All happens in the GUI thread without ever blocking it. What comes from the socket is decoded into the contract's
structs before anybody sees it; a line that does not fit ends the connection with a notice for the user.
"""

import hmac
import logging
import math
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtNetwork import QAbstractSocket, QHostAddress, QNetworkProxy, QTcpSocket
from shiboken6 import isValid

from core.contracts import control as wire
from core.contracts.errors import HearthError, NotRunning, ProtocolError
from core.contracts.notices import Notice, notice
from core.contracts.status import CurvePoint, LogLine, Status

logger = logging.getLogger(__name__)

ADDRESS_BYTES = 4096
"""Read of the file with the worker's address, whatever its size is: the window waits meanwhile."""
HELLO_DEADLINE_S = 5.0
"""From dialling to the first picture; a program of somebody else's on a stale port may never say a word."""
DEADLINE_S = 5.0
SILENCE_S = 10.0
"""After so long without a line the worker is asked for its status, to tell a quiet one from a hung one."""
BURST_S = 0.008
"""Longest time spent on decoding before the window gets its turn again."""
ENDED = notice("worker.ended_connection")
STRANGER = notice("worker.is_another_program")
NOBODY = notice("worker.does_not_answer_here")

Failed = Callable[[HearthError], None]
Each = Callable[[wire.Piece], None] | None


def note(error: HearthError) -> None:
    logger.warning("%s", error)


class _Line(msgspec.Struct, frozen=True):
    """A `Reply` or an `Event`; what it carries is decoded once it is known what it has to be."""

    id: int | None = None
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: wire.ErrorInfo | None = None
    event: Literal["status", "curve", "log", "settings", "bye", "piece"] | None = None
    data: msgspec.Raw = msgspec.Raw(b"null")


def _while_there(callback: Callable[[Any], None]) -> Callable[[Any], None]:
    """The same, but silent once a widget that it belongs to was taken down, as those of the first run are."""

    def call(answer: Any) -> None:
        cells = [cell.cell_contents for cell in getattr(callback, "__closure__", None) or ()]
        owners = [owner for owner in (getattr(callback, "__self__", None), *cells) if isinstance(owner, QObject)]
        if all(map(isValid, owners)):
            callback(answer)

    return call


class _Asked:
    def __init__(self, result: Any, done: Callable[[Any], None], failed: Failed, deadline_s: float, each: Each) -> None:
        self.result, self.done, self.failed = result, _while_there(done), _while_there(failed)
        self.deadline_s, self.each = deadline_s, each and _while_there(each)
        self.wait()

    def wait(self) -> None:
        """The deadline counts from now on."""
        self.until = time.monotonic() + self.deadline_s


EVENTS: dict[str, Any] = {
    "status": Status,
    "curve": CurvePoint,
    "log": LogLine,
    "settings": dict[str, Any],
    "bye": wire.Bye,
    "piece": wire.Piece,
}


class Connection(QObject):
    """One connection to the worker of a data folder.

    `dial` tries once; then either `connected` comes, with the `Snapshot`, or `disconnected`, with the reason. After
    `connected`, `disconnected` comes once, when the connection is gone. Who dials again, and when, is the supervisor's.
    """

    connected = Signal(object)
    shown = Signal(object)
    """The `Snapshot` of another run, of which events come from now on."""
    disconnected = Signal(object)
    """A `Notice` of the reason."""
    status = Signal(object)
    curve = Signal(object)
    log = Signal(object)
    settings = Signal(dict)
    """All of them, after somebody changed some."""
    bye = Signal(object)

    def __init__(
        self,
        folder: Path,
        version: str,
        parent: QObject | None = None,
        name: Literal["app", "screensaver"] = "app",
    ) -> None:
        super().__init__(parent)
        self.folder, self.version, self._name = folder, version, name
        self.is_connected = False
        self.refused = False
        """Whether the last connection ended because the two do not fit together; dialling again would not help."""
        self.pid: int | None = None
        """Of the worker that was last dialled."""
        self._run: str | None = None
        """Id of the run that is shown; None: no connection has told yet which is the first one."""
        self._token = self._challenge = ""
        self._dialling = False
        self._welcomed = False
        self._asked: dict[int, _Asked] = {}
        self._next_id = 0
        self._heard = 0.0
        self._line = msgspec.json.Decoder(_Line)
        self._welcome = msgspec.json.Decoder(wire.Welcome)
        self._events = {name: msgspec.json.Decoder(kind) for name, kind in EVENTS.items()}
        self._socket = QTcpSocket(self)
        self._socket.setProxy(QNetworkProxy(QNetworkProxy.ProxyType.NoProxy))
        self._socket.setReadBufferSize(wire.MAX_LINE + 1)
        self._socket.connected.connect(self._say_hello)
        self._socket.readyRead.connect(self._read)
        # Methods, no lambdas: Qt disconnects them before it deletes the socket, which would call them once more.
        self._socket.disconnected.connect(self._ended)
        self._socket.errorOccurred.connect(self._unreachable)
        self._turn = QTimer(self, singleShot=True, interval=0)
        self._turn.timeout.connect(self._read)
        self._deadline = QTimer(self, singleShot=True)
        """One for all requests: timers of their own, deleted with the answers, crashed PySide now and then."""
        self._deadline.timeout.connect(self._expire)
        self._hello_timer = QTimer(self, singleShot=True, interval=int(HELLO_DEADLINE_S * 1000))
        self._hello_timer.timeout.connect(lambda: self._drop(notice("worker.no_hello", seconds=HELLO_DEADLINE_S)))
        self._silence_timer = QTimer(self, interval=int(SILENCE_S * 1000))
        self._silence_timer.timeout.connect(self._check_silence)

    @property
    def is_dialling(self) -> bool:
        """Whether a worker may answer yet."""
        return self._dialling

    def dial(self) -> None:
        """Read where the worker is and connect; does nothing while a connection is up or on its way."""
        if self._dialling or self.is_connected:
            return
        self._dialling, self._welcomed, self.refused, self.pid = True, False, False, None
        try:
            path = self.folder / wire.ADDRESS_FILE
            if not path.is_file():
                raise FileNotFoundError  # or a pipe, which would hold up the window for ever
            with path.open("rb") as file:
                address = msgspec.json.decode(file.read(ADDRESS_BYTES), type=wire.Address)
        except FileNotFoundError:
            self._drop(notice("worker.not_running"))
            return
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            self._drop(notice("worker.address_unreadable", reason=str(error)))
            return
        self._token, self.pid = address.token, address.pid
        QTimer.singleShot(0, self, self._hello_timer.start)  # what the window does first is not the worker's delay
        self._socket.connectToHost(QHostAddress(QHostAddress.SpecialAddress.LocalHost), address.port)

    def hang_up(self) -> None:
        """End the connection without a word; `disconnected` does not come."""
        self._dialling = self.is_connected = False
        self._close(NotRunning(notice("app.leaving")))

    # requests

    def request(
        self,
        method: str,
        params: msgspec.Struct | None = None,
        result: Any = Any,
        done: Callable[[Any], None] = lambda result: None,
        failed: Failed = note,
        deadline_s: float = DEADLINE_S,
        each: Each = None,
    ) -> int | None:
        """Ask the worker; exactly one of `done` (with a `result`) and `failed` is called, later, in the GUI thread.

        Args:
            deadline_s: for the answer, or for the next piece of it.
            each: called with every piece before that.

        Returns:
            The request's id; None without a connection.
        """
        if not self.is_connected and method != "subscribe":
            refusal = NotRunning(notice("worker.not_connected"))
            QTimer.singleShot(0, self, lambda: failed(refusal))
            return None
        number, self._next_id = self._next_id, self._next_id + 1
        self._asked[number] = _Asked(result, done, failed, deadline_s, each)
        self._watch()
        raw = msgspec.Raw(msgspec.json.encode(params)) if params is not None else msgspec.Raw(b"{}")
        self._send(wire.Request(number, method, raw))
        return number

    def stop(self, number: int) -> None:
        """End a text; neither `done` nor `failed` of it is called any more."""
        if self._asked.pop(number, None):
            self.request("stop", wire.StopParams(number))

    def show_run(self, run: str | None) -> None:
        """From now on events, grids and answers of the model are those of this run, as soon as `shown` has come.

        Args:
            run: its id; None: the first one of the worker's.
        """
        if not self.is_connected:
            self._run = run  # it is asked for as soon as a worker is there
            return
        self.request("subscribe", wire.StatusParams(run), wire.Snapshot, self._subscribed)

    # the connection

    def _send(self, line: msgspec.Struct) -> None:
        self._socket.write(msgspec.json.encode(line) + b"\n")

    def _say_hello(self) -> None:
        self._challenge = secrets.token_hex(16)
        self._send(wire.Hello(wire.PROTOCOL, self._token, self._name, os.getpid(), self._challenge))

    def _read(self) -> None:
        """Take whole lines for at most `BURST_S`, then let the window have its turn."""
        if self._turn.isActive():
            return  # more has come meanwhile: it waits for the same turn, else there would be ever more of them
        self._heard = now = time.monotonic()
        while self._socket.canReadLine():
            line = bytes(self._socket.readLine().data())
            try:
                self._take(line)
            except ProtocolError as error:
                self._drop(error.notice)
            if time.monotonic() - now > BURST_S:
                self._turn.start()
                return
        if self._socket.bytesAvailable() > wire.MAX_LINE:
            self._drop(notice("worker.line_too_long", most=wire.MAX_LINE))

    def _take(self, line: bytes) -> None:
        try:
            if not self._welcomed:
                self._take_welcome(line)
                return
            message = self._line.decode(line)
            if message.event is not None:
                self._take_event(message.event, self._events[message.event].decode(message.data))
            elif message.id is not None:
                self._finish(message.id, message.result, message.error.error() if message.error else None)
            else:
                raise ProtocolError(notice("worker.neither_reply_nor_event"))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ProtocolError(notice("worker.sent_unknown", reason=str(error))) from error

    def _take_welcome(self, line: bytes) -> None:
        welcome = self._welcome.decode(line)
        if welcome.protocol != wire.PROTOCOL and welcome.pid == self.pid:
            self.refused = True
            raise ProtocolError(notice("worker.other_version", worker=welcome.version, app=self.version))
        if welcome.error is not None:
            raise ProtocolError(welcome.error.said)
        if not hmac.compare_digest(welcome.proof.encode(), wire.proof(self._token, self._challenge).encode()):
            raise ProtocolError(STRANGER)
        self._welcomed = True
        self._begin(self._run)

    def _begin(self, run: str | None) -> None:
        """Show the run of last time, if it has not been left since."""

        def failed(error: HearthError) -> None:
            if run is not None and self._dialling:
                self._begin(None)

        self.request("subscribe", wire.StatusParams(run), wire.Snapshot, self._subscribed, failed)

    def _subscribed(self, snapshot: wire.Snapshot) -> None:
        self._run = snapshot.status.run_id
        if self.is_connected:
            self.shown.emit(snapshot)
            return
        self._hello_timer.stop()
        self._dialling, self.is_connected = False, True
        self._silence_timer.start()
        self.connected.emit(snapshot)

    def _take_event(self, name: str, data: Any) -> None:
        if not self.is_connected:
            return  # the snapshot, still on its way, holds it
        if name == "piece":
            asked = self._asked.get(data.request)
            if asked is not None and asked.each is not None:  # else it was stopped
                asked.wait()
                asked.each(data)
            return
        if name == "status":
            self._take_status(data)
            return
        signal: Any = getattr(self, name)
        signal.emit(data)

    def _take_status(self, status: Status) -> None:
        if status.run_id == self._run:
            self.status.emit(status)
        else:  # the one that was shown has been left
            self.show_run(status.run_id)

    def _finish(self, number: int, raw: msgspec.Raw | None = None, error: HearthError | None = None) -> None:
        asked = self._asked.pop(number, None)
        if asked is None:
            return  # its deadline has passed
        if error is not None:
            asked.failed(error)
            return
        try:
            result = msgspec.json.decode(raw or b"null", type=asked.result)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            problem = ProtocolError(notice("worker.sent_unknown", reason=str(fault)))
            asked.failed(problem)
            raise problem from fault
        asked.done(result)

    def _watch(self) -> None:
        """Wake up for the earliest deadline."""
        if self._asked:
            wait = min(asked.until for asked in self._asked.values()) - time.monotonic()
            self._deadline.start(max(0, math.ceil(wait * 1000)))

    def _expire(self) -> None:
        now = time.monotonic()
        for number, asked in list(self._asked.items()):
            if asked.until <= now:
                late = HearthError(notice("worker.answers_too_late", seconds=asked.deadline_s))
                self._finish(number, error=late)
        self._watch()

    def _ask_status(self, failed: Failed) -> None:
        self.request("status", wire.StatusParams(self._run), Status, self.status.emit, failed)

    def _check_silence(self) -> None:
        if time.monotonic() - self._heard >= SILENCE_S:
            hung = notice("worker.hangs", seconds=SILENCE_S + DEADLINE_S)
            self._ask_status(failed=lambda error: self._drop(hung))

    def _ended(self) -> None:
        self._read_rest()
        self._drop(ENDED)

    def _unreachable(self) -> None:
        self._read_rest()
        self._drop(ENDED if self.is_connected else NOBODY)

    def _read_rest(self) -> None:
        """What came before the end counts: a goodbye may wait for the window's turn."""
        while self.is_connected and self._socket.canReadLine():
            self._turn.stop()
            self._read()

    def _drop(self, reason: Notice) -> None:
        """Close whatever there is of a connection and tell once."""
        if not (self._dialling or self.is_connected):
            return
        self._dialling = self.is_connected = False
        self._close(NotRunning(reason))
        self.disconnected.emit(reason)

    def _close(self, reason: HearthError) -> None:
        self._hello_timer.stop()
        self._silence_timer.stop()
        if self._socket.state() != QAbstractSocket.SocketState.UnconnectedState:
            self._socket.abort()
        self._deadline.stop()
        asked, self._asked = self._asked, {}
        for one in asked.values():
            one.failed(reason)

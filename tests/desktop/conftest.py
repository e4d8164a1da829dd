"""Fixtures of the desktop tests: a data folder, and a toy worker that speaks the control socket's contract.

The toy runs in the test's own event loop, so that a test decides what the worker says and when. Tests of processes
use the real worker.
"""

import dataclasses
import gc
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import QEvent
from PySide6.QtNetwork import QHostAddress, QTcpServer, QTcpSocket
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.language import speak
from core.community.credit_history import credit
from core.community.reading import Reader, read_only
from core.contracts import control as wire
from core.contracts.ledger import ListParams, SeriesParams
from core.contracts.notices import plain
from core.contracts.settings import Settings
from core.contracts.status import (
    BenchmarkStatus,
    CurvePoint,
    DeviceStatus,
    ExpertStatus,
    GridStatus,
    LogLine,
    ProcessStatus,
    Status,
    YieldStatus,
)
from core.contracts.trunk_status import TrunkStatus
from tests.swarm.conftest import compute_leaves_time_to_other_tests

__all__ = ["compute_leaves_time_to_other_tests"]

if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # `make test` brings a screen; without one Qt would abort

TOKEN = "0123456789abcdef" * 4


class PatientBot(QtBot):
    """Waits for as long as a busy machine needs, not for 5 s."""

    def waitUntil(self, callback: Callable[[], bool | None], *, timeout: int = 240_000) -> None:
        super().waitUntil(callback, timeout=timeout)

    def waitSignal(self, *arguments: Any, timeout: int = 240_000, **keywords: Any) -> Any:
        return super().waitSignal(*arguments, timeout=timeout, **keywords)


@pytest.fixture(scope="session", autouse=True)
def spoken(qapp: QApplication) -> None:
    """The app's sentences, whichever test comes first."""
    speak("system")


@pytest.fixture(scope="module", autouse=True)
def collected_here() -> Iterator[None]:
    """As in the app (`app.system.garbage`): the threads of a test delete no widgets that others left."""
    gc.disable()
    yield
    gc.collect()
    gc.enable()


@pytest.fixture
def qtbot(qapp: QApplication, request: pytest.FixtureRequest) -> Iterator[QtBot]:
    before = set(qapp.topLevelWidgets())
    yield PatientBot(request)
    # The test's windows and menus: left to the garbage collector they are styled anew for hundreds of tests.
    for widget in set(qapp.topLevelWidgets()) - before:
        widget.deleteLater()
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()


def make_status(**changes: Any) -> Status:
    """A status as a healthy worker sends it; texts stand for notices that are shown as they are."""
    for name in ("reason", "until"):
        if isinstance(changes.get(name), str):
            changes[name] = (plain(changes[name]),)
    if "attention" in changes:
        changes["attention"] = [plain(one) if isinstance(one, str) else one for one in changes["attention"]]
    status = Status(
        version="0.1.0",
        run_id="digits-2ac90b73",
        protocol=wire.PROTOCOL,
        state="contributing",
        reason=(plain("Training runs on 1 thread."),),
        until=(plain("Stops when you pause it."),),
        until_time=None,
        run="digits",
        run_title="Handwritten digits",
        step=4200,
        samples=134_400,
        samples_per_s=1812.5,
        calls_per_s=52.0,
        in_flight=16,
        loss=0.21,
        accuracy=0.961,
        experts=[
            ExpertStatus(f"digits.{layer}.{row}.{column}", 900 + 7 * row, 28_800)
            for layer in range(2)
            for row in range(4)
            for column in range(4)
        ],
        grid=(4, 4),
        layers=2,
        processes=[ProcessStatus("worker", os.getpid(), 61.2)],
        device="CPU",
        threads=1,
        idle_only=False,
        idle_s=3.0,
        idle_source="X11",
        yields=YieldStatus(7, 41.0, 118.0),
        checkpoint_step=4160,
        checkpoint_time=1_760_000_000.0,
        attention=[],
        data_dir="/data",
        devices=[
            DeviceStatus(
                "cpu",
                "Some Processor",
                "cpu",
                True,
                (),
                load=0.48,
                celsius=58.0,
                watts=31.0,
                memory_bytes=16 * 10**9,
                experts=32,
            )
        ],
        time=time.time(),
    )
    return msgspec.structs.replace(status, **changes)


def make_prediction(digit: int = 3, **changes: Any) -> wire.Prediction:
    """An answer that is rather sure of `digit`, given by four experts of each of two layers of 4 x 4."""
    probabilities = [0.009] * 10
    probabilities[digit] = 1.0 - 9 * 0.009
    prediction = wire.Prediction(
        probabilities=probabilities,
        seen=[(row == column) * 1.0 for row in range(8) for column in range(8)],
        experts=[
            wire.Answer(layer, f"digits.{layer}.{cell}.{cell}", weight, 1.4, True)
            for layer in range(2)
            for cell, weight in enumerate([0.46, 0.31, 0.15, 0.08])
        ],
        step=4210,
        accuracy=0.961,
        ms=4.6,
    )
    return msgspec.structs.replace(prediction, **changes)


def _nothing(params: dict[str, Any]) -> dict[str, Any]:
    return {}


def alone(params: dict[str, Any]) -> wire.ErrorInfo:
    """What a worker that knows no others answers."""
    return wire.ErrorInfo("network", plain("This worker was started without a network."))


class ToyWorker:
    """Answers each method by `answers`; a test adds or changes entries, or sends what it likes by `send`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings: dict[str, Any] = dataclasses.asdict(Settings())
        self.token = TOKEN
        """That it knows."""
        self.hellos: list[wire.Hello] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.welcome = wire.Welcome(wire.PROTOCOL, "0.1.0", os.getpid())
        self.answers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "doctor": lambda params: [],
            "subscribe": lambda params: wire.Snapshot(make_status(), self.settings, [CurvePoint(64, 2048, 1, 0.5)]),
            "status": lambda params: make_status(),
            "log": lambda params: [LogLine(time.time(), "info", "worker", "started")],
            "benchmark": lambda params: BenchmarkStatus("digits", "CPU", 2, None, [], None, None, None, None),
            "predict": lambda params: make_prediction(),
            "network": alone,
            "leaderboard": alone,
            "telemetry": alone,
            "trunk": lambda params: TrunkStatus("digits-2ac90b73", "local", []),
            "grid": lambda params: GridStatus(params["layer"], 2, (4, 4), False, []),
            "set_settings": self._set_settings,
        }
        self.tell_of(read_only(folder / "no ledger"))
        self.silent: set[str] = set()
        """Methods that get no answer."""
        self.sockets: list[QTcpSocket] = []
        self._server = QTcpServer()
        self._server.newConnection.connect(self._accept)
        assert self._server.listen(QHostAddress(QHostAddress.SpecialAddress.LocalHost), 0)
        self.write_address()

    def tell_of(self, ledger: Reader) -> None:
        """Answer as a worker with this ledger does."""
        self.answers["totals"] = lambda params: ledger.totals(time.time())
        self.answers["credit"] = lambda params: credit(ledger, {})
        self.answers["series"] = lambda params: ledger.series(msgspec.convert(params, SeriesParams))
        self.answers["sessions"] = lambda params: ledger.sessions(msgspec.convert(params, ListParams))

    def write_address(self, token: str = TOKEN) -> None:
        address = wire.Address(wire.PROTOCOL, self._server.serverPort(), token, self.welcome.pid)
        (self.folder / wire.ADDRESS_FILE).write_bytes(msgspec.json.encode(address))

    def send(self, line: bytes | msgspec.Struct) -> None:
        """To all clients."""
        data = line if isinstance(line, bytes) else msgspec.json.encode(line) + b"\n"
        for socket in self.sockets:
            socket.write(data)

    def tell(self, event: Any, data: Any) -> None:
        self.send(wire.Event(event, data))

    def hang_up(self) -> None:
        for socket in self.sockets:
            socket.abort()
        self.sockets.clear()

    def close(self) -> None:
        self.hang_up()
        self._server.close()

    def methods(self) -> list[str]:
        return [method for method, params in self.asked]

    def _accept(self) -> None:
        while self._server.hasPendingConnections():
            socket = self._server.nextPendingConnection()
            self.sockets.append(socket)
            greeted: list[bool] = []
            socket.readyRead.connect(lambda socket=socket, greeted=greeted: self._read(socket, greeted))

    def _read(self, socket: QTcpSocket, greeted: list[bool]) -> None:
        while socket.canReadLine():
            line = bytes(socket.readLine().data())
            if greeted:
                self._answer(socket, msgspec.json.decode(line, type=wire.Request))
                continue
            greeted.append(True)
            hello = msgspec.json.decode(line, type=wire.Hello)
            self.hellos.append(hello)
            welcome = msgspec.structs.replace(self.welcome, proof=wire.proof(self.token, hello.challenge))
            if hello.token != TOKEN:
                refusal = wire.ErrorInfo("protocol", plain("The token is wrong."))
                welcome = msgspec.structs.replace(welcome, error=refusal)
            socket.write(msgspec.json.encode(welcome) + b"\n")
            if welcome.error is not None:
                socket.disconnectFromHost()

    def _answer(self, socket: QTcpSocket, request: wire.Request) -> None:
        params = msgspec.json.decode(request.params)
        self.asked.append((request.method, params))
        if request.method in self.silent:
            return
        answer: Callable[[dict[str, Any]], Any] = self.answers.get(request.method, _nothing)
        result = answer(params)
        if isinstance(result, wire.ErrorInfo):
            reply = wire.Reply(request.id, error=result)
        else:
            reply = wire.Reply(request.id, result)
        socket.write(msgspec.json.encode(reply) + b"\n")

    def _set_settings(self, params: dict[str, Any]) -> Any:
        try:
            settings = Settings(**self.settings).changed(params["changes"])
        except Exception as error:
            return wire.ErrorInfo("settings", plain(str(error)))
        self.settings = dataclasses.asdict(settings)
        return self.settings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def toy(folder: Path, qapp: Any) -> Iterator[ToyWorker]:
    worker = ToyWorker(folder)
    yield worker
    worker.close()

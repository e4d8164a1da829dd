"""The app's end of the control socket, against a toy worker on a real socket."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
import shiboken6
from PySide6.QtCore import QTimer
from PySide6.QtNetwork import QTcpSocket
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from app.window.view_settings import VIEW_FILE, view_settings
from app.worker import connection as worker_connection
from app.worker.client import WorkerClient
from core.contracts import control as wire
from core.contracts.errors import HearthError, NotRunning, PictureError
from core.contracts.notices import Notice, notice, plain
from core.contracts.status import CurvePoint, ExpertStatus, LogLine, RuleStatus, Status, YieldStatus
from core.control.client import ControlClient
from tests.desktop.conftest import ToyWorker, make_prediction, make_status

PICTURE = wire.PredictParams(2, 2, b"\x00\xff\x00\xff")


@pytest.fixture
def client(folder: Path, qapp: Any) -> Iterator[WorkerClient]:
    client = WorkerClient(folder, "0.1.0")
    yield client
    client.hang_up()


def unexpected(value: object) -> None:
    pytest.fail(f"must not come: {value}")


def connect(qtbot: QtBot, client: WorkerClient) -> wire.Snapshot:
    with qtbot.waitSignal(client.connected) as connected:
        client.dial()
    snapshot: wire.Snapshot = connected.args[0]
    return snapshot


def wait_for_end(qtbot: QtBot, client: WorkerClient, toy: ToyWorker, line: bytes) -> str:
    with qtbot.waitSignal(client.disconnected) as disconnected:
        toy.send(line)
    return str(disconnected.args[0])


def test_greets_and_gets_the_first_picture(qtbot: QtBot, client: WorkerClient, toy: ToyWorker) -> None:
    snapshot = connect(qtbot, client)
    assert (toy.hellos[0].client, toy.hellos[0].pid) == ("app", os.getpid())
    assert toy.methods() == ["subscribe"]
    assert snapshot.status.step == 4200
    assert snapshot.settings["theme"] == "system"
    assert snapshot.curve[0].accuracy == 0.5


def test_a_goodbye_is_heard_though_the_window_has_no_turn_before_the_end(
    qtbot: QtBot, client: WorkerClient, toy: ToyWorker
) -> None:
    connect(qtbot, client)
    client.status.connect(lambda status: time.sleep(2 * worker_connection.BURST_S))  # a window that is slow to show it
    told = list[str]()
    client.bye.connect(lambda bye: told.append(bye.reason))
    for _ in range(3):
        toy.tell("status", make_status())
    toy.tell("bye", wire.Bye("Somebody asked for it."))
    with qtbot.waitSignal(client.disconnected):
        toy.sockets[0].disconnectFromHost()
    assert told == ["Somebody asked for it."]


def test_events_arrive_as_the_contracts_structs(qtbot: QtBot, client: WorkerClient, toy: ToyWorker) -> None:
    connect(qtbot, client)
    events: list[Any] = [
        ("status", make_status(step=4300)),
        ("curve", CurvePoint(128, 4096, 0.7, 0.8)),
        ("log", LogLine(1.0, "warning", "compute", "slow")),
        ("bye", wire.Bye("Somebody asked for it.")),
    ]
    for name, data in events:
        with qtbot.waitSignal(getattr(client, name)) as got:
            toy.tell(name, data)
        assert got.args == [data]


def test_answers_reach_the_one_who_asked(qtbot: QtBot, client: WorkerClient, toy: ToyWorker) -> None:
    connect(qtbot, client)
    answers: list[wire.Prediction] = []
    lines: list[LogLine] = []
    client.predict(PICTURE, answers.append, unexpected)
    client.log_lines(10, lines.extend)
    client.pause(900.0)
    qtbot.waitUntil(lambda: toy.methods()[-1] == "pause" and bool(lines))
    assert answers == [make_prediction()]
    assert lines[0].text == "started"
    assert toy.asked[1] == ("predict", {"width": 2, "height": 2, "pixels": "AP8A/w==", "run": "digits-2ac90b73"})
    assert toy.asked[-1] == ("pause", {"seconds": 900.0})


def test_what_a_widget_asked_that_has_gone_is_dropped(qtbot: QtBot, client: WorkerClient, toy: ToyWorker) -> None:
    connect(qtbot, client)
    field = QLineEdit()
    client.log_lines(3, lambda lines: field.setText(str(lines)))
    client.request("status", None, Status, lambda status: field.setText(status.run), unexpected)
    answers: list[Any] = []
    client.request("status", None, Status, answers.append, unexpected)
    shiboken6.delete(field)
    qtbot.waitUntil(lambda: bool(answers))
    assert client.is_connected


def test_an_error_comes_as_its_class(qtbot: QtBot, client: WorkerClient, toy: ToyWorker) -> None:
    toy.answers["predict"] = lambda params: wire.ErrorInfo("picture", plain("The picture is empty. Draw something."))
    connect(qtbot, client)
    errors: list[HearthError] = []
    client.predict(PICTURE, unexpected, errors.append)
    qtbot.waitUntil(lambda: bool(errors))
    assert isinstance(errors[0], PictureError)
    assert str(errors[0]) == "The picture is empty. Draw something."


def test_a_request_without_an_answer_fails_at_its_deadline(qtbot: QtBot, client: WorkerClient, toy: ToyWorker) -> None:
    toy.silent = {"status"}
    connect(qtbot, client)
    errors: list[HearthError] = []
    client.request("status", result=Status, done=unexpected, failed=errors.append, deadline_s=0.05)
    qtbot.waitUntil(lambda: bool(errors))
    assert errors[0].notice == notice("worker.answers_too_late", seconds=0.05)
    assert client.is_connected
    toy.send(wire.Reply(1, make_status()))  # too late: ignored
    with qtbot.waitSignal(client.status):
        toy.tell("status", make_status())


def test_a_request_without_a_connection_fails(qtbot: QtBot, client: WorkerClient) -> None:
    errors: list[HearthError] = []
    client.pause(None, errors.append)
    qtbot.waitUntil(lambda: bool(errors))
    assert "not connected" in str(errors[0])


def test_a_lost_connection_fails_all_requests_and_tells_once(
    qtbot: QtBot, client: WorkerClient, toy: ToyWorker
) -> None:
    toy.silent = {"predict"}
    connect(qtbot, client)
    sentences: list[str] = []
    errors: list[HearthError] = []
    client.disconnected.connect(sentences.append)
    client.predict(PICTURE, unexpected, errors.append)
    qtbot.waitUntil(lambda: "predict" in toy.methods())
    toy.hang_up()
    qtbot.waitUntil(lambda: bool(sentences))
    assert len(sentences) == len(errors) == 1
    assert not client.is_connected
    connect(qtbot, client)
    assert len(sentences) == 1


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense\n",
        b"[]\n",
        b"{}\n",
        b'{"event": "explode", "data": {}}\n',
        b'{"event": "status", "data": {"version": 3}}\n',
        b'{"event": "curve", "data": [1, 2, "x", 4]}\n',
        b'{"event": "log", "data": null}\n',
        b'{"id": "x"}\n',
        b"\xff\xfe\n",
        b"\n",
        b'{"event": "log", "data": {"time": 1, "level": "info", "part": "worker", "text": "\xff"}}\n',
        b"[" * 100_000 + b"\n",
        b'{"event": "log", "data": ' + b"[" * 100_000 + b"\n",
    ],
)
def test_a_malformed_line_ends_the_connection(qtbot: QtBot, client: WorkerClient, toy: ToyWorker, line: bytes) -> None:
    connect(qtbot, client)
    assert "sent" in wait_for_end(qtbot, client, toy, line)


@pytest.mark.parametrize(
    "change",
    [
        {"grid": (0, 4)},
        {"layers": -1},
        {"experts": [ExpertStatus("digits", 1, 1)]},
        {"time": 1e300},
        {"time": -1e18},
        {"reason": (Notice("plain", {"text": "x" * 100_000}),)},
        {"why": [RuleStatus("battery", plain("88%"), plain("60%"))] * 2000},
        {"yields": YieldStatus(1, 1.0, 1.0, [1.0] * 50_000)},
    ],
)
def test_a_status_that_cannot_be_ends_the_connection(
    qtbot: QtBot, client: WorkerClient, toy: ToyWorker, change: dict[str, Any]
) -> None:
    connect(qtbot, client)
    line = msgspec.json.encode(wire.Event("status", make_status(**change))) + b"\n"
    assert "something unknown" in wait_for_end(qtbot, client, toy, line)


def test_a_malformed_answer_fails_the_request_and_ends_the_connection(
    qtbot: QtBot, client: WorkerClient, toy: ToyWorker
) -> None:
    toy.answers["predict"] = lambda params: {"probabilities": "none"}
    connect(qtbot, client)
    errors: list[HearthError] = []
    with qtbot.waitSignal(client.disconnected):
        client.predict(PICTURE, unexpected, errors.append)
    assert "something unknown" in str(errors[0])


def test_a_line_over_the_limit_ends_the_connection(qtbot: QtBot, client: WorkerClient, toy: ToyWorker) -> None:
    connect(qtbot, client)
    assert "over the limit" in wait_for_end(qtbot, client, toy, b"x" * (wire.MAX_LINE + 2))


def test_a_worker_of_another_version_is_refused(qtbot: QtBot, client: WorkerClient, toy: ToyWorker) -> None:
    toy.welcome = wire.Welcome(wire.PROTOCOL + 1, "9.0.0", os.getpid())
    with qtbot.waitSignal(client.disconnected) as disconnected:
        client.dial()
    assert disconnected.args == [notice("worker.other_version", worker="9.0.0", app="0.1.0")]
    assert client.refused


def test_a_stranger_on_the_port_of_a_killed_worker_is_no_worker(
    qtbot: QtBot, client: WorkerClient, toy: ToyWorker
) -> None:
    toy.token = "f" * 64
    with qtbot.waitSignal(client.disconnected) as disconnected:
        client.dial()
    assert disconnected.args == [notice("worker.is_another_program")]
    assert not client.refused and toy.methods() == []
    with ThreadPoolExecutor() as threads:
        command_line = threads.submit(ControlClient, toy.folder)
        qtbot.waitUntil(command_line.done)
        assert isinstance(command_line.exception(), NotRunning)


@pytest.mark.parametrize("pid", [-1, 0, 1])
def test_a_stranger_names_no_process_that_is_ended(
    qtbot: QtBot, client: WorkerClient, toy: ToyWorker, pid: int
) -> None:
    """Whoever speaks another version is sent a signal at the end; to -1 it would end all that the user runs."""
    toy.welcome = wire.Welcome(wire.PROTOCOL + 1, "9.0.0", pid)
    toy.token = "f" * 64
    with qtbot.waitSignal(client.disconnected):
        client.dial()
    assert not client.refused and client.pid == os.getpid()


def test_a_wrong_token_is_told_by_the_worker(qtbot: QtBot, client: WorkerClient, toy: ToyWorker) -> None:
    toy.write_address(token="f" * 64)
    with qtbot.waitSignal(client.disconnected) as disconnected:
        client.dial()
    assert disconnected.args == [plain("The token is wrong.")]
    assert not client.refused  # perhaps another folder's worker on a port that was ours


@pytest.mark.parametrize("content", [b"", b"{", b'{"protocol": 1, "port": 1, "token": "short", "pid": 1}', b"\xff"])
def test_an_unreadable_address_is_told(qtbot: QtBot, client: WorkerClient, folder: Path, content: bytes) -> None:
    (folder / wire.ADDRESS_FILE).write_bytes(content)
    with qtbot.waitSignal(client.disconnected) as disconnected:
        client.dial()
    assert disconnected.args[0].code == "worker.address_unreadable"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes in folders there")
def test_a_pipe_in_the_place_of_the_address_holds_up_no_window(
    qtbot: QtBot, client: WorkerClient, folder: Path
) -> None:
    os.mkfifo(folder / wire.ADDRESS_FILE)
    with qtbot.waitSignal(client.disconnected) as disconnected:
        client.dial()
    assert disconnected.args == [notice("worker.not_running")]
    with pytest.raises(NotRunning):
        ControlClient(folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes in folders there")
def test_a_pipe_in_the_place_of_the_views_file_holds_up_no_window(folder: Path) -> None:
    os.mkfifo(folder / VIEW_FILE)
    view = view_settings(folder)
    assert view.value("theme") is None
    view.setValue("theme", "dark")
    view.sync()
    assert "dark" in (folder / VIEW_FILE).read_text()


def test_a_stale_address_is_told(qtbot: QtBot, client: WorkerClient, toy: ToyWorker) -> None:
    toy.close()
    with qtbot.waitSignal(client.disconnected) as disconnected:
        client.dial()
    assert disconnected.args[0].code == "worker.does_not_answer_here"


def test_what_the_window_does_before_its_first_turn_is_not_the_workers_delay(
    qtbot: QtBot, client: WorkerClient, toy: ToyWorker
) -> None:
    client._hello_timer.setInterval(2000)
    with qtbot.waitSignal(client.connected):
        client.dial()
        time.sleep(2.1)  # a slow PC builds its pages


def test_a_stranger_on_the_port_that_says_nothing_is_left(
    qtbot: QtBot, client: WorkerClient, toy: ToyWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToyWorker, "_read", lambda self, socket, greeted: None)
    client._hello_timer.setInterval(50)
    with qtbot.waitSignal(client.disconnected) as disconnected:
        client.dial()
    assert disconnected.args[0].code == "worker.no_hello"


def test_a_hung_worker_is_noticed(
    qtbot: QtBot, client: WorkerClient, toy: ToyWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy.silent = {"status"}
    monkeypatch.setattr(worker_connection, "SILENCE_S", 0.0)
    monkeypatch.setattr(worker_connection, "DEADLINE_S", 0.05)
    client._silence_timer.setInterval(10)
    connect(qtbot, client)
    qtbot.waitUntil(lambda: not client.is_connected)
    assert "status" in toy.methods()


def test_a_quiet_worker_is_not_left(
    qtbot: QtBot, client: WorkerClient, toy: ToyWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_connection, "SILENCE_S", 0.0)
    client._silence_timer.setInterval(10)
    connect(qtbot, client)
    qtbot.waitUntil(lambda: toy.methods().count("status") >= 3)
    assert client.is_connected


def test_a_flood_leaves_the_window_its_turn(
    qtbot: QtBot, client: WorkerClient, toy: ToyWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_connection, "BURST_S", 0.0)  # each line is over the time
    connect(qtbot, client)
    texts: list[str] = []
    turns: list[int] = []
    client.log.connect(lambda line: texts.append(line.text))
    client.log.connect(lambda line: QTimer.singleShot(0, lambda: turns.append(len(texts))))
    line = msgspec.json.encode(wire.Event("log", LogLine(1.0, "info", "worker", "x" * 100))) + b"\n"
    toy.send(line * 1000)
    qtbot.waitUntil(lambda: len(turns) == 1000)
    assert len(texts) == 1000
    assert len(set(turns)) > 500  # what the window had to do was done in between


def test_a_flood_that_goes_on_leaves_the_window_as_many_turns(
    qtbot: QtBot, client: WorkerClient, toy: ToyWorker
) -> None:
    """The more comes while lines wait, the more of them were taken in each turn, until the window had none."""
    connect(qtbot, client)
    texts: list[str] = []
    turns: list[int] = []
    line = msgspec.json.encode(wire.Event("log", LogLine(1.0, "info", "worker", "x" * 5000))) + b"\n"

    def take(line: LogLine) -> None:
        texts.append(line.text)
        end = time.perf_counter() + worker_connection.BURST_S / 4
        while time.perf_counter() < end:
            pass

    def turn() -> None:
        turns.append(len(texts))
        if len(turns) <= 40:
            toy.send(line * 10)

    client.log.connect(take)
    window = QTimer(interval=0)
    window.timeout.connect(turn)
    window.start()
    qtbot.waitUntil(lambda: len(texts) == 400)
    assert max(after - before for before, after in pairwise(turns)) <= 10


def test_dialling_twice_makes_one_connection(qtbot: QtBot, client: WorkerClient, toy: ToyWorker) -> None:
    client.dial()
    connect(qtbot, client)
    client.dial()
    with qtbot.waitSignal(client.status):
        toy.tell("status", make_status())
    assert len([socket for socket in toy.sockets if socket.state() == QTcpSocket.SocketState.ConnectedState]) == 1

"""One app for each data folder."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtNetwork import QLocalSocket
from pytestqt.qtbot import QtBot

from app.system.single_instance import LINKS, Instance, socket_name
from core.contracts.errors import DataFolderError


def second_app(folder: Path, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "app", "--data-dir", str(folder), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_first_gets_the_folder_and_the_second_does_not(folder: Path, qapp: Any) -> None:
    first, second = Instance(folder), Instance(folder)
    assert first.acquire()
    assert not second.acquire()
    first.release()
    assert second.acquire()
    second.release()


def test_two_folders_have_one_each(tmp_path: Path, qapp: Any) -> None:
    apps = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        apps.append(Instance(tmp_path / name))
        assert apps[-1].acquire()
        apps[-1].listen()
    for app in apps:
        app.release()


def test_a_second_app_raises_the_first_and_ends(qtbot: QtBot, folder: Path) -> None:
    first = Instance(folder)
    assert first.acquire()
    first.listen()
    try:
        with qtbot.waitSignal(first.raise_asked):
            second = second_app(folder)
        out, errors = second.communicate(timeout=60)
        assert second.returncode == 0
        assert "open already" in out
        assert errors == ""
    finally:
        first.release()


def test_a_second_app_hands_its_link_to_the_first(qtbot: QtBot, folder: Path) -> None:
    link = f"hearth://join/pictures-00c0ffee/{'ab' * 32}/{'cd' * 32}@192.168.1.7:4401"
    first = Instance(folder)
    assert first.acquire()
    first.listen()
    try:
        with qtbot.waitSignal(first.link_asked) as asked:
            second = second_app(folder, link)
        assert asked.args == [link]
        assert second.communicate(timeout=60)[1] == "" and second.returncode == 0
        wrong = second_app(folder, "https://example.org")
        assert "is no link to a run" in wrong.communicate(timeout=60)[1] and wrong.returncode == 2
    finally:
        first.release()


@pytest.mark.parametrize("sent", [b"x" * 10_000, b"/etc/passwd.toml\n", b"\xff\xfe\n"])
def test_what_is_no_link_is_not_shown(qtbot: QtBot, folder: Path, sent: bytes) -> None:
    first = Instance(folder)
    assert first.acquire()
    first.listen()
    came: list[str] = []
    first.link_asked.connect(came.append)
    socket = QLocalSocket()
    try:
        socket.connectToServer(socket_name(folder, LINKS))
        assert socket.waitForConnected(5000)
        socket.write(sent)
        gone = socket.LocalSocketState.UnconnectedState
        qtbot.waitUntil(lambda: socket.state() == gone or socket.bytesAvailable() > 0)
        assert came == []
    finally:
        socket.abort()
        first.release()


def first_app(folder: Path, *, after_s: float = 0.0) -> "subprocess.Popen[bytes]":
    """Holds the folder, listens some time later, and says "raised" when it was asked for its window."""
    program = (
        "import sys, time, pathlib\n"
        "from PySide6.QtCore import QCoreApplication\n"
        "from app.system.single_instance import Instance\n"
        "app = QCoreApplication([])\n"
        "instance = Instance(pathlib.Path(sys.argv[1]))\n"
        "assert instance.acquire()\n"
        "instance.raise_asked.connect(lambda: print('raised', flush=True))\n"
        "print('holds', flush=True)\n"
        "time.sleep(float(sys.argv[2]))\n"
        "instance.listen()\n"
        "print('listens', flush=True)\n"
        "app.exec()\n"
    )
    first = subprocess.Popen([sys.executable, "-c", program, str(folder), str(after_s)], stdout=subprocess.PIPE)
    assert said(first) == "holds"
    return first


def said(app: "subprocess.Popen[bytes]") -> str:
    assert app.stdout is not None
    return app.stdout.readline().decode().strip()


def killed(app: "subprocess.Popen[bytes]") -> None:
    app.kill()
    app.communicate()


def test_a_first_app_that_has_just_been_started_is_waited_for(folder: Path) -> None:
    first = first_app(folder, after_s=12.0)  # longer than an app that listens may take to answer
    try:
        seconds = [second_app(folder) for _ in range(2)]
        assert [app.communicate(timeout=60)[1] for app in seconds] == ["", ""]
        assert [app.returncode for app in seconds] == [0, 0]
        assert [said(first) for _ in range(3)] == ["listens", "raised", "raised"]
    finally:
        killed(first)


def test_who_starts_while_the_first_app_ends_is_the_first(folder: Path, qapp: Any) -> None:
    ending, second = first_app(folder, after_s=600.0), Instance(folder)
    assert not second.acquire()
    with ThreadPoolExecutor() as threads:
        answer = threads.submit(second.raise_first)
        killed(ending)
        assert answer.result(60) == "gone"
    assert not Instance(folder).acquire()
    second.release()


@pytest.mark.skipif(sys.platform == "win32", reason="no signal stops a process there")
def test_a_first_app_that_is_frozen_or_never_listens_is_told(tmp_path: Path) -> None:
    mute, frozen = tmp_path / "mute", tmp_path / "frozen"
    for folder in (mute, frozen):
        folder.mkdir()
    firsts = [first_app(mute, after_s=600.0), first_app(frozen)]
    try:
        assert said(firsts[1]) == "listens"
        firsts[1].send_signal(signal.SIGSTOP)
        for second in [second_app(mute), second_app(frozen)]:
            out, errors = second.communicate(timeout=240)
            assert (second.returncode, out) == (4, "")
            assert "does not answer" in errors
    finally:
        for first in firsts:
            killed(first)


def test_the_socket_of_a_killed_app_is_no_obstacle(qtbot: QtBot, folder: Path) -> None:
    before = first_app(folder)
    assert said(before) == "listens"
    killed(before)
    first = Instance(folder)
    assert first.acquire()
    first.listen()
    with qtbot.waitSignal(first.raise_asked):
        second = second_app(folder)
    assert second.communicate(timeout=60)[1] == ""
    assert second.returncode == 0
    first.release()


@pytest.mark.parametrize("folder", [Path("/proc/hearth"), Path("/dev/null/hearth")])
def test_a_folder_that_cannot_be_made_is_a_sentence(folder: Path) -> None:
    app = second_app(folder)
    _, errors = app.communicate(timeout=60)
    assert app.returncode == DataFolderError.exit_code
    assert errors.startswith(f"hearth: The data folder {folder} cannot be")
    assert "--data-dir" in errors

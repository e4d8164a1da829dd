"""One app for each data folder."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.instance import Instance
from core.errors import DataFolderError


def second_app(folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "app", "--data-dir", str(folder)],
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
        with qtbot.waitSignal(first.raise_asked, timeout=20_000):
            second = second_app(folder)
        out, errors = second.communicate(timeout=20)
        assert second.returncode == 0
        assert "open already" in out
        assert errors == ""
    finally:
        first.release()


def test_a_first_app_that_does_not_answer_is_told(folder: Path, qapp: Any) -> None:
    first = Instance(folder)
    assert first.acquire()
    try:
        second = second_app(folder)
        _, errors = second.communicate(timeout=20)
        assert second.returncode == 4
        assert "does not answer" in errors
    finally:
        first.release()


def test_the_socket_of_a_killed_app_is_no_obstacle(qtbot: QtBot, folder: Path) -> None:
    killed = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, pathlib\n"
            "from PySide6.QtCore import QCoreApplication\n"
            "from app.instance import Instance\n"
            "app = QCoreApplication([])\n"
            "instance = Instance(pathlib.Path(sys.argv[1]))\n"
            "assert instance.acquire()\n"
            "instance.listen()\n"
            "print('ready', flush=True)\n"
            "app.exec()\n",
            str(folder),
        ],
        stdout=subprocess.PIPE,
    )
    assert killed.stdout is not None
    assert killed.stdout.readline() == b"ready\n"
    killed.kill()
    killed.communicate()
    first = Instance(folder)
    assert first.acquire()
    first.listen()
    other = Instance(folder)
    with qtbot.waitSignal(first.raise_asked):
        assert other.raise_first()
    first.release()


@pytest.mark.parametrize("folder", [Path("/proc/hearth"), Path("/dev/null/hearth")])
def test_a_folder_that_cannot_be_made_is_a_sentence(folder: Path) -> None:
    app = second_app(folder)
    _, errors = app.communicate(timeout=20)
    assert app.returncode == DataFolderError.exit_code
    assert errors.startswith(f"hearth: The data folder {folder} cannot be")
    assert "--data-dir" in errors

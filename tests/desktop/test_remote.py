"""Another PC's worker, looked after from here: a folder with a copy of its address, and its port forwarded as by `ssh
-L`. The commands and the app do as with a worker of this PC, but never start one, and leave it when they end."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from pytestqt.qtbot import QtBot

from app.desktop import Desktop
from app.pages.settings.settings_page import CONSENT, IDENTITY
from app.system.single_instance import Instance
from app.worker.supervision import Phase
from app.worker.supervisor import is_elsewhere, supervise
from core import consent
from core.contracts.control import ADDRESS_FILE, Address
from core.contracts.errors import NotRunning
from tests.terminals import Terminal
from tests.virtual_screen import started
from tests.workers import ROOT, RunningWorker, agreed, hearth, start_paused, worker


@contextlib.contextmanager
def forwarded(there: Path, here: Path) -> Iterator[None]:
    """While entered, what the address in `here` names leads to the worker of `there`."""
    address = msgspec.json.decode((there / ADDRESS_FILE).read_bytes(), type=Address)
    command = [sys.executable, "-m", "tests.forwarder", str(address.port)]
    with started(command, stdout=subprocess.PIPE, cwd=ROOT) as forwarder:
        assert forwarder.stdout is not None
        with forwarder.stdout as told:
            port = int(told.readline())
            here.mkdir(exist_ok=True)
            (here / ADDRESS_FILE).write_bytes(msgspec.json.encode(msgspec.structs.replace(address, port=port)))
            yield


@pytest.fixture
def other(tmp_path: Path) -> Iterator[RunningWorker]:
    """The worker of the other PC; it is paused, and so starts no compute."""
    folder = tmp_path / "other"
    agreed(folder)
    start_paused(folder)
    with worker(folder) as running:
        yield running


def test_commands_reach_it_and_tell_when_the_way_is_gone(other: RunningWorker, tmp_path: Path) -> None:
    here = tmp_path / "attic"
    with forwarded(other.folder, here):
        assert is_elsewhere(here) and not is_elsewhere(other.folder)
        assert hearth(here, "status").stdout.startswith("State    Paused")
        assert "Paused for 15 min" in hearth(here, "pause", "--for", "15m").stdout
        assert "You paused" in hearth(other.folder, "status").stdout
        assert hearth(here, "top", "--once").stdout.startswith("Hearth  Paused")
        assert hearth(here, "stats").returncode == 0
    gone = hearth(here, "top", "--once")
    assert gone.returncode == NotRunning.exit_code and str(here) in gone.stderr


def test_top_comes_back_when_the_way_does(other: RunningWorker, tmp_path: Path) -> None:
    here = tmp_path / "attic"
    here.mkdir()
    top = Terminal(here, "top")
    try:
        top.until("As soon as a worker")
        with forwarded(other.folder, here):
            top.until("Paused")
            top.until("Done")
        top.until("As soon as a worker")
        with forwarded(other.folder, here):
            top.until("Done")
        top.type("q")
        assert top.end() == 0
    finally:
        top.close()


@pytest.fixture
def app(qtbot: QtBot, other: RunningWorker, tmp_path: Path) -> Iterator[tuple[Desktop, contextlib.ExitStack]]:
    """The app in the folder of the other PC, and what forwards to it."""
    here, way = tmp_path / "attic", contextlib.ExitStack()
    way.enter_context(forwarded(other.folder, here))
    instance = Instance(here)
    assert instance.acquire()
    desktop = Desktop(supervise(here), instance, time.monotonic())
    yield desktop, way
    desktop.close()
    instance.release()
    way.close()
    desktop.window.may_close = True
    desktop.window.close()
    assert desktop.supervisor.process is None, "a worker was started here"


def test_the_app_shows_it_and_leaves_it_as_it_is(
    qtbot: QtBot, app: tuple[Desktop, contextlib.ExitStack], other: RunningWorker, tmp_path: Path
) -> None:
    desktop, way = app
    qtbot.waitUntil(lambda: desktop.client.is_connected)
    assert desktop.first_run is None and consent.read(desktop.folder) is None, "it was given there"
    assert desktop.window.windowTitle() == "Hearth: attic"
    page = desktop.settings_page
    assert not {IDENTITY, CONSENT} & {*page.sections} and page.consent.isHidden(), "they are the other PC's"
    qtbot.waitUntil(lambda: desktop.tray.icon.toolTip().startswith("attic: Paused"))
    assert not desktop.settings_page.words.isEnabled(), "this folder has no key"
    way.close()
    qtbot.waitUntil(lambda: desktop.supervisor.report.phase is Phase.WAITING)
    assert "check the forwarding" in str(desktop.supervisor.report.notice)
    with forwarded(other.folder, desktop.folder):
        desktop.actions.retry.emit()
        qtbot.waitUntil(lambda: desktop.client.is_connected)
        desktop.settings_page.restart_asked.emit()
        assert "Quit Hearth on the other PC" in desktop.window.note._label.text()
        with qtbot.waitSignal(desktop.supervisor.ended):
            desktop.actions.quit.emit()
    assert hearth(other.folder, "status").stdout.startswith("State    Paused"), "it runs on"

"""Trust: bytes by kind from a real ledger, the build, the licences; without a worker, and where one gets there."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from app import program_files
from app.actions import Actions
from app.background import in_background
from app.pages.network.network_page import NetworkPage
from app.pages.settings.settings_page import SettingsPage
from app.pages.trust_page import NOTHING, TrustPage
from app.theme import theme
from app.window.main_window import MainWindow
from app.worker.client import WorkerClient
from core.community.ledger import Ledger
from core.community.reading import read_only
from core.contracts import build
from core.contracts.control import ErrorInfo
from core.contracts.ledger import Amounts
from core.contracts.notices import plain
from tests.desktop.conftest import ToyWorker, make_status
from tests.desktop.test_widgets import SIZES, misfits


@pytest.fixture
def opened(qtbot: QtBot, toy: ToyWorker, folder: Path) -> Iterator[tuple[MainWindow, TrustPage]]:
    """The window with the pages that lead to it, and the page itself."""
    client, actions = WorkerClient(folder, "0.1.0"), Actions()
    client.dial()
    qtbot.waitUntil(lambda: client.is_connected)
    page = TrustPage(client)
    window = MainWindow([SettingsPage(client, actions), NetworkPage(client, actions), page], actions)
    qtbot.addWidget(window)
    window.show()
    window.set_connected(True)
    window.update_status(make_status(version="0.1.7"))
    yield window, page
    window.may_close = True
    client.hang_up()


def texts(page: TrustPage) -> list[str]:
    return [label.text() for label in page.findChildren(QLabel) if label.isVisible()]


def moved(folder: Path) -> None:
    """Let a ledger tell of traffic, also of a kind that this app does not know."""
    ledger = Ledger(folder)
    for kind, sent in (("expert", 4_200_000), ("dht", 38_000), ("blob", 500), ("file", 200), ("novel", 900)):
        ledger.add("digits", f"network.{kind}", Amounts(bytes_in=2 * sent, bytes_out=sent))
    ledger.close()


def test_it_tells_bytes_by_kind_and_to_whom(
    qtbot: QtBot, toy: ToyWorker, folder: Path, opened: tuple[MainWindow, TrustPage]
) -> None:
    window, page = opened
    window.open_page("trust")
    qtbot.waitUntil(lambda: NOTHING in texts(page))
    moved(folder)
    toy.tell_of(read_only(folder))
    page.look()
    qtbot.waitUntil(lambda: page.traffic.rows["expert"][0].text() == "4.2 MB")
    qtbot.waitUntil(lambda: "novel" in texts(page))  # a row that is new is laid out before it is seen
    shown = texts(page)
    for words in (
        "8.4 MB",
        "38.0 kB",
        "Numbers and messages, no code",
        "Tensors: what experts are given, what they answer, gradients. To: peers that train with you.",
        "novel",
        "From a newer version of the worker",
    ):
        assert any(text.startswith(words) for text in shown), words
    assert page.traffic.rows["dht"][1].accessibleName() == "Directory of experts, received: 76.0 kB"
    assert page.traffic.rows["file"][0].text() == "700 B", "version 0.1.0 called it blob"
    assert page.traffic._figures[2].accessibleName() == "Sent in total: 4.2 MB"
    assert "Hearth 0.1.7" in shown
    for size in SIZES:
        window.resize(*size)
        qtbot.waitUntil(lambda: misfits(page) == [])


def test_both_pages_lead_to_it_and_back_and_the_sidebar_does_not_list_it(
    qtbot: QtBot, opened: tuple[MainWindow, TrustPage]
) -> None:
    window, page = opened
    assert len(window.sidebar.buttons) == 2
    for number, name in enumerate(("settings", "network")):
        window.open_page(name)
        from_here = window.current_page()
        assert isinstance(from_here, SettingsPage | NetworkPage)
        QTest.keyClick(from_here.trust, Qt.Key.Key_Space)
        assert window.current_page() is page and window.sidebar.buttons[number].isChecked()
        QTest.mouseClick(window.sidebar.buttons[number], Qt.MouseButton.LeftButton)
        assert window.current_page() is from_here


def test_the_build_and_the_licences_are_read_beside_the_window(
    qtbot: QtBot, opened: tuple[MainWindow, TrustPage]
) -> None:
    window, page = opened
    assert page.licences.model.rowCount() == 0
    window.open_page("trust")
    qtbot.waitUntil(lambda: page.licences.model.rowCount() > 10)
    assert program_files.digest() in texts(page)
    licences = {one.name: one.licence for one in page.licences.model.shown}
    assert licences["msgspec"] == "BSD-3-Clause" and "pytest" not in licences and "hearth" not in licences


def test_files_that_cannot_be_read_and_a_worker_that_is_gone_end_in_a_sentence(
    qtbot: QtBot, toy: ToyWorker, folder: Path, opened: tuple[MainWindow, TrustPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    window, page = opened
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(build, "FOLDER", folder / "gone")
    build.this_build.cache_clear()
    toy.answers["totals"] = lambda params: ErrorInfo("data_folder", plain("The ledger cannot be read."))
    window.open_page("trust")
    qtbot.waitUntil(lambda: page.notice.isVisible())
    assert "The ledger cannot be read. The page asks again in 10 s." in texts(page)
    qtbot.waitUntil(lambda: any("could not be read: No such file" in text for text in texts(page)))
    window.set_connected(False, "Worker stopped, restarting in 4 s")
    assert "Worker stopped, restarting in 4 s." in texts(page)


def test_the_build_follows_every_file_and_no_cache(tmp_path: Path) -> None:
    for part in program_files.PARTS:
        (tmp_path / part / "__pycache__").mkdir(parents=True)
        (tmp_path / part / "one.py").write_text("1")
    first = program_files.digest(tmp_path)
    (tmp_path / "app" / "__pycache__" / "one.pyc").write_text("2")
    assert program_files.digest(tmp_path) == first and len(first) == program_files.SHOWN
    (tmp_path / "core" / "one.py").write_text("2")
    changed = program_files.digest(tmp_path)
    (tmp_path / "core" / "one.py").rename(tmp_path / "core" / "two.py")
    assert len({first, changed, program_files.digest(tmp_path)}) == 3


@pytest.fixture(autouse=True)
def light() -> None:
    theme()


def test_a_page_that_is_gone_is_told_nothing(qapp: QApplication) -> None:
    class Gone(QObject):
        read = Signal(bool)

    gone, go_on = Gone(), threading.Event()
    in_background("a page's reading", lambda: go_on.wait(60), gone.read.emit)
    reading = next(thread for thread in threading.enumerate() if thread.name == "a page's reading")
    delete(gone)
    go_on.set()
    reading.join(60)  # an exception there would fail this test
    assert not reading.is_alive()

"""What *Settings* does with the data and with updates: by processes of their own, with their sentences."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.pages.settings import data_card, offer_card
from app.pages.settings.data_card import DataCard
from app.pages.settings.update_card import UpdateCard
from app.theme import theme
from app.widgets.basics import Label, Notice
from core import key_file
from core.store import moved
from core.store.data_folder import data_path
from core.store.sizes import KINDS
from core.update.installation import ROOT, VERSION
from tests.release_feed import Feed, release_feed, start

WAIT_MS = 60_000


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data folder in which no worker runs."""
    folder = tmp_path / "data"
    folder.mkdir()
    key_file.ensure(folder)
    return folder


@pytest.fixture
def card(qtbot: QtBot, home: Path) -> DataCard:
    theme()
    card = DataCard(home)
    qtbot.addWidget(card)
    card.resize(600, 700)
    card.show()
    return card


def said(notice: Notice) -> str:
    label = notice.findChild(Label)
    assert label is not None
    return label.text() if notice.isVisible() else ""


def test_it_says_how_much_there_is(qtbot: QtBot, card: DataCard, home: Path) -> None:
    (home / "logs").mkdir()
    (home / "logs" / "hearth.log").write_bytes(bytes(3 << 20))
    card.hide()
    card.show()
    qtbot.waitUntil(lambda: card.figures["logs"].text() == "3 MB", timeout=WAIT_MS)
    assert card.figures["checkpoints"].text() == "0 MB" and card.figures["total"].text() == "3 MB"


def test_it_backs_up_and_restores(qtbot: QtBot, card: DataCard, home: Path, tmp_path: Path) -> None:
    key = (home / key_file.FILE).read_bytes()
    card.back_up_to(tmp_path / "b.zip")
    assert not card.move_button.isEnabled()
    qtbot.waitUntil(lambda: "Saved as" in said(card.done), timeout=WAIT_MS)
    (home / key_file.FILE).write_bytes(b"another")
    card.ask_to_restore(tmp_path / "b.zip")
    assert card.question.isVisible() and (home / key_file.FILE).read_bytes() == b"another"
    with qtbot.waitSignals([card.stopped, card.replaced], timeout=WAIT_MS):
        card.sure.click()
    assert (home / key_file.FILE).read_bytes() == key


def test_what_cannot_be_is_told_and_the_worker_may_go_on(qtbot: QtBot, card: DataCard, tmp_path: Path) -> None:
    (tmp_path / "letter.zip").write_text("Dear Hearth")
    card.ask_to_restore(tmp_path / "letter.zip")
    with qtbot.waitSignal(card.failed, timeout=WAIT_MS):
        card.sure.click()
    assert "it is no backup" in said(card.notice) and card.restore_button.isEnabled()
    with qtbot.waitSignal(card.failed, timeout=WAIT_MS):
        card.move_to(tmp_path)
    assert "one inside the other" in said(card.notice)


def test_it_moves(qtbot: QtBot, card: DataCard, home: Path, tmp_path: Path) -> None:
    with qtbot.waitSignals([card.stopped, card.replaced], timeout=WAIT_MS):
        card.move_to(tmp_path / "new")
    assert data_path(home) == tmp_path / "new" and [path.name for path in home.iterdir()] == [moved.FILE]


def test_nothing_is_restored_while_something_else_is_done(
    qtbot: QtBot, card: DataCard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped: list[bool] = []
    card.stopped.connect(lambda: stopped.append(True))
    card.ask_to_restore(tmp_path / "b.zip")
    monkeypatch.setattr(data_card, "hearth", lambda *words: [sys.executable, "-c", "input()"])  # until the test ends it
    card.back_up_to(tmp_path / "b.zip")
    assert not card.question.isVisible(), "nobody can agree to it any more"
    card.move_to(tmp_path / "new")
    assert stopped == [], "else the worker would stay away for good"
    with qtbot.waitSignal(card.failed, timeout=WAIT_MS):
        assert card._process is not None
        card._process.kill()


def test_how_far_it_is_and_how_long_it_takes_is_shown(card: DataCard) -> None:
    card._show_progress({"done": 1 << 30, "total": 4 << 30, "left_s": 0.5})
    assert card.progress.isVisible() and card.left.text() == "1.0 GB of 4.0 GB"
    card._show_progress({"done": 1 << 30, "total": 4 << 30, "left_s": 42})
    assert card.left.text() == "1.0 GB of 4.0 GB, 42 seconds left"


def test_everything_is_deleted_only_after_a_second_click(
    qtbot: QtBot, card: DataCard, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    card.delete_button.click()
    assert card.question.isVisible() and home.exists()
    card.keep.click()
    assert not card.question.isVisible()
    card.delete_button.click()
    with qtbot.waitSignal(card.deleted):
        card.sure.click()
    assert card.deleting is not None and card.deleting.wait(60) == 0 and not home.exists()


def test_its_kinds_have_labels() -> None:
    assert {*data_card.LABELS} == {*KINDS}


@pytest.fixture
def feed(tmp_path: Path) -> Iterator[Feed]:
    with release_feed(tmp_path / "feed") as one:
        yield one


def test_one_click_installs_an_update(qtbot: QtBot, feed: Feed, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = feed.install(feed.publish("0.1.0"))
    monkeypatch.setenv(ROOT, str(root))
    monkeypatch.setenv(VERSION, (root / "current").read_text())
    theme()
    card = UpdateCard(home)
    qtbot.addWidget(card)
    card.show()
    card.look_now.click()
    qtbot.waitUntil(lambda: card.says.text() == "This is the newest version.", timeout=WAIT_MS)
    feed.publish("0.2.0", "--notes", "Faster.")
    with qtbot.waitSignal(card.found, timeout=WAIT_MS) as found:
        card.look()
    assert found.args == ["0.2.0"] and card.notes.text() == "Faster."
    assert "Hearth 0.2.0 is available" in card.says.text()
    assert start(root, "which").stdout == "0.1.0\n"  # never without a click
    with qtbot.waitSignal(card._ended, timeout=WAIT_MS):
        card.install.click()
    assert said(card.notice) == "" and start(root, "which").stdout == "0.2.0\n"
    feed.server.close()
    card.look()
    qtbot.waitUntil(lambda: "cannot be reached" in said(card.notice), timeout=WAIT_MS)


@pytest.mark.parametrize(
    "command", [["/nowhere/hearth"], [sys.executable, "-c", "print('{What else?')"]], ids=["missing", "strange"]
)
def test_a_command_that_cannot_run_is_told_and_can_be_tried_again(
    qtbot: QtBot, home: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setattr(offer_card, "hearth", lambda *words: command)
    theme()
    card = UpdateCard(home)
    qtbot.addWidget(card)
    card.show()
    for ask in (card.look, card._install):
        ask()
        assert not card.look_now.isEnabled()
        qtbot.waitUntil(card.look_now.isEnabled)
        assert said(card.notice) == "That did not work. Try again." and card.says.text() == ""


def test_last_words_in_another_encoding_end_the_wait_as_well(
    qtbot: QtBot, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "import sys; sys.stdout.buffer.write(b'\\xfcbel'); sys.exit(1)"
    monkeypatch.setattr(offer_card, "hearth", lambda *arguments: [sys.executable, "-c", words])
    theme()
    card = UpdateCard(home)
    qtbot.addWidget(card)
    card.show()
    card._install()
    qtbot.waitUntil(lambda: said(card.notice).endswith("bel"))


def test_from_the_sources_it_is_told_who_updates(qtbot: QtBot, home: Path) -> None:
    theme()
    os.environ.pop(ROOT, None)
    card = UpdateCard(home)
    qtbot.addWidget(card)
    assert "git pull" in card.says.text() and not card.look_now.isEnabled()

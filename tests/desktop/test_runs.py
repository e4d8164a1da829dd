"""Several runs: the window says which one it shows, and asks for those of the one that the user chooses."""

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.pages.home.home_page import HomePage
from core.contracts.status import CurvePoint, RunStatus
from tests.desktop.conftest import ToyWorker, make_status
from tests.desktop.test_desktop import Start, has_tray, start  # noqa: F401 - fixtures


def run(name: str, title: str, weight: int) -> RunStatus:
    return RunStatus(
        id=f"{name}-1234",
        name=name,
        title=title,
        weight=weight,
        phase="training",
        task="picture",
        step=4200,
        samples=134_400,
        samples_per_s=3.0,
        experts=32,
        loss=1.0,
        accuracy=0.5,
        checkpoint_time=None,
    )


DIGITS, TEXT = run("digits", "Handwritten digits", 3), run("text", "Python's reference", 1)
FIRST = make_status(run_id=DIGITS.id, runs=[DIGITS, TEXT])
SECOND = msgspec.structs.replace(FIRST, run="text", run_title=TEXT.title, run_id=TEXT.id, step=9, task="text")


def test_one_run_is_named_and_offers_no_choice(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:  # noqa: F811
    desktop = start()
    toy.tell("status", make_status(run_id=DIGITS.id, runs=[DIGITS]))
    chooser, home = desktop.window.footer.run, desktop.window.pages[0]
    qtbot.waitUntil(lambda: chooser.label.text() == "Run: Handwritten digits (digits)")
    assert isinstance(home, HomePage)
    assert chooser.choice.isHidden() and home.runs.isHidden()


def test_the_run_that_is_chosen_is_the_one_that_is_shown(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:  # noqa: F811
    toy.answers["status"] = lambda params: SECOND if params.get("run") == TEXT.id else FIRST
    desktop = start()
    chooser, home = desktop.window.footer.run, desktop.window.pages[0]
    assert isinstance(home, HomePage)
    toy.tell("status", FIRST)
    toy.tell("curve", CurvePoint(3000, 96_000, 1.0, 0.5))
    qtbot.waitUntil(lambda: chooser.choice.currentText() == "Handwritten digits")
    qtbot.waitUntil(lambda: len(home._points) == 2)
    qtbot.waitUntil(lambda: [row.share for row in home.runs.model.shown] == [0.75, 0.25])
    assert home.runs.isVisible()
    chooser.choice.setFocus()
    QTest.keyClick(chooser.choice, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: desktop._last is not None and desktop._last.run_id == TEXT.id)
    assert chooser.choice.currentText() == "Python's reference"
    assert home._points == [], "the curve is that of the first run"
    asked = toy.methods().count("status")
    toy.tell("status", FIRST)  # as it comes by itself, of the first run
    qtbot.waitUntil(lambda: toy.methods().count("status") > asked)
    assert desktop._last is not None and desktop._last.run_id == TEXT.id
    desktop.client.grid(0, lambda grid: None, lambda error: None)
    qtbot.waitUntil(lambda: ("grid", {"layer": 0, "run": TEXT.id}) in toy.asked)


def test_a_run_that_was_left_gives_way_to_the_first(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:  # noqa: F811
    toy.answers["status"] = lambda params: SECOND if params.get("run") == TEXT.id else FIRST
    desktop = start()
    toy.tell("status", FIRST)
    qtbot.waitUntil(lambda: desktop._last is not None and len(desktop._last.runs) == 2)
    desktop.actions.show_run.emit(TEXT.id)
    qtbot.waitUntil(lambda: desktop._last is not None and desktop._last.run_id == TEXT.id)
    toy.tell("status", msgspec.structs.replace(FIRST, runs=[DIGITS]))
    qtbot.waitUntil(lambda: desktop._last is not None and desktop._last.run_id == DIGITS.id)
    assert desktop.window.footer.run.choice.isHidden()

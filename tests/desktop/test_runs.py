"""Several runs: the window says which one it shows, and asks for those of the one that the user chooses."""

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.pages.contribution.contribution_page import ContributionPage
from app.pages.home.home_page import HomePage
from app.worker.client import WorkerClient
from core.contracts import control as wire
from core.contracts.notices import notice
from core.contracts.settings import Settings
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


DIGITS, TEXT = run("digits", "Handwritten digits", 3), run("text", "The Python manual", 1)
FIRST = make_status(run_id=DIGITS.id, runs=[DIGITS, TEXT])
SECOND = msgspec.structs.replace(FIRST, run="text", run_title=TEXT.title, run_id=TEXT.id, step=9, task="text")


POINTS = {DIGITS.id: [CurvePoint(64, 2048, 1.0, 0.5)], TEXT.id: [CurvePoint(5, 160, 2.0, 0.2)] * 2}


def subscribed(params: dict[str, Any]) -> wire.Snapshot:
    """What a worker of both runs answers."""
    status = SECOND if params.get("run") == TEXT.id else FIRST
    return wire.Snapshot(status, dataclasses.asdict(Settings()), POINTS[status.run_id])


def test_one_run_is_named_and_offers_no_choice(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:  # noqa: F811
    desktop = start()
    toy.tell("status", make_status(run_id=DIGITS.id, runs=[DIGITS]))
    chooser, home = desktop.window.footer.run, desktop.window.pages[0]
    qtbot.waitUntil(lambda: chooser.label.text() == "Run: Handwritten digits (digits)")
    assert isinstance(home, HomePage)
    assert chooser.choice.isHidden() and home.runs.isHidden() and home.model._run.isHidden()


def test_the_run_that_is_chosen_is_the_one_that_is_shown(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:  # noqa: F811
    toy.answers["subscribe"] = subscribed
    desktop = start()
    chooser, home = desktop.window.footer.run, desktop.window.pages[0]
    assert isinstance(home, HomePage)
    toy.tell("status", FIRST)
    toy.tell("curve", CurvePoint(3000, 96_000, 1.0, 0.5))
    qtbot.waitUntil(lambda: chooser.choice.currentText() == "Handwritten digits")
    qtbot.waitUntil(lambda: len(home._points) == 2)
    qtbot.waitUntil(lambda: [row.share for row in home.runs.model.shown] == [0.75, 0.25])
    assert home.runs.isVisible()
    qtbot.waitUntil(lambda: home.model._run.isVisible() and home.model._run.text() == "Handwritten digits")
    chooser.choice.setFocus()
    QTest.keyClick(chooser.choice, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: desktop._last is not None and desktop._last.run_id == TEXT.id)
    assert chooser.choice.currentText() == "The Python manual"
    assert home._points == POINTS[TEXT.id], "the curve is that of the first run"
    qtbot.waitUntil(lambda: home.model._run.text() == "The Python manual")
    toy.tell("curve", CurvePoint(9, 288, 1.5, 0.3))
    qtbot.waitUntil(lambda: len(home._points) == 3)
    desktop.client.grid(0, lambda grid: None, lambda error: None)
    qtbot.waitUntil(lambda: ("grid", {"layer": 0, "run": TEXT.id}) in toy.asked)


def test_home_says_of_a_run_that_it_waits_for_disk_space(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:  # noqa: F811
    wait = notice("disk.run_waits", needed=60 << 20, most=64 << 20)
    waiting = msgspec.structs.replace(TEXT, phase="absent", samples_per_s=0.0, waits=wait)
    several = msgspec.structs.replace(FIRST, runs=[DIGITS, waiting])
    toy.answers["subscribe"] = lambda params: wire.Snapshot(several, {}, [])
    desktop = start()
    home = desktop.window.pages[0]
    assert isinstance(home, HomePage)
    qtbot.waitUntil(lambda: len(home.runs.model.shown) == 2)

    def shown(row: int, role: Qt.ItemDataRole) -> Any:
        return home.runs.model.data(home.runs.model.index(row, 2), role)

    texts = [shown(row, Qt.ItemDataRole.DisplayRole) for row in (0, 1)]
    assert texts.count("waits") == 1
    told = [shown(row, Qt.ItemDataRole.ToolTipRole) or "" for row in (0, 1)]
    assert "need 60 MB" in told[texts.index("waits")] and "64 MB" in told[texts.index("waits")]
    assert "disk" not in told[1 - texts.index("waits")]


def test_home_says_of_a_run_that_it_is_at_its_goal_while_others_train(
    qtbot: QtBot,
    start: Start,  # noqa: F811
    toy: ToyWorker,
) -> None:
    several = msgspec.structs.replace(FIRST, runs=[DIGITS, msgspec.structs.replace(TEXT, reached=True)])
    toy.answers["subscribe"] = lambda params: wire.Snapshot(several, {}, [])
    desktop = start()
    home = desktop.window.pages[0]
    assert isinstance(home, HomePage)
    qtbot.waitUntil(lambda: len(home.runs.model.shown) == 2)
    places = [home.runs.model.index(row, 2) for row in (0, 1)]
    texts = [home.runs.model.data(place, Qt.ItemDataRole.DisplayRole) for place in places]
    assert texts.count("goal reached") == 1
    tip = home.runs.model.data(places[texts.index("goal reached")], Qt.ItemDataRole.ToolTipRole)
    assert "nothing is left to train" in tip


def test_contribution_names_the_runs_and_tells_two_of_one_title_apart(
    qtbot: QtBot,
    start: Start,  # noqa: F811
    toy: ToyWorker,
) -> None:
    double = msgspec.structs.replace(TEXT, id="text-5678")
    several = msgspec.structs.replace(FIRST, runs=[DIGITS, TEXT, double])
    toy.answers["subscribe"] = lambda params: wire.Snapshot(several, {}, [])
    desktop = start()
    page = desktop.window.pages[2]
    assert isinstance(page, ContributionPage)
    qtbot.waitUntil(lambda: page._names.get(DIGITS.id) == DIGITS.title)
    assert not {TEXT.id, double.id} & page._names.keys()


def test_a_run_that_was_left_gives_way_to_the_first(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:  # noqa: F811
    toy.answers["subscribe"] = subscribed
    desktop = start()
    qtbot.waitUntil(lambda: desktop._last is not None and len(desktop._last.runs) == 2)
    desktop.actions.show_run.emit(TEXT.id)
    qtbot.waitUntil(lambda: desktop._last is not None and desktop._last.run_id == TEXT.id)
    alone = msgspec.structs.replace(FIRST, runs=[DIGITS])
    toy.answers["subscribe"] = lambda params: wire.Snapshot(alone, {}, POINTS[DIGITS.id])
    toy.tell("status", alone)
    qtbot.waitUntil(lambda: desktop._last is not None and desktop._last.run_id == DIGITS.id)
    home = desktop.window.pages[0]
    assert isinstance(home, HomePage) and home._points == POINTS[DIGITS.id]
    assert desktop.window.footer.run.choice.isHidden()


def test_the_run_that_was_shown_is_shown_again_unless_it_was_left_meanwhile(
    qtbot: QtBot, folder: Path, toy: ToyWorker
) -> None:
    toy.answers["subscribe"] = subscribed
    client = WorkerClient(folder, "0.1.0")
    with qtbot.waitSignal(client.connected):
        client.dial()
    with qtbot.waitSignal(client.shown):
        client.show_run(TEXT.id)
    with qtbot.waitSignal(client.disconnected):
        toy.hang_up()
    with qtbot.waitSignal(client.connected) as again:
        client.dial()
    assert again.args is not None and again.args[0].status.run_id == TEXT.id
    left = wire.ErrorInfo("run", notice("run.not_joined", run=TEXT.id, known=[DIGITS.id]))
    toy.answers["subscribe"] = lambda params: left if params.get("run") else subscribed(params)
    with qtbot.waitSignal(client.disconnected):
        toy.hang_up()
    with qtbot.waitSignal(client.connected) as first:
        client.dial()
    assert first.args is not None and first.args[0].status.run_id == DIGITS.id
    client.hang_up()


def test_a_run_that_is_chosen_while_the_worker_is_away_is_shown_by_the_next(
    qtbot: QtBot, folder: Path, toy: ToyWorker
) -> None:
    toy.answers["subscribe"] = subscribed
    client = WorkerClient(folder, "0.1.0")
    with qtbot.waitSignal(client.connected):
        client.dial()
    with qtbot.waitSignal(client.disconnected):
        toy.hang_up()
    client.show_run(TEXT.id)
    with qtbot.waitSignal(client.connected) as again:
        client.dial()
    assert again.args is not None and again.args[0].status.run_id == TEXT.id == client.shown_run
    client.hang_up()

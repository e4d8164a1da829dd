"""Why am I (not) running: every rule with its value, verdict and end, by keyboard, also without a worker."""

import dataclasses
import time
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.actions import Actions
from app.pages.home.home_page import HomePage
from app.theme import theme
from app.window.main_window import MainWindow
from app.window.page import Page
from app.window.rule_row import SETTINGS, RuleRow
from app.worker.client import WorkerClient
from core.contracts.notices import notice, plain
from core.contracts.settings import Settings
from core.contracts.status import RuleStatus, YieldStatus
from core.policy import rules
from tests.desktop.conftest import make_status
from tests.desktop.test_widgets import misfits

RULES = [
    RuleStatus("choice", notice("choice.none"), notice("choice.wants")),
    RuleStatus("battery", plain("Unknown: no battery is told"), notice("battery.wants"), unknown=True),
    RuleStatus(
        "user",
        plain("Last input 2 min 50 s ago"),
        notice("user.wants", threshold=300),
        ("cpu",),
        (plain("Starts in 2:10 if you stay away."),),
        offers="lift",
    ),
    RuleStatus("game", notice("game.none"), plain("Stops the GPU"), ("gpu",)),
]


@pytest.fixture
def window(qtbot: QtBot) -> MainWindow:
    theme()
    actions = Actions()
    window = MainWindow(
        [HomePage(actions, WorkerClient(Path("no folder"), "0.1.0")), Page("settings", "Settings", "settings")], actions
    )
    window.may_close = True
    qtbot.addWidget(window)
    window.show()
    qtbot.waitUntil(window.isActiveWindow)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    window.set_connected(True)
    return window


def waiting(**changes: object) -> object:
    figures = {"reason": "You used this PC.", "until": "Starts in 2:10.", "why": RULES, "cpu": False, "start_now": True}
    return make_status(state="waiting", **{**figures, **changes})


def test_the_ring_comes_back_only_where_it_was(qtbot: QtBot, window: MainWindow) -> None:
    clicked, by_keyboard = window.sidebar.buttons
    QTest.mouseClick(clicked, Qt.MouseButton.LeftButton)
    clicked.setFocus(Qt.FocusReason.MouseFocusReason)
    for button, ringed in ((clicked, False), (by_keyboard, True)):
        assert window.ring.isVisible() is ringed
        QTest.keyClick(window, Qt.Key.Key_F1)
        assert window.ring.target is window.why.close_button
        QTest.keyClick(window.why.close_button, Qt.Key.Key_Escape)
        assert button.hasFocus() and window.ring.isVisible() is ringed
        QTest.keyClick(window, Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
    by_keyboard.clearFocus()
    window.ring.leave()
    QTest.keyClick(window, Qt.Key.Key_F1)
    QTest.keyClick(window.why.close_button, Qt.Key.Key_Escape)
    assert window.focusWidget() is None and not window.ring.isVisible(), "nothing had the focus"


def test_f1_shows_every_rule_with_verdict_and_end(qtbot: QtBot, window: MainWindow) -> None:
    window.update_status(waiting(yields=YieldStatus(37, 62.0, 118.0, [40.0, 62.0, 118.0])))  # type: ignore[arg-type]
    QTest.keyClick(window, Qt.Key.Key_F1)
    assert window.why.isVisible() and window.why.close_button.hasFocus() and window.ring.isVisible()
    assert [row.accessibleName() for row in window.why.rows] == [
        "Your choice: fine",
        "Power: not known",
        "You are away: stops the CPU",
        "Games and full screen: fine",  # nobody without a graphics processor is told about one
    ]
    assert [row.fill for row in window.why.rows].index("warn_soft") == 2
    assert "Last input 2 min 50 s ago. Needs 5 min. Starts in 2:10" in window.why.rows[2].words
    texts = [label.text() for label in window.why.findChildren(QWidget) if label.isVisible() and hasattr(label, "text")]
    assert "Why am I not running?" in texts
    assert "1 of 4 rules stops something. They are read from top to bottom." in texts
    assert any("62 ms" in text and "p95 118 ms" in text and "250 ms" in text for text in texts)
    assert "62 ms" in window.why.dots.accessibleDescription()
    assert misfits(window.why.panel) == []


def test_start_now_is_not_counted_among_the_rules_that_it_lifts(window: MainWindow) -> None:
    until = time.time() + 3600
    pressed = msgspec.structs.replace(
        RULES[0], live=notice("choice.start_now", end=until), lifted_until=until, offers="end"
    )
    held = msgspec.structs.replace(RULES[2], stops=(), until=(), lifted_until=until)
    window.update_status(make_status(cpu=True, why=[pressed, RULES[1], held, RULES[3]]))
    window.why.open_panel()
    assert [row.accessibleName().endswith("lifted") for row in window.why.rows].count(True) == 1
    assert window.why._said.text().startswith("No rule stops anything; 1 of 4 is lifted.")


def test_what_a_trainer_waits_for_has_a_row_and_decides_nothing(window: MainWindow) -> None:
    live, wants, until = notice("trunk.waits_round", n=2), notice("trunk.wants"), notice("trunk.ends_round")
    window.update_status(
        make_status(cpu=True, why=[RULES[0], RuleStatus("trunk", live, wants, ("training",), (until,))])
    )
    window.why.open_panel()
    row = window.why.rows[1]
    assert row.accessibleName() == "Other trainers: stops training" and row.fill == "surface"
    assert row.accessibleDescription() == (
        "Waits for 2 other trainers in the common step. All trainers of this run agree on one trunk. "
        "Continues when they have come, or without those that do not come within half a minute."
    )
    assert window.why._title.text() == "Why am I running?"
    assert misfits(window.why.panel) == []


def test_the_focus_stays_inside_and_comes_back(window: MainWindow) -> None:
    window.update_status(waiting())  # type: ignore[arg-type]
    home = window.current_page()
    assert isinstance(home, HomePage)
    home.state_card.why.setFocus()
    QTest.keyClick(home.state_card.why, Qt.Key.Key_Space)
    seen = []
    for _ in range(9):
        focused = window.focusWidget()
        assert window.why.isAncestorOf(focused)
        seen.append(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    assert len(set(seen)) == 7, "Close, the rules, Start now, the settings of three and one to lift, round and round"
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
    assert not window.why.isVisible() and home.state_card.why.hasFocus()


def test_it_follows_the_status_and_tells_of_a_lost_worker(window: MainWindow) -> None:
    window.why.open_panel()
    texts = {label.text() for label in window.why.findChildren(QWidget) if hasattr(label, "text")}
    assert "The rules are shown as soon as the worker answers." in texts
    window.update_status(waiting())  # type: ignore[arg-type]
    assert len(window.why.rows) == 4
    assert window.why.start.isVisible()
    window.update_status(waiting(start_now=False))  # type: ignore[arg-type]
    assert not window.why.start.isVisible()
    window.update_status(make_status(cpu=True, why=RULES[:2]))
    assert window.why._title.text() == "Why am I running?"
    assert window.why._said.text().startswith("No rule stops anything; 1 of 2 is not known.")
    assert [row.isVisible() for row in window.why.rows] == [True, True, False, False]
    window.set_connected(False, "Worker stopped, restarting in 4 s")
    assert window.why.notice.isVisible() and window.why.retry.isVisible()
    assert window.why.notice.accessibleName() == ("Worker stopped, restarting in 4 s. Below is what it said last.")
    window.set_connected(True)
    assert not window.why.notice.isVisible()


def row_of(window: MainWindow, rule: str) -> RuleRow:
    return next(row for row in window.why.rows if row.rule == rule)


def test_a_rule_leads_to_its_setting_and_back(qtbot: QtBot, window: MainWindow) -> None:
    window.update_status(waiting())  # type: ignore[arg-type]
    asked: list[str] = []
    window._actions.show_setting.connect(asked.append)
    window.why.open_panel()
    row = row_of(window, "user")
    assert row.setting.accessibleName() == "Open the setting of “You are away”"
    row.setting.setFocus()
    QTest.keyClick(row.setting, Qt.Key.Key_Space)
    QTest.mouseClick(row_of(window, "battery")._title, Qt.MouseButton.LeftButton)
    assert asked == ["idle_only", "on_battery"]
    assert not row_of(window, "choice").setting.isVisible()
    QTest.mouseClick(row_of(window, "choice"), Qt.MouseButton.LeftButton)
    assert len(asked) == 2, "not each rule has a setting"
    window.why.close_sheet()
    window._actions.why.emit()
    assert window.focusWidget() is row_of(window, "battery").setting, "who comes back goes on there"
    window.why.close_sheet()
    window._actions.why.emit()
    assert window.focusWidget() is window.why.close_button


def test_where_idle_time_cannot_be_measured_its_rule_leads_to_what_happens_then(window: MainWindow) -> None:
    unknown = msgspec.structs.replace(RULES[2], unknown=True)
    window.update_status(waiting(why=[*RULES[:2], unknown, RULES[3]]))  # type: ignore[arg-type]
    asked: list[str] = []
    window._actions.show_setting.connect(asked.append)
    window.why.open_panel()
    row_of(window, "user").setting.click()
    assert asked == ["idle_unknown"]


def test_a_page_asked_for_by_its_shortcut_closes_the_rules(qtbot: QtBot, window: MainWindow) -> None:
    window.update_status(waiting())  # type: ignore[arg-type]
    QTest.keyClick(window, Qt.Key.Key_F1)
    assert window.why.isVisible()
    QTest.keyClick(window, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    assert not window.why.isVisible()
    assert window.sidebar.buttons[0].hasFocus()


def test_each_rule_that_leads_somewhere_leads_to_a_setting() -> None:
    names = {rule.__name__ for rule in rules.RULES}
    shown = {field.name for field in dataclasses.fields(Settings) if not field.metadata.get("hidden")}
    assert set(SETTINGS) <= names and set(SETTINGS.values()) <= shown
    assert names - set(SETTINGS) == {"choice", "role", "gpu_choice", "gpu"}


def test_a_rule_that_stops_can_be_lifted_and_that_be_ended(window: MainWindow) -> None:
    lifted, ended = list[str](), list[str]()
    window._actions.lift.connect(lifted.append)
    window._actions.end_lift.connect(ended.append)
    window.update_status(waiting())  # type: ignore[arg-type]
    window.why.open_panel()
    row = row_of(window, "user")
    assert (row.do.text(), row.do.accessibleName()) == ("Lift for 1 hour", "Lift “You are away” for 1 hour")
    assert not row_of(window, "game").do.isVisible(), "nothing offers that here"
    row.do.click()
    until = time.time() + 3600
    held = msgspec.structs.replace(
        RULES[2], stops=(), until=(), wants=notice("rule.lifted", end=until), lifted_until=until, offers="end"
    )
    window.update_status(make_status(cpu=True, why=[*RULES[:2], held, RULES[3]]))
    assert row.accessibleName() == "You are away: lifted" and "Lifted until" in row.words
    assert window.why._said.text().startswith("No rule stops anything; 1 of 4 is lifted.")
    assert row.do.text() == "End now"
    row.do.click()
    assert (lifted, ended) == (["user"], ["user"])
    assert misfits(window.why.panel) == []

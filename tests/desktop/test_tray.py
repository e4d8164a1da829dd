"""The tray icon: the state by its picture, tooltip and menu; a tray that comes and goes."""

from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtGui import QAction, QIcon
from PySide6.QtWidgets import QMenu, QSystemTrayIcon
from pytestqt.qtbot import QtBot

from app.actions import Actions
from app.theme import theme
from app.tray import tray as module
from app.tray.tray import TOOLTIP_CHARACTERS, Tray
from app.tray.tray_icons import tray_icon
from app.window.pause_button import Pausable
from core.contracts.status import State


class Panel:
    """A desktop whose tray comes and goes."""

    has_tray = True


@pytest.fixture
def panel(monkeypatch: pytest.MonkeyPatch) -> type[Panel]:
    monkeypatch.setattr(Panel, "has_tray", True)
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: Panel.has_tray)
    return Panel


@pytest.fixture
def actions(qapp: Any) -> Actions:
    theme()
    return Actions()


@pytest.fixture
def tray(panel: type[Panel], actions: Actions) -> Iterator[Tray]:
    tray = Tray(actions)
    yield tray
    tray.hide()


def entry(menu: QMenu, text: str) -> QAction:
    return next(action for action in menu.actions() if action.text().split("\t")[0] == text)


def shown(menu: QMenu) -> list[str]:
    return [action.text() for action in menu.actions() if action.isVisible() and not action.isSeparator()]


def picture(tray: Tray) -> bytes:
    image = tray.icon.icon().pixmap(22, 22).toImage()
    return bytes(image.constBits())


def test_each_kind_of_state_has_its_picture(tray: Tray) -> None:
    states: list[State] = ["contributing", "waiting", "paused", "limited", "attention"]
    pictures = []
    for state in states:
        tray.show_state(state, "")
        pictures.append(picture(tray))
    assert len(set(pictures)) == len(states)


def test_the_icon_is_drawn_anew_only_for_another_state(tray: Tray, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []

    def draw(state: State, dark_panel: bool) -> QIcon:
        drawn.append(state)
        return tray_icon(state, dark_panel)

    monkeypatch.setattr(module, "tray_icon", draw)
    for reason in ("Training runs.", "Training still runs."):
        tray.show_state("contributing", reason)
    tray.show_state("paused", "You paused it.")
    assert drawn == ["contributing", "paused"]


def test_the_tooltip_tells_state_reason_and_what_was_lent_today(tray: Tray) -> None:
    tray.show_state("paused", "You paused it.")
    assert tray.icon.toolTip() == "Hearth: Paused\nYou paused it."
    tray.show_today("3 h 12 min today, for others 1,204 calls")
    assert tray.icon.toolTip() == "Hearth: Paused\nYou paused it.\n3 h 12 min today, for others 1,204 calls"
    tray.show_state("attention", "word " * 100)
    assert len(tray.icon.toolTip()) == TOOLTIP_CHARACTERS and tray.icon.toolTip().endswith("calls")
    tray.show_state("paused", "You paused it.")
    tray.show_today("")
    assert tray.icon.toolTip() == "Hearth: Paused\nYou paused it.", "nobody tells what was lent today"


def test_the_tooltip_is_no_html(tray: Tray) -> None:
    tray.show_state("attention", "<img src=//elsewhere/a.png>: it waits.")  # a run's title
    assert "it waits." in tray.icon.toolTip() and "<" not in tray.icon.toolTip()


def test_the_menu_asks_for_what_it_says(qtbot: QtBot, tray: Tray, actions: Actions) -> None:
    tray.show_state("contributing", "Training runs.")
    with qtbot.waitSignal(tray.open_asked):
        entry(tray.menu, "Open Hearth").trigger()
    with qtbot.waitSignals([actions.open_page, tray.open_asked]):
        entry(tray.menu, "Try the model").trigger()
    with qtbot.waitSignal(actions.quit):
        entry(tray.menu, "Quit").trigger()
    pauses: list[object] = []
    actions.pause.connect(pauses.append)
    entry(tray.menu, "Pause").trigger()
    assert pauses.pop() is None, "at once, until resumed"
    for text in ("For 15 minutes", "For 1 hour", "Until tomorrow", "Until I resume"):
        entry(tray._pauses, text).trigger()
    assert pauses[:2] == [900.0, 3600.0]
    assert isinstance(pauses[2], float)
    assert 0 < pauses[2] <= 40 * 3600
    assert pauses[3] is None


def test_resume_is_offered_only_while_paused(qtbot: QtBot, tray: Tray, actions: Actions) -> None:
    tray.show_state("contributing", "")
    assert shown(tray.menu) == ["Contributing", "Open Hearth", "Pause", "Pause for a time", "Try the model", "Quit"]
    tray.show_state("paused", "")
    assert shown(tray.menu) == ["Paused", "Open Hearth", "Resume", "Try the model", "Quit"]
    with qtbot.waitSignal(actions.resume):
        entry(tray.menu, "Resume").trigger()


def test_start_now_is_offered_where_it_would_start_anything(qtbot: QtBot, tray: Tray, actions: Actions) -> None:
    tray.show_state("yielding", "Other programs use 60% of the CPU.", Pausable(start_now=True))
    assert shown(tray.menu)[:4] == ["Giving your PC back", "Open Hearth", "Start now", "Pause"]
    with qtbot.waitSignal(actions.start_now):
        entry(tray.menu, "Start now").trigger()


def test_the_gpu_alone_is_paused_and_resumed_where_one_is_used(qtbot: QtBot, tray: Tray, actions: Actions) -> None:
    tray.show_state("contributing", "", Pausable(gpu=True))
    assert shown(tray.menu)[2:5] == ["Pause", "Pause for a time", "Pause the GPU only"]
    with qtbot.waitSignal(actions.pause_gpu):
        entry(tray.menu, "Pause the GPU only").trigger()
    tray.show_state("contributing", "", Pausable(gpu=True, gpu_paused=True))
    with qtbot.waitSignal(actions.resume):
        entry(tray.menu, "Resume the GPU").trigger()
    tray.show_state("paused", "", Pausable(gpu=True, gpu_paused=True))
    assert "Resume the GPU" not in shown(tray.menu), "Resume ends every pause"


def test_a_click_opens_the_window(qtbot: QtBot, tray: Tray) -> None:
    with qtbot.waitSignal(tray.open_asked):
        tray.icon.activated.emit(QSystemTrayIcon.ActivationReason.Trigger)


def test_a_tray_may_come_and_go(qtbot: QtBot, tray: Tray, panel: type[Panel]) -> None:
    assert tray.available
    panel.has_tray = False
    with qtbot.waitSignal(tray.available_changed) as changed:
        pass  # the poll finds out
    assert changed.args == [False]
    assert not tray.icon.isVisible()
    panel.has_tray = True
    with qtbot.waitSignal(tray.available_changed) as changed:
        pass
    assert changed.args == [True]
    assert tray.icon.isVisible()


def test_a_notification_is_no_html(tray: Tray, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(QSystemTrayIcon, "showMessage", lambda self, title, text, *rest: told.append(text))
    tray.tell("The run <a href='http://elsewhere'>a</a> has ended.")
    assert told[0].startswith("The run ") and "<" not in told[0]

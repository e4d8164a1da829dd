"""What happens between worker, window and tray, in one process with a toy worker."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QSystemTrayIcon
from pytestqt.qtbot import QtBot

from app import desktop as module
from app.actions import Actions
from app.desktop import Desktop
from app.pages.home.home_page import HomePage
from app.pages.network.network_page import NetworkPage
from app.pages.settings import data_card
from app.system.single_instance import Instance
from app.theme import theme
from app.window import whereabouts
from app.window.view_settings import VIEW_FILE
from app.worker.client import UNSEEN_S
from app.worker.course import CURVE_POINTS
from app.worker.shown import LEAVING
from app.worker.supervision import Phase, Report
from app.worker.supervisor import supervise
from core.contracts import control as wire
from core.contracts.notices import notice, plain
from core.contracts.status import CurvePoint, RuleStatus
from core.system.start_at_login import start_at_login
from tests.desktop.conftest import ToyWorker, make_status
from tests.workers import agreed

Start = Callable[..., Desktop]


@pytest.fixture
def has_tray(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the desktop has a tray; a test may change its one element."""
    answer = [True]
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: answer[0])
    return answer


@pytest.fixture
def start(qtbot: QtBot, folder: Path, toy: ToyWorker, has_tray: list[bool]) -> Iterator[Start]:
    """Starts the app in this process, as often as wanted, each after the other's end."""
    running: list[tuple[Desktop, Instance]] = []
    agreed(folder)

    def end() -> None:
        while running:
            desktop, instance = running.pop()
            desktop.close()
            instance.release()
            desktop.window.may_close = True
            desktop.window.close()
            shiboken6.delete(desktop.window)  # now, or the next change of the theme styles its 1,500 widgets as well
            if (worker := desktop.supervisor.process) is not None:  # a busy machine let the toy answer too late
                worker.kill()
                worker.wait()

    def begin(wait: bool = True) -> Desktop:
        end()
        instance = Instance(folder)
        assert instance.acquire()
        desktop = Desktop(supervise(folder), instance, time.monotonic())
        running.append((desktop, instance))
        if wait:
            qtbot.waitUntil(lambda: desktop.client.is_connected)
        return desktop

    yield begin
    end()
    theme().set_mode("system")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts of the notifications."""
    texts: list[str] = []
    monkeypatch.setattr(QSystemTrayIcon, "showMessage", lambda self, title, text, *rest: texts.append(text))
    return texts


def test_the_first_picture_is_complete(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:
    desktop = start()
    assert desktop.window.isVisible()
    assert desktop.settings_page.values == toy.settings
    assert desktop.tray.icon.toolTip().startswith("Hearth: Contributing\nTraining runs on 1 thread.")
    qtbot.waitUntil(lambda: any(line.text == "started" for line in desktop.log_page.model.lines))
    assert any(line.part == "app" and "app ready" in line.text for line in desktop.log_page.model.lines)


def test_what_is_asked_for_reaches_the_worker(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:
    actions = start().actions
    actions.pause.emit(900.0)
    actions.resume.emit()
    actions.start_now.emit()
    actions.change_settings.emit({"threads": 2})
    qtbot.waitUntil(lambda: "set_settings" in toy.methods())
    asked_by_itself = ("subscribe", "log", "totals", "credit", "series", "network", "trunk")
    assert [method for method in toy.methods() if method not in asked_by_itself] == [
        "pause",
        "resume",
        "start_now",
        "set_settings",
    ]
    asked = dict(toy.asked)
    assert asked["pause"] == {"seconds": 900.0} and asked["set_settings"] == {"changes": {"threads": 2}}


def test_a_rule_is_lifted_and_leads_to_its_setting(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:
    desktop = start()
    desktop.actions.lift.emit("battery")
    desktop.actions.end_lift.emit("choice")
    qtbot.waitUntil(lambda: "end_lift" in toy.methods())
    asked = dict(toy.asked)
    assert (asked["lift"], asked["end_lift"]) == ({"rule": "battery", "seconds": 3600.0}, {"rule": "choice"})
    qtbot.waitUntil(desktop.window.isActiveWindow)
    rule = RuleStatus("battery", notice("battery.on"), notice("battery.wants"), ("cpu",))
    desktop.window.update_status(make_status(why=[rule]))
    QTest.keyClick(desktop.window, Qt.Key.Key_F1)
    setting = desktop.window.why.rows[0].setting
    while desktop.window.focusWidget() is not setting:
        QTest.keyClick(desktop.window.focusWidget(), Qt.Key.Key_Tab)
    QTest.keyClick(setting, Qt.Key.Key_Space)
    page = desktop.settings_page
    assert desktop.window.current_page() is page and not desktop.window.why.isVisible()
    here = desktop.window.focusWidget()
    assert page.rows["on_battery"].isAncestorOf(here) and desktop.window.ring.target is here
    page.side.back.click()
    assert desktop.window.why.isVisible()


def test_who_withdraws_consent_is_asked_again_at_the_next_start(
    qtbot: QtBot, start: Start, toy: ToyWorker, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    desktop = start()
    start_at_login(folder, True)
    desktop.window.open_page("settings")
    desktop.settings_page.consent.withdraw.click()
    desktop.settings_page.consent.sure.click()
    qtbot.waitUntil(lambda: "quit" in toy.methods())
    assert not start_at_login(folder)
    toy.asked.clear()
    again = start(wait=False)
    assert again.first_run is not None and again.window.isVisible()
    assert not again.client.is_connected and toy.asked == []


def test_the_window_follows_settings_that_somebody_else_changed(start: Start, qtbot: QtBot, toy: ToyWorker) -> None:
    desktop = start()
    toy.tell("settings", {**toy.settings, "theme": "dark", "threads": 3})
    qtbot.waitUntil(lambda: theme().dark)
    assert desktop.settings_page.values["threads"] == 3


def test_a_refusal_is_told_in_the_window(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:
    toy.answers["pause"] = lambda params: wire.ErrorInfo("error", plain("It cannot be paused now."))
    desktop = start()
    desktop.actions.pause.emit(None)
    qtbot.waitUntil(lambda: desktop.window.note._label.text() == "It cannot be paused now.")


def test_closing_hides_and_says_so_once(start: Start, told: list[str]) -> None:
    desktop = start()
    for _ in range(2):
        desktop.window.close()
        assert not desktop.window.isVisible()
        desktop.raise_window()
        assert desktop.window.isVisible()
    assert told == [whereabouts.IN_TRAY]
    desktop = start()
    desktop.window.close()
    assert told == [whereabouts.IN_TRAY]


def test_a_window_in_the_tray_is_told_less_often_and_the_tray_at_once(
    qtbot: QtBot, start: Start, toy: ToyWorker, told: list[str]
) -> None:
    desktop = start()
    assert "pace" not in toy.methods(), "a window that is seen is told all there is"
    desktop.window.close()
    qtbot.waitUntil(lambda: ("pace", {"every_s": UNSEEN_S}) in toy.asked)
    toy.tell("status", make_status(state="paused"))
    qtbot.waitUntil(lambda: "Paused" in desktop.tray.icon.toolTip())
    assert "Paused" not in desktop.window.sidebar.chip.accessibleName()
    toy.hang_up()  # another worker knows nothing of it
    toy.asked.clear()
    qtbot.waitUntil(lambda: ("pace", {"every_s": UNSEEN_S}) in toy.asked)
    desktop.raise_window()
    qtbot.waitUntil(lambda: ("pace", {"every_s": 0.0}) in toy.asked)
    toy.tell("status", make_status(state="paused"))
    qtbot.waitUntil(lambda: "Paused" in desktop.window.sidebar.chip.accessibleName())


def test_without_a_tray_closing_minimises_and_says_so(start: Start, has_tray: list[bool], told: list[str]) -> None:
    has_tray[0] = False
    desktop = start()
    desktop.window.close()
    assert desktop.window.isMinimized()
    assert desktop.window.note._label.text() == whereabouts.NO_TRAY
    assert told == []
    desktop.raise_window()
    assert not desktop.window.isMinimized()


def test_the_sentence_about_no_tray_goes_when_the_tray_is_back(
    start: Start, has_tray: list[bool], told: list[str]
) -> None:
    has_tray[0] = False
    desktop = start()
    desktop.window.close()
    desktop.raise_window()
    assert desktop.window.note.isVisible()
    has_tray[0] = True
    desktop.tray.look()
    assert not desktop.window.note.isVisible()
    desktop.window.tell("Something else.")
    has_tray[0] = False
    desktop.tray.look()
    has_tray[0] = True
    desktop.tray.look()
    assert desktop.window.note.isVisible()


def test_a_window_in_a_tray_that_vanishes_comes_back(start: Start, has_tray: list[bool], told: list[str]) -> None:
    desktop = start()
    desktop.window.close()
    has_tray[0] = False
    desktop.tray.look()
    assert desktop.window.isMinimized()


def test_a_lost_worker_is_told_everywhere_calmly_and_its_return_too(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:
    desktop = start()
    seen: list[tuple[str, str, str]] = []
    window = desktop.window
    window.open_page("network")
    network = window.current_page()
    desktop.supervisor.changed.connect(
        lambda report: seen.append(
            (desktop.tray.icon.toolTip(), window.sidebar.chip.accessibleName(), window.footer._link.property("tone"))
        )
    )
    toy.hang_up()
    qtbot.waitUntil(lambda: bool(seen))
    tray, chip, tone = seen[0]
    assert tray.startswith("Hearth: Preparing\nThe worker ended the connection.")
    assert chip.startswith("State: Preparing.") and tone == "text2"
    assert isinstance(network, NetworkPage) and network.notice.isVisible() and network.notice.fill == "peer_soft"
    assert not any("attention" in text for text in (tray, chip))
    qtbot.waitUntil(lambda: desktop.client.is_connected)
    assert desktop.tray.icon.toolTip().startswith("Hearth: Contributing")
    assert desktop.window.footer._link.text() == "Worker connected"


def test_steps_that_are_lost_with_a_killed_worker_are_told(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:
    desktop = start()
    toy.tell("status", make_status(step=5888))
    qtbot.waitUntil(lambda: desktop._last is not None and desktop._last.step == 5888)
    toy.welcome = msgspec.structs.replace(toy.welcome, pid=toy.welcome.pid + 1)
    toy.answers["subscribe"] = lambda params: wire.Snapshot(make_status(step=5824, state="waiting"), toy.settings, [])
    toy.write_address()
    toy.hang_up()
    said = "Restarted. 64 steps since the last checkpoint are done again."
    qtbot.waitUntil(lambda: desktop.window.note._label.text() == said)
    desktop.window.open_page("home")
    home = desktop.window.current_page()
    assert isinstance(home, HomePage)
    qtbot.waitUntil(lambda: home.network.happened.text().endswith(said))
    told = "64 steps since the last checkpoint"
    qtbot.waitUntil(lambda: any(told in line.text for line in desktop.log_page.model.lines))


def test_a_worker_that_cannot_run_needs_attention(start: Start) -> None:
    desktop = start(wait=False)
    desktop._show_report(Report(Phase.FAILED, plain("The data folder cannot be used."), trouble=True))
    assert desktop.window.footer._link.property("tone") == "bad"
    assert desktop.tray.icon.toolTip() == "Hearth: Needs attention\nThe data folder cannot be used."


def test_leaving_is_shown_until_the_worker_has_saved(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:
    desktop = start()
    desktop.actions.quit.emit()
    assert desktop.tray.icon.toolTip() == f"Hearth: Quitting\n{LEAVING}"
    toy.tell("status", make_status())  # the worker's own state does not hide it
    qtbot.waitUntil(lambda: "quit" in toy.methods())
    assert desktop.tray.icon.toolTip().startswith("Hearth: Quitting")
    assert not desktop.window.may_close
    toy.tell("bye", wire.Bye("Hearth was asked to quit."))
    toy.hang_up()
    qtbot.waitUntil(lambda: desktop.window.may_close)


def test_quitting_twice_does_not_wait(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:
    toy.silent = {"quit"}
    desktop = start()
    desktop.actions.quit.emit()
    assert desktop.supervisor.report.phase is Phase.LEAVING
    desktop.actions.quit.emit()
    assert desktop.window.may_close


def test_while_data_are_moved_no_figure_is_of_now_and_one_can_quit(
    qtbot: QtBot, start: Start, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_card, "hearth", lambda *words: [sys.executable, "-c", "input()"])  # until the test ends it
    desktop = start()
    data, window = desktop.settings_page.data, desktop.window
    said = "The worker saves its work and restarts."
    data.move_to(folder / "new")
    assert window.footer._link.text() == said and window.footer._link.property("tone") == "text2"
    assert desktop.tray.icon.toolTip() == f"Hearth: Preparing\n{said}"
    assert window.sidebar.chip.accessibleName().startswith("State: Preparing.")
    assert data._process is not None
    data._process.kill()
    qtbot.waitUntil(lambda: desktop.client.is_connected)
    assert window.footer._link.text() == "Worker connected"
    data.move_to(folder / "new")
    assert not window.may_close
    desktop.actions.quit.emit()
    assert window.may_close


def test_the_theme_is_the_settings_and_there_from_the_first_moment(qtbot: QtBot, start: Start) -> None:
    desktop = start()
    desktop.actions.change_settings.emit({"theme": "dark"})
    qtbot.waitUntil(lambda: theme().dark)
    theme().set_mode("light")
    start(wait=False)
    assert theme().dark


def test_a_long_curve_is_thinned(start: Start) -> None:
    desktop = start()
    for step in range(100, 2 * CURVE_POINTS):
        desktop._point(CurvePoint(step, step, 1.0, 0.5))
    assert len(desktop._course.curve) <= CURVE_POINTS
    steps = [point.step for point in desktop._course.curve]
    assert steps == sorted(steps)
    assert steps[-1] == 2 * CURVE_POINTS - 1


def test_the_window_remembers_its_size(start: Start) -> None:
    desktop = start()
    desktop.window.resize(880, 640)
    desktop = start()
    assert (desktop.window.width(), desktop.window.height()) == (880, 640)


def test_a_spoilt_view_file_costs_the_windows_place_only(start: Start, folder: Path) -> None:
    (folder / VIEW_FILE).write_text("[General]\ngeometry=hello\nlanguage=1, 2\ntheme=[]\n", encoding="utf-8")
    assert start().window.isVisible()


def test_a_file_in_the_place_of_the_log_folder_keeps_no_window_from_opening(start: Start, folder: Path) -> None:
    (folder / "logs").write_text("", encoding="utf-8")
    assert start().window.isVisible()


def test_an_app_that_cannot_open_leaves_no_worker_behind(
    folder: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    agreed(folder)
    started: list[Any] = []

    def fail(actions: Actions, desktop: Desktop) -> None:
        started.append(desktop.supervisor.process)
        raise RuntimeError("A fault of ours.")

    monkeypatch.setattr(module, "Tray", fail)
    supervisor = supervise(folder)
    with pytest.raises(RuntimeError):
        Desktop(supervisor, Instance(folder), time.monotonic())
    try:
        started[0].wait(60)
        assert supervisor.report.phase is Phase.ENDED, "it would start another worker"
    finally:
        started[0].kill()
        started[0].wait()


def test_the_curve_forgets_work_that_was_lost(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:
    desktop = start()
    for step in (64, 128, 192):
        toy.tell("curve", CurvePoint(step, step * 32, 1.0, 0.5))
    qtbot.waitUntil(lambda: bool(desktop._course.curve) and desktop._course.curve[-1].step == 192)
    toy.tell("status", make_status(step=150))
    qtbot.waitUntil(lambda: desktop._course.curve[-1].step == 128)

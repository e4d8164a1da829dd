"""The first run: nothing before consent, choices that count, figures, words, and the way to the pages."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QSystemTrayIcon, QWidget
from pytestqt.qtbot import QtBot

from app.desktop import Desktop
from app.first_run.first_run import FirstRun
from app.pages.settings.setting_controls import ChoiceControl, RunControl, SwitchControl
from app.system.single_instance import Instance
from app.theme import theme
from app.worker.supervision import Phase, Report
from app.worker.supervisor import supervise
from core import consent
from core.contracts import manifest as manifests
from core.contracts.notices import plain
from core.contracts.settings import cores
from core.contracts.status import BenchmarkStatus, ProcessStatus, SpeedStatus
from core.identity import Identity
from tests.desktop.conftest import ToyWorker, make_status


@pytest.fixture
def desktop(qtbot: QtBot, folder: Path, toy: ToyWorker, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desktop]:
    """The app in a data folder without consent; a toy worker is there to be found."""
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    instance = Instance(folder)
    assert instance.acquire()
    desktop = Desktop(supervise(folder), instance, time.monotonic())
    qtbot.waitUntil(desktop.window.isActiveWindow)
    yield desktop
    desktop.close()
    instance.release()
    desktop.window.may_close = True
    desktop.window.close()
    shiboken6.delete(desktop.window)
    theme().set_mode("system")


@pytest.fixture
def first(desktop: Desktop) -> FirstRun:
    assert desktop.first_run is not None
    return desktop.first_run


def click(widget: QWidget) -> None:
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton)


def key(widget: QWidget, name: Qt.Key, alt: bool = False) -> None:
    if alt:  # a shortcut, which only an active window has; another program's may have become it meanwhile
        widget.activateWindow()
        assert QTest.qWaitForWindowActive(widget.window(), 30_000)
    QTest.keyClick(widget, name, Qt.KeyboardModifier.AltModifier if alt else Qt.KeyboardModifier.NoModifier)


def test_nothing_is_looked_for_or_started_before_consent(
    qtbot: QtBot, desktop: Desktop, first: FirstRun, toy: ToyWorker, folder: Path
) -> None:
    assert not desktop.window.sidebar.isVisible() and first.isVisible()
    click(first.next)
    assert first.current is first.consent and first.next.text() == "I agree"
    QTest.qWait(50)
    assert toy.hellos == [] and desktop.supervisor.process is None
    assert desktop.supervisor.report.phase is Phase.LOOKING
    assert not (folder / consent.FILE).exists() and not (folder / "settings.json").exists()


def test_not_now_ends_the_app_and_stores_nothing(
    qtbot: QtBot, desktop: Desktop, first: FirstRun, toy: ToyWorker, folder: Path
) -> None:
    with qtbot.waitSignal(desktop.supervisor.ended):
        click(first.decline)
    assert toy.hellos == [] and consent.read(folder) is None


def test_closing_the_window_before_consent_is_not_now(qtbot: QtBot, desktop: Desktop) -> None:
    with qtbot.waitSignal(desktop.supervisor.ended):
        desktop.window.close()


def test_enter_goes_on_but_agrees_only_by_the_button(
    qtbot: QtBot, desktop: Desktop, first: FirstRun, folder: Path
) -> None:
    desktop.window.activateWindow()
    qtbot.waitUntil(desktop.window.isActiveWindow)
    key(first.welcome.heading, Qt.Key.Key_Return)
    assert first.current is first.consent and first.consent.heading.hasFocus()
    for _ in range(2):
        key(first.next, Qt.Key.Key_Right, alt=True)
    assert first.current is first.consent and first.next.hasFocus(), "the key for on agrees to nothing"
    first.consent.heading.setFocus()
    key(first.consent.heading, Qt.Key.Key_Return)
    assert first.next.hasFocus() and consent.read(folder) is None, "it only offers the button"
    assert desktop.window.ring.target is first.next and first.consent.notice.isVisible(), "and says so"
    key(first.next, Qt.Key.Key_Return)
    given = consent.read(folder)
    assert given is not None and (given.terms, given.given) == (consent.TERMS, "app")
    assert first.current.title == first.lend.title
    key(first.lend.heading, Qt.Key.Key_Left, alt=True)
    assert first.current is first.consent and first.next.text() == "Next"
    key(first.consent.heading, Qt.Key.Key_Return)
    assert first.current.title == first.lend.title


def test_the_first_step_is_full(qtbot: QtBot, desktop: Desktop, first: FirstRun) -> None:
    desktop.window.resize(1040, 720)
    [last] = [one for one in first.welcome.findChildren(QLabel) if one.text().startswith("Three more steps")]
    qtbot.waitUntil(lambda: last.mapTo(first, last.rect().bottomLeft()).y() > 0.8 * first.height())


def test_consent_says_what_it_will_take_of_this_pc(first: FirstRun) -> None:
    words = " ".join(label.text() for label in first.consent.findChildren(QLabel))
    assert "up to 32 experts in about" in words and " of memory." in words
    assert f"About {round(5 * max(1, cores() // 2))} W" in words and "125 kB/s or 450 MB an hour at most" in words
    assert "At most a quarter of your upload" in words


def test_custom_opens_the_numbers_of_a_profile(qtbot: QtBot, first: FirstRun, folder: Path) -> None:
    first.go_on()
    first.go_on()
    lend = first.lend
    assert not lend.custom.isVisible()
    lend.rows["profile"].chosen.emit("quiet")
    lend.rows["profile"].chosen.emit("own")
    assert lend.custom.isVisible() and "25% of the time" in lend.limits.text(), "the numbers are kept"
    lend.rows["cpu_share_in_use"].chosen.emit(35)
    assert "35% of the time" in lend.limits.text()
    first.go_on()
    saved = json.loads((folder / "settings.json").read_text())
    assert (saved["profile"], saved["cpu_share_in_use"], saved["cpu_celsius"]) == ("own", 35, 70)


def test_a_link_that_one_was_sent_is_shown_once_hearth_is_set_up(
    qtbot: QtBot, desktop: Desktop, first: FirstRun, toy: ToyWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(desktop.join_sheet, "open_for", asked.append)
    first.go_on()
    first.go_on()
    link = first.lend.link
    link.setFocus()
    QTest.keyClicks(link, "hearth://join/wiki-00c0ffee")
    key(link, Qt.Key.Key_Return)
    assert first.current is first.lend and "copy the whole link" in first.lend.notice.accessibleName()
    link.setText(f"  hearth://join/wiki-00c0ffee/{'a5' * 32}/{'cd' * 32}@192.168.1.7:4401 ")
    key(link, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: desktop.client.is_connected)
    assert first.current.title == first.ready.title and not asked
    first.go_on()
    assert asked == [link.text().strip()] and desktop.first_run is None


def test_the_whole_way_to_the_pages(
    qtbot: QtBot, desktop: Desktop, first: FirstRun, toy: ToyWorker, folder: Path
) -> None:
    first.go_on()
    first.go_on()
    lend = first.lend
    away, profile, run = (lend.rows[name].control for name in ("idle_only", "profile", "run"))
    assert isinstance(away, SwitchControl) and isinstance(profile, ChoiceControl) and isinstance(run, RunControl)
    assert away.switch.isChecked()  # as was said when the user agreed
    assert "50% of the time" in lend.limits.text()
    words = " ".join(label.text() for label in lend.findChildren(QLabel))
    assert "restart" not in words, "nothing runs yet"
    profile.segments._buttons["quiet"].click()
    assert "25% of the time" in lend.limits.text() and "70 °C" in lend.limits.text()
    run.choice.setFocus()
    for _ in range(3):
        key(run.choice, Qt.Key.Key_Down)
    assert toy.hellos == []
    first.go_on()
    saved = json.loads((folder / "settings.json").read_text())
    assert (saved["run"], saved["profile"], saved["cpu_celsius"], saved["idle_only"]) == ("text", "quiet", 70, True)
    qtbot.waitUntil(lambda: desktop.client.is_connected)
    assert first.current is first.ready and first.next.text() == "Open Hearth"
    login = first.ready.login.control
    assert isinstance(login, SwitchControl) and not login.switch.isChecked()
    click(login.switch)
    assert (folder / "config" / "autostart" / "hearth.desktop").exists()
    click(first.next)
    assert desktop.first_run is None
    assert desktop.window.sidebar.isVisible() and desktop.window.current_page().name == "home"


def test_a_bad_manifest_is_told_at_once(first: FirstRun, folder: Path) -> None:
    (folder / "bad.json").write_text('{"version": 1}')
    first.go_on()
    first.go_on()
    first.lend.rows["run"].chosen.emit(str(folder / "bad.json"))
    assert "bad.json cannot be used" in first.lend.rows["run"].error
    run = msgspec.to_builtins(manifests.load("digits"))
    (folder / "strange.json").write_bytes(msgspec.json.encode({**run, "data": "faces"}))
    first.lend.rows["run"].chosen.emit(str(folder / "strange.json"))
    assert "no data set named 'faces'" in first.lend.rows["run"].error
    assert first.lend.changes == {}


def test_a_consent_that_cannot_be_kept_starts_nothing(first: FirstRun, desktop: Desktop, folder: Path) -> None:
    (folder / consent.FILE).mkdir()
    first.go_on()
    first.go_on()
    assert first.current is first.consent and "could not be written" in first.consent.notice.accessibleName()
    assert not first.has_agreed


def test_going_back_changes_what_the_worker_does(
    qtbot: QtBot, desktop: Desktop, first: FirstRun, toy: ToyWorker
) -> None:
    for _ in range(3):
        first.go_on()
    qtbot.waitUntil(lambda: desktop.client.is_connected)
    first.go_back()
    first.lend.rows["run"].chosen.emit("text")
    with qtbot.waitSignal(first.restart_worker):
        first.go_on()
    assert toy.settings["run"] == "text"
    assert first.current is first.ready


def measured(when: float | None) -> BenchmarkStatus:
    speeds = [] if when is None else [SpeedStatus(1, 4200.0), SpeedStatus(2, 6100.0)]
    return BenchmarkStatus("digits", "A processor", 2, when, speeds, 3_400_000, None, None, None)


def test_the_speed_test_shows_its_progress_and_figures(
    qtbot: QtBot, desktop: Desktop, first: FirstRun, toy: ToyWorker
) -> None:
    answer = [measured(None)]
    toy.answers["benchmark"] = lambda params: answer[0]
    for _ in range(3):
        first.go_on()
    speed = first.speed
    high = speed.height()
    qtbot.waitUntil(speed.bar.isVisible)  # it begins by itself
    qtbot.waitUntil(lambda: ("start_now", {"seconds": 60.0}) in toy.asked)
    toy.tell("status", make_status(cpu=True, processes=[ProcessStatus("compute", 9, 200.0)]))
    qtbot.waitUntil(lambda: "Measuring" in speed.words.text())
    qtbot.wait(0)
    assert speed.height() == high, "the cards below stay where they are"
    answer[0] = measured(time.time())
    qtbot.waitUntil(lambda: speed.speed.accessibleName() == "One expert: 6,100 samples/s")
    assert not speed.bar.isVisible() and speed.threads.accessibleName() == "Fastest with: 2 threads"
    qtbot.wait(0)
    assert speed.height() == high
    qtbot.waitUntil(lambda: ("start_now", {"seconds": 0.001}) in toy.asked)  # the rest of the minute is not lent
    click(speed.start)
    qtbot.waitUntil(lambda: ("benchmark", {"again": True, "run": None}) in toy.asked)


def test_the_end_of_the_speed_test_ends_no_pause(qtbot: QtBot, first: FirstRun, toy: ToyWorker) -> None:
    toy.answers["benchmark"] = lambda params: measured(None)
    for _ in range(3):
        first.go_on()
    speed = first.speed
    qtbot.waitUntil(lambda: speed.is_running)
    paused = make_status(state="paused", cpu=False)
    toy.tell("status", paused)
    qtbot.waitUntil(lambda: speed._status == paused)
    first.go_back()
    qtbot.waitUntil(lambda: not speed.is_running)
    first.go_on()
    qtbot.waitUntil(lambda: toy.asked[-1][0] == "benchmark")
    assert ("start_now", {"seconds": 0.001}) not in toy.asked


def test_a_worker_that_cannot_run_is_told_with_a_way_on(qtbot: QtBot, first: FirstRun) -> None:
    first.stack.setCurrentIndex(3)
    first.speed.show_report(Report(Phase.FAILED, plain("The control port is taken.")))
    assert first.speed.notice.accessibleName() == "The control port is taken."
    with qtbot.waitSignal(first.speed.retry_asked):
        click(first.speed.retry)


def test_the_recovery_words_are_those_of_the_key(qtbot: QtBot, first: FirstRun, folder: Path) -> None:
    first.stack.setCurrentIndex(3)
    words = first.ready.words
    click(words.button)
    qtbot.waitUntil(lambda: len(words.words) == 24)
    assert " ".join(words.words) == Identity.load(folder).words()
    click(words.copy)
    assert QGuiApplication.clipboard().text() == " ".join(words.words)
    first.go_back()
    assert words.words == []  # not left lying about
    first.stack.setCurrentIndex(3)
    click(words.button)
    first.go_back()  # before they have come
    qtbot.waitUntil(words.button.isEnabled)
    assert words.words == []


def test_a_damaged_key_is_told(qtbot: QtBot, first: FirstRun, folder: Path) -> None:
    (folder / "identity.key").write_text("no key")
    first.stack.setCurrentIndex(3)
    click(first.ready.words.button)
    notice = first.ready.words._notice
    qtbot.waitUntil(lambda: "cannot be used" in notice.accessibleName())


def test_every_control_has_a_name_and_comes_after_the_heading(qtbot: QtBot, desktop: Desktop, first: FirstRun) -> None:
    desktop.window.activateWindow()
    qtbot.waitUntil(desktop.window.isActiveWindow)
    for step in first.steps:
        first._show(first.steps.index(step))
        order: list[QWidget] = []
        widget: QWidget | None = step.heading
        while widget is not None and widget not in order:
            order.append(widget)
            QTest.keyClick(widget, Qt.Key.Key_Tab)
            widget = QApplication.focusWidget()
        assert order[0] is step.heading and order[-1] is first.next, step.title
        assert all(widget.accessibleName() for widget in order), step.title

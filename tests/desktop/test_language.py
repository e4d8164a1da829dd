"""Another language is spoken from the next start of the window on: by its pages, the tray and what the worker says."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.language import Catalogue, clock, day, hour, locale, read, speak, told, use
from app.window.view_settings import view_settings
from app.worker.supervision import Phase
from core.contracts import control as wire
from core.contracts.notices import notice
from tests.desktop.conftest import ToyWorker, make_status
from tests.desktop.test_desktop import Start, has_tray, start  # noqa: F401 - fixtures


@pytest.fixture(autouse=True)
def in_english() -> Iterator[None]:
    yield
    speak("system")


def texts(widget: object) -> list[str]:
    return [label.text() for label in widget.findChildren(QLabel)]  # type: ignore[attr-defined]


def test_another_language_is_spoken_from_the_next_start_on(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:  # noqa: F811
    status = make_status(reason=(notice("run.training", n=3),), until=(notice("run.until_pause"),))
    desktop = start()
    language = desktop.settings_page.rows["language"]
    desktop.window.open_page("settings")
    assert language.restart is not None and not language.restart.isVisible()
    desktop.settings_page.apply({"language": "de"})
    qtbot.waitUntil(language.restart.isVisible)
    assert desktop.window.pages[0].title == "Home", "the window is as it was"
    desktop.settings_page.undo_button.click()
    qtbot.waitUntil(language.restart.isHidden)
    desktop.settings_page.apply({"language": "de"})
    qtbot.waitUntil(language.restart.isVisible)
    desktop = start()
    assert desktop.window.pages[0].title == "Übersicht", "before the worker has said a word"
    language = desktop.settings_page.rows["language"]
    assert language.restart is not None and language.restart.isHidden()
    assert "Sprache" in texts(desktop.settings_page) and locale().language() == QLocale.Language.German
    toy.tell("status", status)
    qtbot.waitUntil(lambda: "Dieser PC trainiert 3 Experten." in texts(desktop.window))
    tip = "Hearth: Hilft mit\nDieser PC trainiert 3 Experten.\nheute 0 s, für andere 0 Aufrufe"
    qtbot.waitUntil(lambda: desktop.tray.icon.toolTip() == tip)
    assert [action.text() for action in desktop.tray.menu.actions() if action.text()][-1] == "Beenden"


def test_a_restart_of_the_window_leaves_the_worker_as_it_is(
    qtbot: QtBot,
    start: Start,  # noqa: F811
    toy: ToyWorker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[bool] = []
    monkeypatch.setattr(QGuiApplication, "quit", lambda: ended.append(True))
    desktop = start()
    assert not desktop.restarts
    desktop.settings_page.apply({"language": "de"})
    restart = desktop.settings_page.rows["language"].restart
    assert restart is not None
    qtbot.waitUntil(restart.isEnabled)
    restart.click()
    assert ended == [True] and desktop.restarts and desktop.window.may_close
    assert desktop.client.is_connected and desktop.supervisor.report.phase is Phase.RUNNING


def test_what_goes_wrong_is_told_in_the_windows_language(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:  # noqa: F811
    view_settings(toy.folder).setValue("language", "de")
    toy.answers["pause"] = lambda params: wire.ErrorInfo("error", notice("question.too_late", within=30.0))
    desktop = start()
    assert desktop.window.pages[0].title == "Übersicht"
    desktop.actions.pause.emit(None)
    qtbot.waitUntil(lambda: desktop.window.note.isVisible())
    assert "Das Modell hat in 30 s nicht geantwortet. Versuch es erneut." in texts(desktop.window.note)
    toy.hang_up()
    qtbot.waitUntil(lambda: not desktop.client.is_connected)
    assert "Der Worker hat die Verbindung beendet. Hearth versucht, ihn wieder zu erreichen." in texts(desktop.window)


@pytest.mark.parametrize(
    ("name", "days", "clocks"),
    [
        ("en_US", "September 4|Sep 4|September 4, 2026|Fri Sep 4", "2:05 PM|2:05:09 PM|2 PM|Fri 2:05 PM"),
        ("en_GB", "4 September|4 Sept|4 September 2026|Fri 4 Sept", "14:05|14:05:09|14:00|Fri 14:05"),
        ("de_DE", "4. September|4. Sept.|4. September 2026|Fr. 4. Sept.", "14:05|14:05:09|14:00|Fr 14:05"),
        ("es_ES", "4 de septiembre|4 de sept|4 de septiembre de 2026|vie 4 de sept", "14:05|14:05:09|14:00|vie 14:05"),
    ],
)
def test_days_and_clocks_are_written_as_the_locale_has_them(name: str, days: str, clocks: str) -> None:
    at = datetime(2026, 9, 4, 14, 5, 9)
    try:
        use(Catalogue(read("en")), QLocale(name))
        told_days = [day(at), day(at, short=True), day(at, year=True), day(at, short=True, weekday=True)]
        paused = told(notice("choice.paused_until", end=at.timestamp()), at.timestamp() - 86_400)
        told_clocks = [clock(at), clock(at, seconds=True), hour(14), paused.removeprefix("Paused until ")]
    finally:
        speak("system")
    assert "|".join(told_days) == days
    assert "|".join(told_clocks).replace("\u202f", " ") == clocks


def test_next_to_nothing_has_no_minus(qtbot: QtBot) -> None:
    speak("de")
    try:
        assert told(notice("doctor.clock_off", seconds=-0.04)) == "+0,0 s gegenüber anderen Peers"
        assert told(notice("doctor.clock_off", seconds=-0.06)) == "-0,1 s gegenüber anderen Peers"
    finally:
        speak("system")


@pytest.mark.parametrize(
    "wished,word,figure", [("de_AT.UTF-8", "Übersicht", "1.234,5"), ("en_US.UTF-8", "Home", "1,234.5")]
)
def test_the_systems_language_is_followed(wished: str, word: str, figure: str) -> None:
    script = (
        "from PySide6.QtCore import QCoreApplication; app = QCoreApplication([])\n"
        "from app.language import tr; from app.formats import number\n"
        "print(tr('Home'), number(1234.5, 1).replace('\\xa0', '.').replace('\\u202f', '.'))"
    )
    env = {key: value for key, value in os.environ.items() if not key.startswith("LC_") and key != "LANGUAGE"}
    command = [sys.executable, "-c", script]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, env={**env, "LANG": wished}, cwd=root, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == [word, figure], done.stderr

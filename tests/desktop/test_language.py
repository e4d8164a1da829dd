"""Another language is spoken at once, by the window, the tray and what the worker says, and kept for the next start."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale, QPointF
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.desktop import LATER
from app.language import locale, speak
from app.pages.contribution.contribution_page import ContributionPage
from app.pages.model.model_page import ModelPage
from core.contracts import control as wire
from core.contracts.notices import plain
from tests.desktop.conftest import ToyWorker, make_status
from tests.desktop.test_desktop import Start, has_tray, start  # noqa: F401 - fixtures


@pytest.fixture(autouse=True)
def in_english() -> Iterator[None]:
    yield
    speak("system")


def texts(widget: object) -> list[str]:
    return [label.text() for label in widget.findChildren(QLabel)]  # type: ignore[attr-defined]


def test_another_language_is_spoken_at_once_and_at_the_next_start(
    qtbot: QtBot,
    start: Start,  # noqa: F811
    toy: ToyWorker,
) -> None:
    status = make_status(reason="This PC is training 3 experts.", until="Goes on until you press Pause.")
    desktop = start()
    toy.tell("status", status)
    qtbot.waitUntil(lambda: desktop._last == status)
    desktop.window.open_page("settings")
    english, size = desktop.window, desktop.window.size()
    desktop.settings_page.apply({"language": "de"})
    qtbot.waitUntil(lambda: desktop.window is not english)
    qtbot.waitUntil(lambda: not isValid(english))
    assert desktop.window.isVisible() and desktop.window.size() == size
    assert desktop.window.current_page().title == "Einstellungen"
    assert desktop.settings_page.values["language"] == "de"
    assert desktop.settings_page.undo_button.isEnabled(), "it can be taken back"
    assert "Sprache" in texts(desktop.settings_page) and locale().language() == QLocale.Language.German
    assert any(line.text == "started" for line in desktop.log_page.model.lines) and desktop.log_page.empty.isHidden()
    toy.tell("status", status)
    qtbot.waitUntil(lambda: "Dieser PC trainiert 3 Experten." in texts(desktop.window))
    tip = "Hearth: Hilft mit\nDieser PC trainiert 3 Experten.\n0 s heute"
    qtbot.waitUntil(lambda: desktop.tray.icon.toolTip() == tip)
    assert [action.text() for action in desktop.tray.menu.actions() if action.text()][-1] == "Beenden"
    desktop = start()
    assert desktop.window.pages[0].title == "Übersicht", "before the worker has said a word"
    desktop.settings_page.apply({"language": "en"})
    qtbot.waitUntil(lambda: desktop.window.pages[0].title == "Home")


def test_another_language_keeps_what_the_user_made(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:  # noqa: F811
    desktop = start()
    qtbot.waitUntil(lambda: desktop.client.is_connected)
    desktop.window.open_page("settings")
    model, contribution = desktop.window.pages[1], desktop.window.pages[2]
    assert isinstance(model, ModelPage) and isinstance(contribution, ContributionPage)
    model.text.prompt.setPlainText("Mine own")
    model.text.length.setValue(77)
    model.digits.canvas.strokes.append([QPointF(0.5, 0.2), QPointF(0.5, 0.8)])
    contribution.range.set_value("all")
    desktop.log_page.text.setText("hearth")
    desktop.settings_page.search.setText("e")
    desktop.window.showMaximized()
    english = desktop.window
    qtbot.waitUntil(english.isMaximized)
    desktop.settings_page.apply({"language": "de", "cpu_share_in_use": 33})
    qtbot.waitUntil(lambda: desktop.window is not english and desktop.window.isMaximized())
    model, contribution = desktop.window.pages[1], desktop.window.pages[2]
    assert isinstance(model, ModelPage) and isinstance(contribution, ContributionPage)
    assert model.text.prompt.toPlainText() == "Mine own" and model.text.length.value() == 77
    assert len(model.digits.canvas.strokes) == 1
    assert contribution.range.value() == "all"
    assert desktop.log_page.text.text() == "hearth"
    assert desktop.settings_page.search.text() == "e"


def test_settings_stay_those_of_the_worker_that_is_gone(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:  # noqa: F811
    toy.settings["cpu_share_in_use"] = 33
    desktop = start()
    qtbot.waitUntil(lambda: desktop.settings_page.values["cpu_share_in_use"] == 33)
    toy.hang_up()
    qtbot.waitUntil(lambda: not desktop.client.is_connected)
    desktop.build_anew()
    page = desktop.settings_page
    assert page.values["cpu_share_in_use"] == 33
    qtbot.waitUntil(lambda: not page.rows["cpu_share_in_use"].isEnabled())


def test_a_language_that_waits_for_an_answer_says_so(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:  # noqa: F811
    toy.silent = {"pause"}
    desktop = start()
    qtbot.waitUntil(lambda: desktop.client.is_connected and not desktop.client.is_busy)
    english = desktop.window
    desktop.actions.pause.emit(None)
    desktop._settings_applied({"language": "de"})
    qtbot.waitUntil(english.note.isVisible)
    assert LATER in texts(english.note)
    assert desktop.window is english
    toy.hang_up()  # which ends the waiting
    qtbot.waitUntil(lambda: desktop.window is not english)


def test_what_goes_wrong_is_told_in_the_windows_language(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:  # noqa: F811
    toy.settings["language"] = "de"
    toy.answers["pause"] = lambda params: wire.ErrorInfo(
        "error", plain("The model did not answer within 30 s. Try again.")
    )
    desktop = start()
    qtbot.waitUntil(lambda: desktop.window.pages[0].title == "Übersicht")
    desktop.actions.pause.emit(None)
    qtbot.waitUntil(lambda: desktop.window.note.isVisible())
    assert "Das Modell hat in 30 s nicht geantwortet. Versuch es erneut." in texts(desktop.window.note)
    toy.hang_up()
    qtbot.waitUntil(lambda: not desktop.client.is_connected)
    assert "Der Worker hat die Verbindung beendet. Es wird versucht, ihn wieder zu erreichen." in texts(desktop.window)


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

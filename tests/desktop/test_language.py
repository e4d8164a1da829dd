"""Another language is spoken at once, by the window, the tray and what the worker says, and kept for the next start."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.language import locale, speak
from core.control import messages as wire
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
    assert desktop.window._pages[0].title == "Übersicht", "before the worker has said a word"
    desktop.settings_page.apply({"language": "en"})
    qtbot.waitUntil(lambda: desktop.window._pages[0].title == "Home")


def test_what_goes_wrong_is_told_in_the_windows_language(qtbot: QtBot, start: Start, toy: ToyWorker) -> None:  # noqa: F811
    toy.settings["language"] = "de"
    toy.answers["pause"] = lambda params: wire.ErrorInfo("error", "The model did not answer within 30 s. Try again.")
    desktop = start()
    qtbot.waitUntil(lambda: desktop.window._pages[0].title == "Übersicht")
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
        "from app.language import tr; from app.window.words import number\n"
        "print(tr('Home'), number(1234.5, 1).replace('\\xa0', '.').replace('\\u202f', '.'))"
    )
    env = {key: value for key, value in os.environ.items() if not key.startswith("LC_") and key != "LANGUAGE"}
    command = [sys.executable, "-c", script]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, env={**env, "LANG": wished}, cwd=root, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == [word, figure], done.stderr

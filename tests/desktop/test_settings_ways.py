"""Finding one's way in the settings: index, search, undo of one change, the standard values, consent, and from Why."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.actions import Actions
from app.first_run.steps import Consent
from app.language import speak
from app.pages.settings.settings_page import CONSENT, IDENTITY, SettingsPage
from app.pages.settings.synonyms import SYNONYMS
from app.window.page import NARROW
from app.worker.client import WorkerClient
from core import consent
from core.contracts import control as wire
from core.contracts.notices import plain
from core.contracts.settings import Settings
from core.store import settings_file
from core.system.start_at_login import start_at_login
from tests.desktop import test_settings_page as of_page
from tests.desktop.conftest import ToyWorker
from tests.desktop.test_widgets import misfits

page, config, shown = of_page.page, of_page.config, of_page.shown


def seen(page: SettingsPage, part: QWidget) -> bool:
    """Whether its head is in the part of the page that is seen."""
    top = part.mapTo(page._scroll.viewport(), QPoint(0, 0)).y()
    return part.isVisible() and 0 <= top < page._scroll.viewport().height()


def listed(page: SettingsPage) -> list[str]:
    return [name for name, entry in page.side.entries.items() if entry.isVisible()]


def marked(page: SettingsPage) -> str:
    return next(name for name, entry in page.side.entries.items() if entry.isChecked())


def test_each_section_is_marked_while_it_is_read_also_the_last(qtbot: QtBot, page: SettingsPage) -> None:
    bar = page._scroll.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    found: dict[str, int] = {}
    for at in range(0, bar.maximum() + 1, 4):
        bar.setValue(at)
        found[marked(page)] = found.get(marked(page), 0) + 4
    assert [*found] == listed(page)
    total = bar.maximum() + page._scroll.viewport().height()
    for name, room in found.items():
        part = page.sections[name].height() / total
        assert room > 0.5 * part * bar.maximum() > 0, (name, room, part)


def test_the_index_leads_to_each_section(page: SettingsPage) -> None:
    cards = sorted(page.sections, key=lambda name: page.sections[name].y())
    assert listed(page) == cards and marked(page) == "Run and start"
    for name in (*cards, cards[0]):
        QTest.mouseClick(page.side.entries[name], Qt.MouseButton.LeftButton)
        assert seen(page, page.sections[name]) and marked(page) == name
    assert page._scroll.verticalScrollBar().value() == 0


def test_the_index_follows_what_is_read(page: SettingsPage) -> None:
    bar = page._scroll.verticalScrollBar()
    bar.setValue(page.groups["Energy"].y())
    assert marked(page) == "Energy"
    bar.setValue(0)
    assert marked(page) == "Run and start"


def test_the_index_by_keyboard(qtbot: QtBot, page: SettingsPage) -> None:
    page.search.setFocus()
    QTest.keyClick(page.search, Qt.Key.Key_Tab)
    assert page.focusWidget() is page.side.entries["Run and start"], "one stop of Tab, the marked section"
    for _ in range(2):
        QTest.keyClick(page.focusWidget(), Qt.Key.Key_Down)
    assert marked(page) == "Idle and power" and seen(page, page.groups["Idle and power"])
    QTest.keyClick(page.focusWidget(), Qt.Key.Key_Return)
    assert page.rows["idle_only"].isAncestorOf(page.focusWidget()), "Enter goes into the section"


def test_a_narrow_page_has_its_sections_in_a_list_above(qtbot: QtBot, page: SettingsPage) -> None:
    wide = page.side.geometry()
    assert wide.height() == page.height() and page.side.index.isVisible() and misfits(page.side) == []
    page.resize(NARROW - 10, 600)
    assert not page.side.index.isVisible() and page.side.folded.isVisible()
    qtbot.waitUntil(lambda: page.side.width() == page._scroll.width() == page.width())
    qtbot.waitUntil(lambda: page._scroll.y() == page.side.height() < 100)
    folded = page.side.folded
    at = folded.findData("Schedule")
    folded.setCurrentIndex(at)
    folded.activated.emit(at)
    assert seen(page, page.groups["Schedule"])
    page.resize(NARROW + 10, 600)
    assert page.side.index.isVisible() and marked(page) == "Schedule"


FOUND = [
    ("cpu", "cpu_celsius"), ("gpu", "gpu_in_use"), ("bandwidth", "upload_kb_s"), ("autostart", "login"),
    ("heat", "gpu_celsius"), ("dark mode", "theme"), ("language", "language"), ("key", IDENTITY), ("quit", CONSENT),
    ("schedule", "compute_hours"), ("upload", "upload_kb_s"), ("power", "energy_budget_kwh"),
    ("notification", "notify_update"), ("ram", "memory_free_mb"), ("withdraw", CONSENT), ("sleep", "keep_awake"),
    ("url", "links"), ("electricity", "price_kwh"),
]  # fmt: skip
GEFUNDEN = [
    ("prozessor", "cpu_celsius"), ("grafikkarte", "gpu_in_use"), ("bandbreite", "download_kb_s"),
    ("autostart", "login"), ("hitze", "cpu_celsius"), ("dunkelmodus", "theme"), ("sprache", "language"),
    ("schlüssel", IDENTITY), ("beenden", CONSENT), ("zeitplan", "network_hours"), ("upload", "upload_kb_s"),
    ("strom", "on_battery"), ("benachrichtigung", "notify_milestone"), ("widerrufen", CONSENT), ("CPU", "threads"),
    ("dark mode", "theme"), ("Wärme", "gpu_celsius"),
]  # fmt: skip


def all_found(page: SettingsPage, words: str) -> set[str]:
    page.search.setText(words)
    system = {"login": page.login, "links": page.links}
    others = {name for name in (IDENTITY, CONSENT) if page.sections[name].isVisible()}
    return {*shown(page), *others, *(name for name, row in system.items() if row.isVisible())}


def test_the_search_knows_the_words_that_people_use(page: SettingsPage) -> None:
    missing = [pair for pair in FOUND if pair[1] not in all_found(page, pair[0])]
    assert missing == []
    assert all_found(page, "dark mode") == {"theme"}, "and does not find everything"
    assert listed(page) == ["Appearance"], "the index shows where something was found"
    assert all_found(page, "withdraw") == {CONSENT} and listed(page) == [CONSENT]


def test_each_setting_has_words_beside_its_own() -> None:
    shown = {field.name for field in dataclasses.fields(Settings) if not field.metadata.get("hidden")}
    assert {*shown, "login", "links", "identity", "consent", "data", "pack", "updates"} == set(SYNONYMS)


def test_the_search_knows_them_in_german(qtbot: QtBot, folder: Path, config: Path) -> None:
    speak("de")
    german = SettingsPage(WorkerClient(folder, "0.1.0"), Actions())
    qtbot.addWidget(german)
    german.show()
    missing = [pair for pair in GEFUNDEN if pair[1] not in all_found(german, pair[0])]
    speak("en")
    assert missing == []


# standard values


def marked_as_changed(page: SettingsPage) -> list[str]:
    return [name for name, row in page.rows.items() if row.is_changed]


def test_nothing_is_marked_as_changed_after_the_first_run(page: SettingsPage, toy: ToyWorker, folder: Path) -> None:
    Consent(folder).agree()
    settings, _ = settings_file.load(folder)
    page.set_values({name: getattr(settings, name) for name in page.values})
    page.set_connected(True, "")
    assert page.values["idle_only"] and marked_as_changed(page) == []
    page.set_values({**page.values, "idle_only": False})
    assert marked_as_changed(page) == ["idle_only"] and page.rows["idle_only"].default is True


def test_who_began_with_a_worker_by_hand_has_its_standard(page: SettingsPage, folder: Path) -> None:
    consent.give(folder, "command line")
    page.set_connected(True, "")
    assert page.values["idle_only"] is False and marked_as_changed(page) == []


# undo


def undo(page: SettingsPage) -> None:
    QTest.mouseClick(page.undo_button, Qt.MouseButton.LeftButton)


def test_undo_takes_back_one_change_at_a_time_and_names_it(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    page.apply({"run": "text"})
    page.apply({"theme": "dark"})  # at once, before the answer to the first
    page.apply({"memory_grace_s": 30})
    qtbot.waitUntil(lambda: page.side.undoes.text() == "Free the memory after")
    assert page.undo_button.accessibleName() == "Undo: Free the memory after"
    undo(page)
    qtbot.waitUntil(lambda: page.side.undoes.text() == "Theme")
    assert (toy.settings["memory_grace_s"], toy.settings["theme"], toy.settings["run"]) == (10, "dark", "text")
    undo(page)
    qtbot.waitUntil(lambda: page.side.undoes.text() == "Run")
    assert (toy.settings["theme"], toy.settings["run"]) == ("system", "text")
    undo(page)
    qtbot.waitUntil(lambda: toy.settings["run"] == "digits")
    qtbot.waitUntil(lambda: not page.undo_button.isEnabled() and not page.side.undoes.text())


def test_what_changes_a_profile_is_taken_back_with_it(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    page.apply({"profile": "quiet"})
    page.apply({"cpu_celsius": 75})
    qtbot.waitUntil(lambda: page.side.undoes.text() == "CPU no hotter than")
    undo(page)
    qtbot.waitUntil(lambda: page.side.undoes.text() == "How much this PC shares")
    assert (toy.settings["profile"], toy.settings["cpu_celsius"]) == ("quiet", 70)
    undo(page)
    qtbot.waitUntil(lambda: (toy.settings["profile"], toy.settings["cpu_celsius"]) == ("balanced", 85))


def test_several_at_once_are_one_change_of_so_many(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    page.apply({"upload_kb_s": 500, "quota_mb": 30, "theme": "system"})
    qtbot.waitUntil(lambda: page.side.undoes.text() == "Upload at most and 1 more")
    undo(page)
    qtbot.waitUntil(lambda: (toy.settings["upload_kb_s"], toy.settings["quota_mb"]) == (0, 0))


def test_what_somebody_else_has_changed_since_is_not_taken_back(
    qtbot: QtBot, page: SettingsPage, toy: ToyWorker
) -> None:
    page.apply({"run": "text"})
    qtbot.waitUntil(lambda: page.side.undoes.text() == "Run")
    page.set_values({**page.values, "run": "digits-vc"})  # as when that run was left
    assert not page.undo_button.isEnabled()


def test_what_somebody_else_changes_meanwhile_is_not_taken_back_with_it(
    qtbot: QtBot, page: SettingsPage, toy: ToyWorker
) -> None:
    usual = toy.answers["set_settings"]
    toy.answers["set_settings"] = lambda params: (toy.settings.update(run="digits-vc"), usual(params))[1]
    page.apply({"theme": "dark"})
    qtbot.waitUntil(lambda: page.side.undoes.text() == "Theme")
    toy.answers["set_settings"] = usual
    undo(page)
    qtbot.waitUntil(lambda: toy.settings["theme"] == "system")
    assert toy.settings["run"] == "digits-vc"


def test_a_refused_undo_can_be_tried_again(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    page.apply({"run": "text"})
    qtbot.waitUntil(lambda: page.side.undoes.text() == "Run")
    usual = toy.answers["set_settings"]
    toy.answers["set_settings"] = lambda params: wire.ErrorInfo("manifest", plain("It is gone."))
    undo(page)
    qtbot.waitUntil(lambda: page.rows["run"].error == "It is gone.")
    toy.answers["set_settings"] = usual
    undo(page)
    qtbot.waitUntil(lambda: toy.settings["run"] == "digits")


# consent


@pytest.fixture
def quits(page: SettingsPage) -> Iterator[list[bool]]:
    """That the app was asked to quit."""
    found: list[bool] = []
    page._actions.quit.connect(lambda: found.append(True))
    yield found


def test_consent_is_withdrawn_when_that_was_asked_for_twice(
    page: SettingsPage, folder: Path, quits: list[bool]
) -> None:
    consent.give(folder, "app")
    start_at_login(folder, True)
    page.hide()
    page.show()
    page.open_section(CONSENT)
    card = page.consent
    assert card.given.text().startswith("You agreed on ") and card.given.isVisible()
    QTest.mouseClick(card.withdraw, Qt.MouseButton.LeftButton)
    assert card.question.isVisible() and page.focusWidget() is card.keep, "Enter keeps it"
    QTest.mouseClick(card.keep, Qt.MouseButton.LeftButton)
    assert not card.question.isVisible() and consent.read(folder) and not quits
    QTest.mouseClick(card.withdraw, Qt.MouseButton.LeftButton)
    QTest.mouseClick(card.sure, Qt.MouseButton.LeftButton)
    assert consent.read(folder) is None and not start_at_login(folder) and quits


def test_consent_that_cannot_be_withdrawn_says_so(page: SettingsPage, folder: Path, quits: list[bool]) -> None:
    (folder / consent.FILE).mkdir()
    card = page.consent
    page.open_section(CONSENT)
    card.withdraw.click()
    card.sure.click()
    assert "could not be" in card.notice.accessibleName() and not quits


def test_quit_is_at_hand(page: SettingsPage, quits: list[bool]) -> None:
    page.search.setText("quit")
    QTest.mouseClick(page.consent.quit, Qt.MouseButton.LeftButton)
    assert quits


# from Why


def test_a_setting_that_a_rule_goes_by_is_shown_marked_with_the_way_back(qtbot: QtBot, page: SettingsPage) -> None:
    page.search.setText("theme")
    page.show_setting("energy_budget_kwh")
    row = page.rows["energy_budget_kwh"]
    assert page.search.text() == "" and seen(page, row) and marked(page) == "Energy"
    assert row.isAncestorOf(page.focusWidget()) and page.groups["Energy"]._lit is row
    page.show_setting("compute_hours")
    assert page.groups["Energy"]._lit is None and page.rows["compute_hours"].isAncestorOf(page.focusWidget())
    with qtbot.waitSignal(page._actions.why):
        QTest.mouseClick(page.side.back, Qt.MouseButton.LeftButton)
    page.hide()
    page.show()
    assert not page.side.back.isVisible() and page.groups["Schedule"]._lit is None

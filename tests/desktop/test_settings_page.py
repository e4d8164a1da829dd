"""The settings form: made from the declared settings, applied at once, refused with a sentence."""

import dataclasses
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import pytest
from PySide6.QtCore import QEvent, QLocale, QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.actions import Actions
from app.formats import duration, seconds_of
from app.language import BRITISH, Catalogue, speak, use
from app.pages.settings.setting_controls import (
    ChoiceControl,
    LimitControl,
    NumberControl,
    RunControl,
    SwitchControl,
    TextControl,
    bounds,
    make_control,
)
from app.pages.settings.settings_page import SettingsPage
from app.theme import theme
from app.worker.client import WorkerClient
from core.contracts import control as wire
from core.contracts import manifest
from core.contracts.line import LimitStatus, LineStatus
from core.contracts.notices import notice, plain
from core.contracts.settings import NO_LIMIT, Settings, cores
from tests.desktop.conftest import ToyWorker, make_status
from tests.desktop.test_runs import DIGITS
from tests.unit.test_manifest_files import TINY


@pytest.fixture
def config(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the desktop keeps what starts at login."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    return folder / "config"


@pytest.fixture
def page(qtbot: QtBot, folder: Path, toy: ToyWorker, config: Path) -> Iterator[SettingsPage]:
    theme()
    client = WorkerClient(folder, "0.1.0")
    page = SettingsPage(client, Actions())
    client.connected.connect(lambda snapshot: page.set_values(snapshot.settings))
    client.connected.connect(lambda snapshot: page.set_connected(True, ""))
    qtbot.addWidget(page)
    page.resize(828, 690)
    page.show()
    qtbot.waitUntil(page.isActiveWindow)
    with qtbot.waitSignal(client.connected):
        client.dial()
    qtbot.waitUntil(lambda: all(group.isVisible() for group in page.groups.values()))
    yield page
    client.hang_up()


class Painted(QObject):
    """Which groups had too little height whenever the page was painted."""

    def __init__(self, page: SettingsPage) -> None:
        super().__init__(page)
        self.page, self.times, self.squeezed = page, 0, set[str]()
        column = page.identity.parentWidget()
        assert column is not None
        column.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self.times += 1
            for name, group in self.page.groups.items():
                layout = group.layout()
                assert layout is not None
                if group.isVisible() and group.height() < layout.totalHeightForWidth(group.width()):
                    self.squeezed.add(name)
        return False


def click(widget: QWidget) -> None:
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton)


def number(page: SettingsPage, name: str) -> NumberControl:
    control = page.rows[name].control
    assert isinstance(control, NumberControl)
    return control


def type_number(page: SettingsPage, name: str, text: str) -> None:
    spin = number(page, name).spin
    spin.setFocus()
    spin.selectAll()
    QTest.keyClicks(spin, text)
    QTest.keyClick(spin, Qt.Key.Key_Return)


def test_all_settings_that_are_not_hidden_have_a_row_with_label_and_help(page: SettingsPage) -> None:
    shown = [field for field in dataclasses.fields(Settings) if not field.metadata.get("hidden")]
    assert list(page.rows) == [field.name for field in shown]
    for field in shown:
        assert page.rows[field.name].label == field.metadata["label"]
        assert page.rows[field.name].isVisible()


def test_the_first_cards_are_shown_before_the_others(qtbot: QtBot, folder: Path, config: Path) -> None:
    page = SettingsPage(WorkerClient(folder, "0.1.0"), Actions())
    qtbot.addWidget(page)
    page.resize(828, 690)
    page.show()
    first, *others = page.groups.values()
    assert first.isVisible() and not others[-1].isVisible()
    painted = Painted(page)
    qtbot.waitUntil(lambda: painted.times > 1 and all(card.isVisible() for card in (*others, page.identity)))
    assert painted.squeezed == set()
    page.search.setText("graphics")
    page.hide()
    page.show()
    QApplication.processEvents()
    assert not page.identity.isVisible(), "a search keeps hidden what it does not find"


def test_a_search_finds_what_was_not_shown_yet(qtbot: QtBot, folder: Path, config: Path) -> None:
    page = SettingsPage(WorkerClient(folder, "0.1.0"), Actions())
    qtbot.addWidget(page)
    page.show()
    page.search.setText("recovery words")
    assert page.identity.isVisible()
    page.search.clear()
    assert all(group.isVisible() for group in page.groups.values())


def test_a_switch_is_applied_at_once(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    control = page.rows["idle_only"].control
    assert isinstance(control, SwitchControl)
    assert not control.switch.isChecked()
    click(control.switch)
    qtbot.waitUntil(lambda: toy.settings["idle_only"] is True)
    qtbot.waitUntil(lambda: page.values["idle_only"] is True)
    assert control.switch.isChecked()
    assert page.rows["idle_only"].is_changed


def test_numbers_are_applied_and_keep_their_bounds(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    spin = number(page, "idle_threshold_s").spin
    assert (spin.minimum(), spin.maximum(), spin.singleStep()) == (5, 86_400, 30)
    assert spin.text() == "5 min"
    type_number(page, "idle_threshold_s", "1:30")
    qtbot.waitUntil(lambda: page.values["idle_threshold_s"] == 90)
    assert toy.settings["idle_threshold_s"] == 90
    assert spin.text() == "1 min 30 s"
    type_number(page, "idle_threshold_s", "2")  # of the unit that stood there
    qtbot.waitUntil(lambda: toy.settings["idle_threshold_s"] == 120)
    type_number(page, "idle_threshold_s", "4 s")  # too short
    spin.clearFocus()
    assert spin.text() == "2 min"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5 min", 300), ("1 min 30 s", 90), ("10 s", 10), ("1 h", 3600), ("24 h", 86_400), ("0 s", 0), ("1 h 5 s", 3605)],
)
def test_times_are_written_and_read_alike(text: str, seconds: int) -> None:
    assert duration(seconds) == text
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("1:30", 90),
        ("5m", 300),
        (" 2MIN ", 120),
        ("", None),
        ("soon", None),
        ("1:75", None),
        ("9" * 9, None),
    ],
)
def test_times_are_read_as_people_type_them(text: str, seconds: int | None) -> None:
    assert seconds_of(text) == seconds
    assert seconds_of("10", "min") == 600


def test_no_more_threads_than_cores_are_offered(page: SettingsPage) -> None:
    spin = number(page, "threads").spin
    assert spin.text() == "Automatic"
    assert spin.maximum() == cores()
    assert any(f"This PC has {cores()} core" in label.text() for label in page.rows["threads"].findChildren(QLabel))
    page.set_values({**page.values, "threads": cores() + 6})  # by the command line or on another PC
    assert spin.value() == cores() + 6


def test_many_steps_are_one_change(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    spin = number(page, "memory_grace_s").spin
    for _ in range(4):
        spin.stepUp()
    qtbot.waitUntil(lambda: toy.settings["memory_grace_s"] == 30)
    assert toy.methods().count("set_settings") == 1


def test_a_number_being_chosen_is_not_overwritten(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    spin = number(page, "memory_grace_s").spin
    spin.stepUp()
    page.set_values({**page.values, "theme": "dark"})  # the answer to an earlier change
    spin.stepUp()
    qtbot.waitUntil(lambda: toy.settings["memory_grace_s"] == 20)


def test_a_number_being_typed_is_not_overwritten(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    spin = number(page, "memory_grace_s").spin
    spin.setFocus()
    spin.selectAll()
    QTest.keyClicks(spin, "2")
    page.set_values({**page.values, "theme": "dark"})  # the answer to an earlier change
    QTest.keyClicks(spin, "5")
    QTest.keyClick(spin, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: toy.settings["memory_grace_s"] == 25)
    qtbot.waitUntil(lambda: page.values["memory_grace_s"] == 25)
    page.set_values({**page.values, "memory_grace_s": 15})
    assert spin.value() == 15, "what was sent is typed no more"


def test_a_refused_value_is_told_at_its_row_and_the_old_one_comes_back(
    qtbot: QtBot, page: SettingsPage, toy: ToyWorker
) -> None:
    toy.answers["set_settings"] = lambda params: wire.ErrorInfo("settings", plain("This PC has only 2 cores."))
    type_number(page, "threads", "1")
    row = page.rows["threads"]
    qtbot.waitUntil(lambda: row.error == "This PC has only 2 cores.")
    assert number(page, "threads").spin.value() == 0
    assert not row.is_changed
    assert not page.undo_button.isEnabled()


def test_a_changed_value_has_a_dot_and_reset(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    row = page.rows["theme"]
    assert row.reset is None
    assert isinstance(row.control, ChoiceControl)
    click(row.control.segments._buttons["dark"])
    qtbot.waitUntil(lambda: page.values["theme"] == "dark")
    assert row.reset is not None and row.reset.isVisible()
    assert row._dot is not None and row._dot.isVisible()
    click(row.reset)
    qtbot.waitUntil(lambda: page.values["theme"] == "system")
    assert row.control.segments.value() == "system"
    assert not row.reset.isVisible()


def test_undo_takes_the_last_change_back(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    page.apply({"memory_grace_s": 30})
    qtbot.waitUntil(lambda: page.values["memory_grace_s"] == 30)
    page.apply({"threads": 2})
    qtbot.waitUntil(lambda: page.values["threads"] == 2)
    click(page.undo_button)
    qtbot.waitUntil(lambda: page.values["threads"] == 0)
    assert page.values["memory_grace_s"] == 30


def type_text(page: SettingsPage, name: str, text: str) -> TextControl:
    control = page.rows[name].control
    assert isinstance(control, TextControl)
    control.line.setFocus()
    control.line.selectAll()
    QTest.keyClicks(control.line, text)
    QTest.keyClick(control.line, Qt.Key.Key_Return)
    return control


def test_a_wrong_schedule_is_told_and_stays_to_be_mended(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    row = page.rows["compute_hours"]
    control = type_text(page, "compute_hours", "mo-fr 18:00")
    qtbot.waitUntil(lambda: "a span of time" in row.error)
    assert control.line.text() == "mo-fr 18:00" and toy.settings["compute_hours"] == ""
    type_text(page, "compute_hours", "mo-fr 18:00-8:00")
    qtbot.waitUntil(lambda: toy.settings["compute_hours"] == "mo-fr 18:00-8:00")
    qtbot.waitUntil(lambda: not row.error and row.is_changed)
    type_text(page, "compute_hours", "never")
    qtbot.waitUntil(lambda: "a day" in row.error)
    type_text(page, "compute_hours", "mo-fr 18:00-8:00")  # as it is in force
    qtbot.waitUntil(lambda: not row.error)


def test_programs_are_typed_with_commas(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    control = type_text(page, "exclusive_programs", " blender,obs , ,blender")
    qtbot.waitUntil(lambda: toy.settings["exclusive_programs"] == ("blender", "obs"))
    qtbot.waitUntil(lambda: control.line.text() == "blender, obs")
    reset = page.rows["exclusive_programs"].reset
    assert reset is not None
    click(reset)
    qtbot.waitUntil(lambda: toy.settings["exclusive_programs"] == ())
    qtbot.waitUntil(lambda: not page.rows["exclusive_programs"].is_changed)
    assert control.line.text() == ""


def test_text_that_is_being_typed_is_not_overwritten(page: SettingsPage) -> None:
    control = page.rows["network_hours"].control
    assert isinstance(control, TextControl)
    control.line.setFocus()
    QTest.keyClicks(control.line, "mo 8")
    page.set_values({**page.values, "theme": "dark"})
    assert control.line.text() == "mo 8"


def test_a_price_has_decimals(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    assert number(page, "price_kwh").spin.text() == "Not set"
    type_number(page, "price_kwh", "0.275")
    qtbot.waitUntil(lambda: toy.settings["price_kwh"] == 0.28)
    type_number(page, "price_kwh", "much")
    assert number(page, "price_kwh").spin.value() == 28


def test_a_profile_is_taken_back_with_all_that_it_brought(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    page.apply({"cpu_celsius": 75})
    qtbot.waitUntil(lambda: page.values["profile"] == "own")
    mine = dict(toy.settings)
    page.apply({"profile": "quiet"})
    qtbot.waitUntil(lambda: page.values["cpu_celsius"] == 70)
    assert number(page, "cpu_share_in_use").spin.value() == 25
    click(page.undo_button)
    qtbot.waitUntil(lambda: toy.settings == mine)


def test_without_a_worker_nothing_can_be_changed(page: SettingsPage) -> None:
    page.set_connected(False, "Worker stopped.")
    assert not any(row.isEnabled() for row in page.rows.values())
    assert page.notice.accessibleName() == "Worker stopped. Settings can be changed as soon as the worker answers."
    page.set_connected(True, "")
    assert not page.notice.isVisible()


def test_starting_at_login_is_what_the_system_says(page: SettingsPage, config: Path) -> None:
    control = page.login.control
    assert isinstance(control, SwitchControl) and not control.switch.isChecked()
    click(control.switch)
    entry = config / "autostart" / "hearth.desktop"
    assert entry.exists() and control.switch.isChecked()
    entry.unlink()  # as the desktop's own settings do
    page.hide()
    page.show()
    assert not control.switch.isChecked()
    entry.parent.rmdir()
    entry.parent.write_text("in the way")
    click(control.switch)
    assert "could not be changed" in page.login.error and not control.switch.isChecked()


def shown(page: SettingsPage) -> list[str]:
    return [name for name, row in page.rows.items() if row.isVisible()]


def test_the_search_finds_what_can_be_chosen(page: SettingsPage) -> None:
    page.search.setText("dark")
    assert "theme" in shown(page)


def test_the_search_finds_labels_explanations_and_groups(qtbot: QtBot, page: SettingsPage) -> None:
    page.search.setFocus()
    QTest.keyClicks(page.search, "GPU MEMORY used")
    assert shown(page) == ["gpu_memory_percent"]
    assert [title for title, group in page.groups.items() if group.isVisible()] == ["Devices"]
    page.search.setText("gamemode")  # only in an explanation
    assert shown(page) == ["game_is"]
    page.search.setText("schedule")
    assert set(shown(page)) >= {"compute_hours", "network_hours"}
    page.search.setText("unheard of")
    assert shown(page) == [] and "unheard of" in page.nothing.text() and page.nothing.isVisible()
    qtbot.waitUntil(page.search.hasFocus)  # a shortcut needs it
    QTest.keyClick(page.search, Qt.Key.Key_Escape)
    assert len(shown(page)) == len(page.rows) and not page.nothing.isVisible()


def test_a_group_is_reset_as_a_whole_and_alone(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    group = page.groups["Network"]
    assert not group.reset.isVisible()
    page.apply({"upload_kb_s": 500, "quota_mb": 30, "theme": "dark"})
    qtbot.waitUntil(group.reset.isVisible)
    click(group.reset)
    qtbot.waitUntil(lambda: (toy.settings["upload_kb_s"], toy.settings["quota_mb"]) == (0, 0))
    qtbot.waitUntil(lambda: not group.reset.isVisible())
    assert toy.settings["theme"] == "dark"


def test_a_limit_of_the_line_is_automatic_a_number_or_none(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    control = page.rows["upload_kb_s"].control
    assert isinstance(control, LimitControl)
    assert control.choice.currentText() == "Automatic" and not control.number.isVisible()
    control.choice.setFocus()
    QTest.keyClick(control.choice, Qt.Key.Key_End)
    qtbot.waitUntil(lambda: toy.settings["upload_kb_s"] == NO_LIMIT)
    assert control.choice.currentText() == "No limit" and not control.number.isVisible()
    QTest.keyClick(control.choice, Qt.Key.Key_Up)
    qtbot.waitUntil(lambda: toy.settings["upload_kb_s"] == 1000)
    qtbot.waitUntil(lambda: page.values["upload_kb_s"] == 1000 and control.number.isVisible())
    spin = control.number.spin
    spin.setFocus()
    spin.selectAll()
    QTest.keyClicks(spin, "250")
    QTest.keyClick(spin, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: toy.settings["upload_kb_s"] == 250)
    page.apply({"upload_kb_s": 0})  # from elsewhere
    qtbot.waitUntil(lambda: control.choice.currentText() == "Automatic")
    assert not control.number.isVisible()


def test_the_limit_in_force_is_told_beside_the_setting(page: SettingsPage) -> None:
    up = LimitStatus(250_000.0, True, notice("line.measured", rate=250_000, measured=1e6))
    page.update_status(make_status(line=LineStatus(up, LimitStatus(5e5, True, notice("line.twice", rate=5e5)))))
    words = [label.text() for label in page.rows["upload_kb_s"].findChildren(QLabel)]
    assert "Now: At most 250 kB/s to peers outside your local network: a quarter of the 1 MB/s measured." in words
    page.update_status(make_status())  # alone
    assert "" in [label.text() for label in page.rows["upload_kb_s"].findChildren(QLabel)]


def test_what_a_search_hides_is_not_reset(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    group = page.groups["Network"]
    page.apply({"upload_kb_s": 500, "download_kb_s": 600, "quota_mb": 30})
    qtbot.waitUntil(group.reset.isVisible)
    page.search.setText("at most")
    assert not page.rows["quota_mb"].isVisible()
    click(group.reset)
    qtbot.waitUntil(lambda: (toy.settings["upload_kb_s"], toy.settings["download_kb_s"]) == (0, 0))
    qtbot.waitUntil(lambda: not group.reset.isVisible())
    assert toy.settings["quota_mb"] == 30
    page.search.clear()
    assert not group.reset.isVisible()


def run_choice(page: SettingsPage) -> RunControl:
    control = page.rows["run"].control
    assert isinstance(control, RunControl)
    return control


def test_a_run_is_chosen_and_counts_from_the_next_start_on(qtbot: QtBot, page: SettingsPage, toy: ToyWorker) -> None:
    row, choice = page.rows["run"], run_choice(page).choice
    assert row.restart and choice.currentText() == "Handwritten digits" and not row.restart.isVisible()
    choice.setFocus()
    QTest.keyClick(choice, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: toy.settings["run"] == "digits-vc")
    QTest.keyClick(choice, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: toy.settings["run"] == "stories")
    QTest.keyClick(choice, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: toy.settings["run"] == "text")
    qtbot.waitUntil(row.restart.isVisible)
    with qtbot.waitSignal(page.restart_asked):
        click(row.restart)
    page.set_connected(False, "")
    page.set_values(dict(toy.settings))  # as the new worker tells them
    assert not row.restart.isVisible() and choice.currentText() == "The Python manual"


def test_keys_that_are_faster_than_the_worker_go_on_from_what_is_shown(
    qtbot: QtBot, page: SettingsPage, toy: ToyWorker
) -> None:
    choice = run_choice(page).choice
    shown: list[int] = []
    choice.currentIndexChanged.connect(shown.append)
    choice.setFocus()
    QTest.keyClick(choice, Qt.Key.Key_Down)
    QTest.keyClick(choice, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: toy.settings["run"] == "stories")
    qtbot.waitUntil(lambda: page.values["run"] == "stories")
    assert shown == [1, 2], "the answer to the first does not take the second back"


def test_a_run_that_was_left_needs_no_restart(page: SettingsPage) -> None:
    """The worker has chosen another run, which it trains already."""
    row = page.rows["run"]
    digits, text = (msgspec.structs.replace(DIGITS, id=manifest.load(name).run_id) for name in ("digits", "text"))
    assert row.restart
    page.update_status(make_status(runs=[digits, text]))
    page.set_values({**page.values, "run": "text"})
    assert not row.restart.isHidden(), "chosen here: until then, the digits are trained as well"
    page.update_status(make_status(runs=[text]))
    assert row.restart.isHidden()


def test_a_manifests_file_is_chosen_in_a_dialog(qtbot: QtBot, page: SettingsPage, toy: ToyWorker, folder: Path) -> None:
    path = folder / "garden.toml"
    path.write_text(TINY)
    choice = run_choice(page).choice
    choice.activated.emit(choice.count() - 1)
    dialog = page.findChild(QFileDialog)
    assert dialog is not None
    dialog.fileSelected.emit(str(path))
    dialog.reject()
    qtbot.waitUntil(lambda: toy.settings["run"] == str(path))
    qtbot.waitUntil(lambda: choice.currentText() == "Tiny digits")
    toy.answers["set_settings"] = lambda params: wire.ErrorInfo("manifest", plain("The manifest cannot be used."))
    run_choice(page).chosen.emit("text")
    qtbot.waitUntil(lambda: page.rows["run"].error == "The manifest cannot be used.")
    assert choice.currentText() == "Tiny digits"
    page.set_values({**page.values, "run": "/elsewhere/garden.toml"})
    assert choice.currentText() == "File garden.toml", "of another PC, whose files are not here"
    page.set_values({**page.values, "run": "digits"})
    assert choice.currentText() == "Handwritten digits"
    assert [choice.itemText(at) for at in range(choice.count())].count("Tiny digits") == 0, "one file at most is listed"


@pytest.fixture
def spoken() -> Iterator[None]:
    """Leaves the language as it is usual."""
    yield
    speak("system")


@pytest.mark.usefixtures("spoken")
def test_temperatures_are_chosen_as_the_locale_has_them(qtbot: QtBot) -> None:
    field = next(field for field in dataclasses.fields(Settings) if field.name == "cpu_celsius")
    kind = typing.get_type_hints(Settings, include_extras=True)["cpu_celsius"]
    for locale, before in ((QLocale("en_US"), "185 °F"), (BRITISH, "85 °C"), (QLocale("de_DE"), "85 °C")):
        use(Catalogue({}), locale)
        control = make_control(field, kind)
        assert isinstance(control, NumberControl)
        qtbot.addWidget(control)
        chosen: list[int] = []
        control.chosen.connect(chosen.append)
        control.show_value(85)
        assert control.spin.text() == before
        control.spin.stepDown()
        qtbot.waitUntil(lambda: chosen == [80])  # noqa: B023 - done before the next one
        control.show_value(0)
        assert control.spin.text() == "No target"


def test_the_page_tells_what_is_in_force(qtbot: QtBot, page: SettingsPage) -> None:
    with qtbot.waitSignal(page.applied) as applied:
        page.apply({"theme": "light"})
    assert applied.args[0]["theme"] == "light"


def test_a_setting_of_a_newer_worker_is_left_alone(page: SettingsPage) -> None:
    page.set_values({"theme": "dark", "colour_of_the_smoke": "grey"})
    assert page.values["theme"] == "dark"


def test_a_type_without_a_control_is_a_fault_of_ours() -> None:
    with pytest.raises(TypeError, match="no control"):
        bounds(Annotated[str, "text"])

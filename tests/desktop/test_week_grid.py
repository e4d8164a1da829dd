"""The week as a grid: painted by mouse and keyboard, sent as a text, read by screen readers."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.pages.settings.setting_controls import ScheduleControl
from app.pages.settings.settings_page import SettingsPage
from app.pages.settings.week_grid import HOURS, WeekGrid
from tests.desktop import test_settings_page as of_page
from tests.desktop.conftest import ToyWorker

MO, TU, WE, TH, FR, SA, SU = range(7)
page, config = of_page.page, of_page.config


@pytest.fixture
def control(page: SettingsPage) -> Iterator[ScheduleControl]:
    found = page.rows["compute_hours"].control
    assert isinstance(found, ScheduleControl)
    page.open_section("Schedule")
    yield found


@pytest.fixture
def grid(control: ScheduleControl) -> WeekGrid:
    control.grid.setFocus()
    return control.grid


def at(grid: WeekGrid, day: int, hour: int) -> QPoint:
    return grid.visualRect(grid.week.index(day, hour)).center()


def drag(grid: WeekGrid, first: tuple[int, int], last: tuple[int, int]) -> None:
    view, button = grid.viewport(), Qt.MouseButton.LeftButton
    QTest.mousePress(view, button, pos=at(grid, *first))
    QTest.mouseMove(view, at(grid, *last))
    QTest.mouseRelease(view, button, pos=at(grid, *last))


def press(grid: WeekGrid, *keys: Qt.Key, shift: bool = False) -> None:
    for key in keys:
        QTest.keyClick(grid, key, Qt.KeyboardModifier.ShiftModifier if shift else Qt.KeyboardModifier.NoModifier)


def becomes(qtbot: QtBot, toy: ToyWorker, text: str) -> None:
    qtbot.waitUntil(lambda: toy.settings["compute_hours"] == text)


def test_a_block_is_painted_by_dragging_from_any_corner(qtbot: QtBot, grid: WeekGrid, toy: ToyWorker) -> None:
    drag(grid, (FR, 17), (MO, 9))
    becomes(qtbot, toy, "mo 0:00-9:00,18:00-9:00; tu-th 18:00-9:00; fr 18:00-24:00; sa,su 0:00-24:00")
    drag(grid, (TU, 12), (TU, 13))  # what is off goes on
    becomes(
        qtbot,
        toy,
        "mo 0:00-9:00,18:00-9:00; tu 12:00-14:00,18:00-9:00; we,th 18:00-9:00; fr 18:00-24:00; sa,su 0:00-24:00",
    )
    assert toy.methods().count("set_settings") == 2, "a stroke is one change"


def test_it_is_painted_by_keyboard(qtbot: QtBot, grid: WeekGrid, toy: ToyWorker) -> None:
    press(grid, Qt.Key.Key_Space, Qt.Key.Key_Down)  # Monday's first hour goes off
    press(grid, Qt.Key.Key_Space, shift=True)  # all of Tuesday
    press(grid, Qt.Key.Key_Down, Qt.Key.Key_End, Qt.Key.Key_Space)  # Wednesday's last hour
    press(grid, Qt.Key.Key_Left, Qt.Key.Key_Left, shift=True)  # and the two before it
    becomes(qtbot, toy, "mo 1:00-24:00; we 0:00-21:00; th-su 0:00-24:00")
    assert toy.methods().count("set_settings") == 1, "many strokes in a row are one change"


def test_days_and_hours_are_switched_by_their_heads(qtbot: QtBot, grid: WeekGrid, toy: ToyWorker) -> None:
    head = grid.verticalHeader()
    place = QPoint(4, head.sectionViewportPosition(WE) + 4)
    QTest.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, pos=place)
    becomes(qtbot, toy, "mo,tu,th-su 0:00-24:00")
    head = grid.horizontalHeader()
    QTest.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(head.sectionViewportPosition(0) + 4, 4))
    qtbot.waitUntil(lambda: grid.week.hour(WE, 0) == [True] * 60)


def test_what_is_typed_is_shown_to_the_minute(qtbot: QtBot, control: ScheduleControl, toy: ToyWorker) -> None:
    of_page.type_text(control.window(), "compute_hours", "mo 18:30-20")  # type: ignore[arg-type]
    becomes(qtbot, toy, "mo 18:30-20")
    week = control.grid.week
    qtbot.waitUntil(lambda: sum(week.minutes) == 90)
    assert sum(week.hour(MO, 18)) == 30 and week.words(week.index(MO, 18)) == "Monday, 18:00 to 19:00: on for 30 min"
    drag(control.grid, (TU, 8), (TU, 8))
    becomes(qtbot, toy, "mo 18:30-20:00; tu 8:00-9:00")
    qtbot.waitUntil(lambda: control.line.text() == "mo 18:30-20:00; tu 8:00-9:00")


def test_a_week_without_an_hour_is_not_sent(qtbot: QtBot, control: ScheduleControl, toy: ToyWorker) -> None:
    control.grid.fill(False)
    qtbot.waitUntil(control._none.isVisible)
    assert "set_settings" not in toy.methods()
    drag(control.grid, (SA, 0), (SU, HOURS - 1))
    becomes(qtbot, toy, "sa,su 0:00-24:00")
    qtbot.waitUntil(lambda: not control._none.isVisible())
    control.grid.fill(True)
    becomes(qtbot, toy, "")


def test_screen_readers_name_the_grid_and_each_cell(grid: WeekGrid) -> None:
    whole = QAccessible.queryAccessibleInterface(grid)
    assert whole.role() == QAccessible.Role.Table and whole.text(QAccessible.Text.Name) == "Compute at"
    names = [whole.child(at).text(QAccessible.Text.Name) for at in range(whole.childCount())]
    assert "Friday, 23:00 to 24:00: on" in names and "Friday" in names and "18:00" in names
    press(grid, Qt.Key.Key_Space)
    first = next(name for name in range(whole.childCount()) if names[name].startswith("Monday, 0:00"))
    assert whole.child(first).text(QAccessible.Text.Name) == "Monday, 0:00 to 1:00: off"

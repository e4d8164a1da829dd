"""The log page: many lines cheaply, filters, following, copying."""

import time
import zipfile
from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from pytestqt.qtbot import QtBot

from app.pages.log_page import BREAK, DROP, LINES, LogModel, LogPage, as_text
from app.theme import theme
from app.widgets.buttons import Button
from core.contracts.status import LogLine
from tests.desktop.conftest import make_status

START = 1_760_000_000.0


def line(number: int, text: str = "", level: str = "info", part: str = "worker") -> LogLine:
    return LogLine(START + number, level, part, text or f"line {number}")  # type: ignore[arg-type]


@pytest.fixture
def page(qtbot: QtBot, folder: Path) -> LogPage:
    theme()
    page = LogPage(folder)
    qtbot.addWidget(page)
    page.resize(828, 690)
    page.show()
    qtbot.waitUntil(page.isActiveWindow)
    return page


def texts(page: LogPage) -> list[str]:
    return [line.text for line in page.model.shown]


def test_lines_appear_and_the_view_follows(qtbot: QtBot, page: LogPage) -> None:
    for number in range(200):
        page.add(line(number))
    qtbot.waitUntil(lambda: page.model.rowCount() == 200)
    bar = page.view.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0 and bar.value() == bar.maximum())


def test_scrolling_up_stops_following(qtbot: QtBot, page: LogPage) -> None:
    page.fill([line(number) for number in range(200)])
    bar = page.view.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0 and bar.value() == bar.maximum())
    bar.triggerAction(bar.SliderAction.SliderPageStepSub)
    qtbot.waitUntil(lambda: not page.follow.isChecked())
    at = bar.value()
    page.add(line(201))
    qtbot.waitUntil(lambda: page.model.rowCount() == 201)
    assert bar.value() == at
    page.follow.setChecked(True)
    assert bar.value() == bar.maximum()


def test_no_more_than_the_limit_is_kept() -> None:
    model = LogModel()
    for start in range(0, 3 * LINES, 1000):
        model.append([line(start + number) for number in range(1000)])
    assert LINES - DROP - 1000 < len(model.lines) <= LINES
    assert model.lines == model.shown
    assert model.lines[-1].text == f"line {3 * LINES - 1}"


def test_the_limit_holds_with_a_filter() -> None:
    model = LogModel()
    model.set_filter("warning", "", "")
    for start in range(0, 2 * LINES, 1000):
        model.append([line(start + number, level="error" if number % 10 == 0 else "info") for number in range(1000)])
    assert len(model.lines) <= LINES
    assert model.shown == [one for one in model.lines if one.level == "error"]


def test_filters_by_level_part_and_text(page: LogPage) -> None:
    page.fill(
        [
            line(1, "started"),
            line(2, "slow disk", "warning"),
            line(3, "Disk full", "error", "compute"),
            line(4, "window shown", "info", "app"),
        ]
    )
    page.level._choose("warning")
    assert texts(page) == ["slow disk", "Disk full"]
    page.part.setCurrentIndex(page.part.findData("compute"))
    assert texts(page) == ["Disk full"]
    page.level._choose("info")
    page.part.setCurrentIndex(0)
    page.text.setText("DISK")
    assert texts(page) == ["slow disk", "Disk full"]
    page.text.setText("nothing like that")
    assert page.empty.isVisible()
    assert page.empty.text() == "No line matches this filter."
    page.text.clear()
    assert len(texts(page)) == 4


def test_new_lines_obey_the_filter(qtbot: QtBot, page: LogPage) -> None:
    page.level._choose("error")
    page.add(line(1, "fine"))
    page.add(line(2, "broken", "error"))
    qtbot.waitUntil(lambda: texts(page) == ["broken"])


def test_a_new_connection_adds_no_line_twice(page: LogPage) -> None:
    page.add(line(5, "app starts", part="app"))
    page.fill([line(number) for number in range(3, 8)])
    page.add(line(8))
    page.fill([line(number) for number in range(6, 10)])  # the worker remembers less than we do
    expected = ["line 3", "line 4", "app starts", "line 5", "line 6", "line 7", "line 8", "line 9"]
    assert sorted(texts(page)) == sorted(expected)
    assert [one.time for one in page.model.shown] == sorted(one.time for one in page.model.shown)


def test_copies_what_is_chosen_or_all_that_is_shown(page: LogPage) -> None:
    page.fill([line(1), line(2), line(3)])
    page.copy()
    assert QGuiApplication.clipboard().text() == "\n".join(as_text(line(number)) for number in (1, 2, 3))
    page.view.setCurrentIndex(page.model.index(1))
    assert page._told.text() == "Copied 3 lines."
    page.copy()
    assert QGuiApplication.clipboard().text() == as_text(line(2))
    assert page._told.text() == "Copied 1 line."


def test_where_no_folder_can_be_opened_its_path_is_told(page: LogPage, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: asked.append(url))
    next(button for button in page.findChildren(Button) if button.text() == "Open folder").click()
    assert asked == [QUrl.fromLocalFile(str(page.folder))]
    assert (
        page._told.text().replace(BREAK, "") == f"This desktop cannot open folders. The log files are in {page.folder}"
    )


def test_a_report_is_saved_for_those_who_can_help(qtbot: QtBot, page: LogPage, tmp_path: Path) -> None:
    page.update_status(make_status(attention=["The disk is full."]))
    page.save_report(tmp_path / "report.zip")
    qtbot.waitUntil(lambda: page._told.text().replace(BREAK, "") == f"Saved as {tmp_path / 'report.zip'}.")
    with zipfile.ZipFile(tmp_path / "report.zip") as archive:
        assert "The disk is full." in archive.read("status.json").decode()
    page.save_report(tmp_path / "nowhere" / "report.zip")
    qtbot.waitUntil(lambda: "report.zip could not be written" in page._told.text())


def test_a_line_names_time_level_and_part() -> None:
    words = as_text(line(0, "slow disk", "warning", "compute")).split()
    assert words[0] == time.strftime("%H:%M:%S", time.localtime(START))
    assert words[1:] == ["warning", "compute", "slow", "disk"]


def test_a_text_of_many_lines_takes_one_row(page: LogPage) -> None:
    page.fill([line(1, "first\nsecond")])
    index = page.model.index(0)
    assert "\n" not in page.model.data(index)


def test_empty_says_so(page: LogPage) -> None:
    assert page.empty.isVisible()
    assert page.empty.text() == "No line yet."

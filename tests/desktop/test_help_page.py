"""Help: every page is reached by links, by mouse or keyboard, and drawn in the window's colours."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QTextDocument, QTextTable
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.pages.help_page import PICTURE_WIDTH, HelpPage, help_folder
from app.theme import theme

LINK = re.compile(r"\]\(([^)#]+)\)")


@pytest.fixture
def page(qtbot: QtBot) -> Iterator[HelpPage]:
    theme().set_mode("light")
    page = HelpPage()
    qtbot.addWidget(page)
    page.resize(828, 640)
    page.show()
    qtbot.waitUntil(page.isActiveWindow)
    yield page
    theme().set_mode("system")


def title(page: HelpPage) -> str:
    return page.browser.document().begin().text()


def test_the_contents_are_shown_first_and_a_link_is_followed_by_keyboard_and_back(page: HelpPage) -> None:
    assert title(page) == "Help" and not page.back.isEnabled()
    page.browser.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(page.browser, Qt.Key.Key_Tab)
    QTest.keyClick(page.browser, Qt.Key.Key_Return)
    assert title(page) == "Volunteers"
    assert page.back.isEnabled()
    page.back.click()
    assert title(page) == "Help"
    page.browser.setSource(QUrl.fromLocalFile(str(help_folder() / "figures.md")))
    page.contents.click()
    assert title(page) == "Help"


def test_every_page_is_linked_and_every_link_and_picture_is_there(page: HelpPage) -> None:
    reached, waiting = set[Path](), [help_folder() / "index.md"]
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        assert path.is_file(), path
        if path.suffix == ".md":
            waiting += [(path.parent / link).resolve() for link in LINK.findall(path.read_text("utf-8"))]
    assert {path for path in reached if path.suffix == ".md"} == {path.resolve() for path in help_folder().glob("*.md")}
    image = QTextDocument.ResourceType.ImageResource.value
    for path in reached:
        if path.suffix == ".png":
            shown = page.browser.loadResource(image, QUrl.fromLocalFile(str(path)))
            width = shown.width() if hasattr(shown, "width") else 0
            assert width <= theme().px(PICTURE_WIDTH), path


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_tables_are_drawn_in_the_colours_of_the_theme(page: HelpPage, mode: str) -> None:
    theme().set_mode("dark" if mode == "dark" else "light")
    tables = [frame for frame in page.browser.document().rootFrame().childFrames() if isinstance(frame, QTextTable)]
    assert tables
    for table in tables:
        assert table.format().borderBrush().color() == theme().color("border")
        assert table.cellAt(0, 0).format().background().color() == theme().color("sunken")

"""Help: every page is reached by links, by mouse or keyboard, and drawn in the window's colours."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QFont, QTextDocument, QTextTable
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app import theme as look
from app.actions import Actions
from app.language import LANGUAGES, speak
from app.pages.help_page import PICTURE_WIDTH, HelpPage, headings, help_folder, in_language
from app.theme import theme
from app.window.main_window import MainWindow

PICTURE = re.compile(r"!\[[^]]*\]\(([^)]+)\)")


@pytest.fixture
def page(qtbot: QtBot) -> Iterator[HelpPage]:
    theme().set_mode("light")
    speak("en")
    page = HelpPage()
    qtbot.addWidget(page)
    page.resize(828, 640)
    page.show()
    qtbot.waitUntil(page.isActiveWindow)
    yield page
    speak("system")
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


@pytest.mark.parametrize("size", [(880, 600), (1000, 700), (1440, 900)])
def test_no_page_is_wider_than_the_window(qtbot: QtBot, page: HelpPage, size: tuple[int, int]) -> None:
    window = MainWindow([page], Actions())
    qtbot.addWidget(window)
    window.resize(*size)
    window.show()
    for each in sorted(help_folder().glob("**/*.md")):
        page.browser.setSource(QUrl.fromLocalFile(str(each)))
        QTest.qWait(0)
        assert page.browser.horizontalScrollBar().maximum() == 0, each


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_link_shows_its_page_in_the_windows_language_at_its_heading(page: HelpPage, language: str) -> None:
    speak(language)
    page.show_contents()
    shown, waiting = set[Path](), [page.browser.source()]
    while waiting:
        page.browser.setSource(waiting.pop())
        source = page.browser.source()
        path = Path(source.toLocalFile())
        if source.hasFragment():
            assert source.fragment() in heading_at_the_top(page) or at_its_end(page), source
        if path not in shown:
            shown.add(path)
            assert title(page) == headings(path)[0]
            assert not unseen(page)
            waiting += [source.resolved(QUrl(link)) for link in links(page) if not link.startswith("http")]
    assert shown == {in_language(english) for english in help_folder().glob("*.md")}


def links(page: HelpPage) -> set[str]:
    """Where the words of the page that is shown lead to."""
    found = set()
    block = page.browser.document().begin()
    while block.isValid():
        parts = block.begin()
        while not parts.atEnd():
            found.add(parts.fragment().charFormat().anchorHref())
            parts += 1
        block = block.next()
    return found - {""}


def unseen(page: HelpPage) -> list[str]:
    """Paragraphs that take no room."""
    document, found = page.browser.document(), []
    block = document.begin()
    while block.isValid():
        if block.text() and not document.documentLayout().blockBoundingRect(block).height():
            found.append(block.text())
        block = block.next()
    return found


def heading_at_the_top(page: HelpPage) -> list[str]:
    """What links call it; nothing if there is no heading."""
    line = page.browser.cursorForPosition(QPoint(look.L, look.S)).block()
    return line.begin().fragment().charFormat().anchorNames()


def at_its_end(page: HelpPage) -> bool:
    bar = page.browser.verticalScrollBar()
    return bar.value() == bar.maximum() > 0


def test_in_german_a_page_in_english_only_says_so_and_leads_back_to_german_ones(page: HelpPage) -> None:
    speak("de")
    page.show_contents()
    assert title(page) == "Hilfe"
    page.browser.setSource(page.browser.source().resolved(QUrl("../organisers.md")))
    assert title(page) == "Organisers"
    assert page.browser.document().begin().next().text() == "Diese Seite gibt es nur auf Englisch."
    page.browser.setSource(page.browser.source().resolved(QUrl("volunteers.md#your-data")))
    assert heading_at_the_top(page) == ["deine-daten", "your-data"]
    page.back.click()
    assert title(page) == "Organisers"
    speak("en")
    page.show_contents()
    assert title(page) == "Help"


def test_pictures_are_no_wider_than_a_page(page: HelpPage) -> None:
    image = QTextDocument.ResourceType.ImageResource.value
    for text in help_folder().rglob("*.md"):
        for picture in PICTURE.findall(text.read_text("utf8")):
            shown = page.browser.loadResource(image, QUrl.fromLocalFile(str(text.parent / picture)))
            assert 0 < shown.width() <= theme().px(PICTURE_WIDTH), picture


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_tables_are_drawn_in_the_colours_of_the_theme(page: HelpPage, mode: str) -> None:
    theme().set_mode("dark" if mode == "dark" else "light")
    tables = [frame for frame in page.browser.document().rootFrame().childFrames() if isinstance(frame, QTextTable)]
    assert tables
    for table in tables:
        assert table.format().borderBrush().color() == theme().color("border")
        assert table.cellAt(0, 0).format().background().color() == theme().color("sunken")


def test_code_is_on_a_darker_ground_and_headers_of_the_table_after_it_are_bold(page: HelpPage) -> None:
    page.browser.setSource(page.browser.source().resolved(QUrl("network.md")))
    tables = [frame for frame in page.browser.document().rootFrame().childFrames() if isinstance(frame, QTextTable)]
    first = tables[0].cellAt(0, 0).firstCursorPosition()
    assert first.block().text() == "command"
    assert first.block().begin().fragment().charFormat().fontWeight() == QFont.Weight.DemiBold
    code = page.browser.document().findBlock(tables[0].firstPosition() - 2)
    assert code.text().startswith("hearth worker --bootstrap")
    assert code.blockFormat().background().color() == theme().color("sunken")

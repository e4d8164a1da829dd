"""Help: the pages of `resources/help`, which the repository shows as well, with the links between them.

A folder there for each other language has the pages that are translated, under the same names. A link to a page leads
to the one in the window's language, or to the English one, which then says that there is no other.
"""

import re
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, Qt, QUrl
from PySide6.QtGui import (
    QFont,
    QImage,
    QShowEvent,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
)
from PySide6.QtWidgets import QTextBrowser

from app import theme as look
from app.language import language, tr
from app.theme import theme
from app.widgets.buttons import Button
from app.window.page import Page

START = "index.md"
HEADINGS = {1: "title", 2: "nums", 3: "head"}
"""Type role of each level."""
PICTURE_WIDTH = 632
"""Of the widest picture, pixels: it fits into a window of 880."""


def help_folder() -> Path:
    """Where the pages lie; they are files, as the program's other resources are."""
    with as_file(files("resources").joinpath("help")) as folder:
        return folder


def in_language(page: Path) -> Path:
    """The page in the window's language, or the page itself if there is none.

    Args:
        page: one of `help_folder()`, of any language.
    """
    translated = help_folder() / language() / page.name
    return translated if translated.exists() else page


def slug(heading: str) -> str:
    """What a link to a heading ends with, as GitHub makes it: "How it runs" is `#how-it-runs`."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def headings(page: Path) -> list[str]:
    """Of a page, in their order; code, where # begins a comment, is indented."""
    return re.findall(r"^#+ (.+)$", page.read_text("utf8"), re.MULTILINE)


class HelpBrowser(QTextBrowser):
    """Shows a page in the window's look. Tab goes from link to link, Enter follows one."""

    def __init__(self) -> None:
        super().__init__()
        theme().set_sheet(self, "help")
        self.setAccessibleName(tr("Help"))
        self.setOpenExternalLinks(True)
        self.document().setDocumentMargin(look.L)
        self.sourceChanged.connect(self._dress)
        theme().changed.connect(self._draw_anew)

    def doSetSource(
        self, name: QUrl | str, kind: QTextDocument.ResourceType = QTextDocument.ResourceType.UnknownResource
    ) -> None:
        """Show a page, in the window's language if there is one; links come here too.

        Args:
            name: its file, perhaps with the heading to show, by the English page's word or its own.
            kind: of what it is.
        """
        name = QUrl(name)
        page = QUrl.fromLocalFile(str(in_language(Path(name.toLocalFile()))))
        if name.hasFragment():
            page.setFragment(name.fragment())
        super().doSetSource(page, kind)

    def loadResource(self, kind: int, name: QUrl | str) -> Any:
        """Pictures no wider than a page is; a page without translation says so under its title; all else as it is."""
        found = super().loadResource(kind, name)
        page = Path(QUrl(name).toLocalFile())
        if page.suffix == ".md" and language() != "en" and page.parent == help_folder():
            said = tr("This page is in English only.")
            return QByteArray(bytes(found.data()).replace(b"\n\n", f"\n\n*{said}*\n\n".encode(), 1))
        if kind != QTextDocument.ResourceType.ImageResource.value or not found:
            return found
        picture = QImage.fromData(found)
        width = theme().px(PICTURE_WIDTH)
        smooth = Qt.TransformationMode.SmoothTransformation
        return picture.scaledToWidth(width, smooth) if picture.width() > width else picture

    def _draw_anew(self) -> None:
        """In other colours, at the same place."""
        if self.source().isEmpty():
            return
        place = self.verticalScrollBar().value()
        self.reload()
        self._dress(self.source())
        self.verticalScrollBar().setValue(place)

    def _dress(self, page: QUrl) -> None:
        """Fonts, colours and tables of the window: Qt's Markdown has plain ones, and headings that no link leads to.

        Args:
            page: what is shown; `source()` is still the page before.
        """
        document = self.document()
        self.setFont(theme().font("body"))
        english = iter(headings(help_folder() / page.fileName()))
        whole = QTextCursor(document)
        whole.beginEditBlock()  # laid out once: laid out at each change, Qt leaves items of lists out
        block = document.begin()
        while block.isValid():
            self._dress_block(block)
            if block.blockFormat().headingLevel():
                _name(block, [slug(block.text()), slug(next(english))])
            block = block.next()
        for frame in document.rootFrame().childFrames():
            if isinstance(frame, QTextTable):
                self._dress_table(frame)
        whole.endEditBlock()
        self.scrollToAnchor(page.fragment())

    def _dress_block(self, block: QTextBlock) -> None:
        cursor = QTextCursor(block)
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        level = block.blockFormat().headingLevel()
        if level:
            whole, letters = block.blockFormat(), QTextCharFormat()
            whole.setTopMargin(0 if level == 1 else look.XL)
            whole.setBottomMargin(look.S)
            letters.setFont(theme().font(HEADINGS.get(level, "head")))
            cursor.setBlockFormat(whole)
            cursor.mergeCharFormat(letters)
        elif _is_code(block):
            whole, letters = QTextBlockFormat(), QTextCharFormat()
            whole.setBackground(theme().color("sunken"))
            whole.setBottomMargin(0 if _is_code(block.next()) else look.S)
            letters.setFont(theme().mono())
            cursor.mergeBlockFormat(whole)
            cursor.mergeCharFormat(letters)
        elif cursor.currentTable() is None and (block.textList() is None or block.next().textList() is None):
            whole = QTextBlockFormat()
            whole.setBottomMargin(look.S)
            cursor.mergeBlockFormat(whole)

    def _dress_table(self, table: QTextTable) -> None:
        first = table.cellAt(0, 0).firstCursorPosition()
        if not first.block().text():
            first.deleteChar()  # what Qt leaves in a table that comes after code
        form = table.format()
        form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        form.setBorder(1)
        form.setBorderBrush(theme().color("border"))
        form.setBorderCollapse(True)
        form.setCellPadding(look.XS + 2)
        form.setCellSpacing(0)
        form.setTopMargin(look.S)
        form.setBottomMargin(look.M)
        form.setWidth(QTextLength(QTextLength.Type.PercentageLength, 99.5))  # Qt rounds each column up
        table.setFormat(form)
        letters = QTextCharFormat()
        letters.setFontWeight(QFont.Weight.DemiBold)
        for column in range(table.columns()):
            cell = table.cellAt(0, column)
            cell_format = cell.format()
            cell_format.setBackground(theme().color("sunken"))
            cell.setFormat(cell_format)
            words = cell.firstCursorPosition()
            words.setPosition(cell.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
            words.mergeCharFormat(letters)


def _is_code(block: QTextBlock) -> bool:
    return block.blockFormat().hasProperty(QTextFormat.Property.BlockCodeLanguage.value)


def _name(heading: QTextBlock, names: list[str]) -> None:
    """Let links lead to a heading by these names."""
    cursor, letters = QTextCursor(heading), QTextCharFormat()
    letters.setAnchor(True)
    letters.setAnchorNames(names)
    cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
    cursor.mergeCharFormat(letters)


class HelpPage(Page):
    """A page at a time; the first one lists the others."""

    def __init__(self) -> None:
        super().__init__("help", tr("Help"), "help", tr("How Hearth works and what you can do with it."))
        self.browser = HelpBrowser()
        self.contents = Button(tr("Contents"), "plain", "help", clicked=self.show_contents)
        self.back = Button(tr("Back"), "plain", "undo", clicked=self.browser.backward)
        self.back.setEnabled(False)
        for button in (self.back, self.contents):
            self.head.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        self.body.addWidget(self.browser, 1)
        self.browser.backwardAvailable.connect(self.back.setEnabled)

    def show_contents(self) -> None:
        """The list of all pages."""
        self.browser.setSource(QUrl.fromLocalFile(str(help_folder() / START)))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.browser.source().isEmpty():
            self.show_contents()

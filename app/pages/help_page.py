"""Help: the pages of `resources/help`, which the repository shows as well, with the links between them."""

from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QUrl
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
from app.language import tr
from app.theme import theme
from app.widgets.buttons import Button
from app.window.page import Page

START = "index.md"
HEADINGS = {1: "title", 2: "nums", 3: "head"}
"""Type role of each level."""
PICTURE_WIDTH = 640
"""Of the widest picture, pixels."""


def help_folder() -> Path:
    """Where the pages lie; they are files, as the program's other resources are."""
    with as_file(files("resources").joinpath("help")) as folder:
        return folder


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

    def loadResource(self, kind: int, name: QUrl | str) -> Any:
        """Pictures no wider than a page is; all else as it is."""
        found = super().loadResource(kind, name)
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
        self._dress()
        self.verticalScrollBar().setValue(place)

    def _dress(self) -> None:
        """Fonts, colours and tables of the window: Qt's Markdown has plain ones."""
        document = self.document()
        self.setFont(theme().font("body"))
        block = document.begin()
        while block.isValid():
            self._dress_block(block)
            block = block.next()
        for frame in document.rootFrame().childFrames():
            if isinstance(frame, QTextTable):
                self._dress_table(frame)

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
        elif block.blockFormat().hasProperty(QTextFormat.Property.BlockCodeFence.value):
            whole, letters = QTextBlockFormat(), QTextCharFormat()
            whole.setBackground(theme().color("sunken"))
            letters.setFont(theme().mono())
            cursor.mergeBlockFormat(whole)
            cursor.mergeCharFormat(letters)
        elif cursor.currentTable() is None and (block.textList() is None or block.next().textList() is None):
            whole = QTextBlockFormat()
            whole.setBottomMargin(look.S)
            cursor.mergeBlockFormat(whole)

    def _dress_table(self, table: QTextTable) -> None:
        form = table.format()
        form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        form.setBorder(1)
        form.setBorderBrush(theme().color("border"))
        form.setBorderCollapse(True)
        form.setCellPadding(look.XS + 2)
        form.setCellSpacing(0)
        form.setTopMargin(look.S)
        form.setBottomMargin(look.M)
        form.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
        table.setFormat(form)
        for column in range(table.columns()):
            cell = table.cellAt(0, column)
            letters = cell.format()
            letters.setFontWeight(QFont.Weight.DemiBold)
            letters.setBackground(theme().color("sunken"))
            cell.setFormat(letters)


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

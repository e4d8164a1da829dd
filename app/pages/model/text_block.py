"""The block in which a prompt and what the model adds to it are read."""

from typing import NamedTuple

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QFont, QHelpEvent, QResizeEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QToolTip

from app import theme as look
from app.formats import tip
from app.language import tr
from app.pages.model.doubt import about, doubt, underlined
from app.pages.model.text_generation import Byte, units
from app.pages.model.unit_words import UnitWords
from app.theme import theme

LEAST, LEAST_TALK = 92, 172
"""Height, pixels, of a text and of a conversation; it takes what is left."""


class Part(NamedTuple):
    """A piece of what stands before the model's part."""

    text: str
    tone: str = "text3"
    strong: bool = False


class TextBlock(QPlainTextEdit):
    """The prompt in grey, or what was said before; then the model's part in full. Clicking into that, or moving there
    by keyboard, chooses a place.

    Args:
        words: of what it writes one by one.
    """

    chosen = Signal(object)
    """A place in the model's part, in the units of `QString`; None at its end."""

    def __init__(self, words: UnitWords) -> None:
        super().__init__()
        self._words = words
        theme().set_sheet(self, "text")
        self.setReadOnly(True)
        self.set_talks(False)
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self.setTabChangesFocus(True)
        self.setUndoRedoEnabled(False)
        self.setFont(theme().mono("body"))
        self.document().setDocumentMargin(look.S)
        self.setPlaceholderText(tr("What the model adds appears here."))
        self.setAccessibleName(tr("Continuation"))
        self.describe("")
        self._shown: list[Byte] = []
        self._prompt = 0
        self._parts: list[tuple[int, int, str]] = []
        """From, to and tone of what stands before the model's part."""
        self._marked: tuple[int, int] | None = None
        self.cursorPositionChanged.connect(self._moved)
        theme().changed.connect(self._paint_anew)

    def set_talks(self, talks: bool) -> None:
        """Whether a conversation stands here, which takes more room to be followed."""
        self.setMinimumSize(theme().px(120), theme().px(LEAST_TALK if talks else LEAST))

    def describe(self, chosen: str) -> None:
        """Tell screen readers of the byte that is chosen; "": of none."""
        self.setAccessibleDescription(chosen or tr(self._words.text))

    def sizeHint(self) -> QSize:
        return QSize(theme().px(240), self.minimumHeight())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.textCursor().atEnd():
            self.ensureCursorVisible()

    def begin(self, *parts: Part) -> None:
        """Show a prompt, or a conversation, that nothing was added to yet."""
        self.blockSignals(True)
        self.setCurrentCharFormat(QTextCharFormat())  # a text takes that of where the cursor was
        self.setPlainText("")
        writer, strong = QTextCursor(self.document()), QTextCharFormat()
        strong.setFontWeight(QFont.Weight.DemiBold)
        self._parts = []
        for part in parts:
            start = writer.position()
            writer.insertText(part.text, strong if part.strong else QTextCharFormat())
            self._parts.append((start, writer.position(), part.tone))
        self._prompt, self._shown, self._marked = self.document().characterCount() - 1, [], None
        self.moveCursor(QTextCursor.MoveOperation.End)
        self.blockSignals(False)
        self._highlight()

    def grow(self, known: list[Byte]) -> None:
        """Show the model's part, which begins as the one before; who reads its end stays there."""
        done = len(self._shown)
        new = [(byte.shown, byte) for byte in known[done:]]
        if done and (more := known[done - 1].shown[len(self._shown[-1].shown) :]):
            new = [(more, known[done - 1]), *new]  # the newest one's end was held, as a stop might have begun there
        if not new:
            return
        self._shown = [*known]
        follows = self.textCursor().atEnd()
        self.blockSignals(True)
        writer = QTextCursor(self.document())
        writer.movePosition(QTextCursor.MoveOperation.End)
        here = self.textCursor().position()
        for text, byte in new:
            writer.insertText(text, underlined(doubt(byte.sure)))
        cursor = self.textCursor()
        if follows:
            cursor.movePosition(QTextCursor.MoveOperation.End)
            self.setTextCursor(cursor)
            self.ensureCursorVisible()
        elif cursor.position() != here and not cursor.hasSelection():
            cursor.setPosition(here)
            self.setTextCursor(cursor)
        self.blockSignals(False)

    def go_to(self, start: int | None) -> None:
        """Put the cursor to a place of the model's part; None: to its end."""
        cursor = self.textCursor()
        end = self.document().characterCount() - 1
        cursor.setPosition(end if start is None else self._prompt + start)
        self.blockSignals(True)
        self.setTextCursor(cursor)
        self.blockSignals(False)
        self.ensureCursorVisible()

    def mark(self, span: tuple[int, int] | None) -> None:
        """Mark a character of the model's part, from and to."""
        if span != self._marked:
            self._marked = span
            self._highlight()

    def viewportEvent(self, event: QEvent) -> bool:
        """The tip of a character says how sure the model was of it."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            place = self._place_at(event.pos())
            byte = None if place is None else next((b for b in reversed(self._shown) if b.start <= place), None)
            QToolTip.showText(event.globalPos(), tip(about(byte)) if byte else "", self)
            return True
        return super().viewportEvent(event)

    def _place_at(self, point: QPoint) -> int | None:
        """Which character of the model's part is there, in the units of `QString`; None: none."""
        cursor = self.cursorForPosition(point)
        rect = self.cursorRect(cursor)
        place = cursor.position() - (1 if point.x() < rect.left() else 0) - self._prompt
        length = self.document().characterCount() - 1 - self._prompt
        return place if rect.top() <= point.y() <= rect.bottom() and 0 <= place < length else None

    def _paint_anew(self) -> None:
        """In another theme the lines have another colour."""
        writer, at = QTextCursor(self.document()), self._prompt
        for byte in self._shown:
            writer.setPosition(at)
            at += units(byte.shown)
            writer.setPosition(at, QTextCursor.MoveMode.KeepAnchor)
            writer.setCharFormat(underlined(doubt(byte.sure)))
        self._highlight()

    def _moved(self) -> None:
        cursor = self.textCursor()
        self.chosen.emit(None if cursor.atEnd() else cursor.position() - self._prompt)

    def _highlight(self) -> None:
        """The colours lie over the text, so that another theme needs only other ones."""
        colors, selections = theme(), []
        spans = []
        for start, end, tone in self._parts:
            quiet = QTextCharFormat()
            quiet.setForeground(colors.color(tone))
            spans.append((start, end, quiet))
        if self._marked is not None:
            strong = QTextCharFormat()
            strong.setBackground(colors.color("ember_fill"))
            strong.setForeground(colors.color("on_fill"))
            spans.append((self._prompt + self._marked[0], self._prompt + self._marked[1], strong))
        for start, end, how in spans:
            selection = QTextEdit.ExtraSelection()
            cursor = QTextCursor(self.document())
            cursor.setPosition(start)
            cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            cursor.setKeepPositionOnInsert(True)  # what is added behind the prompt is not the prompt's
            selection.cursor, selection.format = cursor, how
            selections.append(selection)
        self.setExtraSelections(selections)

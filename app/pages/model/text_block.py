"""The block in which a prompt and what the model adds to it are read."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

from app import theme as look
from app.language import tr
from app.theme import theme

LEAST = 92
"""Height, pixels; it takes what is left."""


class TextBlock(QPlainTextEdit):
    """The prompt in grey, the model's part in full; clicking into that, or moving there by keyboard, chooses a byte."""

    chosen = Signal(object)
    """A place in the model's part, in the units of `QString`; None at its end."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setMinimumSize(theme().px(120), theme().px(LEAST))
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self.setTabChangesFocus(True)
        self.setUndoRedoEnabled(False)
        self.setFont(theme().mono("body"))
        self.document().setDocumentMargin(look.S)
        self.setPlaceholderText(tr("What the model adds appears here."))
        self.setAccessibleName(tr("Continuation"))
        self.setAccessibleDescription(
            tr("What the model adds. The arrow keys choose a byte, to see who answered for it.")
        )
        self._shown = ""
        self._prompt = 0
        self._marked: tuple[int, int] | None = None
        self.cursorPositionChanged.connect(self._moved)
        theme().changed.connect(self._highlight)

    def sizeHint(self) -> QSize:
        return QSize(theme().px(240), theme().px(LEAST))

    def begin(self, prompt: str) -> None:
        """Show a prompt that nothing was added to yet."""
        self.blockSignals(True)
        self.setPlainText(prompt)
        self._prompt, self._shown, self._marked = self.document().characterCount() - 1, "", None
        self.moveCursor(QTextCursor.MoveOperation.End)
        self.blockSignals(False)
        self._highlight()

    def grow(self, text: str) -> None:
        """Show the model's part, which begins as the one before; who reads its end stays there."""
        new = text[len(self._shown) :]
        if not new:
            return
        self._shown = text
        follows = self.textCursor().atEnd()
        self.blockSignals(True)
        writer = QTextCursor(self.document())
        writer.movePosition(QTextCursor.MoveOperation.End)
        here = self.textCursor().position()
        writer.insertText(new)
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

    def _moved(self) -> None:
        cursor = self.textCursor()
        self.chosen.emit(None if cursor.atEnd() else cursor.position() - self._prompt)

    def _highlight(self) -> None:
        """The colours lie over the text, so that another theme needs only other ones."""
        colors, selections = theme(), []
        quiet = QTextCharFormat()
        quiet.setForeground(colors.color("text3"))
        spans = [(0, self._prompt, quiet)]
        if self._marked is not None:
            strong = QTextCharFormat()
            strong.setBackground(colors.color("ember_soft"))
            strong.setForeground(colors.color("ember"))
            strong.setFontUnderline(True)
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

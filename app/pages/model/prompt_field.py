"""Where people write what a model shall continue or answer."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QPlainTextEdit

from app import theme as look
from app.theme import theme

HEIGHT = 66
ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class PromptField(QPlainTextEdit):
    """Tab leaves it.

    Args:
        text: that stands in it.
    """

    sent = Signal()
    """Enter was pressed, where that sends."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.enter_sends = False
        """In a conversation; Shift+Enter begins a new line then."""
        theme().set_sheet(self, "text")
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(look.S)
        self.setFixedHeight(theme().px(HEIGHT))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        plain = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier == Qt.KeyboardModifier.NoModifier
        if self.enter_sends and plain and event.key() in ENTER:
            self.sent.emit()
        else:
            super().keyPressEvent(event)

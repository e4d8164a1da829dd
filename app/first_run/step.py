"""The base of a step of the first run, and what several steps show."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from app import theme as look
from app.icons import Icon
from app.window.widgets import Card, Label, Notice


class Step(QWidget):
    """One screen. Its heading takes the focus first, so that it is read out and Enter does nothing.

    Args:
        title: word in the list of steps.
        heading, subtitle: on the screen.
    """

    def __init__(self, title: str, heading: str, subtitle: str) -> None:
        super().__init__()
        self.title = title
        self.heading = Label(heading, "display", wrap=True)
        self.heading.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.heading.setAccessibleName(f"{heading} {subtitle}")
        self.notice = Notice()
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(0, 0, 0, 0)
        self.body.setSpacing(look.CARD_GAP)
        texts = QVBoxLayout()
        texts.setSpacing(look.S)
        texts.addWidget(self.heading)
        texts.addWidget(Label(subtitle, "body", "text2", wrap=True))
        self.body.addLayout(texts)
        self.body.addWidget(self.notice)


class Facts(Card):
    """A card of statements: an icon, a sentence in short, and what is meant by it."""

    def __init__(self, title: str, tone: str, facts: list[tuple[str, str, str]]) -> None:
        """Args: title, tone of the icons, and of each statement its icon, short form and explanation."""
        super().__init__(title)
        grid = QGridLayout()
        grid.setHorizontalSpacing(look.M)
        grid.setVerticalSpacing(look.M)
        grid.setColumnStretch(1, 1)
        for row, (icon, short, words) in enumerate(facts):
            texts = QVBoxLayout()
            texts.setSpacing(2)
            texts.addWidget(Label(short, "strong", wrap=True))
            texts.addWidget(Label(words, "body", "text2", wrap=True))
            grid.addWidget(Icon(icon, tone, 20), row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addLayout(texts, row, 1)
        self.body.addLayout(grid)
        self.body.addStretch(1)

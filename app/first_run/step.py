"""The base of a step of the first run."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.widgets.basics import Label, Notice
from app.widgets.boxes import vbox


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
        self.body = vbox(
            vbox(self.heading, Label(subtitle, "body", "text2", wrap=True), spacing=look.S),
            self.notice,
            spacing=look.CARD_GAP,
            within=self,
        )

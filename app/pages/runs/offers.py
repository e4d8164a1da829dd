"""Runs that can be looked at, in the sheet by which a run is added."""

from collections.abc import Callable, Iterable
from functools import partial

from PySide6.QtWidgets import QWidget

from app import theme as look
from app.language import tr
from app.widgets.basics import Label
from app.widgets.boxes import STRETCH, discard, hbox, items_of, vbox
from app.widgets.buttons import Button


class Offers(QWidget):
    """Runs that can be looked at, under a title; not seen while there are none, and nothing to say about that."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.buttons: list[Button] = []
        self.none = Label("", "body", "text2", wrap=True)
        self.setting = Button(tr("Open this setting"), "plain", "settings")
        self._rows = vbox(spacing=look.S)
        row = hbox(self.setting, STRETCH)
        vbox(look.M, Label(title, "head"), self._rows, self.none, row, spacing=look.S, within=self)

    def show_offers(self, offers: Iterable[tuple[str, str, str]], look_at: Callable[[str], None]) -> None:
        """Show these.

        Args:
            offers: title, a word on it, and how `run_details` takes the run.
            look_at: called with the latter.
        """
        discard(row for item in items_of(self._rows) if (row := item.widget()) is not None)
        self.buttons = []
        for title, about, source in offers:
            button = Button(tr("Look"), name=tr("Look at {run}", run=title), clicked=partial(look_at, source))
            texts = vbox(Label(title, "body", wrap=True), spacing=0)
            if about:
                texts.addWidget(Label(about, "cap", "text2", wrap=True))
            row = QWidget()
            hbox((texts, 1), button, spacing=look.M, within=row)
            self._rows.addWidget(row)
            self.buttons.append(button)
        self.say_none("")

    def say_none(self, why: str, setting: bool = False) -> None:
        """Say why there are none, where there are none.

        Args:
            why: a sentence.
            setting: whether a setting would change that.
        """
        self.none.setText("" if self.buttons else why)
        self.none.setVisible(bool(self.none.text()))
        self.setting.setVisible(setting and bool(self.none.text()))
        self.setVisible(bool(self.buttons or self.none.text()))

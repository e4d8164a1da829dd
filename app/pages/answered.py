"""The card of the experts that answered: a grid a layer, the list with hosts and figures, and who is missing."""

import math

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QVBoxLayout, QWidget

from app import theme as look
from app.pages.answers import CELL_MAXIMUM, PAD, AnswerGrid, AnswerList, Swatch
from app.pages.hosts import HERE, Hosts, absent, missing
from app.theme import theme
from app.window.widgets import Card, Divider, Label, Notice
from core.control.messages import Answer, Status

LAYERS_SHOWN = 4
CELL_UPRIGHT = 22
LEGEND = {
    ("lit", HERE, "ember_fill"): "This PC",
    ("lit", "A", "peer_a"): "Another peer",
    ("hosted", "", ""): "Hosted here",
    ("late", "", ""): "No answer",
    ("empty", "", ""): "Not here",
}
"""Kind, letter and tone of cells, and their meaning."""


class AnsweredCard(Card):
    """The layers' grids with the lit experts, and the list of them beside or below.

    Args:
        title: of the card.
        before: a sentence for as long as nobody was asked.
        hosts: letters of who answers, where others use them too.
        upright: the list below the grids, and no legend.
    """

    def __init__(self, title: str, before: str, hosts: Hosts | None = None, upright: bool = False) -> None:
        super().__init__(title)
        self._before, self._hosts, self._upright = before, hosts or Hosts(), upright
        if not upright:
            self._legend()
        self._note = Label("", "body", "text2", wrap=True)
        self._missing = Notice("warn", "clock")
        self._grids: list[AnswerGrid] = []
        self.lists: list[AnswerList] = []
        self._dividers: list[Divider] = []
        self._layers = QHBoxLayout()
        self._layers.setSpacing(look.L)
        self._figures = QVBoxLayout()
        self._figures.setSpacing(look.S)
        self._figures.addWidget(self._note)
        self._figures.addStretch(1)
        self._figures.addWidget(self._missing)
        directions = QBoxLayout.Direction
        row = QBoxLayout(directions.TopToBottom if upright else directions.LeftToRight)
        row.setSpacing(look.M if upright else look.XL)
        row.addLayout(self._layers, 0 if upright else 3)
        row.addLayout(self._figures, 1 if upright else 2)
        self.body.addLayout(row, 1)
        self._hosted: tuple[int, tuple[int, ...], list[str]] = (0, (), [])
        self._answers: list[Answer] = []

    @property
    def grids(self) -> list[AnswerGrid]:
        return self._grids

    @property
    def stops(self) -> list[QWidget]:
        """What takes the focus by keyboard, in reading order; there is more of it with the first answer."""
        return [*self._grids, *(uid for figures in self.lists for uid in figures.uids)]

    def update_status(self, status: Status) -> None:
        """The shape of the grid and who is hosted here."""
        hosted = (status.layers, status.grid, [expert.uid for expert in status.experts])
        if hosted == self._hosted:
            return
        self._hosted = hosted
        while len(self._grids) < min(status.layers, LAYERS_SHOWN):
            self._add_layer()
        for grid in self._grids:
            mine = [expert.uid for expert in status.experts if _layer_of(expert.uid) == grid.layer]
            grid.set_hosted(status.grid, mine)
        self._describe()

    def show_answers(self, answers: list[Answer]) -> None:
        """Light the experts of an answer, or none."""
        self._answers = answers
        for grid, figures in zip(self._grids, self.lists, strict=True):
            of_layer = [answer for answer in answers if answer.layer == grid.layer]
            grid.set_answers(of_layer)
            figures.set_answers(of_layer)
        self._describe()

    def _describe(self) -> None:
        for divider in self._dividers:
            divider.setVisible(bool(self._answers))
        if not self._answers or not self._grids:
            self._note.setText(self._before)
            self._missing.set_text("")
            return
        layers, shape, uids = self._hosted
        cells = math.prod(shape)
        first = sum(answer.layer == self._grids[0].layer for answer in self._answers)
        self._note.setText(f"{first} best of {cells} in each layer")
        sentences = (missing(self._answers), absent(self._answers, len(uids), layers * cells))
        self._missing.set_text(" ".join(filter(None, sentences)))

    def _legend(self) -> None:
        for cell, word in LEGEND.items():
            self.head.addSpacing(look.XS)
            self.head.addWidget(Swatch(*cell))
            self.head.addWidget(Label(word, "cap", "text2"))

    def _add_layer(self) -> None:
        layer = len(self._grids)
        largest = CELL_UPRIGHT if self._upright else CELL_MAXIMUM
        grid, figures = AnswerGrid(layer, self._hosts, largest), AnswerList(self._hosts)
        column = QVBoxLayout()
        column.setSpacing(look.XS)
        name = Label(f"Layer {layer}", "body", "text2")
        name.setIndent(PAD)
        column.addWidget(name)
        column.addWidget(grid, 1)
        self._layers.addLayout(column, 1)
        if layer:
            self._dividers.append(Divider())
            self._figures.insertWidget(self._figures.count() - 2, self._dividers[-1])
        self._figures.insertWidget(self._figures.count() - 2, figures)
        self._grids.append(grid)
        self.lists.append(figures)
        if self._answers:
            self.show_answers(self._answers)

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint().expandedTo(QSize(0, theme().px(230)))


def _layer_of(uid: str) -> int | None:
    part = uid.split(".")[1:2]
    return int(part[0]) if part and part[0].isdecimal() and len(part[0]) < 6 else None

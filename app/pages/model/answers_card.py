"""The card of the experts that answered: a grid a layer, the list with hosts and figures, and who is missing."""

import math

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.language import mark, tr
from app.pages.model.answer_grid import CELL_MAXIMUM, PAD, AnswerGrid, AnswerList, Swatch, fold
from app.pages.model.answering_hosts import Hosts, absent, missing
from app.theme import theme
from app.widgets.basics import Card, Divider, Label, Notice, Pair
from app.widgets.boxes import STRETCH, add, grid_box, hbox, holding, vbox
from app.widgets.while_seen import WhileSeen
from app.worker.client import WorkerClient
from core.contracts.control import Answer
from core.contracts.status import GridStatus, Status

LAYERS_SHOWN = 4
HOSTS_MS = 5_000
"""Between two looks at who hosts what."""
CELL_UPRIGHT = 22
MAX_SIDE = 16
"""Cells a side of the largest grid that is drawn."""
LEGEND = {
    ("lit", "", "ember_fill"): mark("This PC"),
    ("lit", "A", "peer_a"): mark("Another peer"),
    ("hosted", "", ""): mark("Hosted here"),
    ("peers", "", ""): mark("Hosted by peers"),
    ("empty", "", ""): mark("Hosted by nobody"),
    ("late", "", ""): mark("No answer"),
}
"""Kind, letter and tone of cells, and their meaning."""
LEGEND_COLUMNS = 3


class AnswersCard(Card):
    """The layers' grids with the lit experts, and the list of them beside or below. While it is seen it asks who hosts
    what.

    Args:
        client: the worker.
        title: of the card.
        before: a sentence for as long as nobody was asked.
        hosts: letters of who answers, where others use them too.
        upright: the list below the grids, and no legend.
    """

    def __init__(
        self, client: WorkerClient, title: str, before: str, hosts: Hosts | None = None, upright: bool = False
    ) -> None:
        super().__init__(title)
        self._client = client
        self._before, self._hosts, self._upright = before, hosts or Hosts(), upright
        if not upright:
            self._legend()
        self._note = Label("", "body", "text2", wrap=True)
        self._missing = Notice("warn", "clock")
        self.grids: list[AnswerGrid] = []
        self._columns: list[QWidget] = []
        """A grid with its name each."""
        self.lists: list[AnswerList] = []
        self._dividers: list[Divider] = []
        self._layers = hbox(spacing=look.L)
        self._figures = vbox(self._note, STRETCH, self._missing, spacing=look.S)
        if upright:
            add(self.body, self._layers, look.XS, (self._figures, 1))
        else:
            self.body.addWidget(Pair(holding(self._layers), holding(self._figures), (3, 2), early=False), 1)
        self._hosted: tuple[int, tuple[int, ...], list[str]] = (0, (), [])
        self._answers: list[Answer] = []
        WhileSeen(self, HOSTS_MS, lambda: self._ask_hosts(0))

    @property
    def stops(self) -> list[QWidget]:
        """What takes the focus by keyboard, in reading order; there is more of it with the first answer."""
        return [*self.grids, *(uid for figures in self.lists for uid in figures.uids)]

    def update_status(self, status: Status) -> None:
        """The shape of the grid and who is hosted here."""
        self.setVisible(bool(status.layers))
        hosted = (status.layers, status.grid, [expert.uid for expert in status.experts])
        if hosted == self._hosted:
            return
        self._hosted = hosted
        if not status.layers:
            return
        before = len(self.grids)
        while len(self.grids) < min(status.layers, LAYERS_SHOWN):
            self._add_layer()
        for grid in self.grids:
            mine = [expert.uid for expert in status.experts if _layer_of(expert.uid) == grid.layer]
            grid.set_hosted(status.grid, mine)
        for column in self._columns:
            column.setVisible(max(fold(status.grid)) <= MAX_SIDE)  # of a larger grid the list is left
        self._describe()
        if len(self.grids) > before:
            self._ask_hosts(0)

    def _ask_hosts(self, layer: int) -> None:
        """Ask who hosts what, a layer after the other; the next look asks again, so a failure is told by none."""
        if layer < len(self.grids) and self._client.is_connected and self.isVisible():
            self._client.grid(layer, lambda grid: self._show_hosts(layer, grid), lambda error: None)

    def _show_hosts(self, layer: int, grid: GridStatus) -> None:
        """Tell the cells that peers host from those that nobody does."""
        self.grids[layer].set_peers(cell.cell for cell in grid.cells if not cell.here)
        self._ask_hosts(layer + 1)

    def show_answers(self, answers: list[Answer]) -> None:
        """Light the experts of an answer, or none."""
        self._answers = answers
        for grid, figures in zip(self.grids, self.lists, strict=True):
            of_layer = [answer for answer in answers if answer.layer == grid.layer]
            grid.set_answers(of_layer)
            figures.set_answers(of_layer)
        self._describe()

    def _describe(self) -> None:
        for divider in self._dividers:
            divider.setVisible(bool(self._answers))
        if not self._answers or not self.grids:
            self._note.setText(self._before)
            self._missing.set_text("")
            return
        layers, shape, uids = self._hosted
        cells = math.prod(shape)
        first = sum(answer.layer == self.grids[0].layer for answer in self._answers)
        self._note.setText(tr("The {best} best of {cells} in each layer", best=first, cells=cells))
        sentences = (missing(self._answers), absent(self._answers, len(uids), layers * cells))
        self._missing.set_text(" ".join(filter(None, sentences)))

    def _legend(self) -> None:
        grid = grid_box(look.L, look.XS, stretch={LEGEND_COLUMNS: 1})
        for place, (cell, word) in enumerate(LEGEND.items()):
            entry = hbox(Swatch(*cell), (Label(tr(word), "cap", "text2"), 1), spacing=look.S)
            grid.addLayout(entry, *divmod(place, LEGEND_COLUMNS))
        self.body.addLayout(grid)

    def _add_layer(self) -> None:
        layer = len(self.grids)
        largest = CELL_UPRIGHT if self._upright else CELL_MAXIMUM
        grid, figures = AnswerGrid(layer, self._hosts, largest), AnswerList(self._hosts)
        name = Label(tr("Layer {layer}", layer=layer), "body", "text2")
        name.setIndent(PAD)
        self._columns.append(holding(vbox(name, (grid, 1), spacing=look.XS)))
        self._layers.addWidget(self._columns[-1], 1)
        if layer:
            self._dividers.append(Divider())
            self._figures.insertWidget(self._figures.count() - 2, self._dividers[-1])
        self._figures.insertWidget(self._figures.count() - 2, figures)
        self.grids.append(grid)
        self.lists.append(figures)
        if self._answers:
            self.show_answers(self._answers)

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint().expandedTo(QSize(0, theme().px(230)))


def _layer_of(uid: str) -> int | None:
    part = uid.split(".")[1:2]
    return int(part[0]) if part and part[0].isdecimal() and len(part[0]) < 6 else None

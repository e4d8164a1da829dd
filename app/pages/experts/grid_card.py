"""The grid of the run on the experts page: every layer, coloured by a figure, lit where something happens."""

import math

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.formats import number
from app.language import mark, tr
from app.pages.experts.grid_layer import Layer, uid_of, words_about
from app.pages.experts.grid_legend import GridLegend
from app.theme import theme
from app.widgets.basics import Card, Label, Pair
from app.widgets.boxes import STRETCH, add, discard, grid_box, holding, scrolling, vbox
from app.widgets.buttons import Button, Segmented
from app.widgets.expert_grid import GAP, HOLLOW, LEAST, PEERS, SHADES, ExpertGrid
from app.window.focus_ring import order_page
from core.contracts.status import CellStatus, GridStatus

SIDES = (5, 7, 10, 13, 17, 22, 30, 44, 62)
"""Sides of a cell that one can choose, pixels."""
LAYERS = 32
"""Layers that are shown; the others are told in a sentence."""
UNKNOWN = mark("Appears as soon as the worker answers.")
NO_EXPERTS = mark("No expert is hosted yet. They appear as soon as a PC of this run computes.")
WHOLE_MODEL = mark("The model of this run has no experts: every PC that trains holds all of it.")
CHOICES = {"version": mark("Updates"), "recent": mark("Calls/min"), "calls": mark("Calls")}
BRIGHTER = {
    "version": mark("Brighter cells took more updates."),
    "recent": mark("Brighter cells answered more calls in the last minute."),
    "calls": mark("Brighter cells answered more calls."),
}
DARKER = {
    "version": mark("Darker cells took more updates."),
    "recent": mark("Darker cells answered more calls in the last minute."),
    "calls": mark("Darker cells answered more calls."),
}


class GridCard(Card):
    """Every layer's grid, as large as one likes."""

    def __init__(self) -> None:
        super().__init__(tr("The grid of the run"))
        self.run = ""
        self.by = Segmented({key: tr(word) for key, word in CHOICES.items()}, tr("Colour by"))
        self.by.chosen.connect(lambda value: self._show_all())
        self._newest: GridStatus | None = None
        smaller, larger = tr("Smaller cells"), tr("Larger cells")
        self.smaller = Button("", "plain", "zoom-out", name=smaller, tip=smaller, clicked=lambda: self._zoom(-1))
        self.larger = Button("", "plain", "zoom-in", name=larger, tip=larger, clicked=lambda: self._zoom(1))
        add(self.head, self.by, self.smaller, self.larger)
        self.layers: dict[int, Layer] = {}
        self.grids: list[ExpertGrid] = []
        self._titles: list[Label] = []
        self._side: int | None = None
        self._legend = ""
        self.words = Label("", "cap", "text2", wrap=True)
        self.words.setMinimumHeight(4 * self.words.fontMetrics().height())
        self.words.setAlignment(Qt.AlignmentFlag.AlignTop)
        content = QWidget()
        self._flow = grid_box(look.XL, look.S, margins=(4, 4, 4, 4), within=content)
        self._area = scrolling(content)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self._area.setMinimumSize(theme().px(300), theme().px(236))
        side = holding(vbox(GridLegend(), self.words, STRETCH, spacing=look.M))
        side.setMinimumWidth(theme().px(220))
        self._shown = Pair(self._area, side, (2, 1), early=False, spacing=look.L)
        self.empty = Label(tr(UNKNOWN), "body", "text2", wrap=True)
        add(self.body, (self.empty, Qt.AlignmentFlag.AlignTop), (self._shown, 1))
        self._shown.hide()

    def show_layer(self, grid: GridStatus) -> None:
        """Show the newest answer about a layer."""
        self.layers.setdefault(grid.layer, Layer()).take(grid)
        self._make_grids(min(grid.layers, LAYERS))
        if grid.layer < len(self.grids):
            self._show(grid.layer, self._most())
        any_hosted = any(layer.cells for layer in self.layers.values())
        self.empty.setText(tr(NO_EXPERTS if grid.layers else WHOLE_MODEL))
        self.empty.setVisible(not any_hosted)
        self._shown.setVisible(any_hosted)
        for tool in (self.by, self.smaller, self.larger):
            tool.setVisible(grid.layers > 0)
        self._newest = grid
        self._tell_all()

    def free(self) -> int | None:
        """Cells that nobody hosts; None: what peers host is not known, or not of every layer."""
        grid = self._newest
        if grid is None or not grid.whole or len(self.layers) < grid.layers:
            return None
        return grid.layers * math.prod(grid.shape) - sum(len(layer.cells) for layer in self.layers.values())

    def forget(self) -> None:
        """Show nothing: what comes next is of another run."""
        self._newest = None
        self.layers.clear()
        discard([*self.grids, *self._titles])
        self.grids, self._titles = [], []
        self.empty.setText(tr(UNKNOWN))
        self.empty.show()
        self._shown.hide()
        self._set_legend("")

    def _make_grids(self, count: int) -> None:
        new = count > len(self.grids)
        for layer in range(len(self.grids), count):
            grid, title = ExpertGrid(layer), Label(tr("Layer {layer}", layer=layer), "cap", "text2")
            grid.picked.connect(lambda words: self.words.setText(words or self._legend))
            self.grids.append(grid)
            self._titles.append(title)
            self._place()
        if new:
            order_page(self)

    def _place(self) -> None:
        """Layers side by side, as many as fit."""
        side = self._side or self._fitting()
        wide = 0
        for grid in self.grids:
            grid.set_side(side)
            wide = max(wide, grid.sizeHint().width())
        fit = max(1, (self._area.viewport().width() + look.XL) // (wide + look.XL))
        for number_, (title, grid) in enumerate(zip(self._titles, self.grids, strict=True)):
            row, column = divmod(number_, fit)
            self._flow.addWidget(title, 2 * row, column)
            self._flow.addWidget(grid, 2 * row + 1, column)
            title.show()
            grid.show()
        for column in range(self._flow.columnCount()):
            self._flow.setColumnStretch(column, 0)
        self._flow.setColumnStretch(fit, 1)
        below = 2 * -(-len(self.grids) // fit)
        for row in range(self._flow.rowCount()):
            self._flow.setRowStretch(row, 0)
        self._flow.setRowStretch(below, 1)

    def _fitting(self) -> int:
        """The largest cells of which a layer, or two where there are more, fit side by side; and also one above the
        other, if they can still be told apart then."""
        columns = max((layer.columns for layer in self.layers.values()), default=1)
        rows = max((-(-layer.count // layer.columns) for layer in self.layers.values()), default=1)
        seen = self._area.viewport()
        room = seen.width() / min(2, max(1, len(self.grids))) - look.XL
        height = seen.height() - self.words.fontMetrics().height() - 3 * look.S
        sides = [side for side in SIDES if columns * (side + GAP) <= room]
        low = [side for side in sides if side >= LEAST and rows * (side + GAP) <= height]
        return max(low or sides, default=SIDES[0])

    def _zoom(self, step: int) -> None:
        now = self._side or self._fitting()
        place = min(len(SIDES) - 1, max(0, SIDES.index(now) + step))
        self._side = SIDES[place]
        self.smaller.setEnabled(place > 0)
        self.larger.setEnabled(place < len(SIDES) - 1)
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.grids:
            self._place()

    def _value(self, layer: Layer, cell: CellStatus) -> float:
        key = self.by.value()
        return layer.per_minute.get(cell.cell, 0.0) if key == "recent" else getattr(cell, key) or 0.0

    def _most(self) -> float:
        cells = ((layer, cell) for layer in self.layers.values() for cell in layer.cells.values())
        return max((self._value(layer, cell) for layer, cell in cells), default=0.0) or 1.0

    def _show_all(self) -> None:
        most = self._most()
        for layer in self.layers:
            if layer < len(self.grids):
                self._show(layer, most)
        self._tell_all()

    def _show(self, number_: int, most: float) -> None:
        layer, grid = self.layers[number_], self.grids[number_]
        shape_before = grid.sizeHint()

        def shade(cell: CellStatus) -> int:
            warmth = min(SHADES, int(SHADES * self._value(layer, cell) / most))
            return warmth if cell.here else PEERS + warmth

        if layer.places:
            shades = [shade(layer.cells[place]) for place in layer.places]
            own = frozenset(at for at, place in enumerate(layer.places) if layer.cells[place].here)
        else:
            shades = [HOLLOW] * layer.count
            for place, cell in layer.cells.items():
                if place < len(shades):  # a worker of another version may tell anything
                    shades[place] = shade(cell)
            own = frozenset(place for place, cell in layer.cells.items() if cell.here)

        def words(drawn: int) -> str:
            place = layer.at(drawn)
            uid = uid_of(self.run, number_, place, layer.shape)
            return words_about(uid, layer.cells.get(place), layer.per_minute.get(place, 0.0))

        grid.set_cells(layer.columns, shades, words, own, layer.called)
        grid.pulse(layer.adopted)
        layer.adopted = frozenset()
        if grid.sizeHint() != shape_before:
            self._place()

    def _tell_all(self) -> None:
        grid = self._newest
        if grid is None:
            return
        hosted = sum(len(layer.cells) for layer in self.layers.values())
        here = sum(cell.here for layer in self.layers.values() for cell in layer.cells.values())
        cells = min(grid.layers, LAYERS) * math.prod(grid.shape)
        legend = [
            tr("{hosted} of %Ln cell(s) have an expert.", cells, hosted=number(hosted)),
            tr("%Ln of them is (are) here.", here),
            tr((BRIGHTER if theme().dark else DARKER)[self.by.value()]),
        ]
        if self.by.value() != "version" and here < hosted:
            legend.append(tr("Of peers' experts, only calls from this PC count."))
        if not grid.whole and hosted < cells:
            legend.append(tr("Only what this PC knows of is shown."))
        if grid.layers > LAYERS:
            legend.append(tr("The first {first} of %Ln layer(s) are shown.", grid.layers, first=LAYERS))
        self._set_legend(" ".join(legend))

    def _set_legend(self, legend: str) -> None:
        if self.words.text() in ("", self._legend):
            self.words.setText(legend)
        self._legend = legend

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old."""
        for grid in self.grids:
            grid.set_stale(stale)

"""What the cells of the run's grid mean."""

from typing import NamedTuple

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.icons import smooth
from app.language import mark, tr
from app.pages.experts.grid_layer import EVERY_MS
from app.theme import theme
from app.widgets.basics import Label
from app.widgets.boxes import grid_box

SHADE = 0.4
"""Of the cells in the legend."""


class Kind(NamedTuple):
    """How a cell is drawn."""

    here: bool = False
    hosted: bool = True
    lit: bool = False


MEANINGS = {
    Kind(here=True): mark("Hosted on this PC"),
    Kind(): mark("Hosted by peers"),
    Kind(hosted=False): mark("Hosted by nobody"),
    Kind(here=True, lit=True): mark("Called or updated in the last {seconds} s"),
}


class GridLegend(QWidget):
    """A cell and a word for each kind."""

    def __init__(self) -> None:
        super().__init__()
        grid = grid_box(look.S, look.XS, stretch={1: 1}, within=self)
        for row, (kind, word) in enumerate(MEANINGS.items()):
            words = Label(tr(word, seconds=EVERY_MS // 1000), "cap", "text2", wrap=True)
            grid.addWidget(_Cell(kind), row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(words, row, 1)


class _Cell(QWidget):
    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self._kind = kind
        self.setFixedSize(theme().px(16), theme().px(16))

    def paintEvent(self, event: QPaintEvent) -> None:
        here, hosted, lit = self._kind
        colors, painter = theme(), smooth(self)
        rect = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.setPen(QPen(colors.color("ember" if here else "line"), 2 if here else 1))
        if hosted:
            painter.setBrush(colors.heat(SHADE) if here else colors.cool(SHADE))
        if hosted and not here:
            painter.setPen(Qt.PenStyle.NoPen)
        painter.drawRoundedRect(rect, rect.width() * look.CELL_RADIUS, rect.width() * look.CELL_RADIUS)
        if lit:
            inset = rect.width() * 0.24
            rect.adjust(inset, inset, -inset, -inset)
            painter.setPen(QPen(colors.color("surface"), 1))
            painter.setBrush(colors.color("ember"))
            painter.drawRoundedRect(rect, rect.width() * look.CELL_RADIUS, rect.width() * look.CELL_RADIUS)

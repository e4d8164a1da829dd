"""The experts of one layer as cells of the grid, warmer the more updates they took."""

import itertools
import math

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import theme as look
from app.icons import hairline
from app.theme import theme
from app.window.words import number
from core.control.messages import ExpertStatus

MAX_SIDE = 16
"""Cells a side that are shown of a whole grid; a larger one shows only the experts hosted here."""
SHADES = 64
"""Differences of heat that one can see; a smaller one is not worth drawing the cells anew."""
GREATEST, LEAST, GAP = 26, 9, 3
EXTENT = 108
"""Side of a layer, pixels, where its cells can keep to their least size."""


def describe(expert: ExpertStatus) -> str:
    """ "digits.0.1.3: 1,204 updates, 38,211 samples"."""
    return f"{expert.uid}: {number(expert.updates)} updates, {number(expert.samples)} samples"


class ExpertGrid(QWidget):
    """One layer. Arrow keys or the mouse choose a cell.

    Args:
        layer: number of the layer, in the uids' second place.
    """

    picked = Signal(str)
    """Words about the cell under the mouse or the keyboard; "" for none."""

    def __init__(self, layer: int) -> None:
        super().__init__()
        self.layer = layer
        self._cells: dict[tuple[int, int], ExpertStatus | None] = {}
        self._columns, self._rows = 1, 1
        self._most = 1
        self._shades: dict[tuple[int, int], int | None] = {}
        self._at: tuple[int, int] | None = None
        self._stale = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(f"Experts of layer {layer}")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_experts(self, experts: list[ExpertStatus], grid: tuple[int, ...], most: int) -> None:
        """Show this layer's experts.

        Args:
            grid: cells of each dimension.
            most: updates that make a cell hottest.
        """
        cells = _place(experts, grid)
        if cells == self._cells and most == self._most:
            return
        self._cells, self._most = cells, max(1, most)
        shades = {
            place: None if expert is None else round(expert.updates / self._most * SHADES)
            for place, expert in cells.items()
        }
        if shades != self._shades:
            self._shades = shades
            self._rows = 1 + max((row for row, _ in cells), default=0)
            self._columns = 1 + max((column for _, column in cells), default=0)
            self.updateGeometry()
            self.update()
            self._describe()
        if self._at is not None:
            self._tell()

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old."""
        self._stale = stale
        self.update()

    def _describe(self) -> None:
        experts = [expert for expert in self._cells.values() if expert is not None]
        self.setAccessibleDescription("; ".join(describe(expert) for expert in experts))

    def _side(self) -> int:
        return max(LEAST, min(theme().px(GREATEST), theme().px(EXTENT) // max(self._columns, self._rows) - GAP))

    def _cell(self, place: tuple[int, int]) -> QRectF:
        side = self._side()
        return QRectF(place[1] * (side + GAP), place[0] * (side + GAP), side, side)

    def sizeHint(self) -> QSize:
        side = self._side() + GAP
        return QSize(self._columns * side - GAP, self._rows * side - GAP)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for place, expert in self._cells.items():
            rect = self._cell(place)
            corner = rect.width() * look.CELL_RADIUS
            if expert is None:
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(hairline(painter, rect, colors.color("line")), corner, corner)
                continue
            heat = expert.updates / self._most
            fill = look.mix(colors.color("surface"), colors.color("text3"), 0.2 + 0.5 * heat)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(fill if self._stale else colors.heat(heat))
            painter.drawRoundedRect(rect, corner, corner)
            if place == self._at:
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.setPen(QPen(colors.color("text"), 2))
                painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), corner, corner)

    def _pick(self, place: tuple[int, int] | None) -> None:
        if place != self._at:
            self._at = place
            self._tell()
            self.update()

    def _tell(self) -> None:
        expert = self._cells.get(self._at) if self._at else None
        words = describe(expert) if expert else "No expert is hosted in this cell" if self._at in self._cells else ""
        self.setToolTip(words)
        self.picked.emit(words)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        place: QPointF = event.position()
        self._pick(next((cell for cell in self._cells if self._cell(cell).contains(place)), None))

    def leaveEvent(self, event: QEvent) -> None:
        self._pick(None)
        super().leaveEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._describe()
        if self._at is None and event.reason() != Qt.FocusReason.MouseFocusReason and self._cells:
            self._pick((0, 0))
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._pick(None)
        super().focusOutEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        moves = {
            Qt.Key.Key_Left: (0, -1),
            Qt.Key.Key_Right: (0, 1),
            Qt.Key.Key_Up: (-1, 0),
            Qt.Key.Key_Down: (1, 0),
        }
        move = moves.get(Qt.Key(event.key()))
        if move is None or not self._cells:
            super().keyPressEvent(event)
            return
        row, column = self._at or (0, 0)
        place = (row + move[0], column + move[1])
        if place in self._cells:
            self._pick(place)


def _place(experts: list[ExpertStatus], grid: tuple[int, ...]) -> dict[tuple[int, int], ExpertStatus | None]:
    """Row and column of each cell: the grid itself where it has two dimensions and fits, else the hosted ones."""
    if len(grid) == 2 and max(grid) <= MAX_SIDE:
        places = itertools.product(range(grid[0]), range(grid[1]))
        cells: dict[tuple[int, int], ExpertStatus | None] = dict.fromkeys(places)
        for expert in experts:
            row, column = expert.uid.split(".")[-2:]
            cells[int(row), int(column)] = expert
        return cells
    experts = experts[: MAX_SIDE**2]
    columns = max(1, math.ceil(math.sqrt(len(experts))))
    return {divmod(number_, columns): expert for number_, expert in enumerate(experts)}

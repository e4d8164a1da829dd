"""The experts of one layer as cells of the grid: warmer for more of a figure, outlined where nobody hosts one.

All cells at rest are one picture, made of one pixel for each that is scaled up and cut to rounded cells, so that
10,000 cost about as much as 16; only what changes while one looks (lit cells, the chosen one) is drawn cell by cell.
"""

import math
from array import array
from collections.abc import Callable, Collection

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, QVariantAnimation
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QScrollArea, QSizePolicy, QWidget

from app import theme as look
from app.colors import mix
from app.formats import number
from app.icons import hairline, smooth
from app.language import tr
from app.system.reduced_motion import motion
from app.theme import theme
from app.widgets.picking import Picking, beside

SHADES = 64
"""Differences of heat that one can see; a smaller one is not worth drawing the cells anew."""
HOLLOW = -1
"""The shade of a cell that nobody hosts."""
PEERS = SHADES + 1
"""Added to the shade of a cell that is hosted by others only."""
LEAST, GAP = 9, 3
RING, PULSE_MS = 6, 1200
"""How far a pulse goes out, pixels, and for how long."""


class ExpertGrid(Picking):
    """One layer. Arrow keys or the mouse choose a cell.

    Args:
        layer: number of the layer, in the uids' second place.
    """

    def __init__(self, layer: int) -> None:
        super().__init__()
        self.layer = layer
        self._shades: list[int] = []
        self._words: Callable[[int], str] = lambda cell: ""
        self._columns = 1
        self._own: Collection[int] = ()
        self._lit: frozenset[int] = frozenset()
        self._stale = False
        self._side = LEAST
        self._picture: QPixmap | None = None
        self.pulsing: frozenset[int] = frozenset()
        """From which a ring goes out."""
        self._pulse = QVariantAnimation(self, duration=PULSE_MS, startValue=0.0, endValue=1.0)
        self._pulse.valueChanged.connect(self._draw_pulse)
        self._pulse.finished.connect(self._end_pulse)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Experts of layer {layer}", layer=layer))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self._draw_anew)

    def set_cells(
        self,
        columns: int,
        shades: list[int],
        words: Callable[[int], str],
        own: Collection[int] = (),
        lit: frozenset[int] = frozenset(),
    ) -> None:
        """Show cells, row by row.

        Args:
            columns: cells of a row.
            shades: of each cell, 0 to `SHADES`, from `PEERS` on where others host it; or `HOLLOW`.
            words: about a cell, asked for when it is chosen.
            own: cells that are hosted here, to be outlined.
            lit: cells in which something happens now.
        """
        shape = (columns, len(shades))
        if shape != (self._columns, len(self._shades)):
            self._columns = columns
            self.at = None
            self.updateGeometry()
            self._picture = None
        self._words = words
        if shades != self._shades or own != self._own:
            self._shades, self._own = shades, own
            self._draw_anew()
        if lit != self._lit:
            for cell in lit ^ self._lit:
                self.update(self._cell(cell).toAlignedRect().adjusted(-2, -2, 2, 2))
            self._lit = lit
        self._retell()

    def pulse(self, cells: frozenset[int]) -> None:
        """Have a ring go out from cells that somebody has just taken on, once, if something may move and is seen."""
        if cells and self.isVisible() and motion().allowed:
            self.pulsing = cells
            self._pulse.start()

    def _draw_pulse(self, _: object = None) -> None:
        for cell in self.pulsing:
            self.update(self._cell(cell).toAlignedRect().adjusted(-RING - 2, -RING - 2, RING + 2, RING + 2))

    def _end_pulse(self) -> None:
        self._draw_pulse()
        self.pulsing = frozenset()

    def set_side(self, side: int) -> None:
        """Draw cells of so many pixels."""
        if side != self._side:
            self._side = side
            self.updateGeometry()
            self._draw_anew()

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old."""
        if stale != self._stale:
            self._stale = stale
            self._draw_anew()

    def words(self, at: int) -> str:
        return self._words(at)

    def describe(self) -> str:
        hosted = len(self._shades) - self._shades.count(HOLLOW)
        summary = tr("{hosted} of %Ln cell(s) have an expert.", len(self._shades), hosted=number(hosted))
        if self._own:
            summary = f"{summary} {tr('%Ln of them is (are) here.', len(self._own))}"
        return f"{summary} {tr('Arrow keys read out each one.')}"

    def _draw_anew(self) -> None:
        self._picture = None
        self.update()

    def _rows(self) -> int:
        return max(1, -(-len(self._shades) // self._columns))

    def _pitch(self) -> int:
        return self._side + (GAP if self._side >= LEAST else 2)

    def _cell(self, cell: int) -> QRectF:
        row, column = divmod(cell, self._columns)
        return QRectF(column * self._pitch(), row * self._pitch(), self._side, self._side)

    def sizeHint(self) -> QSize:
        gap = self._pitch() - self._side
        return QSize(self._columns * self._pitch() - gap, self._rows() * self._pitch() - gap)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    # drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        ratio = math.ceil(self.devicePixelRatioF())
        if self._picture is None or self._picture.devicePixelRatio() != ratio:
            self._picture = self._make_picture(ratio)
        painter = QPainter(self)
        seen = event.rect()
        source = QRect(seen.topLeft() * ratio, seen.size() * ratio)
        painter.drawPixmap(seen, self._picture, source)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_lit(painter, seen)
        if self.pulsing:
            self._paint_pulse(painter)
        if self.at is not None:
            rect = self._cell(self.at).adjusted(1, 1, -1, -1)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme().color("text"), 2))
            corner = rect.width() * look.CELL_RADIUS
            painter.drawRoundedRect(rect, corner, corner)

    def _paint_lit(self, painter: QPainter, seen: QRect) -> None:
        own, other = theme().color("ember"), theme().color("peer")
        for cell in self._lit:
            rect = self._cell(cell)
            if rect.intersects(QRectF(seen)):
                color = own if cell in self._own else other
                inset = rect.width() * 0.24  # the cell's own colour stays round it
                rect.adjust(inset, inset, -inset, -inset)
                corner = rect.width() * look.CELL_RADIUS
                painter.setPen(QPen(theme().color("surface"), 1.5 if self._side >= LEAST else 0.8))
                painter.setBrush(color)
                painter.drawRoundedRect(rect, corner, corner)

    def _paint_pulse(self, painter: QPainter) -> None:
        gone = self._pulse.currentValue()
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for cell in self.pulsing:
            color = theme().color("ember" if cell in self._own else "peer")
            color = QColor(color)
            color.setAlphaF(1.0 - gone)
            out = gone * RING
            rect = self._cell(cell).adjusted(-out, -out, out, out)
            corner = rect.width() * look.CELL_RADIUS
            painter.setPen(QPen(color, 2.0))
            painter.drawRoundedRect(rect, corner, corner)

    def _make_picture(self, ratio: int) -> QPixmap:
        """All cells at rest."""
        rows, pitch = self._rows(), self._pitch() * ratio
        picture = QPixmap(self._columns * pitch, rows * pitch)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        painter.drawTiledPixmap(picture.rect(), self._tile(ratio, filled=False))
        gone = rows * self._columns - len(self._shades)
        pixels = array("I", map(self._table().__getitem__, self._shades))
        pixels.extend([0] * gone)
        data = pixels.tobytes()  # has to live as long as the image
        image = QImage(data, self._columns, rows, 4 * self._columns, QImage.Format.Format_ARGB32_Premultiplied)
        painter.drawImage(picture.rect(), image)
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_DestinationIn)
        painter.drawTiledPixmap(picture.rect(), self._tile(ratio, filled=True))
        if gone:
            painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Clear)
            left = (self._columns - gone) * pitch
            painter.fillRect(QRect(left, (rows - 1) * pitch, gone * pitch, pitch), Qt.GlobalColor.transparent)
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceOver)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        width = 2 if self._side >= LEAST else 1.5
        painter.setPen(QPen(theme().color("text3" if self._stale else "ember"), width))
        painter.scale(ratio, ratio)
        for cell in self._own:
            rect = self._cell(cell).adjusted(width / 2, width / 2, -width / 2, -width / 2)
            painter.drawRoundedRect(rect, rect.width() * look.CELL_RADIUS, rect.width() * look.CELL_RADIUS)
        painter.end()
        picture.setDevicePixelRatio(ratio)
        return picture

    def _table(self) -> list[int]:
        """Colours by shade, as 0xAARRGGBB; the last one, which `HOLLOW` finds, lets the outline through."""
        colors = theme()
        shares = [shade / SHADES for shade in range(SHADES + 1)]
        if self._stale:
            ground, grey = colors.color("surface"), colors.color("text3")
            greys = [mix(ground, grey, 0.2 + 0.5 * share).rgba() for share in shares]
            return [*greys, *greys, 0]
        return [*(colors.heat(share).rgba() for share in shares), *(colors.cool(share).rgba() for share in shares), 0]

    def _tile(self, ratio: int, *, filled: bool) -> QPixmap:
        """One cell with its gap: what is left of a filled one, or the outline of a hollow one."""
        pitch, side = self._pitch() * ratio, self._side * ratio
        tile = QPixmap(pitch, pitch)
        tile.fill(Qt.GlobalColor.transparent)
        painter = smooth(tile)
        rect, corner = QRectF(0, 0, side, side), side * look.CELL_RADIUS
        if filled:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme().color("text"))
        else:
            rect = hairline(painter, rect, theme().color("line" if self._side >= LEAST else "border"))
        painter.drawRoundedRect(rect, corner, corner)
        painter.end()
        return tile

    # choosing

    def _under(self, place: QPointF) -> int | None:
        row, column = int(place.y() // self._pitch()), int(place.x() // self._pitch())
        cell = row * self._columns + column
        inside = 0 <= column < self._columns and 0 <= cell < len(self._shades)
        return cell if inside and self._cell(cell).contains(place) else None

    def _start(self) -> int | None:
        return 0 if self._shades else None

    def _beside(self, at: int, key: Qt.Key) -> int | None:
        to = beside(at, key, self._columns, len(self._shades))
        if to is not None:
            self._show_chosen(to)
        return to

    def _show_chosen(self, cell: int) -> None:
        """Scroll it into sight."""
        step: QWidget | None = self
        while step is not None:
            step = step.parentWidget()
            if isinstance(step, QScrollArea) and (content := step.widget()) is not None:
                place = self.mapTo(content, self._cell(cell).center().toPoint())
                step.ensureVisible(place.x(), place.y(), 4 * self._side, 4 * self._side)

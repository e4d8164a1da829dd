"""Who gives how much to whom: givers where lines begin, takers at their end, and bands as wide as each share."""

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from app import theme as look
from app.icons import placed, smooth
from app.theme import theme
from app.widgets.picking import Picking

MOST = 6
"""Nodes of a side."""
ROW, NODE = 38, 6
"""Height of a node's room and width of its bar, pixels."""
FILL = 0.8
"""Of its room, that the tallest bar takes."""
NAMES, LEAST_BETWEEN = 0.27, 80
"""Share of the width for the names of a side, and the least for the bands, pixels."""
BAND, OWN_BAND = 0.30, 0.55
"""Opacity."""


class Node(NamedTuple):
    """A giver or a taker."""

    name: str
    share: float
    """Of what all give, or take; more than nothing or nothing."""
    note: str
    """Words about it, under its name."""
    own: bool = False


class FlowPicture(Picking):
    """Arrow keys or the mouse choose a node.

    Args:
        name: what flows, the accessible name.
        heads: words above the givers and above the takers.
    """

    def __init__(self, name: str, heads: tuple[str, str]) -> None:
        super().__init__()
        self._heads, self._words = heads, ""
        self._sides: tuple[Sequence[Node], Sequence[Node]] = ((), ())
        self._stale = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.update)

    def set_nodes(self, givers: Sequence[Node], takers: Sequence[Node], words: str) -> None:
        """Show these.

        Args:
            givers: at most `MOST`.
            takers: at most `MOST`.
            words: the same as a sentence.
        """
        if (givers, takers, words) == (*self._sides, self._words):
            return
        if list(map(len, self._sides)) != [len(givers), len(takers)]:
            self.at = None
        self._sides, self._words = (givers, takers), words
        self.updateGeometry()
        self._retell()
        self.update()

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old."""
        self._stale = stale
        self.update()

    def sizeHint(self) -> QSize:
        rows = max(1, *map(len, self._sides))
        return QSize(theme().px(320), self._top() + rows * theme().px(ROW))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(220), self.sizeHint().height())

    def describe(self) -> str:
        return self._words

    def words(self, at: int) -> str:
        givers, takers = self._sides
        side, node = (0, givers[at]) if at < len(givers) else (1, takers[at - len(givers)])
        return f"{self._heads[side]}: {', '.join(filter(None, (node.name, node.note)))}"

    # the places

    def _top(self) -> int:
        return QFontMetrics(theme().font("cap")).height() + look.XS

    def _room(self, side: int, row: int) -> QRectF:
        """Of a node, from edge to edge of its names' column."""
        high = (self.height() - self._top()) / max(1, len(self._sides[side]))
        wide = self._wide()
        return QRectF(side * (self.width() - wide), self._top() + row * high, wide, high)

    def _wide(self) -> float:
        return min(NAMES * self.width(), (self.width() - theme().px(LEAST_BETWEEN)) / 2)

    def _scale(self) -> float:
        """Pixels of a share of 1: no bar is higher than its room, and both sides have the same measure."""
        rooms = [
            FILL * self._room(side, 0).height() / max(node.share for node in nodes)
            for side, nodes in enumerate(self._sides)
            if any(node.share for node in nodes)
        ]
        return min(rooms, default=0.0)

    def _bar(self, side: int, row: int) -> QRectF:
        room, wide = self._room(side, row), theme().px(NODE)
        high = max(2.0, self._scale() * self._sides[side][row].share)
        left = room.right() - wide if side == 0 else room.left()
        return QRectF(left, room.center().y() - high / 2, wide, high)

    # painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        painter.setPen(Qt.PenStyle.NoPen)
        self._paint_bands(painter)
        for side, nodes in enumerate(self._sides):
            for row, node in enumerate(nodes):
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(self._color(node.own))
                painter.drawRoundedRect(placed(self, self._bar(side, row)), 2, 2)
                self._paint_words(painter, side, row, node)
            self._paint_head(painter, side)

    def _color(self, own: bool) -> QColor:
        return theme().color("text3" if self._stale else "ember_fill" if own else "peer")

    def _paint_bands(self, painter: QPainter) -> None:
        givers, takers = self._sides
        scale = self._scale()
        filled = [0.0] * len(takers)
        for row, giver in enumerate(givers):
            bar, done = self._bar(0, row), 0.0
            for to, taker in enumerate(takers):
                wide = scale * giver.share * taker.share
                end = self._bar(1, to)
                if wide:
                    start = QPointF(bar.right(), bar.top() + done)
                    stop = QPointF(end.left(), end.top() + filled[to])
                    color = self._color(giver.own)
                    color.setAlphaF(OWN_BAND if giver.own else BAND)
                    painter.setBrush(color)
                    painter.drawPath(self._band(start, stop, wide))
                done += wide
                filled[to] += wide

    def _band(self, start: QPointF, stop: QPointF, wide: float) -> QPainterPath:
        if self.layoutDirection() is Qt.LayoutDirection.RightToLeft:
            start, stop = (QPointF(self.width() - end.x(), end.y()) for end in (start, stop))
        middle, down = (start.x() + stop.x()) / 2, QPointF(0, wide)
        path = QPainterPath(start)
        path.cubicTo(QPointF(middle, start.y()), QPointF(middle, stop.y()), stop)
        path.lineTo(stop + down)
        path.cubicTo(QPointF(middle, stop.y() + wide), QPointF(middle, start.y() + wide), start + down)
        path.closeSubpath()
        return path

    def _paint_words(self, painter: QPainter, side: int, row: int, node: Node) -> None:
        room, gap = self._room(side, row), theme().px(NODE) + look.S
        room.adjust(gap * side, 0, -gap * (1 - side), 0)
        chosen = self.at == row + side * len(self._sides[0])
        lines = ((node.name, "cap_strong", "text"), (node.note, "cap", "text" if chosen else "text2"))
        heights = [QFontMetrics(theme().font(role)).height() for _, role, _ in lines]
        y = room.center().y() - sum(heights) / 2
        for (words, role, tone), height in zip(lines, heights, strict=True):
            painter.setFont(theme().font(role, tabular=True))
            painter.setPen(theme().color("text3" if self._stale else tone))
            self._write(painter, QRectF(room.left(), y, room.width(), height), words, side)
            y += height
        if chosen:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(theme().color("text"))
            painter.drawRoundedRect(placed(self, self._bar(side, row).adjusted(-2, -2, 2, 2)), 3, 3)

    def _paint_head(self, painter: QPainter, side: int) -> None:
        painter.setFont(theme().font("cap"))
        painter.setPen(theme().color("text3"))
        half = self.width() / 2
        self._write(painter, QRectF(side * half, 0, half, self._top()), self._heads[side], side, at_edge=True)

    def _write(self, painter: QPainter, room: QRectF, words: str, side: int, at_edge: bool = False) -> None:
        """One line, beside the bar or at the widget's edge; it is shortened where there is no room."""
        shown = painter.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, int(room.width()))
        begins = (side == 1) != at_edge
        across = Qt.AlignmentFlag.AlignLeft if begins else Qt.AlignmentFlag.AlignRight
        painter.drawText(placed(self, room), int(across | Qt.AlignmentFlag.AlignVCenter), shown)

    # choosing

    def _under(self, place: QPointF) -> int | None:
        for side, nodes in enumerate(self._sides):
            for row in range(len(nodes)):
                if placed(self, self._room(side, row)).contains(place):
                    return row + side * len(self._sides[0])
        return None

    def _start(self) -> int | None:
        return 0 if any(self._sides) else None

    def _beside(self, at: int, key: Qt.Key) -> int | None:
        last = sum(map(len, self._sides)) - 1
        forward = (Qt.Key.Key_Down, Qt.Key.Key_Right)
        back = (Qt.Key.Key_Up, Qt.Key.Key_Left)
        if key not in (*forward, *back, Qt.Key.Key_Home, Qt.Key.Key_End):
            return None
        steps = {Qt.Key.Key_Home: -last, Qt.Key.Key_End: last}
        return min(last, max(0, at + steps.get(key, 1 if key in forward else -1)))

"""The picture of the first step: one network above, and below it the PCs that host a few of its experts each."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy

from app import theme as look
from app.colors import mix
from app.icons import rounded, smooth
from app.language import tr
from app.theme import theme
from app.widgets.basics import Panel

LEAST, MOST = 150, 360
"""Height, pixels."""
PC_WIDTH, FEWEST, MOST_PCS = 92, 3, 7
"""Pixels that a PC takes with the room beside it; an odd number of PCs has this one in its middle."""
SIDE = 2
"""Experts of a PC in each direction."""


class Together(Panel):
    """Takes the height that is left."""

    def __init__(self) -> None:
        super().__init__()
        self.setMinimumHeight(theme().px(LEAST))
        self.setMaximumHeight(theme().px(MOST))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("A network whose experts are shared out among this PC and others."))

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        colors, painter = theme(), smooth(self)
        font = colors.font("cap")
        margin, foot = colors.px(20), QFontMetrics(font).height() + colors.px(4)
        room = QRectF(self.rect()).adjusted(margin, margin, -margin, -margin - foot)
        count = min(MOST_PCS, max(FEWEST, int(room.width() // colors.px(PC_WIDTH))))
        count -= 1 - count % 2
        wide, high = room.width() / count, room.height()
        cell = min(0.17 * wide, 0.1 * high)
        whole = QRectF(room.left(), room.top(), room.width(), SIDE * cell + 1.6 * cell)
        rounded(painter, whole, look.RADIUS_CONTROL, colors.color("sunken"), colors.color("line"))
        for at in range(count):
            tone = colors.color("ember_fill" if at == count // 2 else "peer")
            middle = room.left() + (at + 0.5) * wide
            _paint_experts(painter, QPointF(middle, whole.center().y()), cell, tone)
            screen = QRectF(middle - 2.2 * cell, room.bottom() - 4.3 * cell, 4.4 * cell, 3.5 * cell)
            painter.setPen(QPen(mix(tone, colors.color("surface"), 0.35), 1.5))
            painter.drawLine(QPointF(middle, whole.bottom()), QPointF(middle, screen.top()))
            rounded(painter, screen, look.RADIUS_CONTROL, colors.color("surface"), colors.color("line"))
            painter.setPen(QPen(colors.color("line"), 2))
            painter.drawLine(QPointF(middle - cell, room.bottom()), QPointF(middle + cell, room.bottom()))
            painter.drawLine(QPointF(middle, screen.bottom()), QPointF(middle, room.bottom()))
            _paint_experts(painter, screen.center(), cell, tone)
        painter.setFont(font)
        painter.setPen(colors.color("text2"))
        name = QRectF(room.left(), room.bottom() + colors.px(4), room.width(), foot)
        painter.drawText(name, int(Qt.AlignmentFlag.AlignCenter), tr("This PC"))


def _paint_experts(painter: QPainter, middle: QPointF, cell: float, tone: QColor) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(tone)
    left, top = middle.x() - SIDE * cell / 2, middle.y() - SIDE * cell / 2
    for place in range(SIDE * SIDE):
        row, column = divmod(place, SIDE)
        expert = QRectF(left + column * cell, top + row * cell, cell, cell).adjusted(1.5, 1.5, -1.5, -1.5)
        painter.drawRoundedRect(expert, cell * look.CELL_RADIUS, cell * look.CELL_RADIUS)

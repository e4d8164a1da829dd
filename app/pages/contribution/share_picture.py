"""A picture of what this PC contributed, to be shown to others: figures only, no name, no address."""

from typing import NamedTuple

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QImage, QPainter

from app.icons import smooth
from app.theme import theme
from app.tray.tray_icons import paint_app_icon
from app.widgets.bar_plot import Bars, color_of

SIZE = (1200, 630)
"""That of a link's preview, pixels."""
MARGIN = 72
BARS = (MARGIN, 400, SIZE[0] - 2 * MARGIN, 130)
"""Left, top, width and height of the bars."""
STEP = 56.0
"""The most from one bar to the next."""


class Shared(NamedTuple):
    """What stands on the card."""

    headline: str
    figures: tuple[tuple[str, str], ...]
    """Up to four: an amount and its meaning."""
    bars: Bars
    caption: str
    foot: str


def paint(shared: Shared) -> QImage:
    """The card in the colours of the window's theme."""
    colors = theme()
    image = QImage(*SIZE, QImage.Format.Format_RGB32)
    image.fill(colors.color("canvas"))
    painter = smooth(image)
    paint_app_icon(painter, QRectF(MARGIN, 64, 72, 72))
    write(painter, "Hearth", QRectF(MARGIN + 92, 64, 400, 72), 34, "text", QFont.Weight.DemiBold)
    write(painter, shared.headline, QRectF(MARGIN, 158, SIZE[0] - 2 * MARGIN, 48), 28, "text2")
    wide = (SIZE[0] - 2 * MARGIN) / max(1, len(shared.figures))
    for at, (amount, meaning) in enumerate(shared.figures):
        left = MARGIN + at * wide
        write(painter, amount, QRectF(left, 232, wide - 16, 64), 46, "text", QFont.Weight.DemiBold)
        write(painter, meaning, QRectF(left, 296, wide - 16, 36), 23, "text2")
    _paint_bars(painter, shared.bars)
    write(painter, shared.caption, QRectF(MARGIN, 536, SIZE[0] - 2 * MARGIN, 32), 20, "text3")
    write(painter, shared.foot, QRectF(MARGIN, 572, SIZE[0] - 2 * MARGIN, 32), 20, "text3")
    painter.end()
    return image


def write(
    painter: QPainter,
    text: str,
    room: QRectF,
    size: int,
    tone: str,
    weight: QFont.Weight = QFont.Weight.Normal,
    align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
) -> None:
    """One line, made smaller where it does not fit.

    Args:
        painter: of the picture.
        text: the line.
        room: where it stands.
        size: pixels, if it fits.
        tone: colour role.
        weight: of the font.
        align: at which side of the room it stands.
    """
    font = theme().font("body")
    font.setWeight(weight)
    for pixels in range(size, 11, -1):
        font.setPixelSize(pixels)
        painter.setFont(font)
        if painter.fontMetrics().horizontalAdvance(text) <= room.width():
            break
    painter.setPen(theme().color(tone))
    painter.drawText(room, int(Qt.AlignmentFlag.AlignVCenter | align), text)


def _paint_bars(painter: QPainter, bars: Bars) -> None:
    left, top, width, height = BARS
    painter.fillRect(QRectF(left, top + height, width, 1), theme().color("border"))
    sums = bars.sums()
    most = max(sums, default=0.0)
    step = min(width / max(1, len(sums)), STEP)
    painter.setPen(Qt.PenStyle.NoPen)
    for at, amount in enumerate(sums):
        if amount > 0 and most > 0:
            high = max(3.0, height * amount / most)
            painter.setBrush(color_of("ember_fill" if at == len(sums) - 1 else "ember_muted"))
            painter.drawRoundedRect(QRectF(left + at * step, top + height - high, step * 0.82, high), 4, 4)

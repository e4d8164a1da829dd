"""What is drawn once and kept: the ground with planes and resting cells, and the glows that lights are made of."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen, QPixmap, QPolygonF, QRadialGradient

from app.colors import mix
from app.icons import smooth
from app.language import tr
from app.pages.experts.grid_layer import Layer
from app.screensaver.scene import FLATNESS, Plane
from app.theme import theme

DARKER = 0.45
"""The ground is so much darker than the window's."""
LEAST_HEAT, MOST_HEAT, OWN_HEAT = 0.2, 0.5, 0.92
HAZE = 0.25
RING = 2.0


def ground(size: QSize, ratio: float, planes: Sequence[Plane], layers: Sequence[Layer], unit: float) -> QPixmap:
    """All that stands still. Hosted cells are warmer the more updates they took; this PC's own are ringed."""
    picture = QPixmap(size * ratio)
    picture.setDevicePixelRatio(ratio)
    dark = mix(theme().color("canvas"), QColor(Qt.GlobalColor.black), DARKER)
    picture.fill(dark)
    painter = smooth(picture)
    warm = mix(dark, theme().heat(HAZE, whole=True), 0.5)
    haze = QRadialGradient(QPointF(size.width() * 0.57, size.height() * 0.85), size.width() * 0.48)
    haze.setColorAt(0, warm)
    haze.setColorAt(1, dark)
    painter.fillRect(QRectF(0, 0, size.width(), size.height()), haze)
    most = max((cell.version or 0 for layer in layers for cell in layer.cells.values()), default=0) or 1
    for number, plane in enumerate(planes):
        _plane(painter, plane, unit)
        if number < len(layers):
            _cells(painter, plane, layers[number], most, unit)
            _name(painter, plane, number, unit)
    painter.end()
    return picture


def _plane(painter: QPainter, plane: Plane, unit: float) -> None:
    edge = mix(theme().color("border"), theme().color("ember_soft"), 0.6)
    painter.setPen(QPen(edge, max(1.0, unit)))
    veil = theme().color("ember")
    veil.setAlphaF(0.022)
    painter.setBrush(veil)
    painter.drawPolygon(QPolygonF(plane.corners()))


def _cells(painter: QPainter, plane: Plane, layer: Layer, most: int, unit: float) -> None:
    hollow = theme().color("border")
    shades = [theme().heat(LEAST_HEAT + (MOST_HEAT - LEAST_HEAT) * level / 8) for level in range(9)]
    own, ring = theme().heat(OWN_HEAT, whole=True), []
    painter.setPen(Qt.PenStyle.NoPen)
    for at in range(layer.count):
        cell = layer.cells.get(layer.at(at))
        point, radius = plane.cell(at)
        if cell is None:
            painter.setBrush(hollow)
            radius *= 0.6
        elif cell.here:
            painter.setBrush(own)
            ring.append((point, radius))
        else:
            painter.setBrush(shades[round(8 * (cell.version or 0) / most)])
        painter.drawEllipse(point, radius, radius * FLATNESS)
    halo = glow(theme().color("ember_fill"), theme().color("ember_fill"), 26 * max(0.5, unit), 1.0)
    painter.setOpacity(0.5)
    for point, _ in ring:
        painter.drawPixmap(point - QPointF(halo.width(), halo.height()) / 2, halo)
    painter.setOpacity(1)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(own, max(1.0, 1.2 * unit)))
    for point, radius in ring:
        wide = radius + max(RING * unit, 0.5 * radius)
        painter.drawEllipse(point, wide, wide * FLATNESS)


def _name(painter: QPainter, plane: Plane, number: int, unit: float) -> None:
    if unit < 0.4:
        return
    font = QFont(theme().font("micro"))
    font.setPixelSize(max(11, round(font.pixelSize() * unit)))
    painter.setFont(font)
    painter.setPen(theme().color("text3"))
    painter.drawText(plane.corners()[1] + QPointF(8 * unit, 4 * unit), tr("Layer {layer}", layer=number))


def glow(color: QColor, heart: QColor, radius: float, ratio: float) -> QPixmap:
    """A spot of light that fades outwards.

    Args:
        radius: pixels.
    """
    side = max(2, round(2 * radius))
    spot = QPixmap(QSize(side, side) * ratio)
    spot.setDevicePixelRatio(ratio)
    spot.fill(Qt.GlobalColor.transparent)
    painter = smooth(spot)
    fade = QRadialGradient(QPointF(side / 2, side / 2), side / 2)
    for at, shade, share in ((0.0, heart, 1.0), (0.16, heart, 0.95), (0.3, color, 0.42), (0.6, color, 0.12)):
        shade = QColor(shade)
        shade.setAlphaF(share)
        fade.setColorAt(at, shade)
    nothing = QColor(color)
    nothing.setAlphaF(0)
    fade.setColorAt(1, nothing)
    painter.fillRect(QRectF(0, 0, side, side), fade)
    painter.end()
    return spot

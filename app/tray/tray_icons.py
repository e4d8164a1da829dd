"""The app icon and the tray icons, drawn for each size so that their stems lie on whole pixels."""

import sys

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QLinearGradient, QPainter, QPainterPath, QPen, QPixmap, QRadialGradient

from app.colors import APP_ICON, DARK, LIGHT, TEMPLATE
from app.icons import arch, drop, flame, smooth, triangle
from app.theme import STATE_TONE
from core.contracts.status import State

TRAY_SIZES = (16, 22, 32, 44, 64)
SHAPES: dict[State, str] = {
    "contributing": "flame",
    "waiting": "dot",
    "yielding": "dot",
    "paused": "bars",
    "limited": "half",
    "preparing": "dot",
    "leaving": "dot",
    "attention": "triangle",
}


def paint_app_icon(painter: QPainter, rect: QRectF) -> None:
    """Draw the app icon into the square `rect`: a soot tile with a thin rim, the lit arch, the flame."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    side = rect.width()
    tile = QLinearGradient(rect.topLeft(), rect.bottomLeft())
    tile.setColorAt(0, QColor(APP_ICON.tile_top))
    tile.setColorAt(1, QColor(APP_ICON.tile_bottom))
    rim = max(1.0, side / 90)
    painter.setPen(QPen(QColor(APP_ICON.rim), rim))
    painter.setBrush(tile)
    inset = rim / 2
    painter.drawRoundedRect(rect.adjusted(inset, inset, -inset, -inset), side * 0.23, side * 0.23)
    hearth = QRectF(rect.left() + side * 0.2, rect.top() + side * 0.17, side * 0.6, side * 0.65)
    heat = QRadialGradient(QPointF(hearth.center().x(), hearth.bottom()), hearth.height())
    heat.setColorAt(0, QColor(APP_ICON.arch_heart))
    heat.setColorAt(0.45, QColor(APP_ICON.arch_middle))
    heat.setColorAt(1, QColor(APP_ICON.arch_edge))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(heat)
    painter.drawPath(arch(hearth, foot=0.12))
    body = QRectF(rect.left() + side * 0.35, rect.top() + side * 0.29, side * 0.30, side * 0.47)
    painter.setBrush(QColor(APP_ICON.flame))
    painter.drawPath(flame(body))
    if side >= 48:
        cell = side * 0.105
        painter.setBrush(QColor(APP_ICON.cell))
        painter.drawRoundedRect(
            QRectF(body.center().x() - cell / 2, body.bottom() - cell * 1.5, cell, cell), cell * 0.24, cell * 0.24
        )
    painter.restore()


def app_icon() -> QIcon:
    """The app icon in all sizes that desktops ask for."""
    result = QIcon()
    for side in (16, 22, 24, 32, 48, 64, 128, 256):
        pixmap = QPixmap(QSize(side, side))
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        paint_app_icon(painter, QRectF(0, 0, side, side))
        painter.end()
        result.addPixmap(pixmap)
    return result


def tray_icon(state: State, dark_panel: bool) -> QIcon:
    """The tray icon of a state: five shapes in the state's colour.

    Args:
        dark_panel: the panel that holds the icon is dark; it need not be as the window's theme is.
    """
    result = QIcon()
    for side in TRAY_SIZES:
        result.addPixmap(tray_pixmap(state, side, tray_color(state, dark_panel)))
    result.setIsMask(sys.platform == "darwin")
    return result


def tray_color(state: State, dark_panel: bool) -> QColor:
    """The colour of a state on a panel; macOS colours its template images by itself."""
    if sys.platform == "darwin":
        return QColor(TEMPLATE)
    colors = DARK if dark_panel else LIGHT
    tone = STATE_TONE[state]
    return QColor(colors.of["tray_waiting"] if tone == "text2" else colors.of[tone])


def tray_pixmap(state: State, side: int, color: QColor) -> QPixmap:
    """One size of a tray icon, pixels; every straight edge lies between two pixels."""
    pixmap = QPixmap(QSize(side, side))
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = smooth(pixmap)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    shape = SHAPES[state]
    if shape == "triangle":
        painter.drawPath(_triangle(side))
    else:
        width, height, stem = 2 * round(side * 0.375), round(side * 0.875), max(2, round(side * 0.09))
        left, top = (side - width) // 2, (side - height) // 2
        outer = arch(QRectF(left, top, width, height))
        if shape == "flame":
            inner = QRectF(left + width * 0.27, top + height * 0.3, width * 0.46, height * 0.54)
            if side < 22:
                hollow = drop(
                    QRectF(left + stem + 1, top + round(height * 0.29), width - 2 * stem - 2, round(height * 0.57))
                )
            else:
                hollow = flame(inner)
        else:
            hollow = arch(QRectF(left + stem, top + stem, width - 2 * stem, height - 2 * stem), foot=0.06)
        body = outer.subtracted(hollow)
        painter.drawPath(body.united(_sign(shape, left, top, width, height, stem)))
    painter.end()
    return pixmap


def _sign(shape: str, left: int, top: int, width: int, height: int, stem: int) -> QPainterPath:
    """What stands in the arch."""
    sign = QPainterPath()
    middle = left + width // 2
    if shape == "half":
        level = top + round(height * 0.5)
        lower = QPainterPath()
        lower.addRect(QRectF(left, level, width, top + height - level))
        sign = arch(QRectF(left, top, width, height)).intersected(lower)
    elif shape == "bars":
        gap = max(1, stem // 2)
        start, end = top + round(height * 0.29), top + round(height * 0.79)
        sign.addRect(QRectF(middle - gap - stem, start, stem, end - start))
        sign.addRect(QRectF(middle + gap, start, stem, end - start))
    elif shape == "dot":
        dot = 2 * max(2, round(width * 0.16))
        sign.addEllipse(QRectF(middle - dot / 2, top + round(height * 0.46), dot, dot))
    return sign


def _triangle(side: int) -> QPainterPath:
    body = triangle(QRectF(side * 0.04, side * 0.06, side * 0.92, side * 0.88))
    stem = 2 * max(1, round(side * 0.06))
    left = (side - stem) // 2
    start, end = round(side * 0.38), round(side * 0.65)
    mark = QPainterPath()
    mark.addRect(QRectF(left, start, stem, end - start))
    mark.addRect(QRectF(left, end + max(1, stem // 2), stem, stem))
    return body.subtracted(mark)

"""The app icon and the tray icons, drawn for each size so that their stems lie on whole pixels."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QLinearGradient, QPainter, QPen, QPixmap, QRadialGradient

from app.icons import arch, flame
from app.theme import APP_ICON


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


def tray_icon(state: str, dark_panel: bool) -> QIcon:
    """The tray icon of a `State` for a light or dark panel."""
    return app_icon()

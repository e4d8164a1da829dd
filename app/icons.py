"""Icons and state glyphs, drawn in the colour of a role at paint time.

Icons are stroked SVG files of `resources/icons` (24 box); state glyphs are filled shapes: what is in the hearth arch
tells the state.
"""

from functools import lru_cache
from importlib.resources import files

from PySide6.QtCore import QByteArray, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPaintDevice, QPainter, QPainterPath, QPainterPathStroker, QPen
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import STATE_TONE, theme

POINTS = ("chevron-left", "chevron-right", "undo")
"""Icons that point along the line."""


@lru_cache(maxsize=256)
def _renderer(name: str, color: str) -> QSvgRenderer:
    source = files("resources").joinpath("icons", f"{name}.svg").read_text(encoding="utf-8")
    return QSvgRenderer(QByteArray(source.replace("currentColor", color).encode()))


def paint_icon(painter: QPainter, name: str, rect: QRectF, color: QColor) -> None:
    """Draw an icon of `resources/icons` into `rect`."""
    if name in POINTS and painter.layoutDirection() is Qt.LayoutDirection.RightToLeft:
        painter.save()
        painter.translate(2 * rect.center().x(), 0)
        painter.scale(-1, 1)
        _renderer(name, color.name()).render(painter, rect)
        painter.restore()
    else:
        _renderer(name, color.name()).render(painter, rect)


def smooth(device: QPaintDevice) -> QPainter:
    """A painter that draws slanted and round edges smoothly."""
    painter = QPainter(device)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    return painter


def placed(widget: QWidget, rect: QRectF) -> QRectF:
    """A place of a widget that is counted from where its lines begin: from the right edge where one reads that way."""
    if widget.layoutDirection() is Qt.LayoutDirection.LeftToRight:
        return QRectF(rect)
    return QRectF(widget.width() - rect.right(), rect.top(), rect.width(), rect.height())


def hairline(painter: QPainter, rect: QRectF, color: QColor) -> QRectF:
    """Set a pen of one pixel, whole device pixels at any scale; returns `rect` shrunk so that the line lies inside."""
    ratio = painter.device().devicePixelRatioF()
    width = max(1, int(ratio)) / ratio
    painter.setPen(QPen(color, width))
    return rect.adjusted(width / 2, width / 2, -width / 2, -width / 2)


def rounded(painter: QPainter, rect: QRectF, radius: float, fill: QColor, edge: QColor | None = None) -> None:
    """Fill a rectangle with round corners, within a hairline if it has an edge."""
    painter.setPen(Qt.PenStyle.NoPen)
    if edge is not None:
        rect = hairline(painter, rect, edge)
    painter.setBrush(fill)
    painter.drawRoundedRect(rect, radius, radius)


def arch(rect: QRectF, foot: float = 0.14) -> QPainterPath:
    """The hearth: a round arch with a flat foot whose corners have `foot` of the width as radius."""
    path = QPainterPath()
    radius, corner = rect.width() / 2, rect.width() * foot
    path.moveTo(rect.left(), rect.top() + radius)
    path.arcTo(QRectF(rect.left(), rect.top(), 2 * radius, 2 * radius), 180, -180)
    path.lineTo(rect.right(), rect.bottom() - corner)
    path.arcTo(QRectF(rect.right() - 2 * corner, rect.bottom() - 2 * corner, 2 * corner, 2 * corner), 0, -90)
    path.lineTo(rect.left() + corner, rect.bottom())
    path.arcTo(QRectF(rect.left(), rect.bottom() - 2 * corner, 2 * corner, 2 * corner), 270, -90)
    path.closeSubpath()
    return path


def flame(rect: QRectF) -> QPainterPath:
    """The flame that fills `rect`, leaning a little."""

    def at(x: float, y: float) -> QPointF:
        return QPointF(rect.left() + x * rect.width(), rect.top() + y * rect.height())

    path = QPainterPath(at(0.56, 0.0))
    path.cubicTo(at(0.62, 0.22), at(1.0, 0.40), at(1.0, 0.68))
    path.cubicTo(at(1.0, 0.87), at(0.78, 1.0), at(0.5, 1.0))
    path.cubicTo(at(0.22, 1.0), at(0.0, 0.87), at(0.0, 0.66))
    path.cubicTo(at(0.0, 0.50), at(0.10, 0.40), at(0.20, 0.30))
    path.cubicTo(at(0.30, 0.36), at(0.36, 0.36), at(0.40, 0.32))
    path.cubicTo(at(0.50, 0.22), at(0.55, 0.12), at(0.56, 0.0))
    path.closeSubpath()
    return path


def drop(rect: QRectF) -> QPainterPath:
    """A flame without its small tongue, for icons of few pixels."""
    top, middle = QPointF(rect.center().x(), rect.top()), rect.center().x()
    low = rect.bottom() - rect.width() / 2
    path = QPainterPath(top)
    bend, side = top.y() + 0.6 * (low - top.y()), 0.5 * rect.width()
    path.cubicTo(middle + 0.1 * rect.width(), bend, rect.right(), low - side, rect.right(), low)
    path.arcTo(QRectF(rect.left(), rect.bottom() - rect.width(), rect.width(), rect.width()), 0, -180)
    path.cubicTo(rect.left(), low - side, middle - 0.1 * rect.width(), bend, middle, top.y())
    path.closeSubpath()
    return path


def triangle(rect: QRectF) -> QPainterPath:
    """A warning triangle with rounded corners."""
    inner = QPainterPath(QPointF(rect.center().x(), rect.top() + rect.height() * 0.10))
    inner.lineTo(rect.right() - rect.width() * 0.09, rect.bottom() - rect.height() * 0.10)
    inner.lineTo(rect.left() + rect.width() * 0.09, rect.bottom() - rect.height() * 0.10)
    inner.closeSubpath()
    stroker = QPainterPathStroker()
    stroker.setWidth(rect.height() * 0.16)
    stroker.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    return stroker.createStroke(inner).united(inner)


def paint_state(painter: QPainter, state: str, rect: QRectF, color: QColor) -> None:
    """Draw the glyph of a `State` into the square `rect`."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(rect.topLeft())
    painter.scale(rect.width() / 30.0, rect.height() / 30.0)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    if state == "attention":
        body = triangle(QRectF(0.5, 1.5, 29, 27))
        mark = QPainterPath()
        mark.addRoundedRect(QRectF(13.6, 10, 2.8, 8.5), 1.4, 1.4)
        mark.addEllipse(QPointF(15, 22), 1.7, 1.7)
        painter.drawPath(body.subtracted(mark))
    elif state == "contributing":
        painter.drawPath(arch(QRectF(3, 1.5, 24, 27)).subtracted(flame(QRectF(9.8, 8.5, 10.4, 15.5))))
    else:
        _paint_outlined(painter, state, color)
    painter.restore()


def _paint_outlined(painter: QPainter, state: str, color: QColor) -> None:
    frame = arch(QRectF(4.2, 2.7, 21.6, 24.6), foot=0.16)
    pen = QPen(color, 2.4, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin)
    outline = QPen(pen)
    if state == "preparing":
        outline.setDashPattern([2.0, 1.55])
        outline.setCapStyle(Qt.PenCapStyle.FlatCap)
    painter.strokePath(frame, outline)
    strokes = QPainterPath()
    if state == "waiting":
        painter.drawEllipse(QPointF(15, 19), 3.2, 3.2)
    elif state == "paused":
        painter.drawRoundedRect(QRectF(10.2, 10.2, 3.2, 11.2), 0.8, 0.8)
        painter.drawRoundedRect(QRectF(16.6, 10.2, 3.2, 11.2), 0.8, 0.8)
    elif state == "limited":
        half = QPainterPath()
        half.addRect(QRectF(0, 15.2, 30, 15))
        painter.drawPath(frame.intersected(half))
    elif state == "preparing":
        painter.drawPath(flame(QRectF(11.4, 10.5, 7.2, 11)))
    elif state == "yielding":
        strokes.moveTo(20, 15.8)
        strokes.lineTo(10.6, 15.8)
        strokes.moveTo(14.4, 11.8)
        strokes.lineTo(10.4, 15.8)
        strokes.lineTo(14.4, 19.8)
    else:
        strokes.moveTo(15, 9.6)
        strokes.lineTo(15, 20.6)
        strokes.moveTo(10.8, 16.6)
        strokes.lineTo(15, 20.8)
        strokes.lineTo(19.2, 16.6)
    painter.strokePath(strokes, pen)


class Icon(QWidget):
    """An icon beside a word; decorative, so without an accessible name of its own."""

    def __init__(self, name: str, tone: str = "text2", size: int = 18) -> None:
        super().__init__()
        self._name, self._tone = name, tone
        self.setFixedSize(theme().px(size), theme().px(size))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set(self, name: str, tone: str) -> None:
        if (name, tone) != (self._name, self._tone):
            self._name, self._tone = name, tone
            self.update()

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        paint_icon(painter, self._name, QRectF(self.rect()), theme().color(self._tone))


class StateGlyph(QWidget):
    """The arch with the sign of a state; stands beside the state's word."""

    def __init__(self, size: int = 30) -> None:
        super().__init__()
        self._state = "preparing"
        self.setFixedSize(theme().px(size), theme().px(size))

    def set_state(self, state: str) -> None:
        if state != self._state:
            self._state = state
            self.update()

    def paintEvent(self, event: object) -> None:
        painter = QPainter(self)
        paint_state(painter, self._state, QRectF(self.rect()), theme().color(STATE_TONE[self._state]))

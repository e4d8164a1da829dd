"""The sheet on which one draws a digit, by mouse, pen or keyboard, and the picture of it."""

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QImage,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import theme as look
from app.icons import rounded, smooth
from app.language import tr
from app.theme import theme
from core.contracts.control import PredictParams

PICTURE_SIDE = 128
"""Pixels of a side of the picture that is sent."""
PEN = 0.085
"""Width of a line as a share of the side, as in the digits that the model learns from."""
CELLS = 8
KEY_STEP = 1 / 32
STEP = 1 / 128
"""Shorter moves are not taken down."""
POINTS = 2_000
"""More are not taken: a drawing stays cheap to paint and to keep."""
SIDE_MINIMUM, SIDE_MAXIMUM = 180, 300
INK, PAPER = Qt.GlobalColor.white, Qt.GlobalColor.black
"""Of the picture that is sent: 255 and 0."""


class Canvas(QWidget):
    """Strokes in a unit square; `changed` comes with every stroke's every point.

    The ink is kept as two pictures, one for the screen and one to send, to which each new line is added: the work for
    a point does not grow with the drawing.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.strokes: list[list[QPointF]] = []
        self._pen_down = False
        """By keyboard; the mouse has its button."""
        self._by_keyboard = False
        self._cursor = QPointF(0.5, 0.2)
        self._points = 0
        self._ink: QPixmap | None = None
        """Of the screen; None: to be made anew, as after Undo, another size or another theme."""
        self._image = _blank()
        theme().changed.connect(self._forget_ink)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.CrossCursor)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setMinimumSize(theme().px(SIDE_MINIMUM), theme().px(SIDE_MINIMUM))
        self.setMaximumSize(theme().px(SIDE_MAXIMUM), theme().px(SIDE_MAXIMUM))
        self.setAccessibleName(tr("Draw a digit"))
        self.setAccessibleDescription(
            tr("Draw with the mouse or a pen. Arrow keys move, Space lowers and lifts the pen.")
        )

    def is_empty(self) -> bool:
        return not self.strokes

    def picture(self) -> PredictParams:
        """The drawing as a grey picture of 128 x 128 pixels: 0 paper, 255 ink."""
        return PredictParams(PICTURE_SIDE, PICTURE_SIDE, bytes(self._image.constBits()))

    def undo(self) -> None:
        """Take the last stroke away."""
        if self.strokes:
            self._points -= len(self.strokes.pop())
            self._redraw()

    def clear(self) -> None:
        if self.strokes:
            self.strokes.clear()
            self._points = 0
            self._redraw()

    # mouse and pen (Qt turns the pen's events into these)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._by_keyboard = self._pen_down = False
            self._start(self._place(event.position()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton and not self._by_keyboard:
            self._draw_to(self._place(event.position()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.strokes:
            self._redraw()

    # keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {
            Qt.Key.Key_Left: QPointF(-KEY_STEP, 0),
            Qt.Key.Key_Right: QPointF(KEY_STEP, 0),
            Qt.Key.Key_Up: QPointF(0, -KEY_STEP),
            Qt.Key.Key_Down: QPointF(0, KEY_STEP),
        }
        key = Qt.Key(event.key())
        if key in steps:
            self._by_keyboard = True
            self._cursor = _inside(self._cursor + steps[key])
            if self._pen_down:
                self._draw_to(self._cursor)
        elif key == Qt.Key.Key_Space:
            self._by_keyboard = True
            if not event.isAutoRepeat():
                self._pen_down = not self._pen_down
                if self._pen_down:
                    self._start(self._cursor)
                else:
                    self._redraw()
        elif event.matches(QKeySequence.StandardKey.Undo):
            self.undo()
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.clear()
        else:
            super().keyPressEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._pen_down = False
        self.update()
        super().focusOutEvent(event)

    # size and painting

    def sizeHint(self) -> QSize:
        return QSize(theme().px(240), theme().px(240))

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return width

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme()
        painter = smooth(self)
        sheet = self._sheet()
        rounded(painter, sheet, look.RADIUS_MENU, colors.color("sunken"), colors.color("line"))
        within = sheet.width() - 2  # between the two hairlines of the border
        for line in range(1, CELLS):
            at = round(sheet.width() * line / CELLS)
            painter.fillRect(QRectF(sheet.left() + at, sheet.top() + 1, 1, within), colors.color("border"))
            painter.fillRect(QRectF(sheet.left() + 1, sheet.top() + at, within, 1), colors.color("border"))
        if self._ink is None:
            self._ink = self._make_ink(sheet)
        painter.drawPixmap(sheet.topLeft(), self._ink)
        if self._by_keyboard and self.hasFocus():
            painter.setPen(QPen(colors.color("ember"), 2))
            painter.setBrush(colors.color("ember") if self._pen_down else Qt.BrushStyle.NoBrush)
            radius = sheet.width() * PEN / 2
            painter.drawEllipse(_on(sheet, self._cursor), radius, radius)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._forget_ink()

    # the ink

    def _make_ink(self, sheet: QRectF) -> QPixmap:
        ratio = self.devicePixelRatioF()
        ink = QPixmap((sheet.size() * ratio).toSize())
        ink.setDevicePixelRatio(ratio)
        ink.fill(Qt.GlobalColor.transparent)
        for stroke in self.strokes:
            _paint_line(ink, sheet.width(), theme().color("text"), stroke)
        return ink

    def _forget_ink(self) -> None:
        self._ink = None
        self.update()

    def _redraw(self) -> None:
        """After something was taken away, or a stroke was ended: as one line its edge is smoother than in pieces."""
        self._pen_down = False
        self._ink, self._image = None, _blank()
        for stroke in self.strokes:
            _paint_line(self._image, PICTURE_SIDE, QColor(INK), stroke)
        self.update()
        self.changed.emit()

    def _add(self, points: list[QPointF]) -> None:
        """Add the newest line, or a dot, to both pictures."""
        self._points += 1
        _paint_line(self._image, PICTURE_SIDE, QColor(INK), points)
        if self._ink is not None:
            _paint_line(self._ink, self._sheet().width(), theme().color("text"), points)
        self.update()
        self.changed.emit()

    # strokes

    def _sheet(self) -> QRectF:
        side = min(self.width(), self.height())
        return QRectF((self.width() - side) // 2, 0, side, side)

    def _place(self, position: QPointF) -> QPointF:
        sheet = self._sheet()
        return _inside((position - sheet.topLeft()) / max(1.0, sheet.width()))

    def _start(self, point: QPointF) -> None:
        if self._points < POINTS:
            self.strokes.append([point])
            self._add([point])

    def _draw_to(self, point: QPointF) -> None:
        if not self.strokes or self._points >= POINTS:
            return
        last = self.strokes[-1][-1]
        if math.hypot(point.x() - last.x(), point.y() - last.y()) >= STEP:
            self.strokes[-1].append(point)
            self._add([last, point])


def _blank() -> QImage:
    image = QImage(PICTURE_SIDE, PICTURE_SIDE, QImage.Format.Format_Grayscale8)
    image.fill(PAPER)
    return image


def _paint_line(device: QPixmap | QImage, side: float, color: QColor, points: list[QPointF]) -> None:
    painter = smooth(device)
    painter.setPen(QPen(color, side * PEN, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
    if len(points) == 1:
        painter.drawPoint(points[0] * side)
    else:
        painter.drawPolyline([point * side for point in points])
    painter.end()


def _on(sheet: QRectF, point: QPointF) -> QPointF:
    return sheet.topLeft() + point * sheet.width()


def _inside(point: QPointF) -> QPointF:
    half = PEN / 2
    return QPointF(min(1 - half, max(half, point.x())), min(1 - half, max(half, point.y())))

"""The picture on one screen, or in one window: a ground that is kept, and lights; only what changed is drawn."""

import time
from datetime import datetime
from random import Random

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QRegion, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.language import tr
from app.pages.experts.grid_layer import EVERY_MS, Layer
from app.screensaver import scene
from app.screensaver.captions import Block, figures, heading, legend
from app.screensaver.feed import Feed, Happened
from app.screensaver.painting import glow, ground
from app.screensaver.scene import DESIGN, GLOW_S, LIGHTS, Glow, Light
from app.theme import theme

FRAME_MS = 100
"""15 frames a second are the most that it may take; 10 do."""
SLOW_FRAME_S = 0.025
SLOW_FRAMES = 8
"""So many slow ones in a row, and there are half as many lights."""
FEWEST_LIGHTS = 2
GROUND_S = 10.0
"""Between two drawings of the ground, however often experts come and go."""
EMPTY = ((8, 0), (8, 0), (8, 0))
"""Planes while nothing is known of the run."""
SMALLEST = QSize(480, 300)
"""A smaller picture, such as a preview, has no words."""
STEP = 6
"""Pixels that the words move each minute, so that nothing burns in."""
TEXT_WIDTH, LEAST_TEXT_WIDTH = 0.25, 230.0
GLOW_RADIUS, HEAD_RADIUS, LINE = 18.0, 8.0, 1.3
WHITE_HEAT = 1.0
MANY = 60
"""Of more lights, all that lies between them is drawn anew: that costs less than to tell their places apart."""


class View(QWidget):
    """The picture.

    Args:
        feed: what there is to see.
    """

    def __init__(self, feed: Feed) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setWindowTitle("Hearth screensaver")
        self.setAccessibleName(tr("Screensaver"))
        self.frames = 0
        """Drawn with moving lights."""
        self.black = False
        self.still = False
        """Reduced motion: cells are lit or not, nothing moves."""
        self._feed = feed
        self._random = Random()
        self._moving: list[Light] = []
        self._glows: list[Glow] = []
        self._seen: list[tuple[list[QPointF], bool]] = []
        """Trails of the frame that is shown."""
        self._shine: list[tuple[QPointF, bool, float]] = []
        """Glows of it: where, by gradients, how bright."""
        self._dirty = QRegion()
        self._most, self._slow = LIGHTS, 0
        self._ready = False
        self._drawn: list[tuple[frozenset[int], frozenset[int]]] = []
        """What the ground shows, of each layer (see `_content`)."""
        self._drawn_at = float("-inf")
        self._timer = QTimer(self, interval=FRAME_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._frame)
        self._clock = QTimer(self, singleShot=True)
        self._clock.timeout.connect(self._minute)
        feed.changed.connect(self._tell)
        feed.looked.connect(self._looked)

    def set_black(self, black: bool) -> None:
        """Show nothing, and cost nothing."""
        self.black = black
        self._timer.stop()
        self._put_out()
        if black:
            self._clock.stop()
        else:
            self._minute()
        self.update()

    # what it is made of

    @property
    def unit(self) -> float:
        return min(self.width() / DESIGN[0], self.height() / DESIGN[1])

    def _put_out(self) -> None:
        self._moving, self._glows, self._seen, self._shine = [], [], [], []

    def _begin_anew(self) -> None:
        self._put_out()
        self._prepare()
        self.update()

    def _prepare(self) -> None:
        """Make what depends on the size of the picture and of its pixels."""
        ratio, unit = self.devicePixelRatioF(), self.unit
        shapes = [(layer.columns, layer.count) for layer in self._feed.layers] or EMPTY
        self._planes = scene.planes(self.width(), self.height(), [(max(1, c), max(1, n)) for c, n in shapes])
        self._ground = ground(self.size(), ratio, self._planes, self._feed.layers, unit)
        self._drawn, self._drawn_at = _content(self._feed.layers), time.monotonic()
        warm, white, blue = theme().color("ember"), theme().heat(WHITE_HEAT, whole=True), theme().color("peer")
        pale = QColor(theme().color("text"))
        self._spots = {
            (back, head): glow(blue if back else warm, pale if back else white, radius * max(0.5, unit), ratio)
            for back in (False, True)
            for head, radius in ((False, GLOW_RADIUS), (True, HEAD_RADIUS))
        }
        self._pens = {False: _pens(theme().heat(0.9, whole=True)), True: _pens(blue)}
        self._strokes = max(1, round(LINE * unit * ratio))
        width = max(LEAST_TEXT_WIDTH, self.width() * TEXT_WIDTH)
        self._blocks = [Block(unit, width, ratio) for _ in range(3)]
        self._places = [QRect() for _ in self._blocks]
        self._ready = True
        self._tell()

    def _minute(self) -> None:
        """The time has gone on, and the words move a little."""
        now = datetime.now()
        self._clock.start(60_000 - (now.second * 1000 + now.microsecond // 1000) % 60_000 + 50)
        self._tell()

    def _tell(self) -> None:
        """Draw those words that are other ones."""
        if not self._ready or self.black:
            return
        if self._drawn and not self._feed.layers:  # the worker has gone, or serves another run
            self._begin_anew()
        if self.width() < SMALLEST.width() or self.height() < SMALLEST.height():
            return
        now = datetime.now()
        texts = [heading(self._feed, now), figures(self._feed), legend(self._feed, self.still)]
        step = now.hour * 60 + now.minute
        move = QPoint(step % 5 - 2, step // 5 % 5 - 2) * STEP
        w, h = self.width(), self.height()
        for at, (block, lines) in enumerate(zip(self._blocks, texts, strict=True)):
            changed = block.set_lines(lines)
            size = block.size
            corner = (
                QPoint(round(w * 0.048), round(h * 0.14)),
                QPoint(round(w * 0.048), round(h * 0.91) - size.height()),
                QPoint(round(w * 0.952) - size.width(), round(h * 0.91) - size.height()),
            )[at]
            place = QRect(corner + move, size)
            if changed or place != self._places[at]:
                self.update(self._places[at])
                self.update(place)
                self._places[at] = place

    # what happens

    def _looked(self, found: list[Happened]) -> None:
        if self.black or not self._ready:
            return
        now = time.monotonic()
        content = _content(self._feed.layers)
        # The ground may have been drawn in the middle of a look, when some layers had not been told yet.
        more = len(content) != len(self._drawn)
        if content != self._drawn and (more or now - self._drawn_at >= GROUND_S):
            self._begin_anew()
        moving, glows = scene.lights(found, self._planes, now, EVERY_MS / 1000, self._most, self._random)
        if self.still:
            self._glows = [light._replace(start=now) for light in glows]
            self._show([], [(light.point, light.back, 0.8) for light in self._glows])
        else:
            self._moving += moving
            self._glows += glows
            if (self._moving or self._glows) and not self._timer.isActive():
                self._timer.start()

    def _frame(self) -> None:
        now = time.monotonic()
        trails, moving = [], []
        for light in self._moving:
            points = light.seen(now)
            if points is not None:
                moving.append(light)
                if len(points) > 1:
                    trails.append((points, light.back))
        self._moving = moving
        self._glows = [one for one in self._glows if now - one.start < GLOW_S]
        shine = [(one.point, one.back, 1 - (now - one.start) / GLOW_S) for one in self._glows if now >= one.start]
        self._show(trails, shine)
        self.frames += 1
        if not self._moving and not self._glows:
            self._timer.stop()

    def _show(self, trails: list[tuple[list[QPointF], bool]], shine: list[tuple[QPointF, bool, float]]) -> None:
        """Have these drawn instead of those before, and nothing else."""
        unit = max(0.5, self.unit)
        parts = [scene.bounds(points, (HEAD_RADIUS + 1) * unit) for points, _ in trails]
        reach = (GLOW_RADIUS + 1) * unit
        parts += [QRectF(point.x() - reach, point.y() - reach, 2 * reach, 2 * reach) for point, _, _ in shine]
        region, whole = QRegion(), QRectF()
        for part in parts:
            if len(parts) > MANY:
                whole = whole.united(part)
            else:
                region += part.toAlignedRect()
        region += whole.toAlignedRect()
        self._seen, self._shine = trails, shine
        self.update(self._dirty.united(region))
        self._dirty = region

    # drawing

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._ready = False

    def paintEvent(self, event: QPaintEvent) -> None:
        begun = time.thread_time()  # what others take meanwhile is not its fault
        painter = QPainter(self)
        if self.black or self.size().isEmpty():
            painter.fillRect(event.rect(), Qt.GlobalColor.black)
            return
        whole = not self._ready or self._ground.devicePixelRatio() != self.devicePixelRatioF()
        if whole:  # also: it was moved to a screen with other pixels
            self._begin_anew()
        painter.drawPixmap(0, 0, self._ground)
        self._paint_lights(painter)
        for block, place in zip(self._blocks, self._places, strict=True):
            if not block.pixmap.isNull() and event.region().intersects(place):
                painter.drawPixmap(place.topLeft(), block.pixmap)
        painter.end()
        self._mind(time.thread_time() - begun, whole)

    def _paint_lights(self, painter: QPainter) -> None:
        for point, back, bright in self._shine:
            spot = self._spots[back, False]
            painter.setOpacity(bright)
            painter.drawPixmap(point - QPointF(spot.width(), spot.height()) / (2 * spot.devicePixelRatio()), spot)
        painter.setOpacity(1)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ratio = self.devicePixelRatioF()
        for _ in range(self._strokes):  # some lines of one pixel cost much less than a wide one
            for points, back in self._seen:
                size, pens = len(points), self._pens[back]
                for number, pen in enumerate(pens):  # from the faint end to the head
                    part = points[size * number // len(pens) : size * (number + 1) // len(pens) + 1]
                    if len(part) > 1:
                        painter.setPen(pen)
                        painter.drawPolyline(part)
            painter.translate(0.8 / ratio, 0)
        painter.resetTransform()
        for points, back in self._seen:
            spot = self._spots[back, True]
            painter.drawPixmap(points[-1] - QPointF(spot.width(), spot.height()) / (2 * spot.devicePixelRatio()), spot)

    def _mind(self, seconds: float, whole: bool) -> None:
        """Draw less where drawing is slow."""
        self._slow = self._slow + 1 if seconds > SLOW_FRAME_S and not whole else 0
        if self._slow >= SLOW_FRAMES:
            self._most, self._slow = max(FEWEST_LIGHTS, self._most // 2), 0


def _content(layers: list[Layer]) -> list[tuple[frozenset[int], frozenset[int]]]:
    """Which cells are hosted, and which of them here."""
    return [
        (frozenset(layer.cells), frozenset(place for place, cell in layer.cells.items() if cell.here))
        for layer in layers
    ]


def _pens(color: QColor) -> list[QPen]:
    """For a trail, from its end to its head; one pixel of the screen wide."""
    pens = []
    for share in (0.2, 0.45, 0.8):
        color = QColor(color)
        color.setAlphaF(share)
        pens.append(QPen(color, 0))
    return pens

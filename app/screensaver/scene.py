"""Where things are in the picture, and which lights move through it: figures only, nothing is drawn here.

The layers of the run lie below each other as planes seen from above; each expert is a dot on its plane. Light goes
from layer to layer as calls do: which expert answered is known, with which one of the layer before is not, so any
that answered in the same seconds stands for it.
"""

import math
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF

from app.screensaver.feed import Happened

DESIGN = (1456.0, 819.0)
"""The screen that the measures are meant for; others scale them."""
MIDDLE, HALF_WIDTH = 0.624, 0.297
"""Of the planes, in widths of the screen: beside the words at the left."""
TOP, BOTTOM = 0.18, 0.71
"""Middles of the first and last plane, in heights of the screen; one alone lies between."""
HALF_HEIGHT = 0.12
TURN = math.radians(40)
NEARNESS = 0.22
"""How much larger the near end of a plane is, and how much smaller its far end."""
EDGE = 0.92
"""The cells' share of their plane."""
LARGEST_DOT, SMALLEST_DOT = 5.0, 1.0
"""Half widths of a cell's dot."""
FLATNESS = 0.62

SAMPLES = 26
"""Points of a light's path."""
TRAIL = 20.0
"""Length of the trail behind a light, in points of its path."""
TRAVEL_S, GLOW_S = 1.4, 0.6
LIGHTS = 12
"""Most lights of a layer and direction in one look at the grid."""
GLOWS = 160
"""Most cells of a layer that glow in one look."""


class Plane:
    """A layer's place in a picture of `width` x `height`.

    Args:
        at: 0 for the uppermost plane, 1 for the lowest.
        columns, count: of its cells.
    """

    def __init__(self, width: float, height: float, at: float, columns: int, count: int) -> None:
        self.columns, self.rows = columns, max(1, -(-count // columns))
        self._x, self._y = width * MIDDLE, height * (TOP + (BOTTOM - TOP) * at)
        self._half = QPointF(width * HALF_WIDTH / (1 + NEARNESS), height * HALF_HEIGHT)
        unit = min(width / DESIGN[0], height / DESIGN[1])
        room = 0.16 * self._half.x() / max(self.columns, self.rows)
        self.dot = min(LARGEST_DOT * unit, max(SMALLEST_DOT * unit, room))
        """Half width of a cell's dot in the plane's middle."""

    def _put(self, u: float, v: float) -> tuple[QPointF, float]:
        """A place of the plane, -1 to 1 each way, in the picture, and how large things are there."""
        x = (u * math.cos(TURN) - v * math.sin(TURN)) / math.sqrt(2)
        y = (u * math.sin(TURN) + v * math.cos(TURN)) / math.sqrt(2)
        size = 1 / (1 - NEARNESS * y)
        return QPointF(self._x + x * size * self._half.x() * 1.28, self._y + y * size * self._half.y() * 1.28), size

    def corners(self) -> list[QPointF]:
        """Far, right, near, left."""
        return [self._put(u, v)[0] for u, v in ((-1, -1), (1, -1), (1, 1), (-1, 1))]

    def cell(self, number: int) -> tuple[QPointF, float]:
        """The middle of a cell's dot and its half width."""
        row, column = divmod(number, self.columns)
        u, v = ((2 * at + 1) / of - 1 for at, of in ((column, self.columns), (row, self.rows)))
        point, size = self._put(u * EDGE, v * EDGE)
        return point, self.dot * size


def planes(width: float, height: float, shapes: Sequence[tuple[int, int]]) -> list[Plane]:
    """The planes of all layers, each given by its columns and its number of cells."""
    last = len(shapes) - 1
    return [Plane(width, height, at / last if last else 0.5, *shape) for at, shape in enumerate(shapes)]


class Glow(NamedTuple):
    """A cell lights up, and fades."""

    start: float
    """Seconds, of the clock that is drawn by."""
    point: QPointF
    back: bool
    """By gradients, not by a call."""


class Light(NamedTuple):
    """A call, or gradients, on the way between two layers."""

    start: float
    path: list[QPointF]
    back: bool

    def seen(self, now: float) -> list[QPointF] | None:
        """Its trail at a moment, the head last; empty before it starts, None when it is over."""
        head = (now - self.start) / TRAVEL_S * (SAMPLES - 1)
        if head <= 0:
            return []
        tail = head - TRAIL
        if tail >= SAMPLES - 1:
            return None
        first, last = max(0, math.ceil(tail)), min(SAMPLES - 1, math.floor(head))
        points = self.path[first : last + 1]
        if head < SAMPLES - 1:
            part = head - last
            points.append(self.path[last] * (1 - part) + self.path[last + 1] * part)
        return points


def path(start: QPointF, end: QPointF) -> list[QPointF]:
    """From one plane to another: leaving and arriving upright."""
    bend = QPointF(0, 0.55 * (end.y() - start.y()))
    first, second = start + bend, end - bend
    points = []
    for at in range(SAMPLES):
        t = at / (SAMPLES - 1)
        s = 1 - t
        points.append(start * (s * s * s) + first * (3 * s * s * t) + second * (3 * s * t * t) + end * (t * t * t))
    return points


def lights(
    found: Sequence[Happened], where: Sequence[Plane], now: float, seconds: float, most: int, random: Random
) -> tuple[list[Light], list[Glow]]:
    """What moves and glows in the next `seconds`, for what happened in as many before.

    Args:
        found: of each layer, or of some.
        most: lights of a layer and direction.
    """
    called = {one.layer: sorted(one.called) for one in found}
    moving: list[Light] = []
    glows: list[Glow] = []
    for one in found:
        if one.layer >= len(where):
            continue
        plane = where[one.layer]
        for cells, back in ((called[one.layer], False), (sorted(one.updated), True)):
            chosen = random.sample(cells, min(most, len(cells)))
            for cell in chosen:
                here = plane.cell(cell)[0]
                above = _above(one.layer, called, where, random)
                start = now + random.random() * seconds
                moving.append(Light(start, path(here, above) if back else path(above, here), back))
                glows.append(Glow(start if back else start + TRAVEL_S, here, back))
            rest = sorted(set(cells) - set(chosen))
            others = random.sample(rest, min(GLOWS, len(rest)))
            glows += [Glow(now + random.random() * seconds, plane.cell(cell)[0], back) for cell in others]
    return moving, glows


def _above(layer: int, called: dict[int, list[int]], where: Sequence[Plane], random: Random) -> QPointF:
    """Where a call of a layer comes from: an expert of the layer before, or the batch above the first one."""
    if cells := called.get(layer - 1):
        return where[layer - 1].cell(random.choice(cells))[0]
    top = where[0].corners()
    width = top[1].x() - top[3].x()
    return QPointF((top[1].x() + top[3].x()) / 2 + (random.random() - 0.5) * 0.12 * width, -24.0)


def bounds(trail: Sequence[QPointF], margin: float) -> QRectF:
    """The rectangle around a trail: as a `path` never turns back in either direction, that of its ends."""
    return QRectF(trail[0], trail[-1]).normalized().adjusted(-margin, -margin, margin, margin)

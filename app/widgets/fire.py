"""The fire: a chart of the calls served, or of the samples trained where there are no calls; one column a second."""

import math
import time
from collections import deque
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPaintEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QSpacerItem, QWidget

from app import theme as look
from app.colors import mix
from app.formats import number, rate
from app.icons import smooth
from app.language import mark, tr
from app.theme import theme
from app.widgets.basics import Label
from app.widgets.boxes import add, hbox, vbox

SECONDS = 60
"""The scale is the greatest rate of so many last seconds; there are at most as many columns."""
ROWS = 15
PITCH, GAP = 9, 2
REDRAW_S = 0.75
"""A status may come more often than a column."""
JITTER_S = 2
"""A status may come a little late: a gap of so many seconds is filled, a longer one stays empty."""


class Heat(NamedTuple):
    """What the fire shows, in words."""

    name: str
    caption: str
    none: str
    now: str


CALLS = Heat(
    mark("Calls to experts here"),
    mark("Own and others' calls, last {seconds} s"),
    mark("No expert here has been called yet."),
    mark("Now {now} calls per second; the most in the last minute was {most}."),
)
SAMPLES = Heat(
    mark("Samples trained"),
    mark("Samples trained, last {seconds} s"),
    mark("No sample has been trained yet."),
    mark("Now {now} samples per second; the most in the last minute was {most}."),
)


class Fire(QWidget):
    """Columns of cells, filled from the foot; one row of ash where nothing was done."""

    def __init__(self) -> None:
        super().__init__()
        self.heat = CALLS
        self._rates: deque[float | None] = deque([None] * SECONDS, maxlen=SECONDS)
        self._second: int | None = None
        self._kept = (QPixmap(), QPixmap())
        self._kept_for: tuple[float | str, ...] = ()
        self._drawn: list[int] = []
        self._drawn_at = 0.0
        self._stale = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(tr(CALLS.name))

    def show_heat(self, heat: Heat) -> None:
        """Begin anew with another figure."""
        self.heat = heat
        self._rates.extend([None] * SECONDS)
        self.setAccessibleName(tr(heat.name))

    def add(self, at: float, per_s: float) -> bool:
        """A rate measured at the Unix time `at`; whether it is time to show it. An end is shown at once."""
        second = int(at)
        ahead = 1 if self._second is None else second - self._second
        if ahead > JITTER_S:
            self._rates.extend([None] * min(ahead - 1, SECONDS))
            ahead = 1
        self._second = second
        if ahead <= 0:
            self._rates[-1] = per_s
        else:
            self._rates.extend([per_s] * ahead)
        due = time.monotonic() - self._drawn_at >= REDRAW_S or per_s == 0
        if due:
            self._redraw()
        return due

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old."""
        if stale != self._stale:
            self._stale = stale
            self.update()

    def columns(self) -> int:
        """How many seconds are shown."""
        return max(1, min(SECONDS, (self.width() + GAP) // self._pitch()))

    def heights(self) -> list[int]:
        """Lit rows of each column shown, oldest first; 0 is ash, -1 a second without a measurement."""
        top = max((value for value in self._rates if value), default=0.0)
        shown = list(self._rates)[-self.columns() :]
        return [-1 if value is None else math.ceil(value / top * ROWS) if value > 0 else 0 for value in shown]

    def describe(self) -> str:
        """The chart in words."""
        known = [value for value in self._rates if value is not None]
        if not known:
            return tr(self.heat.none)
        now, most = rate(known[-1]), rate(max(known))
        return tr(self.heat.now, now=now, most=most)

    def _pitch(self) -> int:
        return theme().px(PITCH)

    def _redraw(self) -> None:
        heights = self.heights()
        self._drawn_at = time.monotonic()
        if heights != self._drawn and self.isVisible():
            self._drawn = heights
            self.setAccessibleDescription(self.describe())
            self.setToolTip(self.describe())
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(34 * self._pitch() - GAP, ROWS * self._pitch() - GAP)

    def minimumSizeHint(self) -> QSize:
        return QSize(20 * self._pitch() - GAP, ROWS * self._pitch() - GAP)

    def _strips(self) -> tuple[QPixmap, QPixmap]:
        """One column unlit and one lit to the top; kept, because drawing some hundred cells each second costs much."""
        colors = theme()
        rest = mix(colors.color("surface"), colors.color("border"), 0.5 if colors.dark else 0.32)
        ash = colors.color("text3")
        lit = [ash if self._stale else colors.heat(1.0 - 0.72 * row / ROWS) for row in range(ROWS)]
        key = (self._pitch(), self.devicePixelRatioF(), rest.name(), lit[0].name())
        if key != self._kept_for:
            self._kept_for = key
            self._kept = (self._strip([rest] * ROWS), self._strip(lit))
        return self._kept

    def _strip(self, colors: list[QColor]) -> QPixmap:
        pitch, ratio = self._pitch(), self.devicePixelRatioF()
        strip = QPixmap(QSize(pitch, pitch * ROWS) * ratio)
        strip.setDevicePixelRatio(ratio)
        strip.fill(Qt.GlobalColor.transparent)
        painter = smooth(strip)
        painter.setPen(Qt.PenStyle.NoPen)
        side = pitch - GAP
        for row, color in enumerate(colors):
            painter.setBrush(color)
            cell = QRectF(0, (ROWS - 1 - row) * pitch + GAP, side, side)
            painter.drawRoundedRect(cell, side * look.CELL_RADIUS, side * look.CELL_RADIUS)
        painter.end()
        return strip

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        rest, lit = self._strips()
        pitch, heights = self._pitch(), self.heights()
        ratio = self.devicePixelRatioF()
        side = pitch - GAP
        for column, height in enumerate(heights):
            left = self.width() - (len(heights) - column) * pitch + GAP
            age = (column + 1) / len(heights)
            painter.setOpacity(1.0)
            painter.drawPixmap(QPointF(left, self.height() - ROWS * pitch), rest)
            if height > 0:
                high = height * pitch
                painter.setOpacity((0.22 + 0.78 * age) * (0.5 if self._stale else 1.0))
                source = QRectF(0, (ROWS * pitch - high) * ratio, pitch * ratio, high * ratio)
                painter.drawPixmap(QRectF(left, self.height() - high, pitch, high), lit, source)
            elif height == 0:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(theme().color("text3"))
                painter.setOpacity(0.12 + 0.28 * age)
                ash = QRectF(left, self.height() - side, side, side)
                painter.drawRoundedRect(ash, side * look.CELL_RADIUS, side * look.CELL_RADIUS)


class FirePanel(QWidget):
    """The fire with its caption and the rate."""

    def __init__(self) -> None:
        super().__init__()
        column = vbox(spacing=look.S, within=self)
        self.fire = Fire()
        self._caption = Label(tr(CALLS.name), "cap", "text2")
        self._rate = Label("", "cap_strong", tabular=True)
        self._row = row = hbox(spacing=0)
        self._before, self._behind = QSpacerItem(0, 0), QSpacerItem(0, 0)
        row.addItem(self._before)
        row.addWidget(self._caption)
        row.addItem(self._behind)
        row.addStretch(1)
        row.addWidget(self._rate)
        add(column, (self.fire, 1), row)

    def set_stale(self, stale: bool) -> None:
        self.fire.set_stale(stale)
        theme().set_tone(self._rate, "text3" if stale else "text")

    def add(self, at: float, per_s: float, heat: Heat = CALLS) -> None:
        """A rate.

        Args:
            at: Unix time at which it was measured.
            per_s: what was done a second.
            heat: what that is.
        """
        if heat is not self.fire.heat:
            self.fire.show_heat(heat)
            self._show_caption()
        if self.fire.add(at, per_s):
            self._rate.setText(tr("{rate} per second", rate=rate(per_s)))

    def _show_caption(self) -> None:
        columns = min(SECONDS, (self.width() + GAP) // theme().px(PITCH))
        self._caption.setText(tr(self.fire.heat.caption, seconds=number(columns)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_caption()
        # The caption starts where the first column does; the room it asks for is always the same.
        pitch = theme().px(PITCH)
        offset = (self.width() + GAP) % pitch
        fixed = QSizePolicy.Policy.Fixed
        self._before.changeSize(offset, 0, fixed, fixed)
        self._behind.changeSize(2 * pitch - offset, 0, fixed, fixed)
        self._row.invalidate()

"""When this PC helps: the hours of the last seven days as cells, warmer the more of the hour it computed."""

import time
from collections.abc import Sequence
from datetime import date, datetime, timedelta

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy

from app import theme as look
from app.colors import mix
from app.icons import smooth
from app.language import day as day_of
from app.language import hour as hour_of
from app.language import locale, tr
from app.pages.contribution.history import KINDS, weekday
from app.theme import theme
from app.widgets.picking import Picking, beside
from core.contracts.ledger import Series

DAYS, HOURS = 7, 24
GAP = 3
EVERY = 6
"""Hours between two marks under the cells."""
HOUR_S = 3600.0


def _week_to(last: date) -> list[date]:
    return [last + timedelta(days=day - DAYS + 1) for day in range(DAYS)]


class WeekMap(Picking):
    """Arrow keys or the mouse choose an hour."""

    def __init__(self) -> None:
        super().__init__()
        self._seconds = [[0.0] * HOURS for _ in range(DAYS)]
        self._known = [[False] * HOURS for _ in range(DAYS)]
        self._dates = _week_to(date.today())
        self._room = 0.0, 0.0
        """`_margins`, as of the last time it was painted."""
        self._stale = False
        self.setMinimumSize(theme().px(300), theme().px(140))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("When this PC helps, hour by hour"))

    def set_hours(self, series: Series) -> None:
        """Show seconds of computing by the hour, the last of them today."""
        last = datetime.fromtimestamp(series.times[-1] - 1)
        self._dates = _week_to(last.date())
        self._seconds = [[0.0] * HOURS for _ in range(DAYS)]
        self._known = [[day < DAYS - 1 or hour <= last.hour for hour in range(HOURS)] for day in range(DAYS)]
        values: Sequence[float] = series.values.get("", [0.0] * (len(series.times) - 1))
        for moment, seconds in zip(series.times, values, strict=False):
            local = datetime.fromtimestamp(moment)
            day = (local.date() - self._dates[0]).days
            if 0 <= day < DAYS:
                self._seconds[day][local.hour] += seconds
        self._retell()
        self.update()

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old."""
        self._stale = stale
        self.update()

    def words(self, at: int) -> str:
        day, hour = divmod(at, HOURS)
        name = day_of(self._dates[day], short=True, weekday=True)
        amount = KINDS["seconds"].write(self._seconds[day][hour]) if self._known[day][hour] else tr("still to come")
        times = tr("{start} to {end}", start=hour_of(hour), end=hour_of(hour + 1))
        return f"{name}, {times}: {amount}"

    def describe(self) -> str:
        sums = [sum(hours) for hours in self._seconds]
        if not any(sums):
            return tr("Nothing in the last seven days.")
        most = max(range(DAYS), key=lambda day: sums[day])
        write = KINDS["seconds"].write
        name = locale().dayName(self._dates[most].isoweekday())
        whole, amount = write(sum(sums)), write(sums[most])
        return tr("{all} in the last seven days; the most was on {day}, {amount}.", all=whole, day=name, amount=amount)

    # drawing

    def _margins(self) -> tuple[float, float]:
        """Room for the days' names at the left and the hours at the foot."""
        metrics = QFontMetrics(theme().font("cap", tabular=True))
        names = map(weekday, self._dates)
        return max(metrics.horizontalAdvance(name) for name in names) + 10.0, metrics.height() + 4.0

    def _cell(self, day: int, hour: int) -> QRectF:
        left, foot = self._room
        wide, high = (self.width() - left) / HOURS, (self.height() - foot) / DAYS
        return QRectF(left + hour * wide, day * high, wide - GAP, high - GAP)

    def sizeHint(self) -> QSize:
        return QSize(theme().px(420), theme().px(190))

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme()
        painter = smooth(self)
        painter.setFont(colors.font("cap", tabular=True))
        left, foot = self._room = self._margins()
        for day in range(DAYS):
            first = self._cell(day, 0)
            painter.setPen(colors.color("text3"))
            row = QRectF(0, first.top(), left, first.height())
            name = weekday(self._dates[day])
            painter.drawText(row, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), name)
            for hour in range(HOURS):
                self._paint_cell(painter, day, hour)
        painter.setPen(colors.color("text3"))
        for hour in range(0, HOURS, EVERY):
            place = QRectF(self._cell(0, hour).left(), self.height() - foot + 2, 60, foot)
            painter.drawText(place, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), hour_of(hour))

    def _paint_cell(self, painter: QPainter, day: int, hour: int) -> None:
        colors, rect = theme(), self._cell(day, hour)
        corner = min(rect.width(), rect.height()) * look.CELL_RADIUS
        share = min(1.0, self._seconds[day][hour] / HOUR_S)
        painter.setPen(Qt.PenStyle.NoPen)
        fill = colors.color("sunken")
        if share > 0:
            warm = 0.12 + 0.88 * share
            fill = mix(colors.color("surface"), colors.color("text3"), 0.7 * warm) if self._stale else colors.heat(warm)
        elif not self._known[day][hour]:
            painter.setPen(QPen(colors.color("border"), 1))
            fill = colors.color("surface")
            rect = rect.adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setBrush(fill)
        painter.drawRoundedRect(rect, corner, corner)
        if day * HOURS + hour == self.at:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colors.color("text"), 1.5))
            painter.drawRoundedRect(self._cell(day, hour).adjusted(0.75, 0.75, -0.75, -0.75), corner, corner)

    # choosing

    def _under(self, place: QPointF) -> int | None:
        left, foot = self._margins()
        hour = int((place.x() - left) // max(1.0, (self.width() - left) / HOURS))
        day = int(place.y() // max(1.0, (self.height() - foot) / DAYS))
        return day * HOURS + hour if 0 <= hour < HOURS and 0 <= day < DAYS and place.x() >= left else None

    def _start(self) -> int:
        return (DAYS - 1) * HOURS + time.localtime().tm_hour

    def _beside(self, at: int, key: Qt.Key) -> int | None:
        return beside(at, key, HOURS, DAYS * HOURS)

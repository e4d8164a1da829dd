"""Amounts over time as bars, each a stack of what it is made of."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPainterPath, QPen

from app.formats import short
from app.language import tr
from app.theme import theme
from app.widgets.plot import Plot, sentence_case, ticks

WIDTH = 0.82
"""Of a bar, where 1 is the distance of two."""
RADIUS = 3.0
ROOM = 1.08
"""Above the greatest bar."""
NEAR = 1.15
"""Times the greatest bar: a rule so near above it is shown, too."""
SEAM = 1.0
"""Between the parts of a bar, pixels."""


class Part(NamedTuple):
    """What bars are made of, from the foot up."""

    name: str
    tone: str | float
    """A colour role, or heat from 0 to 1."""
    values: Sequence[float]
    """One a bar."""


class Bars(NamedTuple):
    """What is shown."""

    labels: Sequence[str]
    """Short words under each bar; as many are shown as fit, the last one always."""
    names: Sequence[str]
    """The same in full, for tips."""
    parts: Sequence[Part]
    notes: Sequence[tuple[int, int, str]] = ()
    """Words in the place of bars that are nothing: the first of them, the one after the last, and why."""

    def sums(self) -> list[float]:
        return [sum(part.values[at] for part in self.parts) for at in range(len(self.labels))]


NOTHING = Bars((), (), ())


def color_of(tone: str | float) -> QColor:
    """The colour of a `Part`."""
    return theme().color(tone) if isinstance(tone, str) else theme().heat(tone)


class BarPlot(Plot):
    """Bars from zero. Arrow keys or the mouse choose one.

    Args:
        name: accessible name.
        empty: sentence while there is nothing to draw.
        told: each bar has its amount above it, and there is no axis.
    """

    def __init__(self, name: str, empty: str, told: bool = False) -> None:
        super().__init__(name, self._axis_words, empty)
        self._are_told = told
        self.bars = NOTHING
        self._write: Callable[[float], str] = str
        self._brief: Callable[[float], str] = str
        self._by, self._unit = 1.0, ""
        self._stale = False

    def set_bars(
        self,
        name: str,
        bars: Bars,
        write: Callable[[float], str],
        scale: Callable[[float], tuple[float, str]],
        brief: Callable[[float], str] | None = None,
    ) -> None:
        """Show these.

        Args:
            name: what they are, also the accessible name.
            write: an amount as text, exactly and with its unit.
            scale: for the greatest amount: by what the axis divides, and its unit.
            brief: an amount as text where there is little room; by default as `write` does.
        """
        self._name, self.bars, self._write, self._brief = name, bars, write, brief or write
        self._by, unit = scale(max(bars.sums(), default=0.0))
        self._unit = tr(unit)
        self.setAccessibleName(name)
        if self.at is not None and self.at >= len(bars.labels):
            self.at = None
        self._draw()
        self._tell()

    def _axis_words(self, value: float) -> str:
        return f"{short(value / self._by)} {self._unit}".rstrip() if value else "0"

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old."""
        self._stale = stale
        self._canvas.update()

    def describe(self) -> str:
        """The bars in words."""
        sums = self.bars.sums()
        if not any(sums):
            return self._empty.text()
        most = max(range(len(sums)), key=lambda at: sums[at])
        return tr(
            "{name}: {all} in total; the most was {best}, {most}; the last is {newest}, {last}.",
            name=self._name,
            all=self._write(sum(sums)),
            best=self.bars.names[most],
            most=self._write(sums[most]),
            newest=self.bars.names[-1],
            last=self._write(sums[-1]),
        )

    def words(self, at: int) -> str:
        """A bar in words."""
        made_of = [f"{part.name} {self._write(part.values[at])}" for part in self.bars.parts if part.values[at]]
        of_it = f" ({', '.join(made_of)})" if len(self.bars.parts) > 1 and made_of else ""
        why = next((f", {note}" for start, end, note in self.bars.notes if start <= at < end), "")
        return f"{self.bars.names[at]}: {self._write(self.bars.sums()[at])}{of_it}{why}"

    def tone(self, part: int, at: int) -> QColor:
        """The colour of a part of a bar; of one kind alone, the last bar stands out, as it still grows."""
        if self._stale:
            return theme().color("text3")
        earlier = len(self.bars.parts) == 1 and at < len(self.bars.labels) - 1
        tone = self.bars.parts[part].tone
        return color_of("ember_muted" if earlier and tone == "ember_fill" else tone)

    # drawing

    def _draw(self) -> None:
        self._retell()
        sums = self.bars.sums()
        self._empty.setVisible(not any(sums))
        top = max(sums, default=0.0) or 1.0
        places = [self._by * place for place in ticks(top / self._by)] if any(sums) else [0.0]
        if len(places) > 1 and places[-1] + places[1] <= NEAR * top:  # the rule above the greatest, where it is near
            places.append(places[-1] + places[1])
        if not self._unit:  # there is no half of a call
            places = [place for place in places if place == round(place)]
        if self._are_told:
            self._show(QRectF(-0.5, 0.0, max(1, len(sums)), top), [])
            return
        self._show(QRectF(-0.5, 0.0, max(1, len(sums)), ROOM * max(top, places[-1])), places)

    def _edges(self) -> tuple[float, float, float]:
        metrics, count = QFontMetrics(theme().font("cap", tabular=True)), len(self.bars.labels)
        below = metrics.height() + theme().px(6)
        if not count:
            return 0.0, 0.0, below
        above = metrics.height() + theme().px(2) if self._are_told else 0.0
        room = max(1.0, (self._canvas.width() - self._axis) / count)
        beyond = (metrics.horizontalAdvance(self.bars.labels[-1]) - room) / 2 + 2  # the last one is wider than its bar
        return above, max(0.0, beyond), below

    def paint(self, painter: QPainter) -> None:
        sums = self.bars.sums()
        for at, whole in enumerate(sums):
            if whole > 0:
                self._paint_bar(painter, at, whole)
        if self._are_told:
            self._paint_amounts(painter, sums)
        painter.setFont(theme().font("cap"))
        painter.setPen(theme().color("text3"))
        for start, end, note in self.bars.notes:
            left, right = self.place(start - 0.5, 0), self.place(end - 0.5, 0)
            room = QRectF(left.x(), left.y() - 24, right.x() - left.x(), 20)
            if painter.fontMetrics().horizontalAdvance(note) <= room.width():
                painter.drawText(room, int(Qt.AlignmentFlag.AlignCenter), note)
        self._paint_labels(painter)

    def _paint_amounts(self, painter: QPainter, sums: Sequence[float]) -> None:
        """Above the bars, as many as fit, counted from the last one."""
        words = [self._brief(whole) for whole in sums]
        for at in self._fitting(painter, words):
            if sums[at] > 0:
                crest = self.place(at, sums[at])
                last = at == len(sums) - 1
                self._write_at(painter, QPointF(crest.x(), crest.y() - painter.fontMetrics().height()), words[at], last)

    def _fitting(self, painter: QPainter, words: Sequence[str]) -> range:
        """The bars whose words fit side by side, the last one among them."""
        painter.setFont(theme().font("cap", tabular=True))
        widest = max(map(painter.fontMetrics().horizontalAdvance, words), default=0) + theme().px(6)
        every = max(1, -int(-widest // (self._area.width() / max(1, len(words)))))
        return range(len(words) - 1, -1, -every)

    def _write_at(self, painter: QPainter, top: QPointF, words: str, last: bool) -> None:
        """Words that begin at a height, centred; those of the last bar stand out where amounts are told."""
        stands_out = last and self._are_told
        painter.setFont(theme().font("cap_strong" if stands_out else "cap", tabular=True))
        painter.setPen(theme().color("text" if stands_out else "text2" if self._are_told else "text3"))
        box = QRectF(top.x() - 100, top.y(), 200, painter.fontMetrics().height())
        painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), words)

    def _paint_labels(self, painter: QPainter) -> None:
        """Words under as many bars as fit, counted from the last one."""
        labels = self.bars.labels
        for at in self._fitting(painter, labels):
            self._write_at(painter, self.place(at, 0) + QPointF(0, 4), labels[at], at == len(labels) - 1)

    def _paint_bar(self, painter: QPainter, at: int, whole: float) -> None:
        outer = QRectF(self.place(at - WIDTH / 2, whole), self.place(at + WIDTH / 2, 0.0))
        outer.setTop(min(outer.top(), outer.bottom() - 1.5))  # however little it is, it is something
        shape = QPainterPath()
        radius = min(RADIUS, outer.width() / 3, outer.height() / 2)
        shape.addRoundedRect(outer, radius, radius)
        painter.save()
        painter.setClipPath(shape)
        done = 0.0
        parts = [which for which, part in enumerate(self.bars.parts) if part.values[at] > 0]
        for which in parts:
            low, done = done, done + self.bars.parts[which].values[at]
            piece = QRectF(self.place(at - WIDTH / 2, done), self.place(at + WIDTH / 2, low))
            if which == parts[-1]:
                piece.setTop(outer.top())
            if low > 0 and piece.height() > 2 * SEAM:
                piece.setBottom(piece.bottom() - SEAM)
            painter.fillRect(piece, self.tone(which, at))
        painter.restore()
        if at == self.at:
            painter.setPen(QPen(theme().color("text"), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(outer.adjusted(0.75, 0.75, -0.75, -0.75), radius, radius)

    # choosing

    def _nearest(self, x: float) -> int | None:
        at = round(x) if abs(x) < 1e6 else -1
        return at if 0 <= at < len(self.bars.labels) else None

    def _count(self) -> int:
        return len(self.bars.labels)

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        parts = self.bars.parts if len(self.bars.parts) > 1 else ()
        rows = [
            [sentence_case(name), self._write(whole), *(self._write(part.values[at]) for part in parts)]
            for at, (name, whole) in enumerate(zip(self.bars.names, self.bars.sums(), strict=True))
        ]
        return [tr("When"), self._name, *(part.name for part in parts)], rows

"""Who answered, byte by byte or token by token: a column for each of a text, a cell for every expert asked."""

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app import theme as look
from app.colors import mix
from app.formats import number, percent, tip
from app.icons import smooth
from app.language import tr
from app.pages.model.answer_grid import Swatch
from app.pages.model.answering_hosts import Hosts, missing
from app.pages.model.answering_hosts import name_of as name_of_host
from app.pages.model.doubt import about, name_of
from app.pages.model.text_generation import Byte
from app.pages.model.unit_words import UnitWords
from app.theme import theme
from app.widgets.basics import Card, Label
from app.widgets.boxes import add
from core.contracts.control import Answer

CELL, PITCH = 9, 11
"""Side of a cell and distance of two, pixels."""
USUAL, ROWS = 6, 8
"""Experts of a byte that room is kept for, and that are shown at most."""
NAMED = 3
"""Hosts in the legend."""
PAD = 3
"""Room for the frame round the chosen column."""


class AnswersByByte(QWidget):
    """The newest columns that fit. Arrow keys or the mouse choose one.

    Args:
        hosts: colours of who answers.
        words: of what a model writes one by one.
    """

    chosen = Signal(object)
    """The place of a byte; None for the newest, whichever it is."""

    def __init__(self, hosts: Hosts, words: UnitWords) -> None:
        super().__init__()
        self._hosts, self._unit = hosts, words
        self._bytes: list[Byte] = []
        self._at: int | None = None
        self._rows = USUAL
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr(words.one_by_one))

    def show_bytes(self, all_bytes: list[Byte], at: int | None) -> None:
        """Show a text's bytes with one of them chosen; None: the newest."""
        self._bytes, self._at = all_bytes, at
        rows = min(ROWS, max((len(byte.experts) for byte in all_bytes[-1:]), default=self._rows))
        if rows != self._rows:
            self._rows = rows
            self.updateGeometry()
        place = len(all_bytes) - 1 if at is None else at
        told = described(self._unit, place, all_bytes[place]) if all_bytes else tr("Nothing yet.")
        self.setAccessibleDescription(told)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(40 * theme().px(PITCH), self._rows * theme().px(PITCH) + 2 * PAD)

    def minimumSizeHint(self) -> QSize:
        return QSize(10 * theme().px(PITCH), self.sizeHint().height())

    def _shown(self) -> range:
        fits = max(1, (self.width() - 2 * PAD) // theme().px(PITCH))
        first = max(0, len(self._bytes) - fits)
        if self._at is not None:
            first = min(first, max(0, self._at - fits // 2))
        return range(first, min(len(self._bytes), first + fits))

    def _place(self, x: float) -> int | None:
        shown = self._shown()
        column = int((x - PAD) // theme().px(PITCH))
        return shown[column] if 0 <= column < len(shown) else None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if (place := self._place(event.position().x())) is not None:
            self._choose(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        last = len(self._bytes) - 1
        here = last if self._at is None else self._at
        places = {Qt.Key.Key_Left: here - 1, Qt.Key.Key_Right: here + 1, Qt.Key.Key_Home: 0, Qt.Key.Key_End: last}
        place = places.get(Qt.Key(event.key()))
        if place is None or last < 0:
            super().keyPressEvent(event)
        else:
            self._choose(max(0, place))

    def _choose(self, place: int) -> None:
        self.chosen.emit(place if place < len(self._bytes) - 1 else None)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            place = self._place(event.pos().x())
            QToolTip.showText(event.globalPos(), "" if place is None else tip(self._words(place)), self)
            return True
        return super().event(event)

    def _words(self, place: int) -> str:
        byte = self._bytes[place]
        hosts = sorted({name_of_host(answer.host) for answer in byte.experts if answer.answered})
        return f"{heading(self._unit, place, byte)}: {', '.join(hosts)}. {about(byte)} {missing(byte.experts)}".strip()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        pitch, cell, shown = theme().px(PITCH), theme().px(CELL), self._shown()
        for column, place in enumerate(shown):
            left = PAD + column * pitch
            for row, answer in enumerate(self._bytes[place].experts[: self._rows]):
                self._paint_cell(painter, QRectF(left, PAD + row * pitch, cell, cell), answer)
        if self._at is not None and self._at in shown:
            left = PAD + (self._at - shown.start) * pitch
            painter.setPen(QPen(theme().color("text"), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(left - 2, PAD - 2, cell + 4, self._rows * pitch - pitch + cell + 4), 3, 3)

    def _paint_cell(self, painter: QPainter, rect: QRectF, answer: Answer) -> None:
        colors = theme()
        if answer.answered:
            painter.setPen(Qt.PenStyle.NoPen)
            share = 0.3 + 0.7 * min(1.0, max(0.0, answer.weight))
            painter.setBrush(mix(colors.color("surface"), colors.color(self._hosts.tone(answer.host)), share))
        else:
            painter.setPen(QPen(colors.color("line"), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            rect = rect.adjusted(0.5, 0.5, -0.5, -0.5)
        radius = rect.width() * look.CELL_RADIUS
        painter.drawRoundedRect(rect, radius, radius)


class AnswersByByteCard(Card):
    """The strip with whose share of the answers was how large."""

    def __init__(self, hosts: Hosts, unit: UnitWords) -> None:
        super().__init__(tr(unit.one_by_one))
        self.columns = AnswersByByte(hosts, unit)
        self._hosts, self._unit = hosts, unit
        self._legend: list[tuple[Swatch, Label]] = []
        for _ in range(NAMED):
            swatch, words = Swatch("lit"), Label("", "cap", "text2", tabular=True)
            add(self.head, swatch, words)
            self._legend.append((swatch, words))
        self._more = Label("", "cap", "text2")
        self.head.addWidget(self._more)
        self._note = Label("", "cap", "text3", wrap=True)
        add(self.body, self.columns, self._note)
        self.show_bytes([], None)

    def show_bytes(self, all_bytes: list[Byte], at: int | None) -> None:
        """Show a text's bytes with one of them chosen; None: the newest."""
        self.columns.show_bytes(all_bytes, at)
        weights: dict[str, float] = {}
        for byte in all_bytes:
            for answer in byte.experts:
                if answer.answered:
                    weights[answer.host] = weights.get(answer.host, 0.0) + answer.weight
        whole, best = sum(weights.values()), sorted(weights, key=lambda host: -weights[host])
        for place, (swatch, words) in enumerate(self._legend):
            for widget in (swatch, words):
                widget.setVisible(place < len(best))
            if place < len(best):
                host = best[place]
                swatch.set("lit", self._hosts.letter(host), self._hosts.tone(host))
                name = name_of_host(host)
                words.setText(f"{name}, {percent(weights[host] / whole, 0)}" if whole else name)
        more = len(best) - NAMED
        self._more.setText(tr("and %Ln more", more))
        self._more.setVisible(more > 0)
        silent = sum(not answer.answered for byte in all_bytes for answer in byte.experts)
        self._note.setText(_about(self._unit, len(all_bytes), silent))


def heading(words: UnitWords, place: int, byte: Byte) -> str:
    """ "Byte 30: “i”", "Token 30: “ing”"; one in the middle of a character has no sign of its own."""
    name = tr(words.place, place=number(place + 1))
    return f"{name}: {name_of(byte.text.encode())}" if byte.text else name


def described(words: UnitWords, place: int, byte: Byte) -> str:
    """Which byte or token it is, how sure the model was of it, and what else it found likely."""
    return f"{heading(words, place, byte)}. {about(byte)}".strip()


def _about(words: UnitWords, count: int, silent: int) -> str:
    if not count:
        return tr(words.what_is_shown)
    about = tr(words.newest)
    left_out = tr("Hollow cells: experts that did not answer, %Ln so far.", silent) if silent else ""
    return f"{about} {left_out}".strip()

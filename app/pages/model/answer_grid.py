"""Which experts answered: a layer's grid with the lit cells, and the list with figures."""

import math
from collections.abc import Iterable

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QHelpEvent, QKeyEvent, QPainter, QPaintEvent, QPen, QRadialGradient
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app import theme as look
from app.formats import milliseconds, percent, tip
from app.icons import smooth
from app.language import tr
from app.pages.model.answering_hosts import LOCAL, Hosts, here, name_of, short_name_of
from app.theme import theme
from app.widgets.basics import Bar, Label
from app.widgets.boxes import grid_box
from core.contracts.control import Answer

GAP = 0.17
"""Between cells, as a share of the distance of two."""
PAD = 12
"""Room for the glow of cells at the edge, pixels."""
CELL_MINIMUM, CELL_MAXIMUM = 9, 40
LIST_WIDTH = 336
"""Kept free for the list of answers also before the first one, so that nothing moves when it comes; pixels."""


def fold(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns that show a grid of any dimensions: the first downwards, the others across."""
    return math.prod(shape[:1]), math.prod(shape[1:])


def cell_of(uid: str, shape: tuple[int, ...]) -> tuple[int, int] | None:
    """Row and column of an expert ("digits.0.1.3" is run.layer.u0.u1); None if it is outside of the grid."""
    coords = uid.split(".")[2:]
    if not coords or len(coords) != len(shape) or not all(part.isdecimal() and len(part) < 6 for part in coords):
        return None
    places = [int(part) for part in coords]
    if any(place >= size for place, size in zip(places, shape, strict=True)):
        return None
    column = 0
    for place, size in zip(places[1:], shape[1:], strict=True):
        column = column * size + place
    return places[0], column


class AnswerGrid(QWidget):
    """One layer's cells: outlined if hosted here or by peers, hollow if not, lit with its host's letter if it answered.

    Args:
        layer: whose grid it is.
        hosts: letters and colours of who answers.
        largest: distance of two cells where there is room, pixels.
    """

    def __init__(self, layer: int, hosts: Hosts, largest: int = CELL_MAXIMUM) -> None:
        super().__init__()
        self.layer, self._hosts, self._largest = layer, hosts, theme().px(largest)
        self._shape: tuple[int, ...] = (4, 4)
        self._hosted: dict[tuple[int, int], str] = {}
        self._peers: frozenset[tuple[int, int]] | None = None
        """Cells that only other peers host; None: nobody has told."""
        self._answers: dict[tuple[int, int], Answer] = {}
        self._chosen = (0, 0)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self._describe()

    def set_hosted(self, shape: tuple[int, ...], uids: list[str]) -> None:
        """The grid's shape and the experts that this PC hosts."""
        hosted = {cell: uid for uid in uids if (cell := cell_of(uid, shape)) is not None}
        if (shape, hosted) != (self._shape, self._hosted):
            self._shape, self._hosted = shape, hosted
            self.updateGeometry()
            self.update()

    def set_peers(self, cells: Iterable[int]) -> None:
        """Cells that only other peers host, counted row by row."""
        columns = fold(self._shape)[1]
        peers = frozenset(divmod(cell, columns) for cell in cells)
        if peers != self._peers:
            self._peers = peers
            self._describe()
            self.update()

    def set_answers(self, answers: list[Answer]) -> None:
        """Light the cells of this layer that took part."""
        found = {cell: answer for answer in answers if (cell := cell_of(answer.uid, self._shape)) is not None}
        if found != self._answers:
            self._answers = found
            self._describe()
            self.update()

    def text(self, cell: tuple[int, int]) -> str:
        """What a cell is, in words."""
        answer = self._answers.get(cell)
        if answer is None:
            uid = self._hosted.get(cell)
            if uid:
                return tr("{uid}: hosted here, not asked", uid=uid)
            if self._peers is None:
                return tr("Row {row}, column {column}: not hosted here", row=cell[0], column=cell[1])
            if cell in self._peers:
                return tr("Row {row}, column {column}: hosted by peers, not asked", row=cell[0], column=cell[1])
            return tr("Row {row}, column {column}: hosted by nobody", row=cell[0], column=cell[1])
        if not answer.answered:
            return tr("{uid}: did not answer, left out", uid=answer.uid)
        name, weight = name_of(answer.host), percent(answer.weight, 0)
        return tr(
            "{uid}: {name}, weight {weight}, {time}",
            uid=answer.uid,
            name=name,
            weight=weight,
            time=milliseconds(answer.ms),
        )

    def sizeHint(self) -> QSize:
        rows, columns = fold(self._shape)
        return QSize(columns * self._largest + 2 * PAD, rows * self._largest + 2 * PAD)

    def minimumSizeHint(self) -> QSize:
        rows, columns = fold(self._shape)
        least = math.ceil(CELL_MINIMUM / (1 - GAP))
        return QSize(columns * least + 2 * PAD, rows * least + 2 * PAD)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        rows, columns = fold(self._shape)
        for cell, answer in self._answers.items():
            if answer.answered:
                self._paint_glow(painter, self._rect(cell), answer)
        for row in range(rows):
            for column in range(columns):
                self._paint_cell(painter, (row, column))
        if self.hasFocus():
            painter.setPen(QPen(theme().color("text"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self._rect(self._chosen).adjusted(-2, -2, 2, 2))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1), Qt.Key.Key_Up: (-1, 0), Qt.Key.Key_Down: (1, 0)}
        step = steps.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
            return
        rows, columns = fold(self._shape)
        row, column = self._chosen[0] + step[0], self._chosen[1] + step[1]
        self._chosen = (min(rows - 1, max(0, row)), min(columns - 1, max(0, column)))
        self._describe()
        corner = self._rect(self._chosen).bottomRight().toPoint()
        QToolTip.showText(self.mapToGlobal(corner), tip(self.text(self._chosen)), self)
        self.update()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            rows, columns = fold(self._shape)
            cells = ((row, column) for row in range(rows) for column in range(columns))
            under = next((cell for cell in cells if self._rect(cell).contains(QPointF(event.pos()))), None)
            QToolTip.showText(event.globalPos(), tip(self.text(under)) if under else "", self)
            return True
        return super().event(event)

    def _pitch(self) -> float:
        rows, columns = fold(self._shape)
        fits = min((self.width() - 2 * PAD) / columns, (self.height() - 2 * PAD) / rows)
        return min(fits, self._largest)

    def _rect(self, cell: tuple[int, int]) -> QRectF:
        pitch = self._pitch()
        side = round(pitch * (1 - GAP))
        return QRectF(PAD + round(cell[1] * pitch), PAD + round(cell[0] * pitch), side, side)

    def ring_rect(self) -> QRect:
        """What the focus ring goes round: the cells, with the mark of the chosen one."""
        rows, columns = fold(self._shape)
        cells = self._rect((0, 0)) | self._rect((rows - 1, columns - 1))
        return cells.toRect().adjusted(-3, -3, 3, 3)

    def _paint_glow(self, painter: QPainter, rect: QRectF, answer: Answer) -> None:
        reach = rect.width() / 2 + PAD
        color = theme().color(self._hosts.tone(answer.host))
        color.setAlphaF(0.15 + 0.4 * min(1.0, max(0.0, answer.weight)))
        glow = QRadialGradient(rect.center(), reach)
        glow.setColorAt(0.3, color)
        color.setAlphaF(0)
        glow.setColorAt(1, color)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(glow)
        painter.drawEllipse(rect.center(), reach, reach)

    def _paint_cell(self, painter: QPainter, cell: tuple[int, int]) -> None:
        answer = self._answers.get(cell)
        host = answer.host if answer is not None and answer.answered else LOCAL
        kind = cell_kind(answer, cell in self._hosted, cell in (self._peers or ()))
        paint_cell(painter, self._rect(cell), kind, self._hosts.letter(host), self._hosts.tone(host))

    def _describe(self) -> None:
        lit = [answer for answer in self._answers.values() if answer.answered]
        self.setAccessibleName(tr("Layer {layer}", layer=self.layer))
        self.setAccessibleDescription(
            tr("%Ln expert(s) answered. Chosen cell: {cell}", len(lit), cell=self.text(self._chosen))
        )


def cell_kind(answer: Answer | None, hosted: bool, peers: bool = False) -> str:
    """How a cell is drawn: "lit", "late", "hosted", "peers" or "empty"."""
    if answer is not None:
        return "lit" if answer.answered else "late"
    return "hosted" if hosted else "peers" if peers else "empty"


def paint_cell(painter: QPainter, rect: QRectF, kind: str, letter: str = "", tone: str = "ember_fill") -> None:
    """One cell of a grid or of its legend; letter and tone are those of who answered; "" is this PC's."""
    colors, radius = theme(), rect.width() * look.CELL_RADIUS
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colors.color(tone if kind == "lit" else "sunken"))
    if kind == "empty":
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colors.color("line"), 1))
        rect = rect.adjusted(0.5, 0.5, -0.5, -0.5)
    elif kind in ("hosted", "peers"):
        painter.setPen(QPen(colors.color("ember" if kind == "hosted" else "peer"), 1.5))
        rect = rect.adjusted(0.75, 0.75, -0.75, -0.75)
    painter.drawRoundedRect(rect, radius, radius)
    if kind == "lit":
        font = theme().font("micro_strong")
        font.setPixelSize(max(8, round(rect.height() * 0.58)))
        painter.setFont(font)
        painter.setPen(colors.color("on_fill" if tone == "ember_fill" else "on_peer"))
        painter.drawText(rect, int(Qt.AlignmentFlag.AlignCenter), letter or here())
    elif kind == "late":
        painter.setPen(QPen(colors.color("text2"), 1.5))
        inner = rect.adjusted(*(rect.width() * share for share in (0.3, 0.3, -0.3, -0.3)))
        painter.drawLine(inner.topLeft(), inner.bottomRight())
        painter.drawLine(inner.topRight(), inner.bottomLeft())


class Swatch(QWidget):
    """A cell alone, for the legend and for the list."""

    def __init__(self, kind: str, letter: str = "", tone: str = "ember_fill", side: int = 14) -> None:
        super().__init__()
        self._shown = (kind, letter, tone)
        self.setFixedSize(theme().px(side), theme().px(side))

    def set(self, kind: str, letter: str = "", tone: str = "ember_fill") -> None:
        if (kind, letter, tone) != self._shown:
            self._shown = (kind, letter, tone)
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        paint_cell(painter, QRectF(self.rect()), *self._shown)


class AnswerList(QWidget):
    """The experts of a layer that were asked, with host, uid, weight and time, most weight first."""

    def __init__(self, hosts: Hosts) -> None:
        super().__init__()
        self._hosts = hosts
        self._grid = grid_box(look.S, 5, stretch={3: 1}, within=self)
        self._rows: list[tuple[Swatch, Label, Label, Bar, Label, Label]] = []

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint().expandedTo(QSize(theme().px(LIST_WIDTH), 0))

    @property
    def uids(self) -> list[QWidget]:
        """The labels that one copies from."""
        return [row[2] for row in self._rows]

    def set_answers(self, answers: list[Answer]) -> None:
        """Show all answers; rows are kept and filled anew, so that a live list is cheap."""
        ordered = sorted(answers, key=lambda answer: (not answer.answered, -answer.weight))
        while len(self._rows) < len(ordered):
            self._add_row()
        for place, row in enumerate(self._rows):
            for widget in row:
                widget.setVisible(place < len(ordered))
        for (swatch, who, uid, bar, share, time), answer in zip(self._rows, ordered, strict=False):
            uid.setText(answer.uid)
            if not answer.answered:
                swatch.set("late")
                who.setText(tr("No answer"))
                who.setToolTip("")
                bar.set_value(0.0)
                share.setText("")
                time.setText(tr("left out"))
                continue
            swatch.set("lit", self._hosts.letter(answer.host), self._hosts.tone(answer.host))
            who.setText(short_name_of(answer.host))
            who.setToolTip("" if answer.host == LOCAL else tip(f"{name_of(answer.host)}\n{answer.host}"))
            bar.set_value(answer.weight, "ember_fill" if answer.host == LOCAL else "text2")
            share.setText(percent(answer.weight, 0))
            time.setText(milliseconds(answer.ms))

    def _add_row(self) -> None:
        place = len(self._rows)
        uid = Label("", "cap", "text2", selectable=True)
        uid.setFont(theme().mono())
        share, time = Label("", "cap", tabular=True), Label("", "cap", "text2", tabular=True)
        who = Label("", "cap_strong")
        row = (Swatch("lit", side=16), who, uid, Bar(), share, time)
        for column, widget in enumerate(row):
            self._grid.addWidget(widget, place, column, Qt.AlignmentFlag.AlignVCenter)
        for label, widest in ((who, tr("No answer")), (share, percent(1, 0)), (time, tr("left out"))):
            label.setMinimumWidth(label.fontMetrics().horizontalAdvance(widest))
        for label in (share, time):
            label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._rows.append(row)

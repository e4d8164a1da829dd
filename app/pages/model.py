"""Try the model: draw a digit, see what the model reads and which experts answered."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QKeySequence, QPainter, QPaintEvent, QShortcut
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from app import theme as look
from app.pages.answers import PAD, AnswerGrid, AnswerList, Swatch, lasted
from app.pages.asking import Asking, Wait
from app.pages.canvas import Canvas
from app.theme import theme
from app.window.buttons import Button
from app.window.page import Page
from app.window.widgets import Bar, Card, Divider, Label, Notice, Panel, Pill, set_tone
from app.window.words import number, percent
from app.worker_client import WorkerClient
from core.control.messages import Prediction, PredictParams, Status

DIGITS = 10
SEEN_SIDE = 8
LAYERS_SHOWN = 4
LEGEND = {"lit": "This PC answered", "hosted": "Hosted here", "late": "Too late", "empty": "No host"}
WAITING = {
    Wait.PLACEHOLDER: "",
    Wait.EXPLAIN: "The compute process is starting; the model answers when it is ready.",
    Wait.RETRY: "The model has not answered for 15 s.",
}


class ModelPage(Page):
    """The page that asks the model about a drawing."""

    def __init__(self, client: WorkerClient) -> None:
        super().__init__(
            "model",
            "Try the model",
            "model",
            "Try the model",
            "The model is still in training: its answers can be wrong.",
        )
        self.canvas = Canvas()
        self.seen = Seen()
        self.result = ResultCard()
        self.experts = ExpertsCard()
        self.asking = Asking(client, self._picture)
        self.undo = Button("Undo", "link", "undo")
        self.clear = Button("Clear", "link", "close")
        self.drawing, self.text = QWidget(), TextCard()
        pair = QHBoxLayout(self.drawing)  # side by side also where it is narrow: the answer changes while one draws
        pair.setContentsMargins(0, 0, 0, 0)
        pair.setSpacing(look.CARD_GAP)
        pair.addWidget(self._draw_card(), 1)
        pair.addWidget(self.result, 1)
        self.body.addWidget(self.text)
        self.body.addWidget(self.drawing)
        self.body.addWidget(self.experts, 1)
        self.canvas.changed.connect(self._drawn)
        self.undo.clicked.connect(self.canvas.undo)
        self.clear.clicked.connect(self.canvas.clear)
        self.asking.answered.connect(self._answered)
        self.asking.failed.connect(self.result.show_error)
        self.asking.waiting.connect(self.result.show_wait)
        self.result.retry.clicked.connect(self.asking.restart)
        undo_key = QShortcut(QKeySequence(QKeySequence.StandardKey.Undo), self)
        undo_key.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        undo_key.activated.connect(self.canvas.undo)
        self._drawn()

    def update_status(self, status: Status) -> None:
        draws = status.asks == "picture"
        self.text.setVisible(not draws)
        self.drawing.setVisible(draws)
        self.experts.setVisible(draws)
        self.text.update_status(status)
        self.experts.update_status(status)

    def set_connected(self, connected: bool, sentence: str) -> None:
        if connected:
            self.result.show_error("")
            self.asking.restart()
        else:
            self.result.show_error(sentence)

    def _draw_card(self) -> Card:
        card = Card("Draw a digit")
        card.head.addWidget(self.undo)
        card.head.addSpacing(look.S)
        card.head.addWidget(self.clear)
        side = QVBoxLayout()
        side.setSpacing(6)
        side.addWidget(Label("What the model sees", "strong", wrap=True))
        side.addWidget(self.seen)
        side.addWidget(Label("8 by 8 pixels, 64 numbers", "cap", "text2", wrap=True))
        side.addStretch(1)
        side.addWidget(Label("Mouse, pen, or arrow keys and Space", "cap", "text3", wrap=True))
        row = QHBoxLayout()
        row.setSpacing(look.L)
        row.addWidget(self.canvas, 3)
        row.addLayout(side, 1)
        card.body.addLayout(row, 1)
        return card

    def _picture(self) -> PredictParams | None:
        return None if self.canvas.is_empty() else self.canvas.picture()

    def _drawn(self) -> None:
        empty = self.canvas.is_empty()
        self.undo.setEnabled(not empty)
        self.clear.setEnabled(not empty)
        if empty:
            self.asking.restart()
            self.seen.set_values([])
            self.result.show_nothing()
            self.experts.show_answers(None)
        else:
            self.asking.drawn()

    def _answered(self, prediction: Prediction) -> None:
        self.seen.set_values(prediction.seen)
        self.result.show_answer(prediction)
        self.experts.show_answers(prediction)


class TextCard(Card):
    """What to do with a run whose model continues text."""

    def __init__(self) -> None:
        super().__init__("Let the model continue a text")
        self.about = Label("", "body", "text2", wrap=True, tabular=True)
        command = Label('hearth generate "The for statement"', "body", selectable=True)
        command.setFont(theme().mono())
        for label in (self.about, command):
            self.body.addWidget(label)
        self.body.addStretch(1)
        self.hide()

    def update_status(self, status: Status) -> None:
        good = "" if status.accuracy is None else f" {percent(status.accuracy)} right on unseen text."
        self.about.setText(
            f"The run {status.run} ({status.run_title}) learns to tell the next byte of a text.{good} "
            "Ask it in a terminal; it answers byte by byte:"
        )


class Seen(QWidget):
    """The 8 x 8 numbers that the model is given, as grey cells."""

    def __init__(self) -> None:
        super().__init__()
        self._values: list[float] = []
        self.setFixedSize(theme().px(84), theme().px(84))
        self.set_values([])

    def set_values(self, values: list[float]) -> None:
        """Row by row, 0 to 1; an empty list for nothing."""
        self._values = values
        self.setAccessibleName("What the model sees")
        inked = sum(value > 0.25 for value in values)
        self.setAccessibleDescription(f"{inked} of 64 cells hold ink." if values else "Nothing yet.")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors, painter = theme(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        paper, ink = colors.color("sunken"), colors.color("text")
        pitch = self.width() / SEEN_SIDE
        for place in range(SEEN_SIDE * SEEN_SIDE):
            value = self._values[place] if place < len(self._values) else 0.0
            painter.setBrush(look.mix(paper, ink, min(1.0, max(0.0, value))))
            row, column = divmod(place, SEEN_SIDE)
            cell = QRectF(round(column * pitch), round(row * pitch), round(pitch) - 1, round(pitch) - 1)
            painter.drawRoundedRect(cell, 1.5, 1.5)


class ResultCard(Panel):
    """The digit, how sure, ten bars, and when the answer was given."""

    def __init__(self) -> None:
        super().__init__()
        self.digit = Label("", "display")
        self.sure = Label("", "body", "text2", tabular=True)
        self._caption = Label("Looks like a", "body", "text2")
        self._pill = Pill("", "ok", "check")
        self._foot = Label("", "cap", "text2", wrap=True, tabular=True)
        self._notice = Notice()
        self.retry = Button("Try again", "plain", "refresh")
        self._bars: list[tuple[Label, Bar, Label]] = []
        horizontal, vertical = look.CARD_PADDING
        column = QVBoxLayout(self)
        column.setContentsMargins(horizontal, vertical, horizontal, vertical)
        column.setSpacing(look.S)
        column.addLayout(self._head())
        column.addLayout(self._bar_rows(), 1)
        column.addWidget(self._foot)
        column.addWidget(self._notice)
        column.addWidget(self.retry, 0, Qt.AlignmentFlag.AlignLeft)
        self.setAccessibleName("What the model reads")
        self.retry.hide()
        self.show_nothing()

    def show_nothing(self) -> None:
        """No drawing yet."""
        self._caption.setText("Draw a digit; the model reads it while you draw.")
        self.digit.setText("")
        self.sure.setText("")
        self._pill.setVisible(False)
        self._foot.setText("")
        self.show_error("")
        self._set_bars([])

    def show_answer(self, prediction: Prediction) -> None:
        best = max(range(len(prediction.probabilities)), key=prediction.probabilities.__getitem__)
        answered = sum(answer.answered for answer in prediction.experts)
        asked = len(prediction.experts)
        whole = answered == asked
        self._caption.setText("Looks like a")
        self.digit.setText(str(best))
        self.sure.setText(f"{percent(prediction.probabilities[best])} sure")
        self._pill.set(f"{answered} of {asked} answered", "ok" if whole else "warn", "check" if whole else "clock")
        self._pill.setVisible(True)
        right = "" if prediction.accuracy is None else f"; {percent(prediction.accuracy)} right on unseen digits"
        self._foot.setText(f"In {lasted(prediction.ms)}. Step {number(prediction.step)}{right}.")
        self.show_error("")
        self._set_bars(prediction.probabilities)

    def show_error(self, sentence: str) -> None:
        """A sentence in the place of the answer; an older answer stays in sight."""
        self._notice.set_text(sentence)
        self._foot.setVisible(not sentence)

    def show_wait(self, wait: Wait) -> None:
        """Still placeholders first, then what is awaited, then a way out."""
        if wait is not Wait.NONE and not self.digit.text():
            self._caption.setText("The model is reading")
        if wait in (Wait.EXPLAIN, Wait.RETRY):
            self._foot.setText(WAITING[wait])
        self.retry.setVisible(wait is Wait.RETRY)

    def _head(self) -> QHBoxLayout:
        figures = QHBoxLayout()
        figures.setSpacing(look.M)
        figures.addWidget(self.digit)
        figures.addWidget(self.sure)
        figures.addStretch(1)
        left = QVBoxLayout()
        left.setSpacing(0)
        left.addWidget(self._caption)
        left.addLayout(figures)
        head = QHBoxLayout()
        head.addLayout(left, 1)
        head.addWidget(self._pill, 0, Qt.AlignmentFlag.AlignVCenter)
        self.digit.setMinimumHeight(self.digit.fontMetrics().height())
        return head

    def _bar_rows(self) -> QGridLayout:
        rows = QGridLayout()
        rows.setHorizontalSpacing(look.M)
        rows.setVerticalSpacing(2)
        rows.setColumnStretch(1, 1)
        for value in range(DIGITS):
            share = Label("", "strong", tabular=True)
            share.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            share.setMinimumWidth(share.fontMetrics().horizontalAdvance("100.0%") + 4)
            row = (Label(str(value), "strong", tabular=True), Bar("text2", 9), share)
            for column, widget in enumerate(row):
                rows.addWidget(widget, value, column, Qt.AlignmentFlag.AlignVCenter)
            self._bars.append(row)
        return rows

    def _set_bars(self, probabilities: list[float]) -> None:
        best = max(probabilities, default=1.0)
        for digit_value, (digit, bar, share) in enumerate(self._bars):
            value = probabilities[digit_value] if digit_value < len(probabilities) else None
            leads = value is not None and value == best
            bar.set_value(value or 0.0, "ember_fill" if leads else "text2")
            share.setText("" if value is None else percent(value))
            for label in (digit, share):
                set_tone(label, "text" if leads else "text2")
                label.setFont(theme().font("head" if leads else "strong", tabular=True))
            bar.setAccessibleName(f"{digit_value}" if value is None else f"{digit_value}: {percent(value)}")


class ExpertsCard(Card):
    """Both layers' grids with the lit experts, and the list beside them."""

    def __init__(self) -> None:
        super().__init__("Experts that answered")
        self._legend()
        self._note = Label("", "body", "text2")
        self._grids: list[AnswerGrid] = []
        self.lists: list[AnswerList] = []
        self._dividers: list[Divider] = []
        self._layers = QHBoxLayout()
        self._layers.setSpacing(look.L)
        self._figures = QVBoxLayout()
        self._figures.setSpacing(look.S)
        self._figures.addWidget(self._note)
        self._figures.addStretch(1)
        row = QHBoxLayout()
        row.setSpacing(look.XL)
        row.addLayout(self._layers, 3)
        row.addLayout(self._figures, 2)
        self.body.addLayout(row, 1)
        self._shape: tuple[int, ...] = ()
        self._hosted: tuple[int, tuple[int, ...], list[str]] = (0, (), [])
        self._prediction: Prediction | None = None

    @property
    def grids(self) -> list[AnswerGrid]:
        return self._grids

    def update_status(self, status: Status) -> None:
        """The shape of the grid and who is hosted here."""
        hosted = (status.layers, status.grid, [expert.uid for expert in status.experts])
        if hosted == self._hosted:
            return
        self._hosted = hosted
        while len(self._grids) < min(status.layers, LAYERS_SHOWN):
            self._add_layer()
        self._shape = status.grid
        for grid in self._grids:
            mine = [expert.uid for expert in status.experts if _layer_of(expert.uid) == grid.layer]
            grid.set_hosted(status.grid, mine)
        self._describe()

    def show_answers(self, prediction: Prediction | None) -> None:
        """Light the experts of an answer, or none."""
        self._prediction = prediction
        for grid, figures in zip(self._grids, self.lists, strict=True):
            answers = [answer for answer in prediction.experts if answer.layer == grid.layer] if prediction else []
            grid.set_answers(answers)
            figures.set_answers(answers)
        self._describe()

    def _describe(self) -> None:
        for divider in self._dividers:
            divider.setVisible(self._prediction is not None)
        if self._prediction is None or not self._shape or not self._grids:
            self._note.setText("They light up when you draw.")
            return
        cells = 1
        for size in self._shape:
            cells *= size
        first = sum(answer.layer == self._grids[0].layer for answer in self._prediction.experts)
        self._note.setText(f"{first} best of {cells} in each layer")

    def _legend(self) -> None:
        for kind, word in LEGEND.items():
            self.head.addSpacing(look.S)
            self.head.addWidget(Swatch(kind))
            self.head.addWidget(Label(word, "cap", "text2"))

    def _add_layer(self) -> None:
        layer = len(self._grids)
        grid, figures = AnswerGrid(layer), AnswerList()
        column = QVBoxLayout()
        column.setSpacing(look.XS)
        name = Label(f"Layer {layer}", "body", "text2")
        name.setIndent(PAD)
        column.addWidget(name)
        column.addWidget(grid, 1)
        self._layers.addLayout(column, 1)
        if layer:
            self._dividers.append(Divider())
            self._figures.insertWidget(self._figures.count() - 1, self._dividers[-1])
        self._figures.insertWidget(self._figures.count() - 1, figures)
        self._grids.append(grid)
        self.lists.append(figures)
        if self._prediction is not None:
            self.show_answers(self._prediction)

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint().expandedTo(QSize(0, theme().px(230)))


def _layer_of(uid: str) -> int | None:
    part = uid.split(".")[1:2]
    return int(part[0]) if part and part[0].isdecimal() and len(part[0]) < 6 else None

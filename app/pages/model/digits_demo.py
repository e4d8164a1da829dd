"""Try a model that reads pictures: draw a digit, see what the model reads and which experts answered."""

import msgspec
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QKeySequence, QPaintEvent, QShortcut
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QWidget

from app import theme as look
from app.colors import mix
from app.formats import milliseconds, number, percent
from app.icons import smooth
from app.language import mark, tr
from app.pages.model.answers_card import AnswersCard
from app.pages.model.digit_canvas import Canvas
from app.pages.model.digit_question import DigitQuestion, Wait
from app.theme import theme
from app.widgets.basics import Bar, Card, Label, Notice, Pair, Panel, Pill
from app.widgets.boxes import STRETCH, add, grid_box, hbox, vbox
from app.widgets.buttons import Button
from app.worker.client import WorkerClient
from core.contracts.control import Prediction, PredictParams
from core.contracts.status import CurvePoint, Status

DIGITS = 10
SEEN_SIDE = 8
WAITING = {
    Wait.PLACEHOLDER: "",
    Wait.EXPLAIN: mark("The compute process is starting; the model answers when it is ready."),
    Wait.RETRY: mark("The model has not answered for 15 s."),
}


class DigitsDemo(QWidget):
    """Asks the model about a drawing."""

    def __init__(self, client: WorkerClient) -> None:
        super().__init__()
        self._client = client
        self._run: str | None = None
        self._guessed = False
        """The answer in sight comes from a model that had learnt nothing yet."""
        self.canvas = Canvas()
        self.seen = Seen()
        self.result = ResultCard()
        self.experts = AnswersCard(client, tr("Experts that answered"), tr("They light up when you draw."))
        self.question = DigitQuestion(client, self._picture)
        self.undo = Button(tr("Undo"), "link", "undo", clicked=self.canvas.undo)
        self.clear = Button(tr("Clear"), "link", "close", clicked=self.canvas.clear)
        # Side by side also where it is narrow: the answer changes while one draws.
        pair = Pair(self._draw_card(), self.result, early=False)
        vbox(pair, (self.experts, 1), spacing=look.CARD_GAP, within=self)
        self.canvas.changed.connect(self._drawn)
        self.question.answered.connect(self._answered)
        self.question.failed.connect(self.result.show_error)
        self.question.waiting.connect(self.result.show_wait)
        self.result.retry.clicked.connect(self.question.restart)
        undo_key = QShortcut(QKeySequence(QKeySequence.StandardKey.Undo), self)
        undo_key.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        undo_key.activated.connect(self.canvas.undo)
        self._drawn()

    def update_status(self, status: Status) -> None:
        self._run = status.run_id
        self.experts.update_status(status)

    def update_curve(self, points: list[CurvePoint]) -> None:
        """Ask again about the drawing once the model has learnt something; each answer tells how good the model is."""
        if self._guessed and points and points[-1].learnt:
            self._guessed = False
            self.question.drawn()

    def set_connected(self, connected: bool, sentence: str, calm: bool = False) -> None:
        if connected:
            self.result.show_error("")
            self.question.restart()
        else:
            self.result.show_error(sentence, calm)

    def _draw_card(self) -> Card:
        card = Card(tr("Draw a digit"))
        add(card.head, self.undo, look.S, self.clear)
        side = vbox(
            Label(tr("What the model sees"), "strong", wrap=True),
            self.seen,
            Label(tr("8 by 8 pixels, 64 numbers"), "cap", "text2", wrap=True),
            STRETCH,
            Label(tr("Mouse, pen, or arrow keys and Space"), "cap", "text3", wrap=True),
            spacing=6,
        )
        card.body.addLayout(hbox((self.canvas, 3), (side, 1), spacing=look.L), 1)
        return card

    def _picture(self) -> PredictParams | None:
        return None if self.canvas.is_empty() else msgspec.structs.replace(self.canvas.picture(), run=self._run)

    def _drawn(self) -> None:
        empty = self.canvas.is_empty()
        self.undo.setEnabled(not empty)
        self.clear.setEnabled(not empty)
        if empty:
            self.question.restart()
            self.seen.set_values([])
            self.result.show_nothing()
            self.experts.show_answers([])
        else:
            self.question.drawn()

    def _answered(self, prediction: Prediction) -> None:
        self._guessed = not prediction.learnt
        self.seen.set_values(prediction.seen)
        self.result.show_answer(prediction)
        self.experts.show_answers(prediction.experts)


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
        self.setAccessibleName(tr("What the model sees"))
        inked = sum(value > 0.25 for value in values)
        self.setAccessibleDescription(
            tr("{inked} of 64 cells hold ink.", inked=inked) if values else tr("Nothing yet.")
        )
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors, painter = theme(), smooth(self)
        painter.setPen(Qt.PenStyle.NoPen)
        paper, ink = colors.color("sunken"), colors.color("text")
        pitch = self.width() / SEEN_SIDE
        for place in range(SEEN_SIDE * SEEN_SIDE):
            value = self._values[place] if place < len(self._values) else 0.0
            painter.setBrush(mix(paper, ink, min(1.0, max(0.0, value))))
            row, column = divmod(place, SEEN_SIDE)
            cell = QRectF(round(column * pitch), round(row * pitch), round(pitch) - 1, round(pitch) - 1)
            painter.drawRoundedRect(cell, 1.5, 1.5)


class ResultCard(Panel):
    """The digit, how sure, ten bars, and when the answer was given."""

    def __init__(self) -> None:
        super().__init__()
        self.digit = Label("", "display")
        self.sure = Label("", "body", "text2", tabular=True)
        self._caption = Label(tr("Looks like"), "body", "text2")
        self._pill = Pill("", "ok", "check")
        self._foot = Label("", "cap", "text2", wrap=True, tabular=True)
        self._notice = Notice()
        self.retry = Button(tr("Try again"), "plain", "refresh")
        self._bars: list[tuple[Label, Bar, Label]] = []
        horizontal, vertical = look.CARD_PADDING
        vbox(
            self._head(),
            (self._bar_rows(), 1),
            self._foot,
            self._notice,
            (self.retry, Qt.AlignmentFlag.AlignLeft),
            spacing=look.S,
            margins=(horizontal, vertical, horizontal, vertical),
            within=self,
        )
        self.setAccessibleName(tr("What the model reads"))
        self.retry.hide()
        self.show_nothing()

    def show_nothing(self) -> None:
        """No drawing yet."""
        self._caption.setText(tr("Draw a digit; the model reads it while you draw."))
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
        sure = tr("{share} sure", share=percent(prediction.probabilities[best]))
        self._caption.setText(tr("Looks like") if prediction.learnt else tr("Not trained yet"))
        self.digit.setText(str(best) if prediction.learnt else "?")
        self.sure.setText(sure if prediction.learnt else tr("It would be a guess"))
        self._pill.set(
            tr("{answered} of {asked} answered", answered=answered, asked=asked),
            "ok" if whole else "warn",
            "check" if whole else "clock",
        )
        self._pill.setVisible(asked > 0)
        figures = {"time": milliseconds(prediction.ms), "step": number(prediction.step)}
        foot = tr("In {time}. Step {step}.", **figures)
        if prediction.accuracy is not None:
            right = percent(prediction.accuracy)
            foot = tr("In {time}. Step {step}; {right} correct on unseen digits.", **figures, right=right)
        self._foot.setText(foot)
        self.show_error("")
        self._set_bars(prediction.probabilities, prediction.learnt)

    def show_error(self, sentence: str, calm: bool = False) -> None:
        """A sentence in the place of the answer; an older answer stays in sight."""
        self._notice.set_text(sentence, calm)
        self._foot.setVisible(not sentence)

    def show_wait(self, wait: Wait) -> None:
        """Still placeholders first, then what is awaited, then a way out."""
        if wait is not Wait.NONE and not self.digit.text():
            self._caption.setText(tr("The model is reading"))
        if wait in (Wait.EXPLAIN, Wait.RETRY):
            self._foot.setText(tr(WAITING[wait]))
        self.retry.setVisible(wait is Wait.RETRY)

    def _head(self) -> QHBoxLayout:
        head = hbox(
            (vbox(self._caption, hbox(self.digit, self.sure, STRETCH, spacing=look.M), spacing=0), 1),
            (self._pill, Qt.AlignmentFlag.AlignVCenter),
        )
        self.digit.setMinimumHeight(self.digit.fontMetrics().height())
        return head

    def _bar_rows(self) -> QGridLayout:
        rows = grid_box(look.M, 2, stretch={1: 1})
        for value in range(DIGITS):
            share = Label("", "strong", tabular=True, align=Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            share.setMinimumWidth(share.fontMetrics().horizontalAdvance(percent(1)) + 4)
            row = (Label(str(value), "strong", tabular=True), Bar("text2", 9), share)
            for column, widget in enumerate(row):
                rows.addWidget(widget, value, column, Qt.AlignmentFlag.AlignVCenter)
            self._bars.append(row)
        return rows

    def _set_bars(self, probabilities: list[float], learnt: bool = True) -> None:
        best = max(probabilities, default=1.0) if learnt else None
        for digit_value, (digit, bar, share) in enumerate(self._bars):
            value = probabilities[digit_value] if digit_value < len(probabilities) else None
            leads = value is not None and value == best
            bar.set_value(value or 0.0, "ember_fill" if leads else "text2")
            share.setText("" if value is None else percent(value))
            for label in (digit, share):
                theme().set_tone(label, "text" if leads else "text2")
                label.setFont(theme().font("head" if leads else "strong", tabular=True))
            bar.setAccessibleName(f"{digit_value}" if value is None else f"{digit_value}: {percent(value)}")

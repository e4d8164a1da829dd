"""Try a model that continues text: a prompt, what the model adds while it comes, and who answered for each of it."""

import time
from bisect import bisect_right
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app import theme as look
from app.formats import number, rate
from app.language import mark, tr, tr_run
from app.pages.model.answering_hosts import Hosts
from app.pages.model.answers_by_byte import AnswersByByteCard, described, heading
from app.pages.model.answers_card import AnswersCard
from app.pages.model.doubt import Likeliest
from app.pages.model.text_block import TextBlock
from app.pages.model.text_generation import TextGeneration, units
from app.pages.model.unit_words import WORDS
from app.theme import theme
from app.widgets.basics import Card, Divider, ElidedLabel, Label, Notice, Pair, Pill
from app.widgets.boxes import STRETCH, add, hbox, vbox
from app.widgets.buttons import Button
from app.widgets.inputs import NumberField, Slider
from app.worker.client import WorkerClient
from core.contracts.control import GenerateParams
from core.contracts.status import CurvePoint, Status

PROMPT = "The for statement"
LONGEST = 4096
"""Characters of a prompt."""
LENGTHS, LENGTH = (10, 2000), 200
"""Bytes or tokens."""
COLDEST, HOTTEST, TENTHS = 0, 20, 7
"""The temperature, in tenths."""
REDRAW_S = 0.25
"""Between two pictures of who answered."""
UNTAUGHT = mark("Not trained yet: what it adds is no better than chance.")
LINES = mark("Underlined: the model was less sure. Dotted: below 80%, solid: below 40%.")
TOO_LONG = mark("The prompt is longer than {most} characters. Shorten it; the model sees only its end.")


class TextDemo(QWidget):
    """Lets the model go on with a text.

    Args:
        client: the worker.
        unit: what the model writes one by one, "bytes" or "tokens".
    """

    def __init__(self, client: WorkerClient, unit: str) -> None:
        super().__init__()
        hosts = Hosts()
        self._words = WORDS[unit]
        self.generation = TextGeneration(client, unit)
        self.prompt = QPlainTextEdit(PROMPT)
        theme().set_sheet(self.prompt, "text")
        self.temperature = Slider(tr("Temperature"), COLDEST, HOTTEST, TENTHS, lambda tenths: number(tenths / 10, 1))
        self.length = NumberField()
        self.go = Button(tr("Stop"), "primary", "play")
        least = self.go.sizeHint().width()
        self.go.setText(tr("Continue"))
        # Room for either word: who clicks twice at one place continues and stops, and no card moves.
        self.go.setMinimumWidth(max(least, self.go.sizeHint().width()))
        self.page = TextBlock(self._words)
        self.copy = Button(
            tr("Copy"), "link", "copy", name=tr("Copy: {name}", name=tr("Continuation")), clicked=self._copy
        )
        self.experts = AnswersCard(
            client, tr("Experts that answered"), tr("They light up while the text grows."), hosts, upright=True
        )
        self.answers = AnswersByByteCard(hosts, self._words)
        self.likeliest = Likeliest(self._words)
        self._figures = ElidedLabel("", "cap", "text2", tabular=True)  # they grow, and must not ask for more room
        self._notice = Notice()
        self._about = Label("", "cap", "text2", wrap=True, tabular=True)
        self._pill = Pill("", "ok", "check")
        self._status: Status | None = None
        self._awaited = ""
        self._points: list[CurvePoint] = []
        self._chosen: int | None = None
        self._drawn_at = 0.0
        self._ordered = 0
        """Controls whose order of focus is set."""
        self._build()
        self._wire()
        self._grown()

    def update_status(self, status: Status) -> None:
        self._status = status
        self.experts.update_status(status)
        self._order_focus()
        self._describe()

    def update_curve(self, points: list[CurvePoint]) -> None:
        self._points = points
        self._describe()

    def set_connected(self, connected: bool, sentence: str, calm: bool = False) -> None:
        if connected:
            self._notice.set_text("")
        elif not self.generation.running:  # else the text's own end says it
            self._notice.set_text(sentence, calm)

    # building

    def _build(self) -> None:
        self._name_all()
        self.experts.head.addWidget(self._pill)
        add(self.experts.body, Divider(), self.likeliest)
        # Side by side also where it is narrow: who answers changes while one reads.
        pair = Pair(self._text_card(), self.experts, early=False)
        vbox((pair, 1), self.answers, spacing=look.CARD_GAP, within=self)

    def _name_all(self) -> None:
        self.prompt.setTabChangesFocus(True)
        self.prompt.document().setDocumentMargin(look.S)
        self.prompt.setFixedHeight(theme().px(66))
        self.prompt.setAccessibleName(tr("Your prompt"))
        self.prompt.setAccessibleDescription(
            tr("The model continues where it ends. Ctrl+Enter continues, Escape stops.")
        )
        self.length.setRange(*LENGTHS)
        self.length.setSingleStep(50)
        self.length.setValue(LENGTH)
        self.length.setSuffix(f" {tr(self._words.units)}")
        self.length.setAccessibleName(tr(self._words.length))
        self.temperature.setToolTip(tr(self._words.temperature))
        self.temperature.setAccessibleDescription(self.temperature.toolTip())

    def _text_card(self) -> Card:
        card = Card(tr("Your prompt"))
        card.body.addWidget(self.prompt)
        warmth = hbox(
            Label(tr("Temperature"), "body", "text2"), (self.temperature, 1), self.temperature.figure, spacing=look.M
        )
        add(
            card.body,
            warmth,
            hbox(Label(tr("Length"), "body", "text2"), self.length, STRETCH, self.go, spacing=look.M),
            Divider(),
        )
        add(
            card.body,
            hbox(Label(tr("Continuation"), "head"), STRETCH, self._figures),
            (self.page, 1),
            self._notice,
            hbox((self._about, 1), self.copy, spacing=look.M),
            Label(tr(LINES), "cap", "text3", wrap=True),
        )
        return card

    def _wire(self) -> None:
        self.go.clicked.connect(self._go_or_stop)
        self.generation.grown.connect(self._grown)
        self.generation.told.connect(self._tell)
        self.generation.failed.connect(self._notice.set_text)
        self.page.chosen.connect(self._choose_at)
        self.answers.columns.chosen.connect(self._choose_and_show)
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(self.start)
        self._escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), self)
        self._escape.activated.connect(self.generation.stop)

    def _order_focus(self) -> None:
        """Layers and rows come late; Qt would put them behind the strip."""
        order = [self.page, self.copy, *self.experts.stops, self.answers.columns]
        if len(order) != self._ordered:
            self._ordered = len(order)
            for one, following in pairwise(order):
                QWidget.setTabOrder(one, following)

    # a text

    def start(self) -> None:
        """Let the model go on with the prompt."""
        prompt = self.prompt.toPlainText()
        if len(prompt) > LONGEST:
            self._notice.set_text(tr(TOO_LONG, most=number(LONGEST)))
            return
        self._notice.set_text("")
        self._chosen = None
        self.generation.stop()  # first: what it has written stands below the prompt before
        self.page.begin(prompt)
        run = self._status.run_id if self._status else None
        self.generation.start(GenerateParams(prompt, self.length.value(), self.temperature.value() / 10, run=run))
        self._describe()

    def _copy(self) -> None:
        """Prompt and continuation, as they stand there."""
        QGuiApplication.clipboard().setText(self.page.toPlainText())
        self.copy.setText(tr("Copied"))

    def _go_or_stop(self) -> None:
        if self.generation.running:
            self.generation.stop()
        else:
            self.start()

    def _grown(self) -> None:
        generation = self.generation
        self.page.grow(generation.bytes)
        self.copy.setEnabled(bool(generation.bytes))
        self.copy.setText(tr("Copy"))
        self.go.setText(tr("Stop") if generation.running else tr("Continue"))
        self.go.set_icon("stop" if generation.running else "play")
        self.go.set_kind("plain" if generation.running else "primary")
        self.go.setToolTip(
            QKeySequence("Esc" if generation.running else "Ctrl+Enter").toString(QKeySequence.SequenceFormat.NativeText)
        )
        self._escape.setEnabled(generation.running)
        self._figures.setText(self._progress())
        now = time.monotonic()
        if now - self._drawn_at >= REDRAW_S or not generation.running:
            self._drawn_at = now
            self._show_experts()

    def _progress(self) -> str:
        generation = self.generation
        if not generation.bytes:
            return tr("The model is reading") if generation.running else ""
        written, wanted = number(len(generation.bytes)), number(generation.wanted)
        count = tr(self._words.progress, count=written, wanted=wanted)
        if generation.ended:
            return tr("{count}, ended by the model", count=count)
        if not generation.running and len(generation.bytes) < generation.wanted:
            return tr("{count}, stopped", count=count)
        return (
            count
            if generation.rate is None
            else tr("{count}, {rate} per second", count=count, rate=rate(generation.rate))
        )

    def _tell(self, awaited: str) -> None:
        self._awaited = awaited
        self._describe()

    def _describe(self) -> None:
        """Which run and step answer, and how good the model is; or what is awaited."""
        status, generation = self._status, self.generation
        if generation.bytes and not generation.running:
            return  # a text that has ended keeps the step that it was written at, whatever the worker is at now
        if self._awaited or status is None:
            self._about.setText(self._awaited)
        else:
            about = f"{tr_run(status.run_title)}, {tr('step {step}', step=number(status.step))}"
            if self._points and status.step:
                bits = number(self._points[-1].bits_per_byte, 2)
                about = f"{about}; {tr('{bits} bits per byte on unseen text', bits=bits)}"
            learnt = status.step and all(point.learnt for point in self._points[-1:])
            self._about.setText(f"{about}." if learnt else f"{about}. {tr(UNTAUGHT)}")

    # who answered

    def _choose(self, place: int | None) -> None:
        """Show a byte of the text; None: the newest."""
        if place != self._chosen:
            self._chosen = place
            self._show_experts()

    def _choose_at(self, start: int | None) -> None:
        if start is not None and self.generation.bytes:
            place = bisect_right(self.generation.bytes, start, key=lambda byte: byte.start) - 1
            self._choose(place if 0 <= place < len(self.generation.bytes) - 1 else None)
        else:
            self._choose(None)

    def _choose_and_show(self, place: int | None) -> None:
        self._choose(place)
        self.page.go_to(None if place is None else self.generation.bytes[place].start)

    def _show_experts(self) -> None:
        known = self.generation.bytes
        if self._chosen is None:
            self.page.mark(None)
            self.page.describe("")
        else:
            start, following = known[self._chosen].start, known[self._chosen + 1 :]
            after = start + max(1, units(known[self._chosen].text))
            self.page.mark((start, next((byte.start for byte in following if byte.start > start), after)))
            self.page.describe(described(self._words, self._chosen, known[self._chosen]))
        self.answers.show_bytes(known, self._chosen)
        self._pill.setVisible(bool(known))
        if not known:
            self.experts.title.setText(tr("Experts that answered"))
            self.experts.show_answers([])
            self.likeliest.show_byte(None)
            return
        place = len(known) - 1 if self._chosen is None else self._chosen
        answers = known[place].experts
        answered = sum(answer.answered for answer in answers)
        whole = answered == len(answers)
        self.experts.title.setText(heading(self._words, place, known[place]))
        self.experts.show_answers(answers)
        self.likeliest.show_byte(known[place])
        self._order_focus()
        self._pill.set(
            tr("{answered} of {answers} answered", answered=answered, answers=len(answers)),
            "ok" if whole else "warn",
            "check" if whole else "clock",
        )

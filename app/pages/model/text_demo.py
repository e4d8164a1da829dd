"""Try a model that continues text: a prompt, what the model adds while it comes, and who answered for each of it. Where
the run says how, one can talk to it as well.
"""

import time
from bisect import bisect_right
from itertools import pairwise

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.formats import number, rate
from app.language import mark, tr, tr_run
from app.pages.model.answering_hosts import Hosts
from app.pages.model.answers_by_byte import AnswersByByteCard, described, heading
from app.pages.model.answers_card import AnswersCard
from app.pages.model.conversation import parts, recent, said
from app.pages.model.doubt import Likeliest
from app.pages.model.prompt_field import PromptField
from app.pages.model.text_block import Part, TextBlock
from app.pages.model.text_generation import TextGeneration, units
from app.pages.model.text_options import TextOptions
from app.pages.model.tried_texts import MOST_TURNS, Tried, TriedTexts
from app.pages.model.unit_words import WORDS
from app.widgets.basics import Card, Divider, ElidedLabel, Label, Notice, Pair, Pill
from app.widgets.boxes import STRETCH, add, hbox, vbox
from app.widgets.buttons import Button, Segmented
from app.worker.client import WorkerClient
from core.contracts.control import Said
from core.contracts.status import CurvePoint, Status

PROMPT = "The for statement"
LONGEST = 4096
"""Characters of a prompt."""
REDRAW_S = 0.25
"""Between two pictures of who answered."""
UNTAUGHT = mark("Not trained yet: what it adds is no better than chance.")
LINES = mark("Underlined: the model was less sure. Dotted: below 80%, solid: below 40%.")
TALK, TEXT = "talk", "text"
TOO_LONG = mark("The prompt is longer than {most} characters. Shorten it; the model sees only its end.")


class TextDemo(QWidget):
    """Lets the model go on with a text.

    Args:
        client: the worker.
        unit: what the model writes one by one, "bytes" or "tokens".
        tried: where what was tried is kept.
    """

    former_asked = Signal()
    """The user wants to see what was tried before."""

    def __init__(self, client: WorkerClient, unit: str, tried: TriedTexts) -> None:
        super().__init__()
        hosts = Hosts()
        self._tried = tried
        self._words = WORDS[unit]
        self.generation = TextGeneration(client, unit)
        self.prompt = PromptField(PROMPT)
        self.go = Button("", "primary", "play")
        least = 0
        for word in (tr("Stop"), tr("Send"), tr("Continue")):
            self.go.setText(word)
            least = max(least, self.go.sizeHint().width())
        # Room for each word: who clicks twice at one place continues and stops, and no card moves.
        self.go.setMinimumWidth(least)
        self.options = TextOptions(self._words, self.go)
        self.temperature, self.length = self.options.temperature, self.options.length
        self.way = Segmented({TALK: tr("Talk"), TEXT: tr("Continue")}, tr("What to do with the model"))
        self.former = Button(tr("History"), "link", "clock", clicked=self.former_asked)
        words = tr("New conversation")
        self.anew = Button(tr("New"), "link", "plus", clicked=self._begin_anew, name=words, tip=words)
        self.page = TextBlock(self._words)
        self.copy = Button(
            tr("Copy"), "link", "copy", name=tr("Copy: {name}", name=tr("Continuation")), clicked=self._copy
        )
        self.experts = AnswersCard(
            client, tr("Experts that answered"), tr("They light up while the text grows."), hosts, upright=True
        )
        self.answers = AnswersByByteCard(hosts, self._words)
        self.likeliest = Likeliest(self._words)
        self._card, self._head = Card(""), Label("", "head")
        self._figures = ElidedLabel("", "cap", "text2", tabular=True)  # they grow, and must not ask for more room
        self._notice = Notice()
        self._about = Label("", "cap", "text2", wrap=True, tabular=True)
        self._pill = Pill("", "ok", "check")
        self._status: Status | None = None
        self._talks = False
        self._drafts = {False: PROMPT, True: ""}
        """What stood in the field last, by whether one talks."""
        self._began = 0.0
        """When the text or conversation began that stands on the page."""
        self._turns: tuple[Said, ...] = ()
        """Of the conversation, or a prompt."""
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
        can_talk = self._status is not None and self._status.chat
        self._status = status
        if status.chat != can_talk:
            self.way.setVisible(status.chat)
            self._choose_way(TALK if status.chat else TEXT)
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
        self._name_way()
        self.experts.head.addWidget(self._pill)
        add(self.experts.body, Divider(), self.likeliest)
        # Side by side also where it is narrow: who answers changes while one reads.
        pair = Pair(self._text_card(), self.experts, early=False)
        vbox((pair, 1), self.answers, spacing=look.CARD_GAP, within=self)

    def _name_way(self) -> None:
        """What is said of the parts, by what is done with the model."""
        name = tr("Your message") if self._talks else tr("Your prompt")
        self._card.title.setText(name)
        self._card.setAccessibleName(name)
        self.prompt.setAccessibleName(name)
        self.prompt.setAccessibleDescription(
            tr("The model answers. Enter sends, Shift+Enter begins a new line, Escape stops.")
            if self._talks
            else tr("The model continues where it ends. Ctrl+Enter continues, Escape stops.")
        )
        self._head.setText(tr("Conversation") if self._talks else tr("Continuation"))
        self.page.setAccessibleName(self._head.text())
        self.page.setPlaceholderText(
            tr("What you and the model say appears here.") if self._talks else tr("What the model adds appears here.")
        )
        self.anew.setVisible(self._talks)
        self.page.set_talks(self._talks)
        self.prompt.enter_sends = self._talks

    def _text_card(self) -> Card:
        add(self._card.head, self.way, self.former)
        self.way.hide()
        add(self._card.body, self.prompt, self.options, Divider())
        add(
            self._card.body,
            hbox(self._head, STRETCH, self._figures, spacing=look.M),
            (self.page, 1),
            self._notice,
            hbox((self._about, 1), self.anew, self.copy, spacing=look.M),
            Label(tr(LINES), "cap", "text3", wrap=True),
        )
        return self._card

    def _wire(self) -> None:
        self.go.clicked.connect(self._go_or_stop)
        self.generation.grown.connect(self._grown)
        self.generation.told.connect(self._tell)
        self.generation.failed.connect(self._notice.set_text)
        self.generation.over.connect(self._keep)
        self.prompt.sent.connect(self.start)
        self.way.chosen.connect(self._choose_way)
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
        order = [self.page, self.anew, self.copy, *self.experts.stops, self.answers.columns]
        if len(order) != self._ordered:
            self._ordered = len(order)
            for one, following in pairwise(order):
                QWidget.setTabOrder(one, following)

    # a text

    def start(self) -> None:
        """Let the model go on with the prompt, or answer it."""
        prompt = self.prompt.toPlainText()
        if len(prompt) > LONGEST:
            self._notice.set_text(tr(TOO_LONG, most=number(LONGEST)))
            return
        if self._talks and (self.generation.running or not prompt.strip()):
            return  # one after the other; the message stays
        self._notice.set_text("")
        self._chosen = None
        self.generation.stop()  # first: what it has written stands below the prompt before
        run, new = self._status.run_id if self._status else None, said("user", prompt)
        if not self._talks or not self._turns:
            self._began = time.time()
        if self._talks:
            self._turns = (*self._turns, new)[-MOST_TURNS:]
            self.prompt.clear()
            self.page.begin(*parts(self._turns, answer_follows=True))
            self.generation.start(self.options.params("", recent(self._turns), run))
        else:
            self._turns = (new,)
            self.page.begin(Part(prompt))
            self.generation.start(self.options.params(prompt, (), run))
        self._describe()

    def _keep(self) -> None:
        """Note what the model has written; if that is nothing, nothing was said either."""
        status, text = self._status, said("assistant", self.generation.text)
        if text.content.strip():
            self._turns = (*self._turns, text)
        elif self._talks:
            *before, message = self._turns
            self._turns = tuple(before)
            self.page.begin(*parts(before))
            if not self.prompt.toPlainText():
                self.prompt.setPlainText(message.content)
        if status is not None and text.content.strip():
            turns = self._turns[-MOST_TURNS:]
            self._tried.put(Tried(self._began, status.run_id, status.run_title, turns, self._talks))
        if self._talks and text.content.strip() and self.isVisible():  # once, and not piece by piece
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.page, text.content))

    def _choose_way(self, way: str) -> None:
        """Talk to the model, or let it continue a text; each begins with an empty page, and keeps what was typed."""
        self.generation.clear()  # first: a message without an answer comes back
        self._drafts[self._talks] = self.prompt.toPlainText()
        self._talks = way == TALK
        self.way.set_value(way)
        self.prompt.setPlainText(self._drafts[self._talks])
        self._name_way()
        self._show((), self._talks)

    def _begin_anew(self) -> None:
        """With nothing said before."""
        self.generation.clear()
        self._show((), chat=True)
        self.prompt.setFocus()

    def open_former(self, text: Tried) -> None:
        """Show a text that was tried before; a conversation can be continued."""
        self.generation.clear()
        can_talk = self._status is not None and self._status.chat
        if self._talks != (text.chat and can_talk):
            self._choose_way(TEXT if self._talks else TALK)
        self._show(text.turns, text.chat)
        self._began = text.began
        if not text.chat:
            self.prompt.setPlainText(text.turns[0].content)

    def _show(self, turns: tuple[Said, ...], chat: bool) -> None:
        """Show what was said or written, none of it by the model just now."""
        self._turns, self._chosen = turns, None
        self._notice.set_text("")
        written = [Part(turn.content, "text" if at else "text3") for at, turn in enumerate(turns)]
        self.page.begin(*(parts(turns) if chat else written))
        self._grown()

    def _copy(self) -> None:
        """Prompt and continuation, or the conversation, as they stand there."""
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
        self.copy.setEnabled(bool(generation.bytes) or len(self._turns) > 1)
        self.copy.setText(tr("Copy"))
        self.anew.setEnabled(bool(self._turns))
        self.go.setText(tr("Stop") if generation.running else tr("Send") if self._talks else tr("Continue"))
        self.go.set_icon("stop" if generation.running else "play")
        self.go.set_kind("plain" if generation.running else "primary")
        keys = QKeySequence("Esc" if generation.running else "Enter" if self._talks else "Ctrl+Enter")
        self.go.setToolTip(keys.toString(QKeySequence.SequenceFormat.NativeText))
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
            return tr("{count}, ended" if generation.stops else "{count}, ended by the model", count=count)
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

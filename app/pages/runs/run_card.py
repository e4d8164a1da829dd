"""A joined run: its state, what this PC gave it, its share of the time, and who organises it."""

from typing import NamedTuple

from PySide6.QtCore import Qt, Signal

from app import theme as look
from app.formats import NONE, number, pace, percent
from app.icons import StateGlyph
from app.language import mark, told, tr, tr_run
from app.pages.contribution.history import KINDS
from app.pages.runs import description
from app.pages.runs.run_picture import RunPicture
from app.pages.settings.setting_controls import NumberControl
from app.theme import theme
from app.widgets.basics import Figure, Figures, Label, Notice, Pair, Panel, Pill, StaleCard
from app.widgets.boxes import STRETCH, add, grid_box, hbox, holding, vbox
from app.widgets.buttons import Button
from core.contracts.kinds import TASKS
from core.contracts.ledger import Amounts
from core.contracts.notices import notice
from core.contracts.run_details import RunDetails
from core.contracts.run_times import BEGINS
from core.contracts.status import STATE_WORD, RunStatus, State, Status
from core.contracts.telemetry import RunNotice

MOST_WEIGHT = 1000
TIME = KINDS["seconds"]
UNKNOWN = mark("Appears as soon as the worker has sent it.")
ONLY_ONE = mark("This is the only run of this PC. Add another one first, then leave this one.")


class RunState(NamedTuple):
    """What a run does, why, and what ends that."""

    glyph: State
    word: str
    reason: str
    until: str


def state_of(run: RunStatus, status: Status) -> RunState:
    """The state of a run.

    Args:
        run: the run.
        status: of the whole PC.
    """
    if run.waits:
        ends = tr("Continues by itself once that is over.")
        if run.waits.code == "disk.run_waits":
            ends = tr("Continues when it has room: allow more disk space in Settings, or leave another run.")
        elif run.waits.code in BEGINS:
            ends = told(BEGINS[run.waits.code])
        return RunState("limited", tr("Waits"), told(run.waits), ends)
    if run.reached:
        ends = tr("Continues when its organiser sets a higher goal. Until then the other runs get its time.")
        return RunState("waiting", tr("Goal reached"), told(notice("run.reached")), ends)
    if status.state != "contributing":
        return RunState(status.state, tr(STATE_WORD[status.state]), told(status.reason), told(status.until))
    if run.phase == "training":
        said = tr("{pace} per second, step {step}.", pace=pace(run.task, run.samples_per_s), step=number(run.step))
        return RunState("contributing", tr("Training"), said, told(status.until))
    if run.phase in ("stopping", "leaving"):
        ends = tr("Ends by itself, in 10 s at the latest.")
        return RunState("leaving", tr("Stopping"), tr("It saves its work."), ends)
    ends = tr("Trains by itself as soon as that is ready.")
    return RunState("preparing", tr("Preparing"), tr("Its compute process has not started to train yet."), ends)


class RunCard(StaleCard):
    """One run. What the user wants of it is told by signals with the run's id."""

    weighed = Signal(str, int)
    show_asked = Signal(str)
    invite_asked = Signal(str)
    leave_asked = Signal(str)

    def __init__(self, run: RunStatus) -> None:
        super().__init__(tr_run(run.title))
        self.run_id, self._alone = run.id, True
        name = tr_run(run.title)
        self.pill = Pill(tr("Asking"), "peer")
        self.head.addWidget(self.pill)
        self.about = Label("", "body", "text2", wrap=True)
        self.about.hide()
        self.picture = RunPicture()
        self._glyph, self.word = StateGlyph(24), Label("", "strong")
        self.reason, self.until = Label("", "body", wrap=True), Label("", "body", "text2", wrap=True)
        self.news, self.says = Notice("peer", "info"), Notice("peer", "person")
        self._today, self._ever = Figure(tr("Computed today")), Figure(tr("Computed in total"))
        self._trained, self._calls = Figure(tr("Trained here")), Figure(tr("Answered for others"))
        self._unit = "samples"
        self._figures = (self._today, self._ever, self._trained, self._calls)
        self.values = [figure.value for figure in self._figures]
        self.weight = NumberControl(tr("Weight of {run}", run=name), "", 1, 1, MOST_WEIGHT)
        self.weight.chosen.connect(lambda value: self.weighed.emit(self.run_id, int(value)))
        self.share = Label("", "body", "text2", wrap=True)
        self.facts = {
            "organiser": (tr("Organiser"), Label(tr(UNKNOWN), "cap", "text2", wrap=True, selectable=True)),
            "learns": (tr("Learns"), Label("", "cap", "text2", wrap=True)),
            "data": (tr("Data"), Label("", "cap", "text2", wrap=True)),
            "access": (tr("Access"), Label("", "cap", "text2", wrap=True)),
        }
        for _, label in self.facts.values():
            label.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.show_button = Button(
            tr("Show its figures"),
            name=tr("Show the figures of {run}", run=name),
            clicked=lambda: self.show_asked.emit(self.run_id),
        )
        self.invite = Button(
            tr("Invite"),
            icon="link",
            name=tr("Invite to {run}", run=name),
            clicked=lambda: self.invite_asked.emit(self.run_id),
        )
        self.leave = Button(tr("Leave"), name=tr("Leave {run}", run=name), clicked=self._ask)
        self._build()

    def _build(self) -> None:
        state = vbox(self.word, self.reason, self.until, spacing=1)
        facts = grid_box(look.L, look.XS, stretch={1: 1})
        for row, (title, label) in enumerate(self.facts.values()):
            facts.addWidget(Label(title, "cap_strong", "text2"), row, 0, Qt.AlignmentFlag.AlignTop)
            facts.addWidget(label, row, 1)
        pair = Figures(self._today, self._ever), Figures(self._trained, self._calls)
        weight = hbox(Label(tr("Weight"), "body"), self.weight, (self.share, 1), spacing=look.M)
        self._buttons = holding(hbox(self.show_button, self.invite, self.leave, STRETCH, spacing=look.S))
        add(
            self.body,
            hbox((self.picture, Qt.AlignmentFlag.AlignTop), (self.about, 1), spacing=look.M),
            self.news,
            self.says,
            hbox((self._glyph, Qt.AlignmentFlag.AlignTop), (state, 1), spacing=look.M),
            look.XS,
            Pair(*pair, (0, 1), early=False, spacing=look.XL),
            look.XS,
            weight,
            facts,
            self._question(),
            self._buttons,
        )

    def _question(self) -> Panel:
        """What is asked before the run is left; in its place among the others, and with the focus on staying."""
        self.question = Panel("sunken", "line", look.RADIUS_CONTROL)
        self.asked = Label("", "body", wrap=True)
        self.stay = Button(tr("Stay"), clicked=self.close_question)
        self.go = Button(tr("Leave this run"), clicked=self._go)
        self.answers = holding(hbox(self.stay, self.go, STRETCH, spacing=look.S))
        margins = (look.L, look.M, look.L, look.M)
        vbox(self.asked, self.answers, spacing=look.M, margins=margins, within=self.question)
        self.question.hide()
        return self.question

    def show_run(self, run: RunStatus, status: Status) -> None:
        """Take over a status.

        Args:
            run: the run.
            status: the status that it is of.
        """
        state, self._unit = state_of(run, status), TASKS[run.task].unit
        self._glyph.set_state(state.glyph)
        self.word.setText(state.word)
        self.reason.setText(state.reason)
        self.until.setText(state.until)
        self.weight.show_value(run.weight)
        share = run.weight / sum(one.weight for one in status.runs)
        self._alone = len(status.runs) == 1
        if self._alone:
            self.share.setText(tr("All of the time, as there is no other run."))
        else:
            self.share.setText(tr("{share} of the time that this PC computes", share=percent(share, 0)))
        self.show_button.setVisible(run.id != status.run_id)

    def show_details(self, run: RunDetails) -> None:
        """Say what the run is."""
        self.pill.set(*description.signature(run))
        self.about.setText(run.manifest.description)
        self.about.setVisible(bool(run.manifest.description))
        self.news.set_text(description.news(run))
        self.facts["organiser"][1].setText(description.organiser(run))
        self.facts["learns"][1].setText(description.learns(run))
        self.facts["data"][1].setText(description.data(run))
        self.facts["access"][1].setText(description.access(run))
        self.picture.show_run(run)

    def show_notice(self, said: RunNotice | None) -> None:
        """Say what the organiser has to say to all who have joined."""
        words = notice("run.organiser_says", time=said.time, text=said.text) if said else None
        self.says.set_text(told(words) if words else "")

    def show_totals(self, today: Amounts, ever: Amounts) -> None:
        """Say what this PC gave the run, today and since it was joined."""
        for figure, amounts in ((self._today, today), (self._ever, ever)):
            figure.set(TIME.write(amounts.seconds) if amounts.seconds else NONE)
        trained = ever.samples + ever.tokens
        units = {"bytes": tr("bytes"), "tokens": tr("tokens"), "samples": tr("sample(s)", trained)}
        self._trained.set(number(trained), units[self._unit])
        self._calls.set(number(ever.peer_calls), tr("call(s)", ever.peer_calls))

    def set_stale(self, since: str) -> None:
        super().set_stale(since)
        for control in (self.weight, self.show_button, self.invite, self.leave, self.go):
            control.setEnabled(not since)
        for label in (self.word, self.reason):
            theme().set_tone(label, "text3" if since else "text")

    # leaving

    def _ask(self) -> None:
        if self._alone:
            self._show_question(tr(ONLY_ONE))
            return
        asked = tr("Leave “{run}”? What was trained stays here; the other runs get its time.", run=self.title.text())
        self._show_question(asked)

    def _show_question(self, words: str) -> None:
        self.asked.setText(words)
        self.question.setAccessibleName(words)
        self.stay.setAccessibleDescription(words)
        self.answers.setEnabled(True)
        self.go.setVisible(not self._alone)
        self.question.show()
        self._buttons.hide()
        self.stay.setFocus(Qt.FocusReason.OtherFocusReason)

    def close_question(self) -> None:
        """The run stays."""
        self._buttons.show()
        self.leave.setFocus(Qt.FocusReason.OtherFocusReason)
        self.question.hide()

    def _go(self) -> None:
        self.asked.setText(tr("Saving what was trained. The run is left as soon as that is done."))
        self.answers.setEnabled(False)
        self.leave_asked.emit(self.run_id)

    def refuse(self, words: str) -> None:
        """It could not be left."""
        self._show_question(words)

"""The head of Home: the state, why, what ends it, what one can do about it, and the fire."""

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.actions import Actions
from app.icons import StateGlyph
from app.language import mark, told, tr
from app.theme import theme
from app.widgets.basics import Label, Panel
from app.widgets.boxes import STRETCH, hbox, vbox
from app.widgets.buttons import Button
from app.widgets.fire import SAMPLES, FirePanel
from app.window.pause_button import Pausable, PauseButton
from core.contracts.status import STATE_WORD, State, Status

HEIGHT = 194
WHY = {True: mark("Why am I running?"), False: mark("Why am I not running?")}
SHOWN: dict[State, tuple[str, ...]] = {
    "contributing": ("pause",),
    "waiting": ("pause",),
    "yielding": ("pause",),
    "paused": ("resume",),
    "limited": ("rule", "pause"),
    "preparing": ("pause",),
    "leaving": ("quit",),
    "attention": ("log", "pause"),
}
"""The actions that each state offers; "Start now" comes before them wherever it would start anything."""
AWAY = {True: ("retry", "log"), False: ("log",)}
"""Those without a worker, by whether somebody has to do something."""
AT_THE_GOAL = ("runs", "pause")
"""Those of a PC whose runs have nothing left to train: no rule limits it."""


class StateCard(Panel):
    def __init__(self, actions: Actions) -> None:
        super().__init__(radius=look.RADIUS_HERO)
        self._state: State | None = None
        self._glyph = StateGlyph(30)
        self._word = Label("", "display")
        self._reason = Label("", "body", wrap=True)
        self._until = Label("", "body", "text2", wrap=True)
        self.fire = FirePanel()
        self.pause = PauseButton(actions)
        start = Button(tr("Start now"), "plain", "play", clicked=actions.start_now)
        resume = Button(tr("Resume"), "primary", "play", clicked=actions.resume)
        rule = Button(tr("Change rule"), "plain", "settings", clicked=lambda: actions.open_page.emit("settings"))
        runs = Button(tr("Choose a run"), "plain", "settings", clicked=lambda: actions.open_page.emit("settings"))
        leave = Button(tr("Quit now"), "plain", "close", clicked=actions.quit)
        retry = Button(tr("Try again"), "primary", "refresh", clicked=actions.retry)
        self.log = Button(tr("Show the log"), "primary", "log", clicked=lambda: actions.open_page.emit("log"))
        self.why = Button(tr(WHY[False]), "link", clicked=actions.why)
        self._actions: dict[str, QWidget] = {
            "start": start,
            "resume": resume,
            "rule": rule,
            "runs": runs,
            "quit": leave,
            "retry": retry,
            "log": self.log,
            "pause": self.pause,
        }
        self._build()

    def _build(self) -> None:
        self._texts = QWidget()
        head = hbox(self._glyph, self._word, STRETCH, spacing=look.M)
        buttons = hbox(*self._actions.values(), look.XS, self.why, STRETCH, spacing=look.S)
        vbox(head, self._reason, self._until, STRETCH, look.S, buttons, spacing=5, within=self._texts)
        self._row = hbox((self._texts, 57), (self.fire, 43), spacing=look.XL, margins=(22, 20, 22, 18), within=self)
        self.setMinimumHeight(theme().px(HEIGHT))

    def minimumSizeHint(self) -> QSize:
        margins = self.contentsMargins() + self._row.contentsMargins()
        least = self._texts.minimumSizeHint().width() + margins.left() + margins.right()
        return QSize(least, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._give_way()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._give_way()  # another button may be there now
        return super().event(event)

    def _give_way(self) -> None:
        """The fire goes where the words and buttons need the room."""
        room = self.width() - self.minimumSizeHint().width() - self._row.spacing()
        self.fire.setVisible(room >= self.fire.minimumSizeHint().width())

    def update_status(self, status: Status) -> None:
        at_goal = status.state == "limited" and any(said.code == "run.reached" for said in status.reason)
        self.show_state(status.state, told(status.reason), told(status.until), True, status.start_now, at_goal)
        self._ask(status.cpu or status.gpu)
        self.pause.pausable = Pausable.of(status)
        if status.layers:
            self.fire.add(status.time, status.calls_per_s)
        else:  # without experts nobody calls: the work is what is trained
            self.fire.add(status.time, status.samples_per_s, SAMPLES)

    def _ask(self, running: bool) -> None:
        if self.why.text() != (question := tr(WHY[running])):
            self.why.setText(question)

    def show_state(
        self,
        state: State,
        reason: str,
        until: str,
        connected: bool = True,
        start_now: bool = False,
        at_goal: bool = False,
    ) -> None:
        """Show state, reason and what ends it, always these three; a change of state is announced once."""
        self._reason.setText(reason)
        self._until.setText(until)
        self._until.setVisible(bool(until))
        shown = AT_THE_GOAL if at_goal else SHOWN[state] if connected else AWAY[state == "attention"]
        self.log.set_kind("primary" if connected else "plain")
        for name, button in self._actions.items():
            button.setVisible(name in shown or (name == "start" and start_now))
        self.pause.set_kind("primary" if state == "contributing" else "plain")
        self.fire.set_stale(not connected)
        if not connected:
            self._ask(False)
        if state != self._state:
            self._state = state
            self._glyph.set_state(state)
            self._word.setText(tr(STATE_WORD[state]))
            self.setAccessibleName(tr(STATE_WORD[state]))
            if self.isVisible():
                event = QAccessibleAnnouncementEvent(self, f"{tr(STATE_WORD[state])}. {reason} {until}")
                QAccessible.updateAccessibility(event)
        self.setAccessibleDescription(f"{reason} {until}")

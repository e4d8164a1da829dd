"""What happened among peers, and on this PC: who helped, who took over experts, milestones, restarts."""

from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.language import clock, day, told, tr
from app.widgets.basics import Card, Label
from app.widgets.boxes import STRETCH, add, discard, grid_box
from core.contracts.status import EventStatus


def when(moment: float) -> str:
    """The time of an event, with the day if that was another one."""
    at = datetime.fromtimestamp(moment)
    return clock(at) if at.date() == datetime.now().date() else f"{day(at, short=True)}, {clock(at)}"


class EventsCard(Card):
    """The newest first; not seen while nothing has happened."""

    def __init__(self) -> None:
        super().__init__(tr("What happened"))
        self._rows = grid_box(look.L, look.XS, stretch={1: 1})
        self._events: list[EventStatus] = []
        self.labels: list[QWidget] = []
        add(self.body, self._rows, STRETCH)
        self.hide()

    def show_events(self, events: Sequence[EventStatus]) -> None:
        """Show these, which are told oldest first."""
        if events == self._events:
            return
        self._events = [*events]
        discard(self.labels)
        self.labels = []
        for row, event in enumerate(reversed(self._events)):
            time, words = (
                Label(when(event.time), "body", "text2", tabular=True),
                Label(told(event.said), "body", wrap=True),
            )
            self._rows.addWidget(time, row, 0, Qt.AlignmentFlag.AlignTop)
            self._rows.addWidget(words, row, 1)
            self.labels += [time, words]
        self.setVisible(bool(self._events))

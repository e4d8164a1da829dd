"""What the window shows of the worker's status: with what only the app knows."""

import time

from msgspec.structs import replace

from app.language import mark, tr
from app.worker.supervision import Phase
from core.contracts.notices import notice, plain
from core.contracts.status import EVENTS, EventStatus, Status

LEAVING = mark("Hearth is quitting; the worker saves its work.")
LEAVING_ENDS = mark("Ends by itself, in 10 s at the latest.")


class Shown:
    """Beside the worker's events stand those of this app, since its start."""

    def __init__(self) -> None:
        self._events: list[EventStatus] = []

    def note(self, said: str) -> None:
        """Something has just happened.

        Args:
            said: a sentence in the window's language.
        """
        self._events = [*self._events[1 - EVENTS :], EventStatus(time.time(), plain(said))]

    def of(self, status: Status, phase: Phase) -> Status:
        """A status as it is to be shown.

        Args:
            status: the worker's.
            phase: what the app does with the worker.
        """
        if phase is Phase.RESTARTING:  # the worker leaves, Hearth does not
            status = replace(status, state="preparing", reason=(notice("worker.restarting"),), until=())
        if phase is Phase.LEAVING:
            why, ends = (plain(tr(LEAVING)),), (plain(tr(LEAVING_ENDS)),)
            status = replace(status, state="leaving", reason=why, until=ends, start_now=False)
        events = sorted([*status.events, *self._events], key=lambda event: event.time)
        return replace(status, events=events[-EVENTS:])

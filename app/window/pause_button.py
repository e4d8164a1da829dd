"""The Pause button and its menu: each choice says when it ends."""

import dataclasses
from datetime import datetime, timedelta
from typing import NamedTuple

from PySide6.QtCore import QLocale
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from app.actions import Actions
from app.language import clock, locale, tr
from app.widgets.buttons import SplitButton
from app.widgets.menu import Menu
from core.contracts.status import Status
from core.control.why import gpu_is_paused, uses_gpus

TOMORROW_HOUR = 8


@dataclasses.dataclass(frozen=True)
class PauseChoice:
    label: str
    end: datetime | None
    """None: until the user resumes."""

    def seconds(self, now: datetime) -> float | None:
        return (self.end - now.astimezone()).total_seconds() if self.end else None


def pause_choices(now: datetime) -> list[PauseChoice]:
    """What the pause menus offer at the local time `now`, also in a night of 23 or 25 hours."""
    here = now.astimezone()
    tomorrow = (now + timedelta(days=1)).replace(hour=TOMORROW_HOUR, minute=0, second=0, microsecond=0)
    return [
        PauseChoice(tr("For 15 minutes"), (here + timedelta(minutes=15)).astimezone()),
        PauseChoice(tr("For 1 hour"), (here + timedelta(hours=1)).astimezone()),
        PauseChoice(tr("Until tomorrow"), tomorrow.astimezone()),
        PauseChoice(tr("Until I resume"), None),
    ]


def when(end: datetime, now: datetime) -> str:
    """When a pause ends, in the user's locale: "until 15:02", "Fri 08:00"."""
    if end.date() == now.date():
        return tr("until {time}", time=clock(end))
    return f"{locale().dayName(end.isoweekday(), QLocale.FormatType.ShortFormat)} {clock(end)}"


class Pausable(NamedTuple):
    """What a status says on what can be paused or begun besides."""

    gpu: bool = False
    """A graphics processor is used, or would be."""
    gpu_paused: bool = False
    start_now: bool = False

    @classmethod
    def of(cls, status: Status) -> "Pausable":
        return cls(uses_gpus(status.why), gpu_is_paused(status.why), status.start_now)


def gpu_word(pausable: Pausable) -> str:
    """What can be done about the GPU."""
    return tr("Resume the GPU") if pausable.gpu_paused else tr("Pause the GPU only")


def ask_for_gpu(pausable: Pausable, actions: Actions) -> None:
    (actions.resume if pausable.gpu_paused else actions.pause_gpu).emit()


def fill_pause_menu(menu: QMenu, actions: Actions, now: datetime | None = None) -> None:
    """Add the pause choices to a menu, each with the time at which it ends behind a tab."""
    now = now or datetime.now()
    for choice in pause_choices(now):
        ends = f"\t{when(choice.end, now)}" if choice.end else ""
        action = QAction(choice.label + ends, menu)
        seconds = choice.seconds(now)
        action.triggered.connect(lambda _=False, seconds=seconds: actions.pause.emit(seconds))
        menu.addAction(action)


class PauseButton(SplitButton):
    """A click pauses until resumed; the arrow offers times, the GPU alone, and to start where that is possible."""

    def __init__(self, actions: Actions, kind: str = "primary") -> None:
        super().__init__(tr("Pause"), kind, "pause", tr("More ways to pause"), lambda: self._menu(actions))
        self.clicked.connect(lambda: actions.pause.emit(None))
        self.pausable = Pausable()

    def _menu(self, actions: Actions) -> Menu:
        menu, pausable = Menu(), self.pausable
        if pausable.start_now:
            begin = menu.addAction(f"{tr('Start now')}\t{tr('for 1 hour')}")
            begin.triggered.connect(lambda: actions.start_now.emit())
            menu.addSeparator()
        fill_pause_menu(menu, actions)
        if pausable.gpu:
            menu.addSeparator()
            menu.addAction(gpu_word(pausable)).triggered.connect(lambda: ask_for_gpu(pausable, actions))
        return menu

"""What the desktop is told while no window is looked at: few things, each once, and each can be turned off.

The decisions are plain classes with the time as an argument; `Notifier` feeds them and speaks.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QObject, QSettings, QTimer, Signal

from app.formats import number
from app.language import told, tr
from app.pages.contribution.history import KINDS, for_others
from app.worker.client import WorkerClient
from core.contracts.build import installed_version
from core.contracts.ledger import Amounts, Totals
from core.contracts.status import EventStatus

logger = logging.getLogger(__name__)

LOOK_MS = 60_000
"""Between two looks at the ledger, window or not."""
ATTENTION_S = 20.0
"""What mends itself sooner is nobody's trouble."""
FIRST = {"seconds": 3600.0, "samples": 1e6, "tokens": 1e8}
"""The first milestone of each figure; the others are ten, a hundred times as much, and so on."""
DAY_S = 86_400.0
"""Of all that can be told, one thing is told a day at most."""
LAST, FIRST_USE = "notified", "told_first_use"
"""In the window's settings: when something was told last; that the first use by another PC was."""
NOTICES = ("attention", "milestone", "update")
"""What can be turned off, each by a setting."""


class Attention:
    """Which trouble is told: what has lasted for `ATTENTION_S`, once as long as it lasts."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self._told: set[str] = set()

    def look(self, troubles: Sequence[str], now: float, tells: bool = True) -> str | None:
        """The next one to tell.

        Args:
            troubles: sentences, without what counts down.
            now: the time of the look, seconds.
            tells: it may be told now; else it still is to be told later.
        """
        self._since = {text: self._since.get(text, now) for text in troubles}
        self._told &= self._since.keys()
        if not tells:
            return None
        lasting = [text for text, since in self._since.items() if now - since >= ATTENTION_S and text not in self._told]
        self._told |= set(lasting)
        return " ".join(lasting) or None


def milestone(figure: str, amount: float) -> float:
    """The last milestone of a figure that an amount has reached; 0 before the first."""
    reached, step = 0.0, FIRST[figure]
    while step <= amount:
        reached, step = step, 10 * step
    return reached


def words(figure: str, reached: float) -> str:
    """A milestone in a sentence."""
    match figure:
        case "seconds":
            return tr("This PC has shared %Ln hour(s) of compute time.", round(reached / 3600))
        case "samples":
            return tr("This PC has trained {count} samples.", count=number(reached))
        case _:
            return tr("This PC has trained {count} tokens.", count=number(reached))


class Milestones:
    """Which milestones are told: those that are reached while somebody keeps count, each once.

    Args:
        kept: those told so far, by figure; what was reached before anybody kept count is not told.
    """

    def __init__(self, kept: Mapping[str, float]) -> None:
        self.kept = dict(kept)

    def look(self, ever: Amounts) -> str | None:
        """The sentence for what has been reached now."""
        told = []
        for figure in FIRST:
            reached = milestone(figure, getattr(ever, figure))
            before = self.kept.setdefault(figure, reached)
            if reached > before:
                self.kept[figure] = reached
                told.append(words(figure, reached))
        return " ".join(told) or None


class Notifier(QObject):
    """Speaks through `tell` as far as the settings allow.

    Args:
        client: who is asked for the ledger's totals.
        view: where the milestones told so far are kept.
        tell: shows a notification.
        seen: whether the user looks at the window, which tells of troubles itself.
        clock: unix time.
    """

    reached = Signal(str)
    """A sentence about a milestone, whether it is told of or not."""
    lent = Signal(str)
    """Today's compute time and what was done for others, in words, as of the last look; "" if nobody could tell it."""

    def __init__(
        self,
        client: WorkerClient,
        view: QSettings,
        tell: Callable[[str], None],
        seen: Callable[[], bool],
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._clock = clock
        self._client, self._view, self._tell, self._seen = client, view, tell, seen
        self._attention = Attention()
        self._troubles: Sequence[str] = ()
        self._later = QTimer(self, singleShot=True, interval=int(ATTENTION_S * 1000) + 100)
        self._later.timeout.connect(lambda: self.trouble(self._troubles))
        self._milestones: Milestones | None = None
        self._version = client.version
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self.look)
        self._timer.start()
        client.connected.connect(lambda snapshot: QTimer.singleShot(0, self, self.look))

    def close(self) -> None:
        """Say and look no more."""
        self._later.stop()
        self._timer.stop()

    def choose(self, values: dict[str, Any]) -> None:
        """The settings as they are now; kept, as there may be trouble before a worker tells them."""
        for kind in NOTICES:
            self._view.setValue(f"notify_{kind}", bool(values.get(f"notify_{kind}", True)))

    def _may(self, kind: str) -> bool:
        return bool(self._view.value(f"notify_{kind}", True, bool))

    def _is_free(self) -> bool:
        """Whether nothing was told for a day; a clock that was set back keeps nothing quiet for longer."""
        try:
            return not 0 <= self._clock() - float(str(self._view.value(LAST, 0.0))) < DAY_S
        except ValueError:
            return True

    def _say(self, kind: str, text: str) -> bool:
        """Tell something, unless it is turned off or something else was told within a day; whether it was told."""
        if not self._may(kind) or not self._is_free():
            return False
        self.answer(text)
        return True

    def answer(self, text: str) -> None:
        """Tell what answers the user, such as where the window has gone; nothing else is told for a day."""
        self._view.setValue(LAST, self._clock())
        self._tell(text)

    def happened(self, events: Sequence[EventStatus]) -> None:
        """What the worker lists. Only the first use by another PC is told, once ever."""
        for event in events:
            if event.said.code == "event.first_use" and self._view.value(FIRST_USE) is None:
                self._view.setValue(FIRST_USE, "yes")
                self._say("milestone", told(event.said))

    def trouble(self, sentences: Sequence[str]) -> None:
        """What is wrong now, and until this is called again."""
        self._troubles = sentences
        if sentences and not self._later.isActive():
            self._later.start()
        # Settings are read only when there is something to tell: this is called each second.
        quiet = not sentences or self._seen() or not self._may("attention")
        words = self._attention.look(sentences, time.monotonic(), quiet or self._is_free())
        if words and not quiet:
            self._say("attention", words)

    def look(self) -> None:
        """Ask the ledger, and look whether another version was installed meanwhile."""
        if self._client.is_connected:
            self._client.totals(self._take, lambda error: logger.info("no milestones: %s", error))
        else:
            self.lent.emit("")
        installed = installed_version()
        if installed and installed != self._version:
            again = tr("Quit Hearth and start it again to use it.")
            said = f"{tr('Hearth {version} has been installed.', version=installed)} {again}"
            if self._say("update", said) or not self._may("update"):
                self._version = installed

    def tell_update(self, version: str) -> None:
        """There is a newer version that may be installed."""
        self._say(
            "update",
            tr("Hearth {version} is available. You can install it in Settings, under Updates.", version=version),
        )

    def _take(self, totals: Totals) -> None:
        today = totals.today.amounts
        time_of = KINDS["seconds"].write(today.seconds)
        self.lent.emit(tr("{time} today, for others {amount}", time=time_of, amount=for_others(today)))
        if self._milestones is None:
            self._milestones = Milestones(self._kept())
        before = dict(self._milestones.kept)
        said = self._milestones.look(totals.all.amounts)
        for figure, reached in self._milestones.kept.items() - before.items():  # each write costs a disk its sleep
            self._view.setValue(f"milestones/{figure}", reached)
        if said:
            self.reached.emit(said)
            self._say("milestone", said)

    def _kept(self) -> dict[str, float]:
        kept = {}
        for figure in FIRST:
            try:
                kept[figure] = float(str(self._view.value(f"milestones/{figure}")))
            except ValueError:
                continue
        return kept

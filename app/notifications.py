"""What the desktop is told while no window is looked at: few things, each once, and each can be turned off.

The decisions are plain classes with the time as an argument; `Notifier` feeds them and speaks.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QObject, QSettings, QTimer, Signal

from app.formats import data_size, number
from app.language import tr
from app.pages.contribution.history import KINDS, for_others
from app.worker.client import WorkerClient
from core.contracts.build import installed_version
from core.contracts.ledger import Amounts, Totals

logger = logging.getLogger(__name__)

LOOK_MS = 60_000
"""Between two looks at the ledger, window or not."""
ATTENTION_S = 20.0
"""What mends itself sooner is nobody's trouble."""
FIRST = {"seconds": 3600.0, "samples": 1e6, "tokens": 1e8}
"""The first milestone of each figure; the others are ten, a hundred times as much, and so on."""
NOTICES = ("attention", "milestone", "update")
"""What can be turned off, each by a setting."""


class Attention:
    """Which trouble is told: what has lasted for `ATTENTION_S`, once as long as it lasts."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self._told: set[str] = set()

    def look(self, troubles: Sequence[str], now: float) -> str | None:
        """The next one to tell.

        Args:
            troubles: sentences, without what counts down.
            now: the time of the look, seconds.
        """
        self._since = {text: self._since.get(text, now) for text in troubles}
        self._told &= self._since.keys()
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
            return tr("This PC has trained {size} of text.", size=data_size(reached))


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
    """

    lent = Signal(str)
    """Today's compute time and what was done for others, in words, as of the last look; "" if nobody could tell it."""

    def __init__(
        self, client: WorkerClient, view: QSettings, tell: Callable[[str], None], seen: Callable[[], bool]
    ) -> None:
        super().__init__()
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

    def trouble(self, sentences: Sequence[str]) -> None:
        """What is wrong now, and until this is called again."""
        self._troubles = sentences
        if sentences and not self._later.isActive():
            self._later.start()
        told = self._attention.look(sentences, time.monotonic())
        if told and self._may("attention") and not self._seen():
            self._tell(told)

    def look(self) -> None:
        """Ask the ledger, and look whether another version was installed meanwhile."""
        if self._client.is_connected:
            self._client.totals(self._take, lambda error: logger.info("no milestones: %s", error))
        else:
            self.lent.emit("")
        installed = installed_version()
        if installed and installed != self._version:
            self._version = installed
            if self._may("update"):
                again = tr("Quit Hearth and start it again to use it.")
                self._tell(f"{tr('Hearth {version} has been installed.', version=installed)} {again}")

    def tell_update(self, version: str) -> None:
        """There is a newer version that may be installed."""
        if self._may("update"):
            self._tell(tr("Hearth {version} is there. Settings, under Updates, installs it.", version=version))

    def _take(self, totals: Totals) -> None:
        today = totals.today.amounts
        time_of = KINDS["seconds"].write(today.seconds)
        self.lent.emit(tr("{time} today, for others {amount}", time=time_of, amount=for_others(today)))
        if self._milestones is None:
            self._milestones = Milestones(self._kept())
        before = dict(self._milestones.kept)
        told = self._milestones.look(totals.all.amounts)
        for figure, reached in self._milestones.kept.items() - before.items():  # each write costs a disk its sleep
            self._view.setValue(f"milestones/{figure}", reached)
        if told and self._may("milestone"):
            self._tell(told)

    def _kept(self) -> dict[str, float]:
        kept = {}
        for figure in FIRST:
            try:
                kept[figure] = float(str(self._view.value(f"milestones/{figure}")))
            except ValueError:
                continue
        return kept

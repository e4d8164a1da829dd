"""Updates: which version runs, whether there is a newer one, and the click that installs it."""

from pathlib import Path

from PySide6.QtCore import QTimer, Signal

from app.formats import number
from app.language import mark, told, tr
from app.pages.settings.offer_card import OfferCard
from app.pages.settings.synonyms import synonyms
from core.contracts.build import this_build
from core.contracts.words import size
from core.update.installation import hindrance

FIRST_LOOK_MS, LOOK_MS = 60_000, 86_400_000
"""After the start, and from then on."""


class UpdateCard(OfferCard):
    """Looks once a day, if the settings allow it, and when asked.

    Args:
        folder: the data folder.
    """

    KEPT = mark(
        "Nothing is installed without your click. Hearth restarts then; if the new version does not start, the one "
        "that runs now comes back."
    )
    LOOK, INSTALL = mark("Look for updates now"), mark("Install the update")
    FETCHING = mark("Fetching the update. Hearth restarts then.")
    ASK, COMMAND = ("update", "--check", "--json"), ("update",)
    found = Signal(str)
    """A version that may be installed, told once."""

    def __init__(self, folder: Path) -> None:
        runs = tr("This is Hearth {version}.", version=this_build().version)
        super().__init__(tr("Updates"), synonyms("updates"), runs, folder)
        self.may_look = True
        """As the settings say."""
        self._told = ""
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look_if_allowed)
        if (why := hindrance()) is not None:
            self.says.setText(told(why))
            self.look_now.setEnabled(False)
        else:
            self._timer.start()
            QTimer.singleShot(FIRST_LOOK_MS, self, self._look_if_allowed)

    def _look_if_allowed(self) -> None:
        if self.may_look and not self._busy:
            self.look()

    def show_offer(self, answer: dict[str, object]) -> None:
        available, version = bool(answer["available"]), str(answer["version"])
        self.install.setVisible(available)
        self.install.setEnabled(available)
        self.notes.setText(str(answer["notes"]))
        self.notes.setVisible(available and bool(answer["notes"]))
        if not available:
            self.says.setText(tr("This is the newest version."))
            return
        amount = size(float(str(answer["size"])), number)
        self.says.setText(tr("Hearth {version} is available, {size} to fetch.", version=version, size=amount))
        if answer["failed"]:
            self.notice.set_text(tr("Hearth {version} was installed here and did not start.", version=version))
        elif version != self._told:
            self._told = version
            self.found.emit(version)

"""The GPU: a pack with a torch that can use it, offered, installed and removed."""

from pathlib import Path

from PySide6.QtGui import QShowEvent

from app.formats import number
from app.language import mark, told, tr
from app.pages.settings.offer_card import OfferCard
from app.pages.settings.synonyms import synonyms
from app.widgets.boxes import add
from app.widgets.buttons import Button
from core.contracts.notices import notice
from core.contracts.words import size
from core.update import packs
from core.update.installation import feed_here


class PackCard(OfferCard):
    """Looks when asked only.

    Args:
        folder: the data folder.
    """

    KEPT = mark(
        "An NVIDIA GPU needs a pack of some gigabytes. It is fetched once, by your click, and tried before compute "
        "uses it. If it does not work, the CPU computes as before."
    )
    LOOK, INSTALL = mark("Look for a pack now"), mark("Install the pack")
    FETCHING = mark("Fetching the pack. Then it is tried, for three minutes at most.")
    ASK, COMMAND = ("pack", "check", "--json"), ("pack", "install")

    def __init__(self, folder: Path) -> None:
        super().__init__(tr("GPU pack"), synonyms("pack"), tr("Compute on the GPU"), folder)
        self.folder = folder
        self._offered = False
        """A pack that may be installed is shown."""
        self.stop = Button(tr("Stop"), name=tr("Stop fetching the pack"), clicked=self._stop)
        self.remove = Button(tr("Remove"), name=tr("Remove the pack"), clicked=self._remove)
        add(self.body, self.stop, self.remove)
        self.stop.hide()
        self._ended.connect(self._show_what_is_here)
        self._show_what_is_here()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not (self._busy or self._offered):
            self._show_what_is_here()

    def _show_what_is_here(self) -> None:
        chosen = packs.chosen(self.folder)
        pack = packs.read(chosen) if chosen else None
        self.stop.hide()
        self.install.setVisible(self._offered and pack is None)
        self.remove.setVisible(packs.is_any(self.folder))
        if pack is not None:
            self.says.setText(tr("Compute uses the pack with torch {version}.", version=pack.version))
        elif feed_here() is None:
            self.says.setText(told(notice("pack.no_feed")))
            self.look_now.setEnabled(False)
        elif packs.has_failed(self.folder):
            self.says.setText(tr("Compute did not start with the pack, so the CPU computes."))

    def show_offer(self, answer: dict[str, object]) -> None:
        self._offered = not answer["installed"] or bool(answer["failed"])
        self.install.setVisible(self._offered)
        self.install.setEnabled(self._offered)
        if not self._offered:
            self.says.setText(tr("This is the newest pack."))
            return
        cards = answer["cards"]
        assert isinstance(cards, list)
        amounts = {name: size(float(str(answer[name])), number) for name in ("size", "unpacked")}
        self.says.setText(
            tr("For {cards}: {size} to fetch, {unpacked} on the disk.", cards=", ".join(map(str, cards)), **amounts)
        )

    def _install(self) -> None:
        self.install.hide()
        self.stop.show()
        super()._install()

    def _remove(self) -> None:
        self._offered = False
        self.run(tr("Removing the pack…"), "pack", "remove")

    def _stop(self) -> None:
        """What has come is kept."""
        if self._process is not None:
            self._process.terminate()

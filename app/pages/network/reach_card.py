"""Whether others can call this PC, what that means, what to do about it; and its own name and address."""

from typing import NamedTuple

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.icons import Icon
from app.language import mark, told, tr
from app.theme import theme
from app.widgets.basics import Card, ElidedLabel, Label
from app.widgets.boxes import STRETCH, add, hbox
from app.widgets.buttons import Button
from core.contracts.network_status import NetworkStatus

COPIED_MS = 4000
ALONE = mark("It calls nobody, and nobody calls it.")


class Meaning(NamedTuple):
    """What a kind of reachability means for the user."""

    icon: str
    tone: str
    word: str
    means: str
    do: str


MEANINGS = {
    "reachable": Meaning(
        "check", "ok", mark("Yes, direct"), mark("Other peers can call this PC by themselves."), mark("Nothing to do.")
    ),
    "punchable": Meaning(
        "check",
        "ok",
        mark("Yes, by arrangement"),
        mark("Your router hides this PC, but peers that a third one introduces get through."),
        mark("Nothing to do."),
    ),
    "relayed": Meaning(
        "info",
        "warn",
        mark("Through a relay"),
        mark("Your router keeps others out, so another peer passes the encrypted traffic on. That is slower."),
        mark("Forward a UDP port to this PC in your router, and start Hearth with that port, to be called directly."),
    ),
    "dial-out only": Meaning(
        "info",
        "warn",
        mark("No, it calls out only"),
        mark("Nobody can call this PC. It calls others and works over these connections."),
        mark("Let Hearth through your firewall, or forward a UDP port to this PC in your router."),
    ),
    "unknown": Meaning(
        "question",
        "text2",
        mark("Not known yet"),
        mark("No peer has reported yet whether this PC is reachable."),
        mark("It is measured as soon as a backbone peer is connected."),
    ),
}
WAITING = Meaning("question", "text2", mark("Not known yet"), mark("Appears as soon as the worker answers."), "")


class _Copied(QWidget):
    """A value with its name and a button that copies it; not seen while there is no value."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        row = hbox(Label(name, "body", "text2"), spacing=look.S, within=self)
        self.value = ElidedLabel("", "cap")
        self.value.setFont(theme().mono())
        row.addWidget(self.value, 1)
        self.button = Button(tr("Copy"), "link", "copy", name=tr("Copy: {name}", name=name), clicked=self._copy)
        row.addWidget(self.button)
        self.hide()
        self._timer = QTimer(self, singleShot=True, interval=COPIED_MS)
        self._timer.timeout.connect(lambda: self._word(tr("Copy")))

    def set(self, value: str) -> None:
        if value != self.value.text():
            self.value.setText(value)
            self.value.setAccessibleName(f"{self._name}: {value}")
            self.value.update()
            self.setVisible(bool(value))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.value.text())
        self._word(tr("Copied"))
        self._timer.start()

    def _word(self, word: str) -> None:
        self.button.setText(word)
        self.button.setAccessibleName(f"{word}: {self._name}")


class ReachCard(Card):
    """Whether others can call this PC, what that means, what to do; and its own name and address."""

    def __init__(self) -> None:
        super().__init__(tr("This PC"))
        self._icon = Icon("question", "text2", 20)
        self.word = Label("", "num")
        self._means, self._do = Label("", "body", wrap=True), Label("", "body", "text2", wrap=True)
        self._step = Label("", "cap", "text3", wrap=True)
        top = hbox(self._icon, (self.word, 1), spacing=look.S)
        self._asks = Label(tr("Reachable from outside"), "cap", "text2")
        self.peer, self.address = _Copied(tr("Peer ID")), _Copied(tr("Address"))
        add(self.body, self._asks, top, self._means, self._do, self._step, STRETCH, self.peer, self.address)
        self._show(WAITING, "")

    def show_network(self, network: NetworkStatus) -> None:
        self._asks.show()
        self._show(MEANINGS.get(network.reachability, MEANINGS["unknown"]), told(network.step))
        self.peer.set(network.peer)
        self.address.set(network.address)

    def set_alone(self) -> None:
        """This worker has no network."""
        self._show(Meaning("info", "text2", mark("Alone"), ALONE, ""), "")
        self._asks.hide()
        self.word.setAccessibleName(tr("Alone"))
        self.peer.set("")
        self.address.set("")

    def _show(self, meaning: Meaning, step: str) -> None:
        self._icon.set(meaning.icon, meaning.tone)
        self.word.setText(tr(meaning.word))
        self.word.setAccessibleName(tr("Reachable from outside: {word}", word=tr(meaning.word)))
        self._means.setText(tr(meaning.means))
        self._do.setText(tr(meaning.do))
        self._do.setVisible(bool(meaning.do))
        self._step.setText(tr("Determined by: {step}.", step=step) if step else "")
        self._step.setVisible(bool(step))

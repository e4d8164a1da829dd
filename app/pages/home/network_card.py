"""The network on Home: whether others reach this PC, how many it is connected to, today's traffic, and how many
trainers agree on one trunk."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout

from app import theme as look
from app.formats import NONE, data_size, number
from app.icons import Icon
from app.language import told, tr
from app.pages.network.events_card import when
from app.pages.network.reach_card import MEANINGS
from app.pages.network.trunk_card import agreement
from app.widgets.basics import Label, StaleCard
from app.widgets.boxes import STRETCH, add, hbox, holding
from app.widgets.while_seen import WhileSeen
from app.worker.client import WorkerClient
from core.contracts.errors import HearthError
from core.contracts.ledger import Totals
from core.contracts.network_status import NetworkParams, NetworkStatus
from core.contracts.status import EventStatus
from core.contracts.trunk_status import TrunkStatus

EVERY_MS = 5000
"""Between two looks, while the card is seen."""


class _Fact:
    """An icon, and a value with its name."""

    def __init__(self, icon: str, name: str) -> None:
        self._name = name
        self.icon = Icon(icon, "text2", 18)
        self.value = Label("", "strong", wrap=True, tabular=True)
        self.set(NONE)

    def set(self, value: str) -> None:
        self.value.setText(value)
        self.value.setAccessibleName(f"{self._name}: {value}")

    def row(self) -> QHBoxLayout:
        """Icon and name at the left, the value at the right."""
        self.value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return hbox(self.icon, Label(self._name, "body", "text2"), (self.value, 1), spacing=look.S)


class NetworkCard(StaleCard):
    """Looks at the network while it is seen."""

    def __init__(self, client: WorkerClient) -> None:
        super().__init__(tr("Network"), tr("Details"))
        self._client = client
        self._connected = 1  # as long as nobody has told otherwise
        self._reach = _Fact("question", tr("Reachable from outside"))
        self._peers = _Fact("person", tr("Peers connected"))
        self._sent, self._received = _Fact("up", tr("Sent today")), _Fact("down", tr("Received today"))
        traffic = hbox(spacing=look.S)
        for fact in (self._sent, self._received):
            add(traffic, fact.icon, fact.value, look.S)
        add(traffic, STRETCH, Label(tr("today"), "body", "text2"))
        self.trunk = Label("", "body", wrap=True, tabular=True)
        self._trunk = holding(hbox(Icon("model", "text2", 18), (self.trunk, 1), spacing=look.S))
        self._trunk.hide()
        self.happened = Label("", "body", wrap=True, tabular=True)
        self._happened = holding(hbox(Icon("clock", "text2", 18), (self.happened, 1), spacing=look.S))
        self._happened.hide()
        add(self.body, self._reach.row(), self._peers.row(), traffic, self._trunk, self._happened, STRETCH)
        facts = self._reach, self._peers, self._sent, self._received
        self.values = [*(fact.value for fact in facts), self.trunk, self.happened]
        self._timer = WhileSeen(self, EVERY_MS, self.look)

    def look(self) -> None:
        """Ask the worker for how this PC is reached, and how many it reaches."""
        if self._client.is_connected and self.isVisible():
            self._client.request("network", NetworkParams(peers=0), NetworkStatus, self._take, self._failed)
            self._client.trunk(self._take_trunk, self._failed)

    def show_event(self, event: EventStatus) -> None:
        """Show what happened last."""
        self.happened.setText(f"{when(event.time)} {told(event.said)}")
        self._happened.show()

    def show_totals(self, totals: Totals) -> None:
        """Show the traffic of today."""
        self._sent.set(data_size(totals.today.amounts.bytes_out))
        self._received.set(data_size(totals.today.amounts.bytes_in))

    def _take(self, network: NetworkStatus) -> None:
        meaning = MEANINGS.get(network.reachability, MEANINGS["unknown"])
        self._reach.icon.set(meaning.icon, meaning.tone)
        self._reach.set(tr(meaning.word))
        self._connected = network.connected
        self._peers.set(number(network.connected) if network.connected else tr("None: you are alone"))

    def _take_trunk(self, status: TrunkStatus) -> None:
        self.trunk.setText(agreement(status, self._connected))
        self._trunk.setVisible(bool(self.trunk.text()))

    def _failed(self, error: HearthError) -> None:
        if error.code == "network":  # started without a network: not a fault
            self._reach.icon.set("info", "text2")
            self._reach.set(tr("Alone"))
            self._peers.set(NONE)

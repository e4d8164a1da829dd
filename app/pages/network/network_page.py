"""The network: how this PC is reached, what a test of that finds, the trunk that is agreed on, bandwidth, and peers."""

from PySide6.QtCore import Qt

from app import theme as look
from app.actions import Actions
from app.language import tr
from app.pages.network.alone_card import AloneCard
from app.pages.network.bandwidth_card import BandwidthCard
from app.pages.network.connection_card import ConnectionTestCard
from app.pages.network.events_card import EventsCard
from app.pages.network.peers_card import PeersCard
from app.pages.network.reach_card import ReachCard
from app.pages.network.trunk_card import TrunkCard
from app.widgets.basics import Pair
from app.widgets.boxes import STRETCH, add
from app.widgets.buttons import Button
from app.window.page import LookingPage
from app.worker.client import WorkerClient
from core.contracts.errors import HearthError
from core.contracts.network_status import NetworkStatus, PeerStatus
from core.contracts.status import Status

EVERY_MS = 2000
"""Between two looks at the peers, while the page is seen."""


class NetworkPage(LookingPage):
    """Looks at the peers and the trunk every other second while it is seen, a page of peers at a time."""

    def __init__(self, client: WorkerClient, actions: Actions) -> None:
        super().__init__(
            client,
            EVERY_MS,
            "network",
            tr("Network"),
            "network",
            tr("Who this PC works with, and how they reach each other."),
        )
        self.trust = Button(
            tr("What leaves this PC"), "link", "shield", clicked=lambda: actions.open_page.emit("trust")
        )
        self.reach, self.test, self.peers = ReachCard(), ConnectionTestCard(client), PeersCard()
        self.trunk, self.bandwidth = TrunkCard(), BandwidthCard(client, actions)
        self.alone = AloneCard(client, actions)
        self.add_peer = Button(tr("Add a peer"), "link", "plus", clicked=self.alone.ask)
        self.head.setSpacing(look.L)
        for button in (self.add_peer, self.trust):
            self.head.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        self.events = EventsCard()
        cards = self.alone, Pair(self.reach, self.test), self.events, self.trunk, self.bandwidth
        add(self.body, *cards, (self.peers, 100), STRETCH)
        self._got: list[PeerStatus] = []
        self._asking = self._alone = False
        self._connected = 1  # as long as nobody has told otherwise

    def set_stale(self, stale: bool) -> None:
        self.peers.set_stale(stale)
        self.trunk.set_stale(stale)
        self.bandwidth.set_stale(stale)
        self.test.set_able(not stale, self._alone)

    def update_status(self, status: Status) -> None:
        self.events.show_events(status.events)
        self.bandwidth.show_limits(status.line)
        self.bandwidth.setVisible(status.line is not None)

    def look(self) -> None:
        if not self._asking and self._client.is_connected:
            self._asking, self._got = True, []
            self._client.network(0, self._take, self.failed)
            self._client.trunk(lambda status: self.trunk.show_trunk(status, self._connected), super().failed)
            self.bandwidth.look(super().failed)

    def _take(self, network: NetworkStatus) -> None:
        self._connected = network.connected
        if not self._got:
            self.reach.show_network(network)
            self.alone.show_network(network)
            if self._alone:
                self._alone = False
                self.test.show()
                self.add_peer.show()
                self.test.set_able(True, False)
            self.test.follow(network.connected > 0)
        self._got += network.peers
        if network.peers and len(self._got) < network.connected:
            self._client.network(len(self._got), self._take, self.failed)
            return
        self._asking = False
        self.looked()
        self.peers.setVisible(network.connected > 0)
        # Between two pages some came and others went: each is listed once.
        self.peers.show_peers(list({peer.peer: peer for peer in self._got}.values()))

    def failed(self, error: HearthError) -> None:
        self._asking = False
        if error.code == "network":  # started without a network: not a fault
            self._alone = True
            self.reach.set_alone()
            self.alone.set_alone()
            self.test.set_able(True, True)
            self.test.hide()
            self.peers.hide()
            self.add_peer.hide()
        else:
            super().failed(error)

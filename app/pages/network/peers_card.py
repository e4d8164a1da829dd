"""The connected peers as figures and as a table, to sort and to filter."""

import time

from app.formats import NONE, data_size, duration, milliseconds, number
from app.language import mark, tr
from app.theme import theme
from app.widgets.basics import Card, Figure, Figures, Label
from app.widgets.boxes import STRETCH, add
from app.widgets.inputs import Field
from app.widgets.table import Column, Table, TableModel
from core.contracts.network_status import PeerStatus
from core.contracts.peer_names import called

ASKING = mark("Appears as soon as the worker has sent its peers.")
NO_PEERS = mark("No peer is connected yet.")
NO_FIT = mark("No peer matches this filter.")
REACHES = {
    "reachable": mark("Reachable"),
    "punchable": mark("Punchable"),
    "relayed": mark("Relayed"),
    "dial-out only": mark("Dial-out only"),
    "unknown": mark("Unknown"),
}
PATHS, VIA = {"direct": mark("Direct")}, "relayed via "
"""`PeerStatus.reach` and `path` in words."""
FIGURES = (mark("Connected"), mark("Direct"), mark("Received"), mark("Sent"), mark("Connected longest"))


def _route(peer: PeerStatus) -> str:
    if peer.path.startswith(VIA):
        return tr("Relayed via {peer}", peer=peer.path.removeprefix(VIA))
    return tr(PATHS.get(peer.path, peer.path)) if peer.path else tr("Unknown")


def _name(peer: PeerStatus) -> str:
    return called(peer.peer, peer.name)


COLUMNS = (
    Column[PeerStatus](mark("Peer"), _name, _name, tip=lambda p: p.peer),
    Column[PeerStatus](
        mark("Reachable"), lambda p: tr(REACHES.get(p.reach, p.reach)), lambda p: p.reach, tip=lambda p: p.address
    ),
    Column[PeerStatus](mark("Path"), _route, lambda p: p.path, tip=_route),
    Column[PeerStatus](mark("Round trip"), lambda p: milliseconds(p.rtt_ms), lambda p: p.rtt_ms, True),
    Column[PeerStatus](mark("In"), lambda p: data_size(p.bytes_in), lambda p: p.bytes_in, True),
    Column[PeerStatus](mark("Out"), lambda p: data_size(p.bytes_out), lambda p: p.bytes_out, True),
    Column[PeerStatus](
        mark("Faults"),
        lambda p: number(p.faults, 1) if p.faults >= 0.05 else tr("none"),
        lambda p: p.faults,
        True,
        tip=lambda p: tr("At 10 a peer is banned for a time."),
    ),
)
WIDTHS = (150, 110, 134, 88, 80, 80, 66)


class PeersCard(Card):
    """The connected peers, to sort and filter."""

    def __init__(self) -> None:
        super().__init__(tr("Connected peers"))
        self.model = TableModel[PeerStatus](
            COLUMNS, lambda p: p.peer, lambda p: f"{_name(p)} {p.peer} {p.reach} {p.path} {p.address}".casefold()
        )
        self.table = Table(self.model, tr("Connected peers"))
        self.table.set_widths(WIDTHS)
        self.table.setMinimumHeight(theme().px(190))
        self.filter = Field()
        self.filter.setPlaceholderText(tr("Filter peers"))
        self.filter.setAccessibleName(tr("Filter peers"))
        self.filter.setClearButtonEnabled(True)
        self.filter.setFixedWidth(theme().px(200))
        self.filter.textChanged.connect(self._filter)
        self.head.addWidget(self.filter)
        self._figures = {name: Figure(tr(name)) for name in FIGURES}
        self.figures = Figures(*self._figures.values())
        self.empty = Label(tr(ASKING), "body", "text2", wrap=True)
        add(self.body, self.figures, self.empty, (self.table, 100), STRETCH)
        self._peers: list[PeerStatus] = []
        self._set_empty(tr(ASKING))

    def show_peers(self, peers: list[PeerStatus]) -> None:
        """Show all connected peers."""
        self._peers = peers
        self.model.set_rows(peers)
        direct = received = sent = 0
        for peer in peers:  # one pass: there may be thousands
            direct += peer.path == "direct"
            received += peer.bytes_in
            sent += peer.bytes_out
        self._figures["Connected"].set(number(len(peers)), tr("peer(s)", len(peers)))
        self._figures["Direct"].set(number(direct), tr("of {all}", all=number(len(peers))))
        self._figures["Received"].set(data_size(received))
        self._figures["Sent"].set(data_size(sent))
        longest = time.time() - min((peer.since for peer in peers), default=time.time())
        minutes = max(0, int(longest)) // 60 * 60
        self._figures["Connected longest"].set(duration(minutes) if minutes else tr("under 1 min") if peers else NONE)
        self._set_empty(tr(NO_PEERS))

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old."""
        for figure in self._figures.values():
            theme().set_tone(figure.value, "text3" if stale else "text")
        self.table.setEnabled(not stale)

    def _filter(self, text: str) -> None:
        self.model.set_filter(text)
        self._set_empty(tr(NO_PEERS))

    def _set_empty(self, sentence: str) -> None:
        none = not self.model.shown
        self.empty.setText(tr(NO_FIT) if self._peers else sentence)
        self.empty.setVisible(none)
        self.table.setVisible(not none)

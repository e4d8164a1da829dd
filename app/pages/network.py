"""The network: how this PC is reached, who it is connected to, and what a check of all that finds."""

import time
from datetime import datetime
from typing import NamedTuple

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from app import theme as look
from app.actions import Actions
from app.icons import Icon
from app.language import mark, told, tr
from app.theme import theme
from app.window.buttons import Button
from app.window.page import Page
from app.window.seen import WhileSeen
from app.window.table import Column, Table, TableModel
from app.window.widgets import Card, ElidedLabel, Figure, Label, Notice, Pair, set_tone
from app.window.words import clock, data_size, duration, milliseconds, number
from app.worker_client import WorkerClient
from core.contracts.control import Finding, NetworkStatus, PeerStatus
from core.contracts.errors import HearthError

EVERY_MS = 2000
"""Between two looks at the peers, while the page is seen."""
COPIED_MS = 4000
ASKING = mark("Shown as soon as the worker has told its peers.")
NO_PEERS = mark(
    "No peer is connected yet. Hearth looks for some by itself; give the address above to a friend, "
    "or check the connection to see what is missing."
)
ALONE = mark(
    "Hearth trains alone on this PC: “Work with other peers” is off in Settings, or its worker was started by hand "
    "without a network."
)
NO_PEERS_ALONE = mark("Nobody else takes part. The run on this PC goes on all the same.")
NO_CHECK = mark("There is no connection to check while Hearth trains alone.")
CHECKS = mark("Checks port, other peers, outside address, NAT, clock and disk.")
NO_FIT = mark("No peer fits this filter.")
VERDICTS = {
    True: ("check", "ok", mark("good")),
    False: ("alert", "warn", mark("needs a look")),
    None: ("info", "text2", mark("not known yet")),
}
"""Icon, its tone and the word for each `Finding.good`."""


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
        mark("Yes, by appointment"),
        mark("Your router hides this PC, but peers that a third one introduces get through."),
        mark("Nothing to do."),
    ),
    "relayed": Meaning(
        "info",
        "warn",
        mark("Through a relay"),
        mark("Your router keeps others out, so another peer passes the sealed traffic on. That is slower."),
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
        mark("No backbone peer has told yet how this PC is seen from outside."),
        mark("It is measured as soon as a backbone peer is connected."),
    ),
}
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
WAITING = Meaning("question", "text2", mark("Not known yet"), mark("Shown as soon as the worker answers."), "")


def _route(peer: PeerStatus) -> str:
    if peer.path.startswith(VIA):
        return tr("Relayed via {peer}", peer=peer.path.removeprefix(VIA))
    return tr(PATHS.get(peer.path, peer.path)) if peer.path else tr("Unknown")


COLUMNS = (
    Column[PeerStatus](mark("Peer"), lambda p: p.peer[:12], lambda p: p.peer, mono=True, tip=lambda p: p.peer),
    Column[PeerStatus](
        mark("Reachable"), lambda p: tr(REACHES.get(p.reach, p.reach)), lambda p: p.reach, tip=lambda p: p.address
    ),
    Column[PeerStatus](mark("Path"), _route, lambda p: p.path),
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
WIDTHS = (128, 116, 150, 88, 80, 80, 66)


class _Copied(QWidget):
    """A value with its name and a button that copies it; not seen while there is no value."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(look.S)
        row.addWidget(Label(name, "body", "text2"))
        self.value = ElidedLabel("", "cap")
        self.value.setFont(theme().mono())
        row.addWidget(self.value, 1)
        self.button = Button(tr("Copy"), "link", "copy")
        self.button.setAccessibleName(tr("Copy: {name}", name=name))
        self.button.clicked.connect(self._copy)
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
        top = QHBoxLayout()
        top.setSpacing(look.S)
        top.addWidget(self._icon)
        top.addWidget(self.word, 1)
        self._asks = Label(tr("Reachable from outside"), "cap", "text2")
        self.body.addWidget(self._asks)
        self.body.addLayout(top)
        for label in (self._means, self._do, self._step):
            self.body.addWidget(label)
        self.body.addStretch(1)
        self.peer, self.address = _Copied(tr("Peer id")), _Copied(tr("Address"))
        self.body.addWidget(self.peer)
        self.body.addWidget(self.address)
        self._show(WAITING, "")

    def show_network(self, network: NetworkStatus) -> None:
        self._asks.show()
        self._show(MEANINGS.get(network.reachability, MEANINGS["unknown"]), network.step)
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
        self._step.setText(tr("What showed it: {step}.", step=told(step)) if step else "")
        self._step.setVisible(bool(step))


class DoctorCard(Card):
    """Asks the worker for all that a peer needs, and shows what it found with what to do."""

    def __init__(self, client: WorkerClient) -> None:
        super().__init__(tr("Check of the connection"))
        self._client = client
        self.check = Button(tr("Check now"), "plain", "refresh")
        self.check.clicked.connect(self.run)
        self.said = Label(tr(CHECKS), "body", "text2", wrap=True)
        self.rows: list[QWidget] = []
        self._grid = QVBoxLayout()
        self._grid.setSpacing(look.S)
        self.body.addWidget(self.said)
        self.body.addLayout(self._grid)
        self.body.addStretch(1)
        self.body.addWidget(self.check)

    def set_able(self, connected: bool, alone: bool) -> None:
        """Whether there is a worker to ask, and whether it has no network that could be checked."""
        self.check.setEnabled(connected and not alone)
        if alone:
            self._clear()
            self.said.setText(tr(NO_CHECK))
        elif self.said.text() == tr(NO_CHECK):
            self.said.setText(tr(CHECKS))

    def run(self) -> None:
        """Ask; the answer comes later."""
        self.check.setEnabled(False)
        self.said.setText(tr("Checking."))
        self._client.doctor(self._found, self._failed)

    def _failed(self, error: HearthError) -> None:
        self.check.setEnabled(True)
        self.said.setText(told(str(error)))

    def _found(self, findings: list[Finding]) -> None:
        self.check.setEnabled(True)
        wrong = sum(finding.good is False for finding in findings)
        said = tr("All is as it should be.")
        if wrong:
            said = tr("%Ln of {all} need(s) a look.", wrong, all=number(len(findings)))
        self.said.setText(f"{said} {tr('Checked at {time}.', time=clock(datetime.now()))}")
        self._clear()
        self.rows = [_finding(finding) for finding in findings]
        for row in self.rows:
            self._grid.addWidget(row)
            row.show()

    def _clear(self) -> None:
        for row in self.rows:
            self._grid.removeWidget(row)
            row.hide()
            row.deleteLater()
        self.rows = []


def _finding(finding: Finding) -> QWidget:
    """One finding: mark, name, what was found, what to do."""
    row = QWidget()
    grid = QGridLayout(row)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(look.S)
    grid.setVerticalSpacing(1)
    icon, tone, verdict = VERDICTS[finding.good]
    grid.addWidget(Icon(icon, tone, 16), 0, 0)
    name = told(finding.name)
    title = f"{name[:1].upper()}{name[1:]}"
    label, what = Label(title, "strong"), Label(told(finding.what), "cap", "text2", wrap=True)
    label.setMinimumWidth(theme().px(108))
    what.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    grid.addWidget(label, 0, 1)
    grid.addWidget(what, 0, 2)
    grid.setColumnStretch(2, 1)
    if not finding.good:
        grid.addWidget(Label(told(finding.remedy), "cap", "text", wrap=True), 1, 1, 1, 2)
    row.setAccessibleName(f"{title}: {tr(verdict)}")
    row.setAccessibleDescription(f"{told(finding.what)}. {'' if finding.good else told(finding.remedy)}".strip())
    return row


class PeersCard(Card):
    """The connected peers, to sort and filter."""

    def __init__(self) -> None:
        super().__init__(tr("Connected peers"))
        self.model = TableModel[PeerStatus](
            COLUMNS, lambda p: p.peer, lambda p: f"{p.peer} {p.reach} {p.path} {p.address}".casefold()
        )
        self.table = Table(self.model, tr("Connected peers"))
        self.table.set_widths(WIDTHS)
        self.table.setMinimumHeight(theme().px(190))
        self.filter = QLineEdit()
        self.filter.setPlaceholderText(tr("Filter peers"))
        self.filter.setAccessibleName(tr("Filter peers"))
        self.filter.setClearButtonEnabled(True)
        self.filter.setFixedWidth(theme().px(200))
        self.filter.textChanged.connect(self._filter)
        self.head.addWidget(self.filter)
        self._figures = {name: Figure(tr(name)) for name in FIGURES}
        self.figures = QWidget()
        figures = QHBoxLayout(self.figures)
        figures.setContentsMargins(0, 0, 0, 0)
        figures.setSpacing(look.XL)
        for figure in self._figures.values():
            figure.set("\N{EN DASH}")
            figures.addWidget(figure)
        figures.addStretch(1)
        self.empty = Label(tr(ASKING), "body", "text2", wrap=True)
        self.body.addWidget(self.figures)
        self.body.addWidget(self.empty)
        self.body.addWidget(self.table, 100)
        self.body.addStretch(1)
        self._peers: list[PeerStatus] = []
        self._set_empty(tr(ASKING))

    def show_peers(self, peers: list[PeerStatus]) -> None:
        """Show all connected peers."""
        self._peers = peers
        self.model.set_rows(peers)
        self._set_figured(True)
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
        self._figures["Connected longest"].set(
            duration(minutes) if minutes else tr("under 1 min") if peers else "\N{EN DASH}"
        )
        self._set_empty(tr(NO_PEERS))

    def set_alone(self) -> None:
        """There are no peers to count or to filter."""
        self.model.set_rows([])
        self._peers = []
        self._set_figured(False)
        self._set_empty(tr(NO_PEERS_ALONE))

    def _set_figured(self, figured: bool) -> None:
        self.figures.setVisible(figured)
        self.filter.setVisible(figured)

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old."""
        for figure in self._figures.values():
            set_tone(figure.value, "text3" if stale else "text")
        self.table.setEnabled(not stale)

    def _filter(self, text: str) -> None:
        self.model.set_filter(text)
        self._set_empty(tr(NO_PEERS))

    def _set_empty(self, sentence: str) -> None:
        none = not self.model.shown
        self.empty.setText(tr(NO_FIT) if self._peers else sentence)
        self.empty.setVisible(none)
        self.table.setVisible(not none)


class NetworkPage(Page):
    """Looks at the peers every other second while it is seen, a page of peers at a time."""

    def __init__(self, client: WorkerClient, actions: Actions) -> None:
        super().__init__(
            "network",
            tr("Network"),
            "network",
            tr("Network"),
            tr("Who this PC works with, and how they reach each other."),
        )
        self.trust = Button(tr("What leaves this PC"), "link", "shield")
        self.trust.clicked.connect(lambda: actions.open_page.emit("trust"))
        self.head.addWidget(self.trust, 0, Qt.AlignmentFlag.AlignTop)
        self._client = client
        self.reach, self.doctor, self.peers = ReachCard(), DoctorCard(client), PeersCard()
        self.notice = Notice()
        self.body.addWidget(self.notice)
        self.body.addWidget(Pair(self.reach, self.doctor))
        self.body.addWidget(self.peers, 1)
        self._got: list[PeerStatus] = []
        self._asking = self._alone = False
        self._timer = WhileSeen(self, EVERY_MS, self._look)

    def set_connected(self, connected: bool, sentence: str) -> None:
        self.notice.set_text(
            "" if connected else tr("{sentence}. What is shown here is from before.", sentence=sentence.rstrip("."))
        )
        self.peers.set_stale(not connected)
        self.doctor.set_able(connected, self._alone)
        if connected and self.isVisible():
            self._look()

    def _look(self) -> None:
        if not self._asking and self._client.is_connected:
            self._asking, self._got = True, []
            self._client.network(0, self._take, self._failed)

    def _take(self, network: NetworkStatus) -> None:
        if not self._got:
            self.reach.show_network(network)
            if self._alone:
                self._alone = False
                self.doctor.set_able(True, False)
        self._got += network.peers
        if network.peers and len(self._got) < network.connected:
            self._client.network(len(self._got), self._take, self._failed)
            return
        self._asking = False
        self.notice.set_text("")
        # Between two pages some came and others went: each is listed once.
        self.peers.show_peers(list({peer.peer: peer for peer in self._got}.values()))

    def _failed(self, error: HearthError) -> None:
        self._asking = False
        if error.code == "network":  # started without a network: not a fault
            self._alone = True
            self.reach.set_alone()
            self.doctor.set_able(True, True)
            self.peers.set_alone()
        elif self._client.is_connected:
            self.notice.set_text(told(str(error)))

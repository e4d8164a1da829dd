"""The trunk that a run's trainers agree on: who took part last, who reduces how much, how near the next time is."""

import time
from collections.abc import Sequence

from app import theme as look
from app.formats import data_size, duration, number, percent
from app.language import mark, told, tr
from app.theme import theme
from app.widgets.basics import Bar, Card, Figure, Label
from app.widgets.boxes import add, grid_box, hbox
from app.widgets.flow_picture import MOST, FlowPicture, Node
from core.contracts.notices import notice
from core.contracts.peer_names import SHOWN, two_words
from core.contracts.trunk_status import GiverStatus, TrunkStatus

WAYS = {"diloco": "DiLoCo", "dedloc": "DeDLOC", "vc_asgd": "VC-ASGD"}
ALONE = mark("This run's trainers agree on one trunk by {way}. Hearth works alone on this PC and takes no part.")
NOT_YET = mark("This run's trainers agree on one trunk by {way}. They have not done so since Hearth's start.")
GONE = mark("The last agreement on one trunk by {way} was {ago} ago. No other trainer is connected now.")
HELPS = mark("This PC helps %Ln trainer(s) to agree on one trunk by {way}.")
AGREE = mark("%Ln trainer(s) agree(s) on one trunk by {way}, last {ago} ago.")
BEGUN = mark("The trunk that all continue from has been here for {ago}. Next, trainers agree on it by {way}.")


def agreement(status: TrunkStatus, connected: int) -> str:
    """How many agree and when they last did, or that nothing is left to train.

    Args:
        status: what the worker tells.
        connected: peers; without any, nobody is there to agree with, whatever was agreed on before.

    Returns:
        "" where each trainer has its own trunk, or nobody has agreed yet.
    """
    if status.strategy == "local":
        return ""
    if status.reached:
        return told(notice("run.reached"))
    way = WAYS.get(status.strategy, status.strategy)
    if status.agreed is None:
        helps = any(one.peer == status.me for one in status.reducers) and status.givers and connected
        return tr(HELPS, len(status.givers), way=way) if helps else ""
    seconds = max(0, int(time.time() - status.agreed))
    ago = duration(seconds if seconds < 60 else seconds // 60 * 60)
    if status.trainers > 1 and not connected:
        return tr(GONE, ago=ago, way=way)
    return tr(AGREE, status.trainers, ago=ago, way=way) if status.trainers else tr(BEGUN, ago=ago, way=way)


class TrunkCard(Card):
    """Not seen where each trainer has its own trunk."""

    def __init__(self) -> None:
        super().__init__(tr("One trunk"))
        self.said = Label("", "body", wrap=True)
        self.waits = Label("", "body", "text2", wrap=True)
        self.picture = FlowPicture(tr("Who takes part, and who combines how much"), (tr("Trainers"), tr("Combined by")))
        self._bar, self.progress = Bar("peer"), Label("", "cap", "text2", tabular=True)
        self._next = Label(tr("To the next agreement"), "cap", "text2")
        self._sent, self._received = Figure(tr("Sent for the trunk")), Figure(tr("Received for the trunk"))
        self._accepted, self._reduced = Figure(tr("Samples or bytes counted")), Figure(tr("Combined for others"))
        self._figures = (self._sent, self._received, self._accepted, self._reduced)
        next_row = hbox(self._next, (self._bar, 1), self.progress, spacing=look.M)
        figures = grid_box(look.XL, look.M, stretch={2: 1})
        for place, figure in enumerate(self._figures):  # four do not fit side by side where the font is large
            figures.addWidget(figure, place // 2, place % 2)
        add(self.body, self.said, self.waits, self.picture, next_row, figures)
        self._done, self._stale = 0.0, False
        self.hide()

    def show_trunk(self, status: TrunkStatus, connected: int) -> None:
        """Show what the worker tells. As of `agreement`."""
        self.setVisible(status.strategy != "local")
        if status.strategy == "local":
            return
        way = WAYS.get(status.strategy, status.strategy)
        self.said.setText(agreement(status, connected) or tr(ALONE if status.me is None else NOT_YET, way=way))
        waits = "" if status.waits is None or status.ends is None else f"{told(status.waits)}. {told(status.ends)}"
        self.waits.setText("" if status.reached else waits)
        self.waits.setVisible(bool(self.waits.text()))
        self.picture.setVisible(bool(status.givers and status.reducers and connected))
        self.picture.set_nodes(_givers(status), _reducers(status), _in_words(status))
        self._show_progress(status)
        self._sent.set(data_size(status.sent))
        self._received.set(data_size(status.received))
        self._accepted.set(number(status.done.accepted))
        self._reduced.set(data_size(status.done.reduced))
        for figure in self._figures:
            figure.setVisible(status.me is not None)

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old."""
        self._stale = stale
        self.picture.set_stale(stale)
        self._show_bar()
        for label in (self.said, *(figure.value for figure in self._figures)):
            theme().set_tone(label, "text3" if stale else "text")

    def _show_progress(self, status: TrunkStatus) -> None:
        progress = status.progress
        for widget in (self._next, self._bar, self.progress):
            widget.setVisible(progress is not None)
        if progress is not None:
            self._done = progress.done / max(1, progress.target)
            self._show_bar()
            many = {"done": number(progress.done), "all": number(progress.target)}
            samples = progress.unit == "samples"
            self.progress.setText(tr("{done} of {all} samples" if samples else "{done} of {all} steps", **many))

    def _show_bar(self) -> None:
        self._bar.set_value(self._done, "text3" if self._stale else None)


def _name(peer: str, status: TrunkStatus) -> str:
    return tr("This PC") if peer == status.me else f"{two_words(peer)} {peer[:SHOWN]}"


def _given(giver: GiverStatus) -> str:
    """What is known of a trainer's part."""
    if giver.share == 0.0:
        return tr("not counted")
    if giver.samples is not None:
        return tr("%Ln sample(s)", giver.samples)
    return tr("took part") if giver.share is None else tr("in {share} of it", share=percent(giver.share, 0))


def _reduced(share: float) -> str:
    return tr("{share} of it", share=percent(share))


def _givers(status: TrunkStatus) -> list[Node]:
    """As nodes, what each gives as a share of what all do."""
    shares = [1.0 if giver.share is None else giver.share for giver in status.givers]
    whole = sum(shares) or 1.0
    nodes = [
        Node(_name(giver.peer, status), share / whole, _given(giver), giver.peer == status.me)
        for giver, share in zip(status.givers, shares, strict=True)
    ]
    return _few(nodes, "")


def _reducers(status: TrunkStatus) -> list[Node]:
    nodes = [
        Node(_name(one.peer, status), one.share, _reduced(one.share), one.peer == status.me) for one in status.reducers
    ]
    rest = sum(node.share for node in _sorted(nodes)[MOST - 1 :])
    return _few(nodes, _reduced(rest))


def _sorted(nodes: Sequence[Node]) -> list[Node]:
    return sorted(nodes, key=lambda node: (not node.own, -node.share, node.name))


def _few(nodes: Sequence[Node], note: str) -> list[Node]:
    """As many as there is room for, this PC first; the rest are one."""
    nodes = _sorted(nodes)
    if len(nodes) <= MOST:
        return nodes
    rest = nodes[MOST - 1 :]
    others = Node(tr("%Ln other(s)", len(rest)), sum(node.share for node in rest), note)
    return [*nodes[: MOST - 1], others]


def _in_words(status: TrunkStatus) -> str:
    """What the picture shows."""
    givers = ", ".join(f"{node.name} ({node.note})" if node.note else node.name for node in _givers(status))
    reducers = ", ".join(f"{node.name} ({node.note})" for node in _reducers(status))
    return tr("Took part in the last agreement: {givers}. Combined by: {reducers}.", givers=givers, reducers=reducers)

"""The connection test: all that a peer needs, what was found, and what to do about it."""

from datetime import datetime

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.formats import number
from app.icons import Icon
from app.language import clock, mark, told, tr
from app.theme import theme
from app.widgets.basics import Card, Label
from app.widgets.boxes import STRETCH, add, discard, grid_box, vbox
from app.widgets.buttons import Button
from app.worker.client import WorkerClient
from core.contracts.errors import HearthError
from core.contracts.network_status import Finding

NO_CHECK = mark("There is no connection to test while Hearth trains alone.")
CHECKS = mark("Checks port, other peers, outside address, NAT, clock and disk.")
VERDICTS = {
    True: ("check", "ok", mark("good")),
    False: ("alert", "warn", mark("needs attention")),
    None: ("info", "text2", mark("not known yet")),
}
"""Icon, its tone and the word for each `Finding.good`."""


class ConnectionTestCard(Card):
    """Asks the worker for all that a peer needs, and shows what it found with what to do."""

    def __init__(self, client: WorkerClient) -> None:
        super().__init__(tr("Connection test"))
        self._client = client
        self.check = Button(tr("Check now"), "plain", "refresh", clicked=self.run)
        self.said = Label(tr(CHECKS), "body", "text2", wrap=True)
        self.rows: list[QWidget] = []
        self._among_peers: bool | None = None
        """Whether others were connected when it was tested last; None: it was not yet."""
        self._grid = vbox(spacing=look.S)
        add(self.body, self.said, self._grid, STRETCH, self.check)

    def set_able(self, connected: bool, alone: bool) -> None:
        """Whether there is a worker to ask, and whether it has no network that could be checked."""
        self.check.setEnabled(connected and not alone)
        if alone:
            self._clear()
            self.said.setText(tr(NO_CHECK))
        elif self.said.text() == tr(NO_CHECK):
            self.said.setText(tr(CHECKS))

    def follow(self, among_peers: bool) -> None:
        """Test for a first time, as a card that says nothing yet looks broken; and again when the first peer has come
        or the last one has gone, as little of what was found is true then.

        Args:
            among_peers: whether others are connected.
        """
        if self._among_peers != among_peers and self.check.isEnabled():
            self._among_peers = among_peers
            self.run()

    def run(self) -> None:
        """Ask; the answer comes later."""
        self.check.setEnabled(False)
        self.said.setText(tr("Checking."))
        self._client.doctor(self._found, self._failed)

    def _failed(self, error: HearthError) -> None:
        self.check.setEnabled(True)
        self.said.setText(told(error.notice))

    def _found(self, findings: list[Finding]) -> None:
        self.check.setEnabled(True)
        wrong = sum(finding.good is False for finding in findings)
        said = tr("Everything is as it should be.")
        if wrong:
            said = tr("%Ln of {all} need(s) attention.", wrong, all=number(len(findings)))
        self.said.setText(f"{said} {tr('Checked at {time}.', time=clock(datetime.now()))}")
        self._clear()
        self.rows = [_finding(finding) for finding in findings]
        for row in self.rows:
            self._grid.addWidget(row)
            row.show()

    def _clear(self) -> None:
        discard(self.rows)
        self.rows = []


def _finding(finding: Finding) -> QWidget:
    row = QWidget()
    grid = grid_box(look.S, 1, within=row)
    icon, tone, verdict = VERDICTS[finding.good]
    grid.addWidget(Icon(icon, tone, 16), 0, 0)
    name = told(finding.title)
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

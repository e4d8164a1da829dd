"""The runs that this PC has joined: a card for each."""

from PySide6.QtCore import Qt, Signal

from app.actions import Actions
from app.language import mark, told, tr, tr_run
from app.pages.runs.run_card import RunCard
from app.widgets.basics import Label
from app.widgets.boxes import STRETCH, add, discard, vbox
from app.widgets.buttons import Button
from app.window.focus_ring import order_page
from app.window.page import LookingPage
from app.worker.client import WorkerClient
from core.contracts.ledger import Amounts, Totals
from core.contracts.status import RunStatus, Status
from core.contracts.telemetry import Told

EVERY_MS = 10_000
"""Between two looks at the ledger and the manifests, while the page is seen."""
ASKING = mark("Appears as soon as the worker has sent its runs.")
DROP = mark("A link or the file of a manifest can also be dropped onto this window.")


class RunsPage(LookingPage):
    """Follows the status; asks for the rest while it is seen."""

    done = Signal(str)
    """A sentence about what was done."""

    def __init__(self, client: WorkerClient, actions: Actions) -> None:
        super().__init__(
            client,
            EVERY_MS,
            "runs",
            tr("Runs"),
            "runs",
            tr("What this PC trains, for whom, and how the runs share its time."),
        )
        self._actions = actions
        self.add_button = Button(tr("Add a run"), "primary", "plus", clicked=lambda: actions.add_run.emit(""))
        self.head.addWidget(self.add_button, 0, Qt.AlignmentFlag.AlignTop)
        self.cards: dict[str, RunCard] = {}
        """By run id, in the order in which they were joined."""
        self.asking = Label(tr(ASKING), "body", "text2", wrap=True)
        self._column = vbox(spacing=self.body.spacing())
        add(self.body, self.asking, self._column, Label(tr(DROP), "cap", "text3", wrap=True), STRETCH)

    def update_status(self, status: Status) -> None:
        runs = {run.id: run for run in status.runs}
        come = [run for run in status.runs if run.id not in self.cards]
        gone = [self.cards.pop(run_id) for run_id in self.cards.keys() - runs.keys()]
        discard(gone)
        for run in come:
            self._column.addWidget(self._made(run))
        for run_id, card in self.cards.items():
            card.show_run(runs[run_id], status)
        self.asking.setVisible(not self.cards)
        if come or gone:
            order_page(self)
            if self.isVisible():
                self.look()

    def _made(self, run: RunStatus) -> RunCard:
        card = self.cards[run.id] = RunCard(run)
        card.weighed.connect(self._weigh)
        card.show_asked.connect(self._show)
        card.invite_asked.connect(self._actions.invite)
        card.leave_asked.connect(self._leave)
        return card

    def _show(self, run_id: str) -> None:
        self._actions.show_run.emit(run_id)
        self._actions.open_page.emit("home")

    def _weigh(self, run_id: str, weight: int) -> None:
        self._client.weigh_run(run_id, weight, self.failed)

    def _leave(self, run_id: str) -> None:
        card = self.cards[run_id]

        def left(run: RunStatus) -> None:
            self.done.emit(tr("Left “{run}”. What was trained stays in the data folder.", run=tr_run(run.title)))

        self._client.leave_run(run_id, left, lambda error: card.refuse(told(error.notice)))

    def look(self) -> None:
        if not self._client.is_connected:
            return
        self._client.totals(self._take, self.failed)
        self._client.heard(self._hear, lambda error: None)  # this PC works alone
        for run_id, card in self.cards.items():
            # a run may have been left meanwhile: then there is nothing to show
            self._client.run_details(run_id, card.show_details, lambda error: None)

    def _take(self, totals: Totals) -> None:
        self.looked()
        for run_id, card in self.cards.items():
            card.show_totals(*(period.runs.get(run_id, Amounts()) for period in (totals.today, totals.all)))

    def _hear(self, heard: Told) -> None:
        notices = {one.run: one for one in heard.notices}
        for run_id, card in self.cards.items():
            card.show_notice(notices.get(run_id))

    def set_stale(self, stale: bool) -> None:
        self.add_button.setEnabled(not stale)
        for card in self.cards.values():
            card.set_stale(tr("old figures") if stale else "")

"""Home: the state, why, what ends it; what was lent today, the model's progress, the devices and the network."""

import time
from datetime import datetime

import msgspec
from PySide6.QtCore import QTimer
from PySide6.QtGui import QShowEvent

from app import theme as look
from app.actions import Actions
from app.formats import NONE, number, percent, short
from app.language import clock, mark, told, tr, tr_run
from app.pages.home.devices_card import DevicesCard
from app.pages.home.network_card import NetworkCard
from app.pages.home.runs_card import RunsCard
from app.pages.home.state_card import StateCard
from app.pages.home.today_card import TodayCard
from app.pages.settings.settings_page import PACK
from app.widgets.basics import ElidedLabel, Label, Notice, Pair, StaleCard
from app.widgets.boxes import add, hbox, vbox
from app.widgets.curve_plot import CurvePlot
from app.window.page import Page
from app.worker.client import WorkerClient
from core.contracts.attention import apart
from core.contracts.status import CurvePoint, State, Status

NO_CURVE = mark("Not measured yet. The first point follows soon after training starts.")
UNKNOWN = mark("Appears as soon as the worker answers.")
"""In the place of figures that have never been told."""
FEW_POINTS, CALM_S = 8, 4.0
"""A longer curve is drawn anew only every so many seconds: one more point is hardly seen, but costs as much."""
REFRESH_MS = 1000
COMES_BACK = mark("Continues as soon as the worker answers.")
LOOKED_FOR = mark("Continues as soon as the worker answers; Try again looks for it now.")


class ModelCard(StaleCard):
    """Accuracy and loss on the held-out samples."""

    def __init__(self) -> None:
        super().__init__(tr("The model being trained"), tr("Try it"))
        self._newest: CurvePoint | None = None
        self._drawn_at = -CALM_S
        self._run_id = ""
        self._accuracy = CurvePlot(tr("Accuracy"), "peer", percent, lambda value: percent(value, 0), 1.0, tr(UNKNOWN))
        self._loss = CurvePlot(tr("Loss"), "peer", lambda value: number(value, 3), short, None, tr(UNKNOWN))
        self.values = [Label(NONE, "num"), Label(NONE, "num")]
        meanings = tr("correct on unseen samples"), tr("loss on them, lower is better")
        self._run = ElidedLabel("", "cap", "text2")
        self._run.hide()
        self.body.addWidget(self._run)
        row = hbox(spacing=look.XL)
        for figure, meaning, plot in zip(self.values, meanings, (self._accuracy, self._loss), strict=True):
            column = vbox(figure, Label(meaning, "cap", "text2", wrap=True), look.S, (plot, 1), spacing=0)
            row.addLayout(column, 1)
        self.body.addLayout(row, 1)

    def set_stale(self, since: str) -> None:
        super().set_stale(since)
        for plot in (self._accuracy, self._loss):
            plot.set_stale(bool(since))

    def set_connected(self, connected: bool) -> None:
        for plot in (self._accuracy, self._loss):
            plot.set_empty(tr(NO_CURVE) if connected else tr(UNKNOWN))

    def update_status(self, status: Status) -> None:
        """Name the run where this PC works on several."""
        if status.run_id != self._run_id:
            self._run_id, self._drawn_at = status.run_id, -CALM_S  # the figures of another one may not wait
        self._run.setText(tr_run(status.run_title))
        self._run.setVisible(len(status.runs) > 1)

    def set_points(self, points: list[CurvePoint]) -> None:
        newest = points[-1] if points else None
        settled = len(points) > FEW_POINTS and time.monotonic() - self._drawn_at < CALM_S
        if newest == self._newest or settled:
            return
        self._newest, self._drawn_at = newest, time.monotonic()
        self._accuracy.set_points([(point.step, point.accuracy) for point in points])
        self._loss.set_points([(point.step, point.loss) for point in points])
        figures = (percent(points[-1].accuracy), number(points[-1].loss, 3)) if points else (NONE, NONE)
        for label, figure in zip(self.values, figures, strict=True):
            label.setText(figure)


class HomePage(Page):
    def __init__(self, actions: Actions, client: WorkerClient) -> None:
        super().__init__("home", tr("Home"), "home")
        self.state_card = StateCard(actions)
        self.state_card.show_state("preparing", tr("The worker is starting."), tr("Ready in a few seconds."))
        self._trouble, self._changed, self._said = Notice(), Notice("peer", "info"), Notice("peer", "person")
        self.runs = RunsCard()
        self.runs.chosen.connect(actions.show_run)
        self.today, self.model = TodayCard(client), ModelCard()
        self.devices, self.network = DevicesCard(client), NetworkCard(client)
        self.today.link_clicked.connect(lambda: actions.open_page.emit("contribution"))
        self.model.link_clicked.connect(lambda: actions.open_page.emit("model"))
        self.network.link_clicked.connect(lambda: actions.open_page.emit("network"))
        self.devices.link_clicked.connect(lambda: actions.show_setting.emit(PACK))
        self.today.told.connect(self.network.show_totals)
        self._cards = (self.runs, self.today, self.model, self.devices, self.network)
        add(
            self.body,
            self.state_card,
            self._trouble,
            self._changed,
            self._said,
            self.runs,
            (Pair(self.today, self.model, (6, 7)), 1),
            Pair(self.devices, self.network, (8, 5)),
        )
        self._status: Status | None = None
        self._later = QTimer(self, singleShot=True, interval=REFRESH_MS)
        self._later.timeout.connect(self._refresh_again)
        self._waiting = False
        """Newer figures are there than those that are shown."""
        self._points: list[CurvePoint] = []

    def update_status(self, status: Status) -> None:
        if status.state != "contributing":  # the rates may be those of the second before the stop
            status = msgspec.structs.replace(status, samples_per_s=0.0, calls_per_s=0.0)
        before, self._status = self._status, status
        same_state = before is not None and before.state == status.state
        if before is not None and before.run_id != status.run_id:
            self.network.look()  # what its trainers have agreed on
        self.state_card.update_status(status)
        kinds = apart(status.attention)
        self._trouble.set_text(told(one for one in kinds.trouble if one not in status.reason))
        self._changed.set_text(told(kinds.changed))
        self._said.set_text(told(kinds.said))
        self._waiting = True
        if self.isVisible() and not (same_state and self._later.isActive()):
            self._refresh()

    def update_curve(self, points: list[CurvePoint]) -> None:
        self._points = points

    def set_connected(self, connected: bool, sentence: str, calm: bool = False) -> None:
        if connected:
            since = ""
        else:
            end = tr(COMES_BACK if calm else LOOKED_FOR)
            time = clock(datetime.fromtimestamp(self._status.time)) if self._status else ""
            if time:
                end = f"{end} {tr('Showing figures from {time}.', time=time)}"
            state: State = "preparing" if calm else "attention"
            self.state_card.show_state(state, sentence.rstrip(".") + ".", end, connected=False)
            for one in (self._trouble, self._changed, self._said):
                one.set_text("")
            since = tr("from {time}", time=time) if time else ""
        for card in self._cards:
            card.set_stale(since)
        self.model.set_connected(connected)
        self.today.look()
        self.network.look()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()

    def _refresh_again(self) -> None:
        if self._waiting and self.isVisible():
            self._refresh()

    def _refresh(self) -> None:
        """Draw the newest figures; not done while nobody sees them, and about once a second."""
        self._waiting = False
        self._later.start()
        if self._status is not None:
            self.runs.update_status(self._status)
            self.model.update_status(self._status)
            self.devices.update_status(self._status)
            if self._status.events:
                self.network.show_event(self._status.events[-1])
        self.model.set_points(self._points)

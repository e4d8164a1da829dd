"""The experts: the run's whole grid with what happens in it, those hosted here, and loss and load over time."""

import time
from collections import deque
from datetime import datetime
from functools import partial

from app import theme as look
from app.formats import NONE, count, number, rate, short
from app.language import clock, mark, tr
from app.pages.experts.grid_card import LAYERS, WHOLE_MODEL, GridCard
from app.pages.experts.grid_layer import EVERY_MS, uid_of
from app.theme import theme
from app.widgets.basics import Card, Label, Pair
from app.widgets.boxes import add, hbox, vbox
from app.widgets.curve_plot import CurvePlot
from app.widgets.table import Column, Table, TableModel
from app.window.page import LookingPage
from app.worker.client import WorkerClient
from core.contracts.errors import HearthError
from core.contracts.status import CurvePoint, ExpertStatus, GridStatus, Status

HISTORY_S = 1800.0


class Hosted(ExpertStatus, frozen=True):
    """An expert of this PC with what the grid tells of it."""

    per_minute: float | None = None
    """Calls that it answered, over the last minute; None: not known yet."""


def figures(value: float) -> str:
    """Three figures, so that a column's are alike."""
    return count(value, exact_below=1000)


COLUMNS = (
    Column[Hosted](
        mark("Expert"),
        lambda e: e.uid.partition(".")[2],  # all are of one run
        lambda e: [int(u) for u in e.uid.split(".")[1:]],
        mono=True,
        tip=lambda e: e.uid,
    ),
    Column[Hosted](
        mark("Updates"), lambda e: figures(e.updates), lambda e: e.updates, True, tip=lambda e: number(e.updates)
    ),
    Column[Hosted](
        mark("Samples"), lambda e: figures(e.samples), lambda e: e.samples, True, tip=lambda e: number(e.samples)
    ),
    Column[Hosted](mark("Calls"), lambda e: figures(e.calls), lambda e: e.calls, True, tip=lambda e: number(e.calls)),
    Column[Hosted](
        mark("Calls/min"),
        lambda e: NONE if e.per_minute is None else figures(e.per_minute),
        lambda e: e.per_minute or 0.0,
        True,
    ),
)


class HostedCard(Card):
    """The experts of this PC as a table."""

    def __init__(self) -> None:
        super().__init__(tr("Hosted on this PC"))
        self._count = Label("", "cap", "text2")
        self.head.addWidget(self._count)
        self.model = TableModel[Hosted](COLUMNS, lambda expert: expert.uid)
        self.table = Table(self.model, tr("Experts hosted on this PC"))
        self.table.setMinimumWidth(self.table.set_widths((64, 66, 72, 60, 76)))
        self.table.setMinimumHeight(theme().px(170))
        self.empty = Label(tr("Appears as soon as the worker answers."), "body", "text2", wrap=True)
        add(self.body, self.empty, (self.table, 1))
        self.body.addStretch(0)
        self.table.hide()

    def show_experts(self, experts: list[Hosted], layers: int, none_here: str) -> None:
        """Fill the table.

        Args:
            experts: those of this PC.
            layers: of the run's grid; 0: its model has no experts.
            none_here: why there are none.
        """
        self.model.set_rows(experts)
        self._count.setText(tr("%Ln expert(s)", len(experts)))
        self._count.setVisible(layers > 0)
        self.empty.setText(none_here if layers else tr(WHOLE_MODEL))
        self.empty.setVisible(not experts)
        self.table.setVisible(bool(experts))


class HistoryCard(Card):
    """Loss over the steps, and calls served over the last half hour that this window has seen."""

    def __init__(self) -> None:
        super().__init__(tr("Loss and load"))
        self.loss = CurvePlot(
            tr("Loss"),
            "peer",
            lambda value: number(value, 3),
            short,
            None,
            tr("Not measured yet. The first point follows soon."),
        )
        self._times: deque[tuple[float, float]] = deque()
        self.load = CurvePlot(
            tr("Calls per second"),
            "ember",
            lambda value: tr("{rate} calls per second", rate=rate(value)),
            short,
            None,
            tr("Recorded from now on, while this window is open."),
            self._clock,
        )
        row = hbox(spacing=look.XL)
        for word, plot in (
            (tr("Loss on unseen samples"), self.loss),
            (tr("Calls to experts here per second"), self.load),
        ):
            row.addLayout(vbox(Label(word, "cap", "text2", wrap=True), (plot, 1)), 1)
        self.body.addLayout(row, 1)

    def _clock(self, seconds: float) -> str:
        start = self._times[0][0] if self._times else time.time()
        return clock(datetime.fromtimestamp(start + seconds))

    def note(self, moment: float, calls_per_s: float) -> None:
        """Remember a figure; drawn by `draw`."""
        while self._times and moment <= self._times[-1][0]:
            self._times.pop()  # the clock was set back
        self._times.append((moment, calls_per_s))
        while moment - self._times[0][0] > HISTORY_S:
            self._times.popleft()

    def draw(self) -> None:
        if len(self._times) > 1:
            start = self._times[0][0]
            self.load.set_points([(round(moment - start), value) for moment, value in self._times])

    def set_stale(self, stale: bool) -> None:
        for plot in (self.loss, self.load):
            plot.set_stale(stale)


class ExpertsPage(LookingPage):
    """Looks at the grid every other second while it is seen, a layer at a time."""

    def __init__(self, client: WorkerClient) -> None:
        super().__init__(
            client,
            EVERY_MS,
            "experts",
            tr("Experts"),
            "experts",
            tr("Who hosts which part of the model, and what it does."),
        )
        self.grid, self.hosted, self.history = GridCard(), HostedCard(), HistoryCard()
        add(self.body, (self.grid, 3), (Pair(self.hosted, self.history), 2))
        self._asking = False
        self._status: Status | None = None
        self._points: list[CurvePoint] = []

    def update_status(self, status: Status) -> None:
        if self._status is not None and self._status.run_id != status.run_id:
            self.grid.forget()
        first = self._status is None
        self._status, self.grid.run = status, status.run
        if first and self.isVisible():
            self._draw()
        self.history.note(status.time, status.calls_per_s if status.state == "contributing" else 0.0)

    def update_curve(self, points: list[CurvePoint]) -> None:
        self._points = points

    def set_stale(self, stale: bool) -> None:
        self.grid.set_stale(stale)
        self.history.set_stale(stale)
        if stale:
            self._asking = False
            return
        for layer in self.grid.layers.values():
            layer.old = True

    def look(self) -> None:
        self._draw()
        if not self._asking and self._client.is_connected:
            self._asking = True
            self._client.grid(0, partial(self._take, self._client.shown_run), self.failed)

    def _take(self, run: str, grid: GridStatus) -> None:
        self.looked()
        if run != self._client.shown_run:
            self._asking = False  # the next look is at the other one
            return
        self.grid.show_layer(grid)
        if grid.layer + 1 < min(grid.layers, LAYERS) and self.isVisible():
            self._client.grid(grid.layer + 1, partial(self._take, run), self.failed)
        else:
            self._asking = False

    def failed(self, error: HearthError) -> None:
        self._asking = False
        super().failed(error)

    def _draw(self) -> None:
        self.history.draw()
        self.history.loss.set_points([(point.step, point.loss) for point in self._points])
        if self._status is not None:
            told = {
                uid_of(self._status.run, number_, place, layer.shape): layer.per_minute.get(place, 0.0)
                for number_, layer in self.grid.layers.items()
                for place, cell in layer.cells.items()
                if cell.here and not layer.old and layer.counted
            }
            hosted = [
                Hosted(expert.uid, expert.updates, expert.samples, expert.calls, told.get(expert.uid))
                for expert in self._status.experts
            ]
            self.hosted.show_experts(hosted, self._status.layers, self._none_here(self._status))

    def _none_here(self, status: Status) -> str:
        """Why this PC hosts no expert, and when that ends."""
        if status.state != "contributing":
            return tr("No expert is hosted on this PC now. It takes some on when it may compute.")
        free = self.grid.free()
        if free is None:
            return tr("No expert is hosted on this PC yet. It takes some on as soon as it knows what peers host.")
        if free:
            return tr("%Ln expert(s) have no host yet. This PC takes some of them on in the next seconds.", free)
        return tr("Peers host all experts now. This PC takes some over from a peer that hosts more than its share.")

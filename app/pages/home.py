"""Home: the state, why, what ends it; what was lent today, the model's progress, this PC and its experts."""

import time
from datetime import datetime

import msgspec
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app import theme as look
from app.actions import Actions
from app.icons import Icon
from app.language import mark, tr
from app.pages.hero import Hero
from app.pages.today import TodayCard
from app.theme import theme
from app.window.curve_plot import CurvePlot
from app.window.expert_grid import ExpertGrid
from app.window.page import Page
from app.window.widgets import Figure, Label, Notice, Pair, StaleCard
from app.window.words import clock, number, percent, rate, short
from app.worker_client import WorkerClient
from core.control.messages import CurvePoint, ExpertStatus, Status

MAX_LAYERS = 4
"""Layers whose grids are shown; the others' figures are in the totals."""
NO_CURVE = mark("Not measured yet. The first point follows soon after training starts.")
NO_EXPERTS = mark("No expert is hosted yet. They appear as soon as this PC starts to compute.")
UNKNOWN = mark("Shown as soon as the worker answers.")
"""In the place of figures that have never been told."""
FEW_POINTS, CALM_S = 8, 4.0
"""A longer curve is drawn anew only every so many seconds: one more point is hardly seen, but costs as much."""
BRIGHTER = mark("Brighter cells took more updates: {least} to {most}.")
DARKER = mark("Darker cells took more updates: {least} to {most}.")
REFRESH_MS = 1000
PROCESSES = {
    "app": mark("App"),
    "screensaver": mark("Screensaver"),
    "worker": mark("Worker"),
    "compute": mark("Compute"),
}
NONE = "\N{EN DASH}"


class ModelCard(StaleCard):
    """Accuracy and loss on the held-out samples."""

    def __init__(self) -> None:
        super().__init__(tr("The model being trained"), tr("Try it"))
        self._newest: CurvePoint | None = None
        self._drawn_at = 0.0
        self._accuracy = CurvePlot(tr("Accuracy"), "peer", percent, lambda value: percent(value, 0), 1.0, tr(UNKNOWN))
        self._loss = CurvePlot(tr("Loss"), "peer", lambda value: number(value, 3), short, None, tr(UNKNOWN))
        self._accuracy_figure = Label(NONE, "num")
        self._loss_figure = Label(NONE, "num")
        self.values = [self._accuracy_figure, self._loss_figure]
        row = QHBoxLayout()
        row.setSpacing(look.XL)
        row.addLayout(
            self._column(self._accuracy_figure, tr("right on unseen samples, higher is better"), self._accuracy), 1
        )
        row.addLayout(self._column(self._loss_figure, tr("loss on unseen samples, lower is better"), self._loss), 1)
        self.body.addLayout(row, 1)

    @staticmethod
    def _column(figure: Label, meaning: str, plot: CurvePlot) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setSpacing(0)
        column.addWidget(figure)
        column.addWidget(Label(meaning, "cap", "text2", wrap=True))
        column.addSpacing(look.S)
        column.addWidget(plot, 1)
        return column

    def set_stale(self, since: str) -> None:
        super().set_stale(since)
        for plot in (self._accuracy, self._loss):
            plot.set_stale(bool(since))

    def set_connected(self, connected: bool) -> None:
        for plot in (self._accuracy, self._loss):
            plot.set_empty(tr(NO_CURVE) if connected else tr(UNKNOWN))

    def set_points(self, points: list[CurvePoint]) -> None:
        newest = points[-1] if points else None
        settled = len(points) > FEW_POINTS and time.monotonic() - self._drawn_at < CALM_S
        if newest == self._newest or settled:
            return
        self._newest, self._drawn_at = newest, time.monotonic()
        self._accuracy.set_points([(point.step, point.accuracy) for point in points])
        self._loss.set_points([(point.step, point.loss) for point in points])
        self._accuracy_figure.setText(percent(points[-1].accuracy) if points else NONE)
        self._loss_figure.setText(number(points[-1].loss, 3) if points else NONE)


class _Row(QHBoxLayout):
    """Icon and word at the left, the value at the right."""

    def __init__(self, icon: str, name: str) -> None:
        super().__init__()
        self.setSpacing(look.S)
        self.value = Label("", "strong", wrap=True)
        self.value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.addWidget(Icon(icon, "text2", 18))
        self.addWidget(Label(name, "body", "text2"))
        self.addWidget(self.value, 1)


class MachineCard(StaleCard):
    """What this PC does and what it takes for that."""

    def __init__(self) -> None:
        super().__init__(tr("This PC"))
        self._rate = Label(NONE, "num")
        meaning = Label(tr("samples trained per second"), "body", "text2")
        top = QHBoxLayout()
        top.setSpacing(look.S)
        top.addWidget(self._rate, 0, Qt.AlignmentFlag.AlignBaseline)
        top.addWidget(meaning, 0, Qt.AlignmentFlag.AlignBaseline)
        top.addStretch(1)
        self.body.addLayout(top)
        self._step, self._samples, self._flight = Figure(tr("Step")), Figure(tr("Samples")), Figure(tr("On the way"))
        figures = QHBoxLayout()
        figures.setSpacing(look.M)
        for figure in (self._step, self._samples, self._flight):
            figure.set(NONE)
            figures.addWidget(figure, 1)
        self.body.addLayout(figures)
        self.body.addStretch(1)
        self._device, self._memory = _Row("cpu", tr("Device")), _Row("memory", tr("Memory"))
        self.body.addLayout(self._device)
        self.body.addLayout(self._memory)
        self.values = [self._rate, self._device.value, self._memory.value]
        self.values += [figure.value for figure in (self._step, self._samples, self._flight)]
        self._device.value.setText(NONE)
        self._memory.value.setText(NONE)

    def update_status(self, status: Status) -> None:
        self._rate.setText(rate(status.samples_per_s))
        self._step.set(number(status.step))
        self._samples.set(number(status.samples))
        self._flight.set(number(status.in_flight), tr("batch(es)", status.in_flight))
        self._device.value.setText(f"{status.device}, {tr('%Ln thread(s)', status.threads)}")
        parts = [
            f"{tr(word)} {number(process.memory_mb)}"
            for name, word in PROCESSES.items()
            for process in status.processes
            if process.name == name
        ]
        total = sum(process.memory_mb for process in status.processes)
        self._memory.value.setText(f"{number(total)} MB" if parts else NONE)
        self._memory.value.setToolTip(f"{', '.join(parts)} MB" if parts else "")


class ExpertsCard(StaleCard):
    """The experts that this PC hosts, layer by layer."""

    def __init__(self) -> None:
        super().__init__(tr("Experts"))
        self._count = Label("", "cap", "text2")
        self.head.addWidget(self._count)
        self._total = Label(NONE, "num")
        self.values = [self._total]
        self._words = Label(tr(UNKNOWN), "cap", "text2", wrap=True)
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(self._total)
        texts.addWidget(Label(tr("updates in all"), "cap", "text2"))
        texts.addSpacing(look.M)
        texts.addWidget(self._words)
        texts.addStretch(1)
        self._row = QHBoxLayout()
        self._row.setSpacing(look.L)
        self._row.addLayout(texts, 1)
        self.body.addLayout(self._row, 1)
        self._layers: list[QWidget] = []
        self._grids: list[ExpertGrid] = []
        self._legend = tr(UNKNOWN)

    def set_connected(self, connected: bool) -> None:
        if self._legend in (tr(NO_EXPERTS), tr(UNKNOWN)):
            self._set_legend(tr(NO_EXPERTS) if connected else tr(UNKNOWN))

    def update_status(self, status: Status) -> None:
        layers: list[list[ExpertStatus]] = [[] for _ in range(status.layers)]
        for expert in status.experts:
            layer = int(expert.uid.split(".")[1])
            layers[layer].append(expert)
        self._make_grids(min(status.layers, MAX_LAYERS))
        updates = [expert.updates for expert in status.experts]
        most = max(updates, default=0)
        for grid in self._grids:
            grid.set_experts(layers[grid.layer], status.grid, most)
        self._total.setText(number(sum(updates)) if updates else NONE)
        self._count.setText(tr("%Ln hosted here", len(updates)) if updates else "")
        legend = tr(NO_EXPERTS)
        if updates:
            words = BRIGHTER if theme().dark else DARKER
            legend = tr(words, least=number(min(updates)), most=number(most))
        self._set_legend(legend)

    def _set_legend(self, legend: str) -> None:
        """What stands beside the grids while no cell is chosen."""
        if self._words.text() in ("", self._legend):
            self._words.setText(legend)
        self._legend = legend

    def _make_grids(self, count: int) -> None:
        for whole in self._layers[count:]:  # another run has fewer
            whole.deleteLater()
        del self._layers[count:], self._grids[count:]
        for layer in range(len(self._grids), count):
            grid = ExpertGrid(layer)
            grid.picked.connect(lambda words: self._words.setText(words or self._legend))
            self._layers.append(QWidget())
            column = QVBoxLayout(self._layers[-1])
            column.setContentsMargins(0, 0, 0, 0)
            column.setSpacing(look.S)
            column.addWidget(Label(tr("Layer {layer}", layer=layer), "cap", "text2"))
            column.addWidget(grid)
            column.addStretch(1)
            self._row.addWidget(self._layers[-1])
            self._grids.append(grid)

    def set_stale(self, since: str) -> None:
        super().set_stale(since)
        for grid in self._grids:
            grid.set_stale(bool(since))


class HomePage(Page):
    def __init__(self, actions: Actions, client: WorkerClient) -> None:
        super().__init__("home", tr("Home"), "home")
        self.hero = Hero(actions)
        self.hero.show_state("preparing", tr("The worker is starting."), tr("Ready in a few seconds."))
        self._notice = Notice()
        self.today, self.model = TodayCard(client), ModelCard()
        self.machine, self.experts = MachineCard(), ExpertsCard()
        self.today.link_clicked.connect(lambda: actions.open_page.emit("contribution"))
        self.model.link_clicked.connect(lambda: actions.open_page.emit("model"))
        self._cards = (self.today, self.model, self.machine, self.experts)
        self.body.addWidget(self.hero)
        self.body.addWidget(self._notice)
        self.body.addWidget(Pair(self.today, self.model, (2, 3)), 1)
        self.body.addWidget(Pair(self.machine, self.experts))
        self._status: Status | None = None
        self._later = QTimer(self, singleShot=True, interval=REFRESH_MS)
        self._later.timeout.connect(self._refresh_again)
        self._waiting = False
        """Newer figures are there than those that are shown."""
        self._points: list[CurvePoint] = []

    def update_status(self, status: Status) -> None:
        if status.state != "contributing":  # the rates may be those of the second before the stop
            status = msgspec.structs.replace(status, samples_per_s=0.0, calls_per_s=0.0)
        same_state = self._status is not None and self._status.state == status.state
        self._status = status
        self.hero.update_status(status)
        attention = status.attention if status.state != "attention" else status.attention[1:]
        self._notice.set_text(" ".join(attention))
        self._waiting = True
        if self.isVisible() and not (same_state and self._later.isActive()):
            self._refresh()

    def update_curve(self, points: list[CurvePoint]) -> None:
        self._points = points

    def set_connected(self, connected: bool, sentence: str) -> None:
        if connected:
            since = ""
        else:
            old = self._status is not None
            end = tr("Goes on as soon as the worker answers; Try again looks for it now.")
            if old:
                end = f"{end} {tr('The figures are old.')}"
            self.hero.show_state("attention", sentence.rstrip(".") + ".", end, connected=False)
            self._notice.set_text("")
            since = tr("from {time}", time=clock(datetime.fromtimestamp(self._status.time))) if self._status else ""
        for card in self._cards:
            card.set_stale(since)
        self.model.set_connected(connected)
        self.today.look()
        self.experts.set_connected(connected)

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
        self.model.set_points(self._points)
        if self._status is not None:
            self.machine.update_status(self._status)
            self.experts.update_status(self._status)

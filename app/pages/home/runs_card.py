"""The runs on Home, where this PC has joined several: how far each is, how fast, and its share of the time."""

from PySide6.QtCore import Signal

from app.formats import NONE, number, pace, percent
from app.language import mark, told, tr, tr_run
from app.theme import theme
from app.widgets.basics import StaleCard
from app.widgets.table import Column, Table, TableModel
from core.contracts.notices import notice
from core.contracts.status import RunStatus, Status

ROW, HEAD = 28, 34
"""Heights, pixels."""


class Shown(RunStatus, frozen=True):
    """A run with its share of the time of all."""

    share: float = 1.0


COLUMNS = (
    Column[Shown](mark("Run"), lambda run: tr_run(run.title), lambda run: run.title, tip=lambda run: run.id),
    Column[Shown](mark("Step"), lambda run: number(run.step), lambda run: run.step, True),
    Column[Shown](
        mark("Trained per second"),
        lambda run: (
            tr("waits") if run.waits else tr("goal reached") if run.reached else pace(run.task, run.samples_per_s)
        ),
        lambda run: run.samples_per_s,
        True,
        tip=lambda run: told(run.waits) if run.waits else told(notice("run.reached")) if run.reached else "",
    ),
    Column[Shown](
        mark("Accuracy"),
        lambda run: NONE if run.accuracy is None else percent(run.accuracy),
        lambda run: run.accuracy or 0.0,
        True,
    ),
    Column[Shown](mark("Share of time"), lambda run: percent(run.share, 0), lambda run: run.share, True),
)
WIDTHS = (200, 90, 130, 90, 110)


class RunsCard(StaleCard):
    """Not seen while there is one run only. A row that is chosen is the run that the window shows."""

    chosen = Signal(str)
    """The id of a run."""

    def __init__(self) -> None:
        super().__init__(tr("Runs"))
        self.model = TableModel[Shown](COLUMNS, lambda run: run.id, lambda run: run.title.casefold())
        self.table = Table(self.model, tr("Runs"))
        self.table.set_widths(WIDTHS)
        self.table.activated.connect(self._choose)
        self.table.clicked.connect(self._choose)
        self.body.addWidget(self.table)
        self.hide()

    def update_status(self, status: Status) -> None:
        """Show the runs of a status, if there are several."""
        self.setVisible(len(status.runs) > 1)
        weights = sum(run.weight for run in status.runs)
        fields = RunStatus.__struct_fields__
        self.model.set_rows(
            [Shown(**{name: getattr(run, name) for name in fields}, share=run.weight / weights) for run in status.runs]
        )
        self.table.setFixedHeight(theme().px(HEAD + ROW * len(status.runs)))

    def _choose(self) -> None:
        run = self.table.chosen()
        if run is not None:
            self.chosen.emit(run.id)

"""Which of this PC's models is tried: side by side where they are few, else a list."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from app.language import tr, tr_run
from app.theme import theme
from app.widgets.boxes import hbox
from app.widgets.buttons import Segmented
from app.widgets.inputs import Choice
from core.contracts.status import Status

FEW = 3
WIDEST = 150
"""Of a title, pixels; longer ones are cut short."""


class ModelChoice(QWidget):
    """Not there while only one run is joined."""

    chosen = Signal(str)
    """The id of the run that the user wants to try."""

    def __init__(self) -> None:
        super().__init__()
        self._row = hbox(within=self)
        self._listed: dict[str, str] = {}
        self.control: Segmented | Choice | None = None
        self.hide()

    def update_status(self, status: Status) -> None:
        """Offer the runs that are joined; the one that is shown is chosen."""
        listed = {run.id: tr_run(run.title) for run in status.runs}
        self.setVisible(len(listed) > 1)
        if len(listed) < 2 or status.run_id not in listed:
            return
        if listed != self._listed:
            self._listed = listed
            self._build()
        if isinstance(self.control, Segmented):
            self.control.set_value(status.run_id)
        elif self.control is not None:
            self.control.setCurrentIndex([*listed].index(status.run_id))

    def _build(self) -> None:
        if self.control is not None:
            self.control.hide()
            self.control.deleteLater()
        name = tr("Model to try")
        if len(self._listed) <= FEW:
            metrics, widest = self.fontMetrics(), theme().px(WIDEST)
            cut = {
                run: metrics.elidedText(title, Qt.TextElideMode.ElideRight, widest)
                for run, title in self._listed.items()
            }
            self.control = Segmented(cut, name)
            self.control.chosen.connect(self.chosen)
        else:
            self.control = choice = Choice()
            choice.setAccessibleName(name)
            for run, title in self._listed.items():
                choice.addItem(title, run)
            choice.activated.connect(lambda place: self.chosen.emit(choice.itemData(place)))
        self._row.addWidget(self.control)
        self.control.show()

"""Which run the window shows: its name at the foot of the window, and a choice where this PC has joined several."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.language import tr, tr_run
from app.theme import theme
from app.widgets.basics import ElidedLabel
from app.widgets.boxes import STRETCH, hbox
from app.widgets.inputs import Choice
from core.contracts.status import Status


class RunChooser(QWidget):
    """One run is named in a label; several are listed."""

    chosen = Signal(str)
    """The id of a run that the user wants to see."""

    def __init__(self) -> None:
        super().__init__()
        self.label = ElidedLabel("", "cap", "text3")
        self.choice = Choice()
        self.choice.setAccessibleName(tr("Run shown"))
        self.choice.setFont(theme().font("cap"))
        theme().set_sheet(self.choice, "low_choice")
        self.choice.hide()
        self._row = hbox((self.label, 1), self.choice, STRETCH, within=self)
        self.choice.activated.connect(lambda place: self.chosen.emit(self.choice.itemData(place)))

    def update_status(self, status: Status) -> None:
        """Name the run that the status is of, and the others beside it."""
        several = len(status.runs) > 1
        self.choice.setVisible(several)
        self._row.setStretch(0, 0 if several else 1)
        self._row.setStretch(2, 1 if several else 0)
        if not several:
            self.label.setText(tr("Run: {title} ({run})", title=tr_run(status.run_title), run=status.run))
            return
        self.label.setText(tr("Run:"))
        listed = [(tr_run(run.title), run.id) for run in status.runs]
        if listed != [(self.choice.itemText(at), self.choice.itemData(at)) for at in range(self.choice.count())]:
            self.choice.clear()
            for title, run in listed:
                self.choice.addItem(title, run)
        self.choice.setCurrentIndex(self.choice.findData(status.run_id))

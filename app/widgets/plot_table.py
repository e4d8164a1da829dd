"""What a plot shows as a table in a dialog, for who reads figures rather than lines, as with a screen reader."""

from collections.abc import Sequence

from PySide6.QtWidgets import QDialog, QWidget

from app import theme as look
from app.language import tr
from app.theme import theme
from app.widgets.basics import Label
from app.widgets.boxes import STRETCH, hbox, vbox
from app.widgets.buttons import Button
from app.widgets.room import fit
from app.widgets.table import Column, Table, TableModel

Row = tuple[int, Sequence[str]]
"""Its place, by which all columns are sorted: words have no better order. And a word for each column."""
FIRST, OTHERS = 190, 120
"""Widths of columns, pixels."""
MOST = 640
"""Width of the dialog."""


class PlotTable(QDialog):
    """Stays until it is closed; what it tells is as of its opening.

    Args:
        plot: whose figures these are.
        name: what they are.
        heads: of the columns.
        rows: a word for each column, in the plot's order.
    """

    def __init__(self, plot: QWidget, name: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        super().__init__(plot.window())
        self.setWindowTitle(name)
        self.setAccessibleName(name)
        columns = [_column(at, head) for at, head in enumerate(heads)]
        self.model = TableModel[Row](columns, lambda row: str(row[0]))
        self.table = Table(self.model, name)
        wide = self.table.set_widths([FIRST, *[OTHERS] * (len(heads) - 1)])
        close = Button(tr("Close"), clicked=self.accept)
        edge = look.PAGE_MARGIN
        vbox(
            Label(name, "title"),
            (self.table, 1),
            hbox(STRETCH, close),
            spacing=look.M,
            margins=(edge, edge, edge, edge),
            within=self,
        )
        self.resize(min(theme().px(MOST), wide + 2 * edge), theme().px(420))
        fit(self)
        self.table.ensurePolished()  # or rows are as high as without the style
        self.model.set_rows([*enumerate(rows)])
        self.table.setCurrentIndex(self.model.index(len(rows) - 1, 0))
        self.finished.connect(self.deleteLater)
        self.table.setFocus()


def _column(at: int, head: str) -> Column[Row]:
    return Column[Row](head, lambda row: row[1][at], lambda row: row[0], right=at > 0)

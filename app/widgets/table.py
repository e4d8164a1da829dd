"""Tables of many rows: a model whose rows are replaced all at once, and the view for it. No widget for a row."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTreeView

from app.formats import tip
from app.language import tr
from app.theme import theme

Row = TypeVar("Row")
Index = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()
ROW_HEIGHT = 30
TITLE_PADDING = 22


class Column(NamedTuple, Generic[Row]):
    """A column of a table."""

    title: str
    text: Callable[[Row], str]
    key: Callable[[Row], Any]
    """What it is sorted by."""
    right: bool = False
    """Figures stand at the right."""
    mono: bool = False
    tip: Callable[[Row], str] | None = None


class TableModel(QAbstractTableModel, Generic[Row]):
    """Rows of a frozen kind, in the chosen order, that fit the filter.

    Args:
        columns: of the table.
        name: what tells a row from all others.
        words: what the filter looks at, in lower case.
    """

    replacing, replaced = Signal(), Signal()
    """Before and after rows take other places."""

    def __init__(
        self, columns: Sequence[Column[Row]], name: Callable[[Row], str], words: Callable[[Row], str] | None = None
    ) -> None:
        super().__init__()
        self.columns, self.name, self._words = columns, name, words or name
        self._all: list[Row] = []
        self.shown: list[Row] = []
        self._filter = ""
        self._by, self._descending = 0, False

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.shown)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        column, row = self.columns[index.column()], self.shown[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return column.text(row)
            case Qt.ItemDataRole.ToolTipRole:
                return tip(column.tip(row)) if column.tip else None
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{tr(column.title)}: {column.text(row)}"
            case Qt.ItemDataRole.TextAlignmentRole:
                side = Qt.AlignmentFlag.AlignRight if column.right else Qt.AlignmentFlag.AlignLeft
                return side | Qt.AlignmentFlag.AlignVCenter
            case Qt.ItemDataRole.FontRole:
                return theme().mono() if column.mono else theme().font("body", tabular=True) if column.right else None
        return None

    def headerData(self, section: int, side: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if side is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return tr(self.columns[section].title)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side_of = Qt.AlignmentFlag.AlignRight if self.columns[section].right else Qt.AlignmentFlag.AlignLeft
            return side_of | Qt.AlignmentFlag.AlignVCenter
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._by, self._descending = max(0, column), order is Qt.SortOrder.DescendingOrder
        self._show()

    def set_filter(self, text: str) -> None:
        """Show the rows with this text in them."""
        self._filter = text.casefold()
        self._show()

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Take these instead of the rows so far, in one step."""
        self._all = list(rows)
        self._show()

    def _show(self) -> None:
        """Rows come and go at the end, and all are painted anew as far as they are seen: cheap for any number."""
        rows = [row for row in self._all if self._filter in self._words(row)] if self._filter else self._all
        rows = sorted(rows, key=self.columns[self._by].key, reverse=self._descending)
        before, now = len(self.shown), len(rows)
        self.replacing.emit()
        if now > before:
            self.beginInsertRows(QModelIndex(), before, now - 1)
            self.shown = rows
            self.endInsertRows()
        elif now < before:
            self.beginRemoveRows(QModelIndex(), now, before - 1)
            self.shown = rows
            self.endRemoveRows()
        self.shown = rows
        if rows:
            self.dataChanged.emit(self.index(0, 0), self.index(now - 1, len(self.columns) - 1))
        self.replaced.emit()

    def find(self, name: str) -> int | None:
        """The row with this name."""
        return next((number for number, row in enumerate(self.shown) if self.name(row) == name), None)


class Rows(QTreeView):
    """Any number of rows: a tree of one level is the only view whose cost does not grow with them.

    Args:
        model: of the rows.
        name: accessible name.
    """

    def __init__(self, model: QAbstractItemModel, name: str) -> None:
        super().__init__()
        self.setModel(model)
        self.setAccessibleName(name)
        self.setUniformRowHeights(True)
        self.setRootIsDecorated(False)
        self.setItemsExpandable(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setAutoFillBackground(False)
        self.viewport().setAutoFillBackground(False)
        theme().set_sheet(self.verticalScrollBar(), "scroll_bar")


class Table(Rows):
    """Shows a `TableModel`; a click on a head sorts. The chosen row stays chosen wherever it goes.

    Args:
        name: accessible name.
        stretched: the column that takes the room that is left.
    """

    def __init__(self, model: TableModel[Any], name: str, stretched: int = 0) -> None:
        super().__init__(model, name)
        self._rows = model
        self._kept: str | None = None
        """Name of the chosen row while rows take other places."""
        model.replacing.connect(self._keep)
        model.replaced.connect(self._choose)
        theme().set_sheet(self, "table")
        self.setAllColumnsShowFocus(True)
        self.setSortingEnabled(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        head = self.header()
        head.setStretchLastSection(False)
        head.setSectionsMovable(False)
        head.setMinimumSectionSize(theme().px(40))
        head.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        head.setSectionResizeMode(stretched, QHeaderView.ResizeMode.Stretch)
        self.sortByColumn(0, Qt.SortOrder.AscendingOrder)

    def set_widths(self, widths: Sequence[int]) -> int:
        """Of the columns, pixels at the usual text size; those with a longer title get more.

        Returns:
            Pixels that they need side by side.
        """
        needed = self.verticalScrollBar().sizeHint().width()
        metrics = QFontMetrics(self.header().font())
        for column, width in enumerate(widths):
            title = str(self._rows.headerData(column, Qt.Orientation.Horizontal))
            least = metrics.horizontalAdvance(title) + theme().px(TITLE_PADDING)
            self.setColumnWidth(column, max(theme().px(width), least))
            needed += max(theme().px(width), least)
        return needed

    def _keep(self) -> None:
        chosen = self.chosen()
        self._kept = None if chosen is None else self._rows.name(chosen)

    def chosen(self) -> Any | None:
        """The chosen row."""
        row = self.currentIndex().row()
        return self._rows.shown[row] if 0 <= row < len(self._rows.shown) else None

    def _choose(self) -> None:
        chosen = self.chosen()
        if self._kept is None or (chosen is not None and self._rows.name(chosen) == self._kept):
            return
        place = self._rows.find(self._kept)
        at = self.verticalScrollBar().value()
        self.setCurrentIndex(QModelIndex() if place is None else self._rows.index(place, 0))
        self.verticalScrollBar().setValue(at)

    def sizeHint(self) -> QSize:
        return QSize(theme().px(400), theme().px(ROW_HEIGHT * 6))

"""The hours of a week as cells: painted with the mouse, or with arrow keys and Space; a cell may be on in part."""

from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from app import theme as look
from app.formats import tip
from app.language import locale, tr
from app.theme import theme
from core.contracts.schedule import DAY, WEEK, Schedule

DAYS, HOURS = 7, 24
ROW, LEAST_CELL = 20, 12
EVERY = 3
"""Hours between two marks over the cells."""
Index = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()
ARROWS = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down)


class Week(QAbstractTableModel):
    """A row for each day, a column for each hour."""

    def __init__(self) -> None:
        super().__init__()
        self.minutes = [True] * WEEK
        """Since Monday 0:00."""

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else DAYS

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else HOURS

    def hour(self, day: int, hour: int) -> list[bool]:
        """The minutes of a cell."""
        start = day * DAY + hour * 60
        return self.minutes[start : start + 60]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self.words(index)
        return tip(self.words(index)) if role == Qt.ItemDataRole.ToolTipRole else None

    def words(self, index: Index) -> str:
        """ "Monday, 18:00 to 19:00: on"."""
        on = sum(self.hour(index.row(), index.column()))
        state = tr("on") if on == 60 else tr("on for %Ln min", on) if on else tr("off")
        day, start, end = locale().dayName(index.row() + 1), index.column(), index.column() + 1
        return tr("{day}, {start} to {end}: {state}", day=day, start=f"{start}:00", end=f"{end}:00", state=state)

    def headerData(self, section: int, side: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        days = side is Qt.Orientation.Vertical
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return locale().dayName(section + 1) if days else f"{section}:00"
        if role == Qt.ItemDataRole.DisplayRole and days:
            return locale().dayName(section + 1, locale().FormatType.ShortFormat).removesuffix(".")
        if role == Qt.ItemDataRole.DisplayRole:
            return "" if section % EVERY else str(section)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def paint(self, day: tuple[int, int], hour: tuple[int, int], on: bool) -> None:
        """Turn a block of whole hours on or off.

        Args:
            day: the first and the last.
            hour: likewise.
            on: what they become.
        """
        for row in range(min(day), max(day) + 1):
            start, end = row * DAY + min(hour) * 60, row * DAY + (max(hour) + 1) * 60
            self.minutes[start:end] = [on] * (end - start)
        self.changed()

    def changed(self) -> None:
        self.dataChanged.emit(self.index(0, 0), self.index(DAYS - 1, HOURS - 1))


class WeekGrid(QTableView):
    """Paints a week; `painted` tells of each stroke when it is done.

    Args:
        name: accessible name.
    """

    painted = Signal()

    def __init__(self, name: str) -> None:
        super().__init__()
        self.week = Week()
        self._stroke: tuple[QModelIndex, bool, list[bool]] | None = None
        """Where it began, what it paints, and the minutes before it."""
        self.setModel(self.week)
        self.setItemDelegate(_Cell(self))
        self.setAccessibleName(name)
        self.setAccessibleDescription(
            tr("Arrow keys move, Space turns an hour on or off. Shift and arrows paint; Shift and Space paint a day.")
        )
        theme().set_sheet(self, "week")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        for policy in (self.setHorizontalScrollBarPolicy, self.setVerticalScrollBarPolicy):
            policy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setAutoFillBackground(False)
        self.viewport().setCursor(Qt.CursorShape.CrossCursor)
        across, down = self.horizontalHeader(), self.verticalHeader()
        across.setMinimumSectionSize(theme().px(LEAST_CELL))
        across.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        down.setMinimumSectionSize(theme().px(LEAST_CELL))
        down.setDefaultSectionSize(theme().px(ROW))
        down.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        for head in (across, down):
            head.setFont(theme().font("micro", tabular=True))
            head.setHighlightSections(False)
            head.setSectionsClickable(True)
            head.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        across.sectionClicked.connect(lambda hour: self._toggle((0, DAYS - 1), (hour, hour)))
        down.sectionClicked.connect(lambda day: self._toggle((day, day), (0, HOURS - 1)))
        metrics = QFontMetrics(down.font())
        names = (self.week.headerData(day, Qt.Orientation.Vertical) for day in range(DAYS))
        across.setFixedHeight(metrics.height() + 4)
        down.setFixedWidth(max(map(metrics.horizontalAdvance, names)) + theme().px(look.S))
        self.setFixedHeight(across.height() + DAYS * theme().px(ROW) + 2)
        self.setMinimumWidth(HOURS * theme().px(LEAST_CELL) + down.width() + 2)

    def sizeHint(self) -> QSize:
        return QSize(theme().px(560), self.height())

    def show_schedule(self, schedule: Schedule) -> None:
        """Show when a schedule is on; a stroke that is being painted is given up."""
        self._stroke = None
        self.week.minutes = [False] * WEEK
        for start, end in schedule.spans:
            self.week.minutes[start:end] = [True] * (end - start)
        self.week.changed()

    def fill(self, on: bool) -> None:
        """Turn all hours on or off."""
        self._paint((0, DAYS - 1), (0, HOURS - 1), on)

    def _toggle(self, day: tuple[int, int], hour: tuple[int, int]) -> None:
        """Turn a block on; off if all of it is."""
        cells = [(row, at) for row in range(day[0], day[1] + 1) for at in range(hour[0], hour[1] + 1)]
        self._paint(day, hour, not all(all(self.week.hour(*cell)) for cell in cells))

    def _paint(self, day: tuple[int, int], hour: tuple[int, int], on: bool) -> None:
        self.week.paint(day, hour, on)
        self.painted.emit()

    # mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        cell = self.indexAt(event.position().toPoint())
        if event.button() is not Qt.MouseButton.LeftButton or not cell.isValid():
            return
        self._move_to(cell)
        on = not all(self.week.hour(cell.row(), cell.column()))
        self._stroke = cell, on, list(self.week.minutes)
        self._draw(cell)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._stroke is not None:
            area = self.viewport().rect()
            place = event.position().toPoint()
            place.setX(min(max(place.x(), 0), area.right()))
            place.setY(min(max(place.y(), 0), area.bottom()))
            self._draw(self.indexAt(place))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._stroke is not None:
            self._stroke = None
            self.painted.emit()

    def _draw(self, cell: QModelIndex) -> None:
        """The block between where the stroke began and here."""
        if self._stroke is not None and cell.isValid():
            first, on, before = self._stroke
            self.week.minutes = list(before)
            self.week.paint((first.row(), cell.row()), (first.column(), cell.column()), on)

    # keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        here = self.currentIndex()
        day, hour = here.row(), here.column()
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if event.key() == Qt.Key.Key_Space and shift:
            self._toggle((day, day), (0, HOURS - 1))
        elif event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._toggle((day, day), (hour, hour))
        elif event.key() in ARROWS and shift:
            on = all(self.week.hour(day, hour))
            super().keyPressEvent(QKeyEvent(event.type(), event.key(), Qt.KeyboardModifier.NoModifier))
            there = self.currentIndex()
            if there != here:
                self._paint((there.row(), there.row()), (there.column(), there.column()), on)
        elif event.key() in (*ARROWS, Qt.Key.Key_Home, Qt.Key.Key_End):
            super().keyPressEvent(event)
            return
        else:
            event.ignore()  # Tab, Escape and shortcuts are the page's
            return
        self._say(self.week.words(self.currentIndex()))

    def focusInEvent(self, event: Any) -> None:
        if not self.currentIndex().isValid():
            self._move_to(self.week.index(0, 0))
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: Any) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        across, wide = self.horizontalHeader(), self.viewport().width()
        for hour in range(HOURS):
            across.resizeSection(hour, wide * (hour + 1) // HOURS - wide * hour // HOURS)

    def wheelEvent(self, event: Any) -> None:
        event.ignore()  # the page scrolls

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        self.viewport().update()

    def _move_to(self, cell: QModelIndex) -> None:
        self.selectionModel().setCurrentIndex(cell, QItemSelectionModel.SelectionFlag.NoUpdate)

    def _say(self, words: str) -> None:
        """What a key has done; the cell's own name is told when it is moved to."""
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, words))


class _Cell(QStyledItemDelegate):
    """Filled where it is on, hollow where it is off."""

    def __init__(self, grid: WeekGrid) -> None:
        super().__init__(grid)
        self._grid = grid

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        colors, grid = theme(), self._grid
        area = QRect(option.rect)
        rect = QRectF(area).adjusted(1.5, 1.5, -1.5, -1.5)
        corner = min(rect.width(), rect.height()) * look.CELL_RADIUS
        minutes, able = grid.week.hour(index.row(), index.column()), grid.isEnabled()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colors.color("line" if able else "border"), 1))
        painter.setBrush(colors.color("sunken"))
        painter.drawRoundedRect(rect, corner, corner)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colors.color("ember_fill" if able else "text3"))
        if all(minutes):
            painter.drawRoundedRect(rect.adjusted(-0.5, -0.5, 0.5, 0.5), corner, corner)
        elif any(minutes):
            first, last = minutes.index(True), 59 - minutes[::-1].index(True)
            left, wide = rect.left() + rect.width() * first / 60, rect.width() * (last + 1 - first) / 60
            painter.drawRect(QRectF(left, rect.top() + 1, wide, rect.height() - 2))
        if grid.hasFocus() and index == grid.currentIndex():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colors.color("text"), 2))
            painter.drawRoundedRect(QRectF(area).adjusted(1, 1, -1, -1), corner, corner)
        painter.restore()

"""The log: the worker's, compute's and the app's lines, to filter, follow, copy and send."""

import logging
import os
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal, cast

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
)

from app import problem_report
from app import theme as look
from app.background import Saver
from app.formats import tip
from app.language import clock, mark, tr
from app.theme import theme
from app.widgets.basics import Label, Pair, Panel
from app.widgets.boxes import STRETCH, add, hbox, holding, vbox
from app.widgets.buttons import Button, Segmented, Switch
from app.widgets.inputs import Choice, Field
from app.widgets.table import Rows
from app.window.page import Page
from core.contracts.status import LogLine, Status
from core.logs import FILE as LOG_FILE
from core.logs import printable

LINES = 10_000
DROP = 500
"""Lines that are let go at once when there are too many: a removal costs about the same for one or for many."""
FLUSH_MS = 100
COPIED_MS, PATH_MS = 4_000, 30_000
"""How long the page tells what was done."""
BREAK = "\N{ZERO WIDTH SPACE}"
"""A long path may be broken there."""
LEVELS = {"debug": 0, "info": 1, "warning": 2, "error": 3}
CHOICES = {"info": mark("All"), "warning": mark("Warnings"), "error": mark("Errors")}
PARTS = {"worker": mark("Worker"), "compute": mark("Compute"), "app": mark("App")}
TONES = {"debug": "text3", "info": "text2", "warning": "warn", "error": "bad"}
Index = QModelIndex | QPersistentModelIndex


@lru_cache(maxsize=1024)
def _clock(second: int) -> str:
    return clock(datetime.fromtimestamp(second), seconds=True)


def as_text(line: LogLine) -> str:
    """A line as it is shown and copied."""
    return f"{_clock(int(line.time))}  {line.level:<7}  {line.part:<7}  {line.text}"


class LogModel(QAbstractListModel):
    """The newest lines, and of them those that pass the filter."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[LogLine] = []
        self.shown: list[LogLine] = []
        self._passes: Callable[[LogLine], bool] = lambda line: True

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.shown)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        line = self.shown[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return as_text(line).replace("\n", " ")
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(line.text)
        if role == Qt.ItemDataRole.ForegroundRole:
            return theme().color(TONES[line.level])
        return None

    def append(self, lines: list[LogLine]) -> None:
        """Add lines at the end; the oldest go if there are too many."""
        self.lines.extend(lines)
        new = [line for line in lines if self._passes(line)]
        if new:
            start = len(self.shown)
            self.beginInsertRows(QModelIndex(), start, start + len(new) - 1)
            self.shown.extend(new)
            self.endInsertRows()
        if len(self.lines) > LINES:
            gone = max(DROP, len(self.lines) - LINES)
            hidden = sum(self._passes(line) for line in islice(self.lines, gone))
            del self.lines[:gone]
            if hidden:
                self.beginRemoveRows(QModelIndex(), 0, hidden - 1)
                del self.shown[:hidden]
                self.endRemoveRows()

    def clear(self) -> None:
        self.beginResetModel()
        self.lines, self.shown = [], []
        self.endResetModel()

    def set_filter(self, level: str, part: str, text: str) -> None:
        """Show lines of at least this level, of this part ("" for all), with this text in them."""
        least, wanted = LEVELS[level], text.casefold()

        def passes(line: LogLine) -> bool:
            return (
                LEVELS[line.level] >= least
                and part in ("", line.part)
                and (not wanted or wanted in line.text.casefold())
            )

        self._passes = passes if (least > LEVELS["info"] or part or wanted) else lambda line: True
        self.beginResetModel()
        self.shown = [line for line in self.lines if self._passes(line)]
        self.endResetModel()


class LogPage(Page):
    """The page of the log.

    Args:
        folder: the data folder.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__("log", tr("Log"), "log", tr("What the worker, its compute process and this app have done."))
        self._data, self.folder = folder, folder / LOG_FILE.parent
        self._status: Status | None = None
        self.saver = Saver(self)
        self.saver.told.connect(lambda sentence: self._tell(sentence.replace(os.sep, os.sep + BREAK), PATH_MS))
        self.model = LogModel()
        self._new: list[LogLine] = []
        self._flush_timer = QTimer(self, singleShot=True, interval=FLUSH_MS)
        self._flush_timer.timeout.connect(self._flush)
        self.level = Segmented({key: tr(word) for key, word in CHOICES.items()}, tr("Level"))
        self.part = Choice()
        self.part.setAccessibleName(tr("Part"))
        self.part.addItem(tr("All parts"), "")
        for part, word in PARTS.items():
            self.part.addItem(tr(word), part)
        self.text = Field()
        self.text.setPlaceholderText(tr("Filter by text"))
        self.text.setAccessibleName(tr("Filter by text"))
        self.text.setClearButtonEnabled(True)
        self._told = Label(
            "", "cap", "text2", wrap=True, align=Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom
        )
        self.report = Button(
            tr("Save a report"),
            "plain",
            "download",
            tip=tr("The log, your settings and the last state as one file to send, without keys and addresses."),
            clicked=self._ask_report,
        )
        add(self.head, (self._told, 1), self.report)
        self._told_timer = QTimer(self, singleShot=True)
        self._told_timer.timeout.connect(self._told.clear)
        self.follow = Switch(tr("Follow"))
        self.follow.setChecked(True)
        self.view = self._make_view()
        self.empty = Label("", "body", "text2")
        add(self.body, self._tools(), (self._frame(), 1))
        self.level.chosen.connect(self._filter)
        self.part.currentIndexChanged.connect(self._filter)
        self.text.textChanged.connect(self._filter)
        self.follow.toggled.connect(self._keep_end)
        self._show_empty()

    def add(self, line: LogLine) -> None:
        """One more line; lines are shown some at a time."""
        self._new.append(line)
        if len(self._new) >= LINES:
            self._flush()
        elif not self._flush_timer.isActive():
            self._flush_timer.start()

    def fill(self, lines: list[LogLine]) -> None:
        """The worker's newest lines, as it tells them after each connection; those of the app stay."""
        known = [line for line in self.model.lines + self._new if line.part == "app"]
        oldest = lines[0].time if lines else float("inf")
        earlier = [line for line in self.model.lines if line.part != "app" and line.time < oldest]
        newest = lines[-1].time if lines else 0.0
        later = [line for line in self._new if line.part != "app" and line.time > newest]
        self._new.clear()
        self.model.clear()
        self.model.append(sorted(earlier + known + lines + later, key=lambda line: line.time)[-LINES:])
        self._after_change()

    def update_status(self, status: Status) -> None:
        self._status = status

    def save_report(self, path: Path) -> None:
        """Write the log and what else tells of a fault, without secrets."""
        data, status = self._data, self._status
        self.saver.save(path, lambda: problem_report.bundle(data, status))

    def copy(self) -> None:
        """The chosen lines, or all that are shown, to the clipboard."""
        rows = sorted(index.row() for index in self.view.selectionModel().selectedRows())
        lines = [self.model.shown[row] for row in rows] or self.model.shown
        QGuiApplication.clipboard().setText("\n".join(as_text(line) for line in lines))
        self._tell(tr("Copied %Ln line(s).", len(lines)), COPIED_MS)

    def _make_view(self) -> Rows:
        view = Rows(self.model, tr("Log lines"))
        view.setFont(theme().mono())
        view.setHeaderHidden(True)
        view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        view.verticalScrollBar().rangeChanged.connect(self._keep_end)
        view.verticalScrollBar().sliderReleased.connect(self._scrolled)
        view.verticalScrollBar().actionTriggered.connect(lambda: QTimer.singleShot(0, self, self._scrolled))
        copy = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), view)
        copy.setContext(Qt.ShortcutContext.WidgetShortcut)
        copy.activated.connect(self.copy)
        return view

    def _tools(self) -> Pair:
        copy = Button(tr("Copy"), "plain", "copy", clicked=self.copy)
        where = tip(str(self.folder))
        folder = Button(tr("Open folder"), "plain", "folder", clicked=self._open_folder, tip=where)
        follow = Label(tr("Follow"), "body", "text2")
        filters = hbox(self.level, self.part, (self.text, 1), spacing=look.S)
        actions = hbox(follow, self.follow, copy, folder, STRETCH, spacing=look.S)
        return Pair(holding(filters), holding(actions), (1, 0))

    def _frame(self) -> Panel:
        panel = Panel("surface")
        vbox(
            (self.empty, Qt.AlignmentFlag.AlignHCenter),
            (self.view, 1),
            margins=(look.S, look.S, look.S, look.S),
            within=panel,
        )
        return panel

    def _open_folder(self) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.folder))):
            path = str(self.folder).replace(os.sep, os.sep + BREAK)
            self._tell(tr("This desktop cannot open folders. The log files are in {path}", path=path), PATH_MS)

    def _ask_report(self) -> None:
        name = f"hearth-report-{datetime.now():%Y-%m-%d}.zip"
        name, _ = QFileDialog.getSaveFileName(self, tr("Save a report"), name, tr("Archives (*.zip)"))
        if name:
            self.save_report(Path(name))

    def _tell(self, sentence: str, for_ms: int) -> None:
        self._told.setText(sentence)
        self._told.setAccessibleName(sentence)
        self._told_timer.start(for_ms)

    def _flush(self) -> None:
        self._flush_timer.stop()
        lines, self._new = self._new, []
        self.model.append(lines)
        self._after_change()

    def _filter(self) -> None:
        self.model.set_filter(self.level.value(), self.part.currentData(), self.text.text())
        self._after_change()

    def _after_change(self) -> None:
        self._show_empty()
        self._keep_end()

    def _keep_end(self) -> None:
        if self.follow.isChecked():
            self.view.scrollToBottom()

    def _scrolled(self) -> None:
        """Scrolling up stops following; scrolling to the end goes on with it."""
        bar = self.view.verticalScrollBar()
        self.follow.setChecked(bar.value() >= bar.maximum())

    def _show_empty(self) -> None:
        none = not self.model.shown
        self.empty.setVisible(none)
        self.view.setVisible(not none)
        self.empty.setText(tr("No line matches this filter.") if self.model.lines else tr("No line yet."))


class PageHandler(logging.Handler):
    """Hands the app's log records to the log page; all come from the GUI thread."""

    def __init__(self, add: Callable[[LogLine], None]) -> None:
        super().__init__(logging.INFO)
        self._add = add

    def emit(self, record: logging.LogRecord) -> None:
        level = "error" if record.levelno >= logging.ERROR else record.levelname.lower()
        known = cast(Literal["info", "warning", "error"], level)
        self._add(LogLine(record.created, known, "app", printable(record.getMessage())))

"""Settings: a form made from the declared settings; each change is saved at once."""

import dataclasses
import typing
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence, QPaintEvent, QShortcut
from PySide6.QtWidgets import QLineEdit, QWidget

from app.actions import Actions
from app.language import is_spoken, mark, told, tr, tr_setting
from app.pages.settings.recovery_words import WHAT, RecoveryWords
from app.pages.settings.setting_row import DEFAULTS, Group, Row, links_row, login_row, row_of
from app.system.link_handler import can_register
from app.theme import theme
from app.widgets.basics import Card, Label, Notice
from app.widgets.boxes import STRETCH, add
from app.widgets.buttons import Button
from app.window.focus_ring import order_focus
from app.window.page import Page
from app.worker.client import WorkerClient
from core.contracts import manifest as manifests
from core.contracts.errors import HearthError, ManifestError
from core.contracts.settings import ADVANCED, START, Settings
from core.contracts.status import Status

NO_WORKER = mark("Settings can be changed as soon as the worker answers.")
SEARCH_WIDTH = 220
FIRST_GROUPS = 3
"""So many are more than a window shows."""
TRUST = mark("What leaves this PC, and which program it is")


class SettingsPage(Page):
    """All settings that are not hidden, a card for each group.

    The worker owns the settings; a row shows what the worker has confirmed, or what is on its way to it.
    """

    applied = Signal(dict)
    """All settings, after the worker took a change or told them for the first time."""
    restart_asked = Signal()
    """The worker shall be restarted, so that what it reads at its start applies."""
    window_restart_asked = Signal()
    """The same of the window."""

    def __init__(self, client: WorkerClient, actions: Actions) -> None:
        applies = tr("Changes apply at once, or after a restart where a setting says so.")
        super().__init__("settings", tr("Settings"), "settings", applies)
        self._client = client
        self.values: dict[str, Any] = dict(DEFAULTS)
        self._in_force: dict[str, Any] | None = None
        """What the worker had when the connection came up."""
        self._joined: frozenset[str] = frozenset()
        """Ids of the runs that the worker trains."""
        self._undo: dict[str, Any] = {}
        self.rows: dict[str, Row] = {}
        self.groups: dict[str, Group] = {}
        self._build_head()
        types = typing.get_type_hints(Settings, include_extras=True)
        for field in dataclasses.fields(Settings):
            if not field.metadata.get("hidden"):
                row = self.rows[field.name] = row_of(field, types[field.name])
                row.chosen.connect(lambda value, name=field.name: self.apply({name: value}))
                of_window = field.metadata.get("window")
                row.restart_asked.connect(self.window_restart_asked if of_window else self.restart_asked)
                self._group(field.metadata["group"]).add(row)
        self.login, self.links = login_row(client.folder), links_row(client.folder)
        self._kept_by_system = [self.login, *([self.links] if can_register() else [])]
        for one in self._kept_by_system:
            self.groups[START].add(one)
        self.identity = Card(tr("Identity"))
        self.words = RecoveryWords(client.folder)
        self.identity.body.addWidget(self.words)
        self.body.insertWidget(self.body.indexOf(self.groups[ADVANCED]), self.identity)
        self.trust = Button(tr(TRUST), "link", "shield", clicked=lambda: actions.open_page.emit("trust"))
        add(self.body, (self.trust, Qt.AlignmentFlag.AlignLeft), STRETCH)
        order_focus(self)
        self._unseen: list[QWidget] = []
        """Cards that wait for the first ones to be seen: to lay out all of them at once takes a tenth of a second."""
        self.search.textChanged.connect(self._search)
        self._search("")
        self._unseen = [*list(self.groups.values())[FIRST_GROUPS:], self.identity]
        for card in self._unseen:
            card.hide()
        self.set_connected(False, "")

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._unseen:
            QTimer.singleShot(0, self, self._show_more)

    def _show_more(self) -> None:
        for card in self._unseen:
            card.show()
        self._unseen.clear()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)  # else a picture shows them squeezed

    def _build_head(self) -> None:
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("Search settings"))
        self.search.setAccessibleName(tr("Search settings by label and explanation"))
        self.search.setClearButtonEnabled(True)
        self.search.setFixedWidth(theme().px(SEARCH_WIDTH))
        self.undo_button = Button(tr("Undo"), "plain", "undo", clicked=self.undo)
        self.undo_button.setEnabled(False)
        add(self.head, (self.search, Qt.AlignmentFlag.AlignTop), (self.undo_button, Qt.AlignmentFlag.AlignTop))
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.activated.connect(lambda: self.search.setFocus(Qt.FocusReason.ShortcutFocusReason))
        clear = QShortcut(QKeySequence(Qt.Key.Key_Escape), self.search)
        clear.setContext(Qt.ShortcutContext.WidgetShortcut)
        clear.activated.connect(self.search.clear)
        self.notice = Notice("warn", "info")
        self.nothing = Label("", "body", "text2")
        add(self.body, self.notice, self.nothing)

    def _group(self, title: str) -> Group:
        group = self.groups.get(title)
        if group is None:
            group = self.groups[title] = Group(tr_setting(title))
            group.reset_asked.connect(self._reset)
            self.body.addWidget(group)
        return group

    def _search(self, text: str) -> None:
        self._unseen.clear()
        words = text.casefold().split()
        found = [group.search(words) for group in self.groups.values()]
        identity = f"{self.identity.title.text()} {self.words.button.text()} {tr(WHAT)}".casefold()
        self.identity.setVisible(all(word in identity for word in words))
        found.append(not self.identity.isHidden())
        self.nothing.setText(tr("No setting has “{words}” in its label or explanation.", words=text.strip()))
        self.nothing.setVisible(not any(found))

    def set_values(self, values: dict[str, Any]) -> None:
        """Show what the worker has; unknown names, of a newer worker, are left alone."""
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}  # JSON has no tuples
        self.values = {**DEFAULTS, **values, **lists}
        if self._in_force is None:
            self._in_force = self.values
        for name, row in self.rows.items():
            row.show_value(self.values[name])
            row.set_pending(self._is_pending(name))
        self.rows["language"].set_pending(not is_spoken(self.values["language"]))
        for group in self.groups.values():
            group.look()
        self.applied.emit(self.values)

    def _is_pending(self, name: str) -> bool:
        """Whether the worker goes by another value; not if it has left the run of before, and trains the chosen one."""
        if self._in_force is None or self.values[name] == self._in_force[name]:
            return False
        if name != "run":
            return True
        before, chosen = (_run_id(one[name]) in self._joined for one in (self._in_force, self.values))
        return before or not chosen

    def update_status(self, status: Status) -> None:
        joined = frozenset(run.id for run in status.runs)
        if joined != self._joined:
            self._joined = joined
            self.rows["run"].set_pending(self._is_pending("run"))

    def set_connected(self, connected: bool, sentence: str) -> None:
        self.notice.set_text("" if connected else f"{sentence} {tr(NO_WORKER)}".strip())
        if not connected:
            self._in_force = None  # another worker may have read other ones
        for row in self.rows.values():
            row.setEnabled(connected)
            if not connected:
                row.set_pending(False)
        for group in self.groups.values():
            group.reset.setEnabled(connected)
        self.undo_button.setEnabled(connected and bool(self._undo))

    def apply(self, changes: dict[str, Any]) -> None:
        """Ask the worker for these changes; a refusal is shown at its row and the old value comes back."""

        before = dict(self.values)  # now: the worker tells all clients of a change before it answers the one that asked

        def done(values: dict[str, Any]) -> None:
            self.set_values(values)
            self._undo = {name: before[name] for name in DEFAULTS if before[name] != self.values[name]} or self._undo
            self.undo_button.setEnabled(bool(self._undo))
            self.undo_button.setToolTip(tr("Take back: {names}", names=", ".join(map(self._label, self._undo))))

        def failed(error: HearthError) -> None:
            for name in self.rows.keys() & changes.keys():
                self.rows[name].show_value(self.values[name], told(error.notice))

        self._client.set_settings(changes, done, failed)

    def _reset(self, rows: list[Row]) -> None:
        self.apply({name: row.default for name, row in self.rows.items() if row in rows})
        for row in self._kept_by_system:
            if row in rows:
                row.set(False)

    def _label(self, name: str) -> str:
        return self.rows[name].label if name in self.rows else name

    def undo(self) -> None:
        """Take the last change back; taking that back again is the next undo."""
        if self._undo:
            self.apply(self._undo)


def _run_id(name: str) -> str | None:
    """The id of a run by its name, or the path of its manifest; None: there is none."""
    try:
        return manifests.load(name).run_id
    except ManifestError:
        return None

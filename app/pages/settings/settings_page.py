"""Settings: a form made from the declared settings; each change is saved at once."""

import dataclasses
import typing
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeySequence, QPaintEvent, QShortcut
from PySide6.QtWidgets import QBoxLayout, QWidget

from app.actions import Actions
from app.language import is_spoken, mark, told, tr, tr_setting
from app.pages.settings.changes import DEFAULTS, Changes, Values
from app.pages.settings.consent_card import ConsentCard
from app.pages.settings.data_card import DataCard
from app.pages.settings.pack_card import PackCard
from app.pages.settings.recovery_words import WHAT, RecoveryWords
from app.pages.settings.setting_row import Group, Row, Section, links_row, login_row, row_of
from app.pages.settings.side import Side
from app.pages.settings.synonyms import synonyms
from app.pages.settings.update_card import UpdateCard
from app.theme import theme
from app.widgets.basics import Label, Notice
from app.widgets.boxes import STRETCH, add
from app.widgets.buttons import Button
from app.window.focus_ring import order_focus, stops
from app.window.page import Page
from app.worker.client import WorkerClient
from app.worker.supervisor import is_elsewhere
from core import consent
from core.contracts import manifest as manifests
from core.contracts.errors import HearthError, ManifestError
from core.contracts.settings import ADVANCED, START, Settings
from core.contracts.status import Status
from core.system.link_handler import can_register

NO_WORKER = mark("Settings can be changed as soon as the worker answers.")
FIRST_GROUPS = 3
"""So many are more than a window shows."""
LOW = 480
"""Pixels that all sections need one below the other."""
TRUST = mark("What leaves this PC, and which program runs here")
IDENTITY, DATA, PACK, UPDATES, CONSENT = "Identity", "Data", "GPU pack", "Updates", "Consent"
ABOVE = 14
"""Pixels over a section that was jumped to."""


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
        self._client, self._actions = client, actions
        actions.show_setting.connect(self.show_setting)
        self._in_force: dict[str, Any] | None = None
        """What the worker had when the connection came up."""
        self._joined: frozenset[str] = frozenset()
        """Ids of the runs that the worker trains."""
        self._changes = Changes(client.set_settings, self.set_values, self._refused, self._show_undo)
        self.rows: dict[str, Row] = {}
        self.groups: dict[str, Group] = {}
        self._build_side()
        self._build_rows()
        self.words = RecoveryWords(client.folder)
        found_by = f"{self.words.button.text()} {tr(WHAT)} {synonyms('identity')}"
        self.identity = Section(tr("Identity"), found_by)
        self.identity.body.addWidget(self.words)
        self.body.insertWidget(self.body.indexOf(self.groups[ADVANCED]), self.identity)
        self.data = DataCard(client.folder)
        self.body.insertWidget(self.body.indexOf(self.groups[ADVANCED]), self.data)
        self.pack, self.updates = PackCard(client.folder), UpdateCard(client.folder)
        for offer in (self.pack, self.updates):
            self.body.insertWidget(self.body.indexOf(self.groups[ADVANCED]), offer)
        self.consent = ConsentCard(client.folder, actions)
        self.body.addWidget(self.consent)
        self.trust = Button(tr(TRUST), "link", "shield", clicked=lambda: actions.open_page.emit("trust"))
        add(self.body, (self.trust, Qt.AlignmentFlag.AlignLeft), STRETCH)
        self.sections: dict[str, Group | Section] = {**self.groups}
        advanced = self.sections.pop(ADVANCED)
        self.sections |= {IDENTITY: self.identity, DATA: self.data, PACK: self.pack, UPDATES: self.updates}
        self.sections |= {ADVANCED: advanced, CONSENT: self.consent}
        if is_elsewhere(client.folder):  # key and consent are the other PC's
            for name in (IDENTITY, DATA, PACK, UPDATES, CONSENT):
                self.sections.pop(name).hide()
        self.side.list_sections([(name, card.title.text()) for name, card in self.sections.items()])
        order_focus(self)
        self._unseen: list[Group | Section] = []
        """Cards that wait for the first ones to be seen: to lay out all of them at once takes a tenth of a second."""
        self._search("")
        self._unseen = list(self.sections.values())[FIRST_GROUPS:]
        for card in self._unseen:
            card.hide()
        self.set_connected(False, "")

    @property
    def values(self) -> Values:
        """As the worker has them."""
        return self._changes.values

    # building

    def _build_side(self) -> None:
        self.side = Side()
        self.search, self.undo_button = self.side.search, self.side.undo
        self.search.textChanged.connect(self._search)
        self.undo_button.clicked.connect(self._changes.undo)
        self.side.back.clicked.connect(lambda: self._actions.why.emit())
        self.side.chosen.connect(self.open_section)
        self.side.entered.connect(self._enter)
        self._jumping = False
        """The page scrolls because somebody chose a section: that one stays marked."""
        self._scroll.verticalScrollBar().valueChanged.connect(self._mark_section)
        box = self.layout()
        assert isinstance(box, QBoxLayout)
        self._box = box
        box.setSpacing(0)
        box.insertWidget(0, self.side)
        box.setDirection(QBoxLayout.Direction.LeftToRight)
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.activated.connect(lambda: self.search.setFocus(Qt.FocusReason.ShortcutFocusReason))
        self.notice = Notice("warn", "info")
        self.nothing = Label("", "body", "text2", wrap=True)
        add(self.body, self.notice, self.nothing)

    def _build_rows(self) -> None:
        types = typing.get_type_hints(Settings, include_extras=True)
        for field in dataclasses.fields(Settings):
            if not field.metadata.get("hidden"):
                row = self.rows[field.name] = row_of(field, types[field.name])
                row.chosen.connect(lambda value, name=field.name: self.apply({name: value}))
                of_window = field.metadata.get("window")
                row.restart_asked.connect(self.window_restart_asked if of_window else self.restart_asked)
                self._group(field.metadata["group"]).add(row)
        self.login, self.links = login_row(self._client.folder), links_row(self._client.folder)
        self._kept_by_system = [self.login, *([self.links] if can_register() else [])]
        for one in self._kept_by_system:
            self.groups[START].add(one)

    def _group(self, title: str) -> Group:
        group = self.groups.get(title)
        if group is None:
            group = self.groups[title] = Group(tr_setting(title))
            group.reset_asked.connect(self._reset)
            self.body.addWidget(group)
        return group

    def is_narrow(self) -> bool:
        return super().is_narrow() or self.height() < theme().px(LOW)

    def set_narrow(self, narrow: bool) -> None:
        super().set_narrow(narrow)
        directions = QBoxLayout.Direction
        self._box.setDirection(directions.TopToBottom if narrow else directions.LeftToRight)
        self.side.fold(narrow)

    # being seen

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._unseen:
            QTimer.singleShot(0, self, self._show_more)

    def _show_more(self) -> None:
        for card in self._unseen:
            card.show()
        self._unseen.clear()
        for _ in range(3):  # else a picture shows them squeezed: rows that stack need more rounds
            QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.side.back.hide()
        for group in self.groups.values():
            group.light(None)

    # finding one's way

    def _search(self, text: str) -> None:
        self._unseen.clear()
        words = text.casefold().split()
        found = [name for name, card in self.sections.items() if card.search(words)]
        self.side.show_sections(found)
        self.nothing.setText(tr("No setting matches “{words}”. Try another word.", words=text.strip()))
        self.nothing.setVisible(not found)

    def open_section(self, name: str) -> None:
        """Scroll to a section."""
        self._show_more()
        first = name == next(iter(self.sections))
        self._scroll_to(self.sections[name], ABOVE, to=0 if first else None)
        self.side.set_current(name)

    def _enter(self, name: str) -> None:
        found = (stop for stop in stops(self.sections[name]) if stop.isVisible() and stop.isEnabled())
        if first := next(found, None):
            first.setFocus(Qt.FocusReason.TabFocusReason)

    def _scroll_to(self, part: QWidget, above: int, to: int | None = None) -> None:
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        at = self._top(part) - above if to is None else to
        self._jumping = True
        self._scroll.verticalScrollBar().setValue(at)
        self._jumping = False

    def _top(self, part: QWidget) -> int:
        """Pixels from the top of all that scrolls."""
        column = self.body.parentWidget()
        assert column is not None
        return part.mapTo(column, QPoint(0, 0)).y()

    def _mark_section(self, at: int) -> None:
        """Mark the section that is read: at the top of what is seen, and further down the less is left to scroll: the
        last ones never come to the top."""
        if self._jumping:
            return
        seen = [name for name, card in self.sections.items() if not card.isHidden()]
        reading = at + ABOVE + self._scroll.height() * at // max(1, self._scroll.verticalScrollBar().maximum())
        above = [name for name in seen if self._top(self.sections[name]) <= reading]
        if seen:
            self.side.set_current((above or seen)[-1 if above else 0])

    def show_setting(self, name: str) -> None:
        """Show a setting, marked, to who comes from a rule that goes by it; the way back is offered. Or a section."""
        self._actions.open_page.emit(self.name)
        self.search.clear()
        self._show_more()
        if name in self.sections:
            self.open_section(name)
            return
        row = self.rows[name]
        for section, card in self.sections.items():
            if isinstance(card, Group):
                card.light(row if row in card.rows else None)
                if row in card.rows:
                    self.side.set_current(section)
        self.side.back.show()
        self._scroll_to(row, self._scroll.height() // 4)
        first = next(stops(row.control), row.control)
        first.setFocus(Qt.FocusReason.OtherFocusReason)

    def start_folder(self, folder: Path) -> None:
        """Tell which folder Hearth was started with, which may lead to that of the data."""
        self.data.start = self.pack.start = self.updates.start = folder

    # what the worker has

    def set_values(self, values: dict[str, Any]) -> None:
        """Show what the worker has; unknown names, of a newer worker, are left alone."""
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}  # JSON has no tuples
        self._changes.learn({**DEFAULTS, **values, **lists})
        if self._in_force is None:
            self._in_force = self.values
        for name, row in self.rows.items():
            if name not in self._changes.asked:
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
        line = status.line
        for name, limit in (("upload_kb_s", line and line.upload), ("download_kb_s", line and line.download)):
            self.rows[name].show_now(tr("Now: {limit}", limit=told(limit.why)) if limit else "")

    def set_connected(self, connected: bool, sentence: str, calm: bool = False) -> None:
        self.notice.set_text("" if connected else f"{sentence} {tr(NO_WORKER)}".strip(), calm)
        if not connected:
            self._in_force = None  # another worker may have read other ones
            self._changes.forget()
        for name, value in dataclasses.asdict(consent.standard(self._client.folder)).items():
            if name in self.rows and self.rows[name].default != value:
                self.rows[name].set_default(value)
        for row in self.rows.values():
            row.setEnabled(connected)
            if not connected:
                row.set_pending(False)
        for group in self.groups.values():
            group.reset.setEnabled(connected)
            group.look()
        self._show_undo()

    # changing

    def apply(self, changes: dict[str, Any]) -> None:
        """Ask the worker for these changes; a refusal is shown at its row and the old value comes back."""
        self._changes.apply(changes)

    def _refused(self, changes: Values, error: HearthError) -> None:
        for name in self.rows.keys() & changes.keys():
            self.rows[name].show_value(self.values[name], told(error.notice))

    def _reset(self, rows: list[Row]) -> None:
        self.apply({name: row.default for name, row in self.rows.items() if row in rows})
        for row in self._kept_by_system:
            if row in rows:
                row.set(False)

    def _show_undo(self) -> None:
        last = self._changes.last
        what = ""
        if last is not None:
            labels = {field.name: field.metadata["label"] for field in dataclasses.fields(Settings)}
            what = tr_setting(labels[last.asked[0]])
            if len(last.asked) > 1:
                what = tr("{label} and %Ln more", len(last.asked) - 1, label=what)
        self.side.show_undo(what)
        if not self._client.is_connected:
            self.undo_button.setEnabled(False)


def _run_id(name: str) -> str | None:
    """The id of a run by its name, or the path of its manifest; None: there is none."""
    try:
        return manifests.load(name).run_id
    except ManifestError:
        return None

"""Settings: a form made from the declared settings; each change is applied at once."""

import dataclasses
import typing
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app import theme as look
from app.pages.controls import make_control
from app.theme import theme
from app.window.buttons import Button
from app.window.page import Page
from app.window.widgets import Card, Divider, Label
from app.worker_client import WorkerClient
from core.errors import HearthError
from core.settings import Settings, cores

DEFAULTS = dataclasses.asdict(Settings())


class SettingsPage(Page):
    """All settings that are not hidden, a card for each group.

    The worker owns the settings; a row shows what the worker has confirmed, or what is on its way to it.
    """

    applied = Signal(dict)
    """All settings, after the worker took a change or told them for the first time."""

    def __init__(self, client: WorkerClient) -> None:
        super().__init__(
            "settings",
            "Settings",
            "settings",
            "Settings",
            "Each change is applied at once and kept for the next start.",
        )
        self._client = client
        self.values: dict[str, Any] = dict(DEFAULTS)
        self._undo: dict[str, Any] = {}
        self.undo_button = Button("Undo", "plain", "undo")
        self.undo_button.setEnabled(False)
        self.undo_button.clicked.connect(self.undo)
        self.head.addWidget(self.undo_button, 0, Qt.AlignmentFlag.AlignTop)
        self.rows: dict[str, Row] = {}
        groups: dict[str, Card] = {}
        types = typing.get_type_hints(Settings, include_extras=True)
        for field in dataclasses.fields(Settings):
            if field.metadata.get("hidden"):
                continue
            card = groups.get(field.metadata["group"])
            if card is None:
                card = groups[field.metadata["group"]] = Card(field.metadata["group"])
                self.body.addWidget(card)
            else:
                card.body.addWidget(Divider())
            row = self.rows[field.name] = Row(field, types[field.name])
            row.chosen.connect(lambda value, name=field.name: self.apply({name: value}))
            card.body.addWidget(row)
        self.body.addStretch(1)
        self.set_connected(False, "")

    def set_values(self, values: dict[str, Any]) -> None:
        """Show what the worker has; unknown names, of a newer worker, are left alone."""
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}  # JSON has no tuples
        self.values = {**DEFAULTS, **values, **lists}
        for name, row in self.rows.items():
            row.show_value(self.values[name])
        self.applied.emit(self.values)

    def set_connected(self, connected: bool, sentence: str) -> None:
        for row in self.rows.values():
            row.setEnabled(connected)
        self.undo_button.setEnabled(connected and bool(self._undo))

    def apply(self, changes: dict[str, Any]) -> None:
        """Ask the worker for these changes; a refusal is shown at its row and the old value comes back."""

        def done(values: dict[str, Any]) -> None:
            before = self.values
            self.set_values(values)
            self._undo = {name: before[name] for name in DEFAULTS if before[name] != self.values[name]} or self._undo
            self.undo_button.setEnabled(bool(self._undo))
            self.undo_button.setToolTip("Take back: " + ", ".join(self._label(name) for name in self._undo))

        def failed(error: HearthError) -> None:
            for name in self.rows.keys() & changes.keys():
                self.rows[name].show_value(self.values[name], str(error))

        self._client.set_settings(changes, done, failed)

    def _label(self, name: str) -> str:
        return self.rows[name].label if name in self.rows else name

    def undo(self) -> None:
        """Take the last change back; taking that back again is the next undo."""
        if self._undo:
            self.apply(self._undo)


class Row(QWidget):
    """One setting: label and help at the left, the control at the right, a refusal below."""

    chosen = Signal(object)

    def __init__(self, field: "dataclasses.Field[Any]", kind: Any) -> None:
        super().__init__()
        self.label: str = field.metadata["label"]
        self.default = DEFAULTS[field.name]
        self._value = self.default
        self.control = make_control(field, kind)
        self.control.chosen.connect(self.chosen.emit)
        self.reset = Button("Reset", "link")
        self.reset.setAccessibleName(f"Reset {self.label}")
        self.reset.clicked.connect(lambda: self.chosen.emit(self.default))
        keep = self.reset.sizePolicy()
        keep.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(keep)
        self._dot = _Dot()
        self._error = Label("", "cap", "bad", wrap=True)
        self._error.hide()
        title = QHBoxLayout()
        title.setSpacing(6)
        title.addWidget(Label(self.label, "strong"))
        title.addWidget(self._dot)
        title.addStretch(1)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addLayout(title)
        help_line = field.metadata["help"]
        if field.name == "threads":
            help_line += f" This PC has {cores()} core{'' if cores() == 1 else 's'}."
        texts.addWidget(Label(help_line, "cap", "text2", wrap=True))
        texts.addWidget(self._error)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 2, 0, 2)
        row.setSpacing(look.L)
        row.addLayout(texts, 1)
        row.addWidget(self.reset)
        row.addWidget(self.control)
        self.setMinimumHeight(theme().px(44))
        self.show_value(self.default)

    def show_value(self, value: Any, error: str = "") -> None:
        """Show a value, and a sentence if another one was refused."""
        self._value = value
        self.control.show_value(value)
        changed = value != self.default
        self._dot.setVisible(changed)
        self.reset.setVisible(changed)
        self._error.setText(error)
        self._error.setVisible(bool(error))

    @property
    def error(self) -> str:
        return self._error.text()

    @property
    def is_changed(self) -> bool:
        return bool(self._value != self.default)


class _Dot(QWidget):
    """Says that a value is not the standard one."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedSize(theme().px(8), theme().px(8))
        self.setToolTip("Changed from the standard value")
        self.setAccessibleName("Changed from the standard value")

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme().color("ember"))
        painter.drawEllipse(self.rect().adjusted(1, 1, -1, -1))

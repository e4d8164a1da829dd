"""Settings: a form made from the declared settings; each change is applied at once."""

import dataclasses
import os
import sys
import typing
from typing import Any

import msgspec
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app import theme as look
from app.theme import theme
from app.window.buttons import Button, Segmented, Switch
from app.window.inputs import DurationField, NumberField
from app.window.page import Page
from app.window.widgets import Card, Divider, Label
from app.worker_client import WorkerClient
from core.errors import HearthError
from core.settings import Settings

TYPING_MS = 400
"""A number is applied when nobody has changed it for so long."""
ZERO_WORDS = {"threads": "Automatic", "control_port": "Any free one"}
"""What 0 means where it is not a number."""
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
        self.values = {**DEFAULTS, **values}
        for name, row in self.rows.items():
            row.show_value(self.values[name])
        self.applied.emit(self.values)

    def set_connected(self, connected: bool, sentence: str) -> None:
        for row in self.rows.values():
            row.setEnabled(connected)
        self.undo_button.setEnabled(connected and bool(self._undo))

    def apply(self, changes: dict[str, Any]) -> None:
        """Ask the worker for these changes; a refusal is shown at its row and the old value comes back."""
        old = {name: self.values[name] for name in changes}

        def done(values: dict[str, Any]) -> None:
            self._undo = old
            self.undo_button.setEnabled(True)
            self.undo_button.setToolTip("Take back: " + ", ".join(self._label(name) for name in old))
            self.set_values(values)

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


class Control(QWidget):
    """What changes a value; `chosen` comes only from the user, never from `show_value`."""

    chosen = Signal(object)

    def __init__(self, inner: QWidget) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(inner)
        self.setFocusProxy(inner)

    def show_value(self, value: Any) -> None:
        raise NotImplementedError


class SwitchControl(Control):
    def __init__(self, label: str) -> None:
        self.switch = Switch(label)
        super().__init__(self.switch)
        self.switch.clicked.connect(lambda on: self.chosen.emit(on))

    def show_value(self, value: Any) -> None:
        self.switch.setChecked(bool(value))


class ChoiceControl(Control):
    def __init__(self, label: str, choices: dict[str, str]) -> None:
        self.segments = Segmented(choices, label)
        super().__init__(self.segments)
        self.segments.chosen.connect(self.chosen.emit)

    def show_value(self, value: Any) -> None:
        self.segments.set_value(str(value))


class NumberControl(Control):
    """Whole numbers; sent when the typing or clicking rests.

    Args:
        zero: the word shown for 0, "" for none.
    """

    def __init__(self, label: str, unit: str, step: int, low: int, high: int, zero: str = "") -> None:
        self.spin = DurationField() if unit == "s" else NumberField()
        self.spin.setAccessibleName(label)
        self.spin.setKeyboardTracking(False)
        self.spin.setRange(low, high)
        self.spin.setSingleStep(step)
        self.spin.setSpecialValueText(zero)
        self.spin.setFixedWidth(theme().px(132))
        super().__init__(self.spin)
        self._rest = QTimer(self, singleShot=True, interval=TYPING_MS)
        self._rest.timeout.connect(lambda: self.chosen.emit(self.spin.value()))
        self.spin.valueChanged.connect(lambda: self._rest.start())

    def show_value(self, value: Any) -> None:
        if self._rest.isActive():
            return  # the user is at it; what they choose is sent next
        self.spin.blockSignals(True)
        self.spin.setMaximum(max(self.spin.maximum(), int(value)))  # chosen elsewhere, it is shown as it is
        self.spin.setValue(int(value))
        self.spin.blockSignals(False)


def make_control(field: "dataclasses.Field[Any]", kind: Any) -> Control:
    """The control that fits a setting's type."""
    label, choices = field.metadata["label"], field.metadata.get("choices")
    if choices:
        return ChoiceControl(label, choices)
    if kind is bool:
        return SwitchControl(label)
    low, high = bounds(kind)
    if field.name == "threads":
        high = min(high, cores())
    step, zero = field.metadata.get("step", 1), ZERO_WORDS.get(field.name, "")
    return NumberControl(label, field.metadata["unit"], step, low, high, zero)


def cores() -> int:
    """How many cores this PC lets us use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def bounds(kind: Any) -> tuple[int, int]:
    """Least and greatest value of an annotated whole number."""
    if typing.get_origin(kind) is not typing.Annotated or typing.get_args(kind)[0] is not int:
        raise TypeError(f"The form has no control for a setting of type {kind}.")
    metas = [meta for meta in typing.get_args(kind)[1:] if isinstance(meta, msgspec.Meta)]
    low = max((meta.ge for meta in metas if meta.ge is not None), default=0)
    high = min((meta.le for meta in metas if meta.le is not None), default=2**31 - 1)
    return int(low), int(high)

"""What changes a setting: a control for each type that `core.contracts.settings.Settings` uses."""

import dataclasses
import typing
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from app import theme as look
from app.formats import tip
from app.language import in_fahrenheit, percent, to_fahrenheit, tr, tr_run, tr_setting
from app.pages.settings.week_grid import WeekGrid
from app.theme import theme
from app.widgets.basics import Label
from app.widgets.boxes import STRETCH, hbox, holding, vbox
from app.widgets.buttons import Button, Segmented, Switch
from app.widgets.inputs import Choice, DecimalField, DurationField, Field, NumberField
from core.contracts import manifest as manifests
from core.contracts import schedule
from core.contracts.errors import ManifestError
from core.contracts.settings import SCHEDULE, cores

TYPING_MS = 400
"""A number is applied when nobody has changed it for so long."""
WIDTH, TEXT_WIDTH = 132, 260
ROUND_WORD = 56
"""Arrows and margins of a field, pixels."""


class Control(QWidget):
    """What changes a value; `chosen` comes only from the user, never from `show_value`."""

    chosen = Signal(object)
    words = ""
    """What it offers, for the search."""
    wide = False
    """It takes a row of its own, below the explanation."""

    def __init__(self, inner: QWidget) -> None:
        super().__init__()
        hbox(inner, within=self)
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
        self.words = " ".join(choices.values())
        self.segments.chosen.connect(self.chosen.emit)

    def show_value(self, value: Any) -> None:
        self.segments.set_value(str(value))


class NumberControl(Control):
    """A number; sent when the typing or clicking rests.

    Args:
        zero: the word shown for 0, "" for none.
        decimals: it is a price or the like, with two decimals.
    """

    def __init__(
        self, label: str, unit: str, step: float, low: float, high: float, zero: str = "", decimals: bool = False
    ) -> None:
        self.spin = DurationField() if unit == "s" else DecimalField() if decimals else NumberField()
        self._scale = 100 if decimals else 1
        self.spin.setAccessibleName(label)
        self.spin.setKeyboardTracking(False)
        self.spin.setRange(self._whole(low), self._whole(high))
        self.spin.setSingleStep(self._whole(step))
        self.spin.setSpecialValueText(zero)
        if unit != "s":
            self.spin.setSuffix(percent("") if unit == "%" else unit and f" {unit}")
        word = self.spin.fontMetrics().horizontalAdvance(zero)
        self.spin.setFixedWidth(max(theme().px(WIDTH), word + theme().px(ROUND_WORD)))
        super().__init__(self.spin)
        self._rest = QTimer(self, singleShot=True, interval=TYPING_MS)
        self._rest.timeout.connect(lambda: self.chosen.emit(self._value()))
        self.spin.valueChanged.connect(lambda: self._rest.start())
        self.spin.editingFinished.connect(lambda: self.spin.lineEdit().setModified(False))  # Qt leaves it as it was

    def _whole(self, value: float) -> int:
        return round(value * self._scale)

    def _value(self) -> float:
        return self.spin.value() / 100 if self._scale == 100 else self.spin.value()

    def show_value(self, value: Any) -> None:
        if self._rest.isActive() or (self.spin.hasFocus() and self.spin.lineEdit().isModified()):
            return  # the user is at it; what they choose is sent next
        self.spin.blockSignals(True)
        self.spin.setMaximum(max(self.spin.maximum(), self._whole(value)))  # chosen elsewhere, it is shown as it is
        self.spin.setValue(self._whole(value))
        self.spin.blockSignals(False)


class LimitControl(Control):
    """No number, or one: the least value and the greatest have words.

    Args:
        zero, most: these words.
    """

    def __init__(self, label: str, unit: str, step: int, high: int, zero: str, most: str) -> None:
        self.choice, self.number = Choice(), NumberControl(label, unit, step, 1, high - 1)
        self.choice.setAccessibleName(label)
        for word, value in ((zero, 0), (tr("At most"), None), (most, high)):
            self.choice.addItem(word, value)
        self.words = f"{zero} {most}"
        super().__init__(holding(hbox(self.choice, self.number, spacing=look.S)))
        self.setFocusProxy(self.choice)
        self.number.show_value(10 * step)
        self.choice.activated.connect(self._activated)
        self.number.chosen.connect(self.chosen.emit)

    def show_value(self, value: Any) -> None:
        place = self.choice.findData(value)
        if place < 0:
            self.number.show_value(value)
        self._show(place if place >= 0 else self.choice.findData(None))

    def _show(self, place: int) -> None:
        self.choice.setCurrentIndex(place)
        self.number.setVisible(self.choice.itemData(place) is None)

    def _activated(self, place: int) -> None:
        self._show(place)
        value = self.choice.itemData(place)
        self.chosen.emit(self.number.spin.value() if value is None else value)


class TemperatureControl(NumberControl):
    """Degrees as the user's locale has them; °C when it is sent. The lowest stands for none."""

    def __init__(self, label: str, step: float, low: float, high: float, zero: str) -> None:
        super().__init__(label, "°F" if in_fahrenheit() else "°C", step, low, high, zero)
        if in_fahrenheit():
            self.spin.setSingleStep(round(step * 9 / 5))

    def _whole(self, value: float) -> int:
        return round(to_fahrenheit(value) if in_fahrenheit() else value)

    def _value(self) -> float:
        return round((self.spin.value() - 32) * 5 / 9) if in_fahrenheit() else self.spin.value()


class TextControl(Control):
    """A line of text, sent on Enter and when the field is left; a refused one stays to be mended."""

    def __init__(self, label: str, placeholder: str) -> None:
        self.line = Field()
        self.line.setAccessibleName(label)
        self.line.setPlaceholderText(placeholder)
        self.line.setFixedWidth(theme().px(TEXT_WIDTH))
        super().__init__(self._inner(label))
        self._shown: Any = None
        self._sent = ""
        self.line.editingFinished.connect(self._finish)

    def _inner(self, label: str) -> QWidget:
        """All that it consists of."""
        return self.line

    def value_of(self, text: str) -> Any:
        return text

    def text_of(self, value: Any) -> str:
        return str(value)

    def show_value(self, value: Any) -> None:
        refused = value == self._shown and self._sent and self.line.text() == self._sent
        self._shown = value
        if not refused and not (self.line.hasFocus() and self.line.isModified()):
            self._set(self.text_of(value))

    def _set(self, text: str) -> None:
        self._sent = ""
        self.line.setText(text)
        self.line.setCursorPosition(0)

    def _finish(self) -> None:
        text = self.line.text().strip()
        if not self.line.isModified() or text == self._sent:
            return
        self.line.setModified(False)
        if self.value_of(text) == self._shown and not self._sent:
            self._set(self.text_of(self._shown))
            return
        self._sent = self.line.text()
        self.chosen.emit(self.value_of(text))


class NamesControl(TextControl):
    """Names with commas in between."""

    def value_of(self, text: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))

    def text_of(self, value: Any) -> str:
        return ", ".join(value)


class ScheduleControl(TextControl):
    """Times of the week, painted as cells or typed: the text may be exact to the minute."""

    wide = True

    def _inner(self, label: str) -> QWidget:
        self.grid = WeekGrid(label)
        self.line.setAccessibleName(tr("{label}, as text", label=label))
        self._none = Label(tr("Choose at least one hour. Until then nothing changes."), "cap", "warn", wrap=True)
        self._rest = QTimer(self.line, singleShot=True, interval=TYPING_MS)
        self._rest.timeout.connect(self._send)
        self.grid.painted.connect(self._rest.start)
        every = Button(tr("Every hour"), "link", name=tr("{label}: every hour", label=label))
        every.clicked.connect(lambda: self.grid.fill(True))
        clear = Button(tr("Clear"), "link", name=tr("Clear {label}", label=label))
        clear.clicked.connect(lambda: self.grid.fill(False))
        foot = hbox(self.line, STRETCH, every, clear, spacing=look.L)
        return holding(vbox(self.grid, self._none, foot, spacing=look.S))

    def _send(self) -> None:
        minutes = self.grid.week.minutes
        self._none.setVisible(not any(minutes))
        if any(minutes) and (text := schedule.written(minutes)) != self._shown:
            self.line.setModified(False)
            self.chosen.emit(text)

    def show_value(self, value: Any) -> None:
        super().show_value(value)
        if not self._rest.isActive():  # else the user is painting
            self.grid.show_schedule(schedule.parse(value))
            self._none.hide()


class RunControl(Control):
    """One of the runs that come with Hearth, or the manifest in a file."""

    def __init__(self, label: str) -> None:
        self.choice = Choice()
        self.choice.setAccessibleName(label)
        self.choice.setFixedWidth(theme().px(TEXT_WIDTH))
        super().__init__(self.choice)
        for run in manifests.built_in_runs():
            self.choice.addItem(tr_run(manifests.load(run).title), run)
        self.choice.addItem(tr("From a manifest's file…"), None)
        self.choice.activated.connect(self._activated)
        self._value = str(self.choice.itemData(0))

    def show_value(self, value: Any) -> None:
        self._value = value
        place = self.choice.findData(value)
        if place < 0:  # a manifest's file; at most one is listed
            if manifests.is_path(str(self.choice.itemData(0))):
                self.choice.removeItem(0)
            self.choice.insertItem(0, _title(value), value)
            self.choice.setItemData(0, tip(value), Qt.ItemDataRole.ToolTipRole)
            place = 0
        self.choice.setCurrentIndex(place)
        self.choice.setToolTip(tip(value) if manifests.is_path(value) else "")

    def _activated(self, place: int) -> None:
        run = self.choice.itemData(place)
        if run is None:
            self.show_value(self._value)  # until a file is chosen
            self._ask_for_file()
        elif run != self._value:
            self.chosen.emit(run)

    def _ask_for_file(self) -> None:
        dialog = QFileDialog(self, tr("The organiser's manifest"), "", tr("Manifests (*.toml *.json)"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.chosen.emit)
        dialog.open()


def _title(path: str) -> str:
    """Of the run of a manifest's file; the file's name where it cannot be read here, as if it is another PC's."""
    try:
        return tr_run(manifests.load(path).title)
    except ManifestError:
        return tr("File {name}", name=Path(path).name)


def make_control(field: "dataclasses.Field[Any]", kind: Any) -> Control:
    """The control that fits a setting's type."""
    label, metadata = tr_setting(field.metadata["label"]), field.metadata
    if field.name == "run":
        return RunControl(label)
    if choices := metadata.get("choices"):
        return ChoiceControl(label, {value: tr_setting(word) for value, word in choices.items()})
    if kind is bool:
        return SwitchControl(label)
    inner = typing.get_args(kind)[0] if typing.get_origin(kind) is typing.Annotated else kind
    if metadata["group"] == SCHEDULE:
        return ScheduleControl(label, tr_setting(metadata["placeholder"]))
    if inner is str:
        return TextControl(label, tr_setting(metadata.get("placeholder", "")))
    if typing.get_origin(inner) is tuple:
        return NamesControl(label, tr_setting(metadata.get("placeholder", "")))
    low, high = bounds(kind)
    if field.name == "threads":
        high = min(high, cores())
    step, zero = metadata.get("step", 1), tr_setting(metadata.get("zero", ""))
    if most := tr_setting(metadata.get("most", "")):
        return LimitControl(label, tr_setting(metadata["unit"]), step, high, zero, most)
    if metadata["unit"] == "°C":
        return TemperatureControl(label, step, low, high, zero)
    return NumberControl(label, tr_setting(metadata["unit"]), step, low, high, zero, inner is float)


def bounds(kind: Any) -> tuple[int, int]:
    """Least and greatest value of an annotated number."""
    if typing.get_origin(kind) is not typing.Annotated or typing.get_args(kind)[0] not in (int, float):
        raise TypeError(f"The form has no control for a setting of type {kind}.")
    metas = [meta for meta in typing.get_args(kind)[1:] if isinstance(meta, msgspec.Meta)]
    low = max((meta.ge for meta in metas if meta.ge is not None), default=0)
    high = min((meta.le for meta in metas if meta.le is not None), default=2**31 - 1)
    return int(low), int(high)

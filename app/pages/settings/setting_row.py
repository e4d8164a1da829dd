"""A row of the settings: label and explanation at the left, the control at the right, a refusal below."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.icons import rounded, smooth
from app.language import mark, told, tr, tr_setting
from app.pages.settings.changes import DEFAULTS
from app.pages.settings.setting_controls import Control, SwitchControl, make_control
from app.pages.settings.synonyms import synonyms
from app.theme import theme
from app.widgets.basics import Card, Label, Pair
from app.widgets.boxes import STRETCH, Part, hbox, vbox
from app.widgets.buttons import Button
from app.window.focus_ring import order_page
from core.contracts.errors import HearthError
from core.contracts.settings import cores, late
from core.system.link_handler import opens_links
from core.system.start_at_login import start_at_login

LEAST_WORDS = 210
"""Pixels of label and explanation beside a control; with less room they stand over it."""
DOT = 8
"""Side of the mark of a changed value, pixels."""
LOGIN = mark("Start Hearth when I log in")
LOGIN_HELP = mark(
    "It starts without opening its window, in the tray if your desktop has one. Your system stores this; you can "
    "change it there too."
)
LINKS = mark("Open links to runs with Hearth")
LINKS_HELP = mark(
    "A click on a link that begins with hearth:// shows what that run is, and asks whether to join it. Your "
    "system stores this."
)
PENDING = {
    "worker": (
        mark("Pending restart: the worker reads it when it starts."),
        mark("Restart the worker"),
        mark("Restart the worker for {label}"),
    ),
    "window": (
        mark("Pending restart: the window reads it when it starts. The worker keeps running meanwhile."),
        mark("Restart the window"),
        mark("Restart the window for {label}"),
    ),
}
"""Of who reads a setting at its start only: what is told, and the button with its accessible name."""


class Row(QWidget):
    """One setting.

    Args:
        label, explanation: what is shown, and searched in.
        control: changes the value.
        default: the standard value.
        read_at_start: who reads the value at its start only, "worker" or "window"; "" for nobody.
        also: more words that the search finds it by.
    """

    chosen = Signal(object)
    """The user wants this value."""
    restart_asked = Signal()
    """Who reads the value at its start shall be restarted."""

    def __init__(
        self, label: str, explanation: str, control: Control, default: Any, read_at_start: str = "", also: str = ""
    ) -> None:
        super().__init__()
        self._found_by = f"{label} {explanation} {control.words} {also}".casefold()
        self.label, self.explanation, self.control, self.default = label, explanation, control, default
        self._marks = True
        self._value = default
        control.chosen.connect(self.chosen.emit)
        self.reset: Button | None = None
        self._dot: _Dot | None = None
        self._error: Label | None = None
        self._now: Label | None = None
        """Only made when it is needed, as are the three before: there are many rows."""
        self.restart: Button | None = None
        self.divided = True
        """Whether a line stands over it; painted, as a widget for it in each row takes memory."""
        self._build()
        if read_at_start:
            self._build_restart(*PENDING[read_at_start])
        self.show_value(default)

    def _build(self) -> None:
        label = Label(self.label, "strong")
        self._title = hbox(label, STRETCH, spacing=6)
        words = QWidget()
        self._texts = vbox(self._title, Label(self.explanation, "cap", "text2", wrap=True), spacing=2, within=words)
        if self.control.wide:
            self._controls = hbox((words, 1), spacing=look.L)
            self._place = self._controls.count()
            parts: tuple[Part, ...] = (self._controls, self.control)
        else:
            controls = QWidget()
            wide = label.sizeHint().width() + theme().px(DOT) + 6
            words.setMinimumWidth(max(theme().px(LEAST_WORDS), wide))
            self._controls = hbox(STRETCH, spacing=look.L, margins=(0, 2, 0, 2), within=controls)
            self._place = self._controls.count()
            self._controls.addWidget(self.control)
            parts = (Pair(words, controls, (1, 0), early=False, spacing=look.L),)
        self._box = vbox(*parts, spacing=look.S, within=self)
        self.setMinimumHeight(theme().px(44))
        self.set_divided(True)

    def _build_reset(self) -> None:
        name = tr("Reset {label}", label=self.label)
        self.reset = Button(tr("Reset"), "link", name=name, clicked=lambda: self.chosen.emit(self.default))
        keep = self.reset.sizePolicy()
        keep.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(keep)
        self._dot = _Dot()
        self._title.insertWidget(1, self._dot)
        self._controls.insertWidget(self._place, self.reset)
        order_page(self)

    def _build_restart(self, pending: str, restart: str, restart_for: str) -> None:
        self._pending = Label(tr(pending), "cap", "warn", wrap=True)
        self.restart = Button(
            tr(restart), "link", "refresh", name=tr(restart_for, label=self.label), clicked=self.restart_asked
        )
        self._texts.addWidget(self._pending)
        self._texts.addWidget(self.restart)
        self.set_pending(False)

    def set_divided(self, divided: bool) -> None:
        """Draw a line over the row, or none: it is the first one."""
        self.divided = divided
        self._box.setContentsMargins(0, 1 + look.S if divided else 0, 0, 0)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.divided:
            QPainter(self).fillRect(0, 0, self.width(), 1, theme().color("border"))

    def show_value(self, value: Any, error: str = "") -> None:
        """Show a value, and a sentence if another one was refused."""
        self._value = value
        self.control.show_value(value)
        changed = self.is_changed and self._marks
        if changed and self.reset is None:
            self._build_reset()
        if self.reset is not None and self._dot is not None:
            self._dot.setVisible(changed)
            self.reset.setVisible(changed)
        if error and self._error is None:
            self._error = Label("", "cap", "bad", wrap=True)
            self._texts.insertWidget(2, self._error)
        if self._error is not None:
            self._error.setText(error)
            self._error.setVisible(bool(error))

    def show_now(self, words: str) -> None:
        """Tell what is in force, where the value alone does not; "": it does."""
        if words and self._now is None:
            self._now = Label("", "cap", "text", wrap=True)
            self._texts.addWidget(self._now)
        if self._now is not None and words != self._now.text():
            self._now.setText(words)
            self._now.setVisible(bool(words))

    def leave_unmarked(self) -> None:
        """A value that is not the standard one is neither marked nor can be reset."""
        self._marks = False

    def set_default(self, default: Any) -> None:
        """Take another value for the standard one."""
        self.default = default
        self.show_value(self._value, self.error)

    def set_pending(self, pending: bool) -> None:
        """Whether the value applies only after a restart."""
        if self.restart is not None:
            self._pending.setVisible(pending)
            self.restart.setVisible(pending)

    def fits(self, words: list[str]) -> bool:
        """Whether it is found by each word; `words` are in lower case."""
        return all(word in self._found_by for word in words)

    @property
    def error(self) -> str:
        return self._error.text() if self._error is not None else ""

    @property
    def is_changed(self) -> bool:
        return bool(self._value != self.default)


def row_of(field: "dataclasses.Field[Any]", kind: Any, first: bool = False) -> Row:
    """The row of a declared setting.

    Args:
        field: of `Settings`.
        kind: its type.
        first: nothing has read it yet that would have to be started again.
    """
    words = [tr_setting(field.metadata["help"])]
    if field.name == "threads":
        words.append(tr("This PC has %Ln core(s).", cores()))
    if not first:
        words.append(tr_setting(late(field)))
    control, default = make_control(field, kind), DEFAULTS[field.name]
    reader = (
        "" if first else "worker" if field.metadata.get("restart") else "window" * bool(field.metadata.get("window"))
    )
    explanation = " ".join(filter(None, words))
    return Row(tr_setting(field.metadata["label"]), explanation, control, default, reader, synonyms(field.name))


class SystemRow(Row):
    """A switch that the system keeps.

    Args:
        label: what is shown.
        explanation: under it.
        kept: says how it stands, and switches it if it is given a wish (`start_at_login`).
        folder: the data folder that it is about.
        also: as of `Row`.
    """

    def __init__(
        self, label: str, explanation: str, kept: Callable[[Path, bool | None], bool], folder: Path, also: str
    ) -> None:
        super().__init__(label, explanation, SwitchControl(label), False, also=also)
        self._kept, self._folder = kept, folder
        self.chosen.connect(self.set)

    def set(self, wish: bool) -> None:
        """Ask the system for it; a refusal is told."""
        try:
            self.show_value(self._kept(self._folder, wish))
        except HearthError as error:
            self.show_value(self._kept(self._folder, None), told(error.notice))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.show_value(self._kept(self._folder, None))  # somebody may have changed it elsewhere


def login_row(folder: Path) -> SystemRow:
    """Whether Hearth starts at login, with this data folder."""
    return SystemRow(tr(LOGIN), tr(LOGIN_HELP), start_at_login, folder, synonyms("login"))


def links_row(folder: Path) -> SystemRow:
    """Whether links to runs open Hearth, with this data folder."""
    return SystemRow(tr(LINKS), tr(LINKS_HELP), opens_links, folder, synonyms("links"))


class Group(Card):
    """A card of rows under one title, with one reset for all of them."""

    reset_asked = Signal(list)
    """Rows whose standard value is wanted."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self.rows: list[Row] = []
        self._lit: Row | None = None
        self.reset = Button(
            tr("Reset all of these"),
            "link",
            name=tr("Reset all of {title}", title=title),
            clicked=lambda: self.reset_asked.emit(self._changed()),
        )
        self.head.addWidget(self.reset)
        self.look()

    def add(self, row: Row) -> None:
        self.rows.append(row)
        self.body.addWidget(row)
        self.look()

    def look(self) -> None:
        """Offer to reset where more than one value is another than the standard one."""
        self.reset.setVisible(len(self._changed()) > 1)

    def light(self, row: Row | None) -> None:
        """Mark the row that somebody was led to; None: none any more."""
        self._lit = row
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._lit is not None:
            above = -look.XS if not self._lit.divided else look.XS
            place = QRectF(self._lit.geometry()).adjusted(-look.S, above, look.S, look.XS)
            rounded(smooth(self), place, look.RADIUS_CONTROL, theme().color("ember_soft"))

    def search(self, words: list[str]) -> bool:
        """Show the rows that fit, all of them if the group's title does; whether there are any."""
        whole = all(word in self.title.text().casefold() for word in words)
        shown = [row for row in self.rows if whole or row.fits(words)]
        for row in self.rows:
            row.setVisible(row in shown)
            row.set_divided(row is not (shown[0] if shown else None))
        self.setVisible(bool(shown))
        self.look()
        return bool(shown)

    def _changed(self) -> list["Row"]:
        """Of the rows that are shown: nobody resets what a search has hidden."""
        return [row for row in self.rows if row.is_changed and not row.isHidden()]


class Section(Card):
    """A card of something else than rows, which is found and hidden as a whole.

    Args:
        title: as of `Card`.
        words: that it is found by, beside its title.
    """

    def __init__(self, title: str, words: str) -> None:
        super().__init__(title)
        self._found_by = f"{title} {words}".casefold()

    def search(self, words: list[str]) -> bool:
        """Show it if it fits; whether it does."""
        fits = all(word in self._found_by for word in words)
        self.setVisible(fits)
        return fits


def action_row(label: str, explanation: str, button: Button, *more: QWidget) -> QWidget:
    """What a button does, beside it; more below the explanation."""
    words = QWidget()
    vbox(Label(label, "strong"), Label(explanation, "cap", "text2", wrap=True), *more, spacing=2, within=words)
    return Pair(words, button, (1, 0), early=False, spacing=look.L)


class _Dot(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.setFixedSize(theme().px(DOT), theme().px(DOT))
        self.setToolTip(tr("Changed from the standard value"))
        self.setAccessibleName(tr("Changed from the standard value"))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme().color("ember"))
        painter.drawEllipse(self.rect().adjusted(1, 1, -1, -1))

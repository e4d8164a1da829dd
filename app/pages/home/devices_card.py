"""The devices on Home: what each does and what Hearth takes of it, and a switch for each graphics processor."""

import re
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from app import theme as look
from app.formats import data_size, number, pace, percent
from app.icons import Icon
from app.language import mark, temperature, told, tr
from app.theme import theme
from app.widgets.basics import Bar, Divider, ElidedLabel, Label, Notice, Panel, StaleCard
from app.widgets.boxes import STRETCH, add, discard, grid_box, hbox, vbox
from app.widgets.buttons import Button, Switch
from app.window.focus_ring import order_page
from app.worker.client import WorkerClient
from core.contracts.errors import HearthError
from core.contracts.status import DeviceStatus, Status
from core.update.installation import feed_here

UNKNOWN = mark("Appears as soon as the worker answers.")
MIB = 1 << 20
BAR_WIDTH = 48
TRADE_MARKS = re.compile(r"\((R|TM|C)\)")
PROCESSES = {
    "app": mark("App"),
    "screensaver": mark("Screensaver"),
    "worker": mark("Worker"),
    "compute": mark("Compute"),
}


class _Device:
    """The widgets of one device, in its row of the card's grid.

    Args:
        switched: called when the user switches it on or off; None: it has no switch.
    """

    def __init__(self, grid: QGridLayout, row: int, device: DeviceStatus, switched: Callable[[bool], None] | None):
        well = Panel("sunken", "", look.RADIUS_CONTROL)
        well.setFixedSize(theme().px(36), theme().px(36))
        hbox(Icon(device.kind, "text2", 18), within=well)
        name = TRADE_MARKS.sub("", device.name)
        self.name, self.words = ElidedLabel(name, "strong"), Label("", "cap", "text2", wrap=True)
        self.load, self.memory = (Label("", "cap", "text2", tabular=True) for _ in range(2))
        self.celsius, self.watts = Label("", "cap_strong", tabular=True), Label("", "cap", "text2", tabular=True)
        self._bars = Bar("ember_fill"), Bar("text2")
        for bar in self._bars:
            bar.setFixedWidth(theme().px(BAR_WIDTH))
        grid.addWidget(well, row, 0)
        grid.addLayout(vbox(self.name, self.words, spacing=2), row, 1)
        middle = Qt.AlignmentFlag.AlignVCenter  # the words beside them may have more lines
        for label in (self.celsius, self.watts):
            label.setAlignment(Qt.AlignmentFlag.AlignRight)
        for column, both in enumerate((self._bars, (self.load, self.memory), (self.celsius, self.watts)), 2):
            grid.addLayout(vbox(*both, spacing=2), row, column, middle)
        self.switch: Switch | None = None
        if switched is not None:
            self.switch = Switch(tr("Use {device}", device=name))
            self.switch.clicked.connect(switched)
            grid.addWidget(self.switch, row, 5)
        self._shown = 0.0, 0.0

    def show(self, device: DeviceStatus, words: str, taken: int, by: str) -> None:
        """Write the figures of a device.

        Args:
            device: as the worker told.
            words: what it does.
            taken: bytes that Hearth takes of its memory.
            by: which process takes how much.
        """
        self.words.setText(words)
        load, memory = device.load or 0.0, device.memory_bytes or 0
        self.load.setText(tr("{share} for Hearth", share=percent(load, 0)))
        of = {"used": data_size(taken, 10), "all": data_size(memory, 10)}  # there is little room
        self.memory.setText(tr("{used} of {all}", **of) if memory else of["used"])
        self.memory.setToolTip(by)
        self.celsius.setText("" if device.celsius is None else temperature(device.celsius))
        self.watts.setText("" if device.watts is None else f"{number(device.watts)} W")
        self._shown = load, taken / max(1, memory)
        self.set_stale(False)

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old."""
        for bar, share, tone in zip(self._bars, self._shown, ("ember_fill", "text2"), strict=True):
            bar.set_value(share, "text3" if stale else tone)
        if self.switch is not None:
            self.switch.setEnabled(not stale)


class DevicesCard(StaleCard):
    """Processor and graphics processors, and how much they train. Its link leads to the GPU pack."""

    def __init__(self, client: WorkerClient) -> None:
        super().__init__(tr("Devices"))
        self._client = client
        self._rate = Label("", "cap", "text2", tabular=True)
        self.head.addWidget(self._rate)
        self._notice = Notice()
        self._empty = Label(tr(UNKNOWN), "body", "text2", wrap=True)
        self._rows = QWidget()
        self.devices: dict[str, _Device] = {}
        """By `DeviceStatus.id`."""
        self._off: set[str] = set()
        """Those that the user has switched off."""
        self.offer = Button(tr("Use the GPU…"), clicked=self.link_clicked)
        self.offer.hide()
        self._has_packs = feed_here() is not None
        add(self.body, self._notice, self._empty, self._rows, (self.offer, Qt.AlignmentFlag.AlignLeft), STRETCH)
        client.connected.connect(lambda snapshot: self._take_settings(snapshot.settings))
        client.settings.connect(self._take_settings)

    def update_status(self, status: Status) -> None:
        self._rate.setText(tr("{pace} trained per second", pace=pace(status.task, status.samples_per_s)))
        if [device.id for device in status.devices] != list(self.devices):
            self._make_rows(status.devices)
        torch_has_none = any(one.code == "device.torch_has_none" for device in status.devices for one in device.why)
        self.offer.setVisible(torch_has_none and self._has_packs)
        for device in status.devices:
            self.devices[device.id].show(device, _words(device, status), *_taken(device, status))

    def set_stale(self, since: str) -> None:
        super().set_stale(since)
        theme().set_tone(self._rate, "text3" if since else "text2")
        for device in self.devices.values():
            device.set_stale(bool(since))

    def _make_rows(self, devices: list[DeviceStatus]) -> None:
        old, self._rows = self._rows, QWidget()
        grid = grid_box(look.M, look.S, stretch={1: 1}, margins=(0, look.XS, 0, 0), within=self._rows)
        self.devices = {}
        for at, device in enumerate(devices):
            if at:
                grid.addWidget(Divider(), 2 * at - 1, 0, 1, -1)
            switched = None
            if device.kind == "gpu":
                switched = lambda on, which=device.id: self._switch(which, on)  # noqa: E731
            self.devices[device.id] = _Device(grid, 2 * at, device, switched)
        self.body.replaceWidget(old, self._rows)
        discard([old])
        self._rows.show()
        self._empty.setVisible(not devices)
        self.values = [label for row in self.devices.values() for label in (row.name, row.celsius)]
        self._show_switches()
        order_page(self)

    # switches

    def _switch(self, which: str, on: bool) -> None:
        off = sorted(self._off - {which} if on else self._off | {which})
        self._notice.set_text("")
        self._client.set_settings({"gpus_off": off}, self._take_settings, self._refused)

    def _take_settings(self, values: dict[str, Any]) -> None:
        self._off = set(values.get("gpus_off") or ())
        self._show_switches()

    def _refused(self, error: HearthError) -> None:
        self._notice.set_text(told(error.notice))
        self._show_switches()

    def _show_switches(self) -> None:
        for which, device in self.devices.items():
            if device.switch is not None:
                device.switch.setChecked(which not in self._off)


def _words(device: DeviceStatus, status: Status) -> str:
    """What it does; or why it does nothing."""
    if not device.on and device.why:
        return told(device.why)
    hosts = bool(status.layers or device.experts)
    experts = tr("%Ln expert(s)", device.experts) if hosts else tr("The whole model")
    return f"{experts}, {tr('%Ln thread(s)', status.threads)}" if device.kind == "cpu" else experts


def _taken(device: DeviceStatus, status: Status) -> tuple[int, str]:
    """Bytes of its memory that Hearth takes, and which process how much."""
    if device.kind == "gpu":
        return device.taken_bytes, ""
    parts = [
        f"{tr(word)}{f' ({process.run})' if process.run else ''} {number(process.memory_mb)} MB"
        for name, word in PROCESSES.items()
        for process in status.processes
        if process.name == name
    ]
    return round(MIB * sum(process.memory_mb for process in status.processes)), ", ".join(parts)

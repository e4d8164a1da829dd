"""What there is to see, from the worker: its status, the grid of the run, and where something happened in it."""

from functools import partial
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QObject, QTimer, Signal

from app.language import mark, told, tr
from app.pages.experts.grid_layer import EVERY_MS, Layer
from app.worker.client import WorkerClient
from core import consent
from core.contracts.control import Snapshot
from core.contracts.network_status import NetworkParams, NetworkStatus
from core.contracts.notices import Notice
from core.contracts.status import CellStatus, GridStatus, Status
from core.version import VERSION

PLANES = 6
"""Layers that are shown: the first ones."""
REDIAL_MS = 2000
PEERS_EVERY = 5
"""Looks at the grid for one at the number of peers."""
NOT_AGREED = mark("Nothing runs yet, and nothing is sent. Open Hearth: it says what it does, and asks you first.")
NO_WORKER = mark("Nothing moves here, as no worker runs. Start Hearth, and you see the experts at work.")


class Happened(NamedTuple):
    """What happened in a layer since the look before; cells as they are drawn (`Layer.at`)."""

    layer: int
    called: frozenset[int]
    """They answered a call; or took an update, which takes a call of this PC's own."""
    updated: frozenset[int]
    """Gradients came, and changed them."""


class Feed(QObject):
    """Looks at the grid as often as the Experts page does, and for a worker as long as there is none."""

    changed = Signal()
    """The status, the figures or the sentence."""
    looked = Signal(list)
    """All layers have been looked at: a `Happened` for each."""
    settings = Signal(dict)
    """All of them, when they are first known and after each change."""

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folder = folder
        self.client = WorkerClient(folder, VERSION, self, "screensaver")
        self.status: Status | None = None
        """None: no worker answers."""
        self.sentence = ""
        """Why there is no status, and what to do."""
        self.layers: list[Layer] = []
        self.layer_count = 0
        """Of the run, also those that are not shown."""
        self.whole = False
        """Other peers' experts are known, too."""
        self.peers: int | None = None
        """Connected ones; None: this PC is alone."""
        self._happened: list[Happened] = []
        self._looks = 0
        self._looking = self._resting = False
        client = self.client
        client.connected.connect(self._connected)
        client.shown.connect(lambda snapshot: self._take_status(snapshot.status))
        client.disconnected.connect(self._disconnected)
        client.status.connect(self._take_status)
        client.settings.connect(self.settings)
        self._redial = QTimer(self, singleShot=True, interval=REDIAL_MS)
        self._redial.timeout.connect(client.dial)
        self._timer = QTimer(self, interval=EVERY_MS)
        self._timer.timeout.connect(self._look)

    def start(self) -> None:
        self.client.dial()

    def rest(self, resting: bool) -> None:
        """Look at the grid no more, or again; the status still comes, as it tells of input."""
        self._resting = resting
        if resting:
            self._timer.stop()
        elif self.client.is_connected:
            self._timer.start()

    def stop(self) -> None:
        """Ask for nothing any more."""
        self._redial.stop()
        self._timer.stop()
        self.client.hang_up()

    @property
    def cells(self) -> list[CellStatus]:
        """All hosted experts of the layers that are shown."""
        return [cell for layer in self.layers for cell in layer.cells.values()]

    def _connected(self, snapshot: Snapshot) -> None:
        self.settings.emit(snapshot.settings)
        self._looking = False
        self._take_status(snapshot.status)
        if not self._resting:
            self._timer.start()
        self._look()

    def _disconnected(self, reason: Notice) -> None:
        self._timer.stop()
        self.status = None
        if self.client.refused:
            self.sentence = told(reason)
        else:
            self.sentence = tr(NO_WORKER if consent.read(self._folder) else NOT_AGREED)
        self._forget()
        self._redial.start()
        self.changed.emit()

    def _take_status(self, status: Status) -> None:
        if self.status is not None and self.status.run_id != status.run_id:
            self._forget()
        self.status = status
        self.changed.emit()

    def _forget(self) -> None:
        self.layers, self.peers = [], None
        self._happened = []

    def _look(self) -> None:
        if self._looking:
            return
        self._looking = True
        self._happened = []
        self.client.grid(0, partial(self._take, self.client.shown_run), self._failed)
        if self._looks % PEERS_EVERY == 0:
            few = NetworkParams(peers=0)
            self.client.request("network", few, NetworkStatus, self._take_peers, self._alone)
        self._looks += 1

    def _take(self, run: str, grid: GridStatus) -> None:
        number = grid.layer
        if run != self.client.shown_run:
            self._looking = False  # the next look is at the other one
            return
        if not 0 <= number < min(grid.layers, PLANES):  # no experts; a worker of another version may tell anything
            self._looking = False
            return
        while len(self.layers) <= number:
            self.layers.append(Layer())
        layer = self.layers[number]
        places = layer.places
        layer.take(grid)
        if layer.places == places:  # else the cells are drawn elsewhere than they were
            self._happened.append(Happened(number, layer.called, layer.updated))
        self.layer_count, self.whole = grid.layers, grid.whole
        if number + 1 < min(grid.layers, PLANES):
            self.client.grid(number + 1, partial(self._take, run), self._failed)
            return
        self._looking = False
        self.looked.emit(self._happened)

    def _failed(self, error: Exception) -> None:
        self._looking = False

    def _take_peers(self, network: NetworkStatus) -> None:
        self.peers = network.connected
        self.changed.emit()

    def _alone(self, error: Exception) -> None:
        self.peers = None

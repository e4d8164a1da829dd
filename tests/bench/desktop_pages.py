"""Frames of the pages of a large swarm, in a process of their own; prints one JSON document.

The pages are real, in a real window; the worker is the contract alone: its answers come as the bytes that a worker of
10,000 experts and 5,000 peers would send, with a ledger of a summer, and are decoded where the app decodes them.
"""

import dataclasses
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from PySide6.QtCore import QEvent, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.actions import Actions
from app.pages.contribution.contribution_page import ContributionPage
from app.pages.experts.experts_page import ExpertsPage
from app.pages.home.home_page import HomePage
from app.pages.model.model_page import ModelPage
from app.pages.network.network_page import NetworkPage
from app.pages.settings.settings_page import SettingsPage
from app.theme import theme
from app.window.main_window import MainWindow
from app.worker.client import WorkerClient
from core.community.reading import read_only
from core.contracts.credit import Credit, Leaderboard, Ranking
from core.contracts.network_status import PEERS_PAGE, NetworkStatus, PeerStatus
from core.contracts.notices import plain
from core.contracts.settings import Settings
from core.contracts.status import CellStatus, GridStatus
from core.contracts.telemetry import Told
from core.contracts.trunk_status import TrunkStatus
from tests import a_summer

PEERS, LAYERS, SIDE = 5000, 4, 50
LIT = 0.03
"""Share of the cells that answer a call between two looks."""


class Swarm(WorkerClient):
    """Answers as the worker of a large swarm would."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "0")
        self.is_connected = True
        a_summer.write(folder, time.time())
        ledger = read_only(folder)
        self._answers: dict[str, Callable[[Any], Any]] = {
            "grid": lambda asked: self.grid_of(asked.layer),
            "network": lambda asked: self.network_of(asked.first),
            "trunk": lambda asked: TrunkStatus("digits", "local", []),
            "credit": lambda asked: Credit(0, [], 0.0, 0.0, None),
            "doctor": lambda asked: [],
            "telemetry": lambda asked: Told([], [], []),
            "leaderboard": lambda asked: Leaderboard(*[Ranking([], 0, 0.0)] * 3),
            "totals": lambda asked: ledger.totals(time.time()),
            "series": ledger.series,
            "sessions": ledger.sessions,
        }
        self._chance = random.Random(1)
        self._calls = [[0] * SIDE**2 for _ in range(LAYERS)]

    def request(
        self,
        method: str,
        params: Any = None,
        result: Any = Any,
        done: Callable[[Any], None] = lambda result: None,
        *others: Any,
        **more: Any,
    ) -> int | None:
        raw = msgspec.json.encode(self._answers[method](params))
        QTimer.singleShot(0, self, lambda: done(msgspec.json.decode(raw, type=result)))
        return None

    def grid_of(self, layer: int) -> GridStatus:
        calls = self._calls[layer]
        for cell in range(SIDE**2):
            calls[cell] += self._chance.random() < LIT
        cells = [CellStatus(n, n % 200 == 0, n * 3, 0.4, 2, calls[n]) for n in range(SIDE**2)]
        return GridStatus(layer, LAYERS, (SIDE, SIDE), True, cells)

    def network_of(self, first: int) -> NetworkStatus:
        chance = self._chance
        last = min(PEERS, first + PEERS_PAGE)
        peers = [
            PeerStatus(
                f"{n * 2654435761 % 2**256:064x}", "direct" if n % 4 else "relayed via 1a2b3c4d",
                f"198.51.{n // 250}.{n % 250}:4433", chance.uniform(5, 300), chance.randrange(10**9),
                chance.randrange(10**9), 1_760_000_000.0, 0.0, "reachable",
            )
            for n in range(first, last)
        ]  # fmt: skip
        return NetworkStatus(
            "ab" * 32, "ab" * 32 + "@203.0.113.7:4433", "reachable", plain(""), "none", [], [], peers, PEERS
        )


def decoded(raw: bytes, kind: Any, take: Callable[[Any], None]) -> None:
    """What the app does with an answer's bytes."""
    take(msgspec.json.decode(raw, type=kind))


class Frame(NamedTuple):
    """Milliseconds of one."""

    wall: float
    cpu: float
    """Of the GUI's thread: what other programs take does not count."""


def frame(window: QWidget, change: Callable[[], object]) -> Frame:
    """A change, and the picture that it makes: all that has to be painted is painted now."""
    start, begun = time.perf_counter(), time.thread_time()
    change()
    QApplication.sendPostedEvents()
    QApplication.sendEvent(window, QEvent(QEvent.Type.UpdateRequest))
    return Frame((time.perf_counter() - start) * 1000, (time.thread_time() - begun) * 1000)


def figures(frames: list[Frame]) -> dict[str, float]:
    """Mean and extremes."""
    wall, cpu = sorted(frame.wall for frame in frames), sorted(frame.cpu for frame in frames)
    return {
        "frames": len(frames),
        "mean_ms": round(statistics.fmean(wall), 2),
        "p95_ms": round(wall[int(0.95 * (len(wall) - 1))], 2),
        "max_ms": round(wall[-1], 2),
        "mean_cpu_ms": round(statistics.fmean(cpu), 2),
        "max_cpu_ms": round(cpu[-1], 2),
    }


def main() -> None:
    """Measure; the first argument is how many frames."""
    count = int(sys.argv[1])
    application = QApplication([])
    theme().set_mode("light")
    folder = tempfile.TemporaryDirectory()
    actions, client = Actions(), Swarm(Path(folder.name))
    network, experts = NetworkPage(client, actions), ExpertsPage(client)
    settings = SettingsPage(client, actions)
    settings.set_values(dataclasses.asdict(Settings()))
    pages = [HomePage(actions, client), ModelPage(client), ContributionPage(client), network, experts, settings]
    window = MainWindow(pages, actions)
    window.show()
    window.set_connected(True)
    QTest.qWait(500)
    changes: dict[str, list[Frame]] = {}
    for name in [page.name for page in reversed(pages)] * 5:
        changes.setdefault(name, []).append(frame(window, partial(window.open_page, name)))
        QTest.qWait(400)

    window.open_page("network")
    QTest.qWait(1500)
    network._timer.stop()  # from here on the answers are taken one by one
    bar = network.peers.table.verticalScrollBar()
    scrolled = [frame(window, partial(bar.setValue, 17 * n)) for n in range(count)]
    taken: list[Frame] = []
    while len(taken) < count:
        network._got = []
        for first in range(0, PEERS, PEERS_PAGE):
            raw = msgspec.json.encode(client.network_of(first))
            taken.append(frame(window, partial(decoded, raw, NetworkStatus, network._take)))
    assert network.peers.model.rowCount() == PEERS

    window.open_page("experts")
    QTest.qWait(2500)
    experts._timer.stop()
    cells: list[Frame] = []
    for n in range(count):
        raw = msgspec.json.encode(client.grid_of(n % LAYERS))
        cells.append(frame(window, partial(decoded, raw, GridStatus, experts.grid.show_layer)))
    assert len(experts.grid.grids) == LAYERS
    picked = [frame(window, partial(experts.grid.grids[0]._pick, n)) for n in range(count)]
    document = {
        "peers": PEERS,
        "experts": LAYERS * SIDE**2,
        "network_scrolling": figures(scrolled),
        "network_new_peers": figures(taken),
        "experts_new_calls": figures(cells),
        "experts_cell_chosen": figures(picked),
        "page_change": {name: figures(times) for name, times in changes.items()},
    }
    print(msgspec.json.encode(document).decode())
    window.may_close = True
    window.close()
    application.quit()
    folder.cleanup()


if __name__ == "__main__":
    main()

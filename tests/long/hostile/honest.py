"""Honest workers, which are measured while others attack them."""

import contextlib
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from core.experts.grid import Uid
from tests.workers import HERE, RunningWorker, Workers, hearth


class Sight(NamedTuple):
    """What a worker was like over some time."""

    accuracy: float
    """Of its last evaluation."""
    steps: int
    """Taken meanwhile."""
    slow_s: float
    """The longest time in which no report told of steps faster than `SLOW_S`."""
    grown_mb: float
    """Its memory at the end, beyond that at the beginning; compute's counts as well."""


SLOW_S = 2.0


class Swarm:
    """A backbone and honest workers on this machine."""

    def __init__(self, folder: Path, workers: Workers, run: str = "digits") -> None:
        """Start the backbone.

        Args:
            folder: for all their data.
            workers: that end with the test.
            run: its name or its manifest's path.
        """
        self._folder, self._workers, self._run = folder, workers, run
        self.backbone = workers.start(folder / "backbone", "--run", run, "--role", "backbone", "--listen", HERE)
        self.bootstrap = hearth(self.backbone.folder, "address").stdout.strip()
        self.honest: list[RunningWorker] = []

    def start(self, name: str, *arguments: str) -> RunningWorker:
        """One more honest worker.

        Args:
            name: of its folder.
            arguments: beside those by which it joins.
        """
        network = ["--run", self._run, "--listen", HERE, "--bootstrap", self.bootstrap]
        self.honest.append(self._workers.start(self._folder / name, *network, *arguments))
        return self.honest[-1]

    def watch(
        self, seconds: float, workers: Sequence[RunningWorker] | None = None, every_s: float = 0.5
    ) -> list[Sight]:
        """Look at workers again and again.

        Args:
            seconds: for so long.
            workers: which; None: all honest ones.
            every_s: between two looks.
        """
        watched = self.honest if workers is None else workers
        first, used = [w.status() for w in watched], [memory_mb(w) for w in watched]
        began = time.monotonic()
        since, slow = [began] * len(watched), [0.0] * len(watched)
        last = first
        while (now := time.monotonic()) < began + seconds:
            last = [w.status() for w in watched]
            for i, status in enumerate(last):
                if status.state == "contributing" and (status.slowest_step_s or 0.0) <= SLOW_S:
                    since[i] = now
                slow[i] = max(slow[i], now - since[i])
            time.sleep(every_s)
        return [
            Sight(after.accuracy or 0.0, after.step - before.step, slow_s, memory_mb(w) - mb)
            for w, before, after, slow_s, mb in zip(watched, first, last, slow, used, strict=True)
        ]


def memory_mb(running: RunningWorker) -> float:
    """Of a worker and its compute process."""
    family = psutil.Process(running.process.pid)
    total = 0
    for process in [family, *family.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total / (1 << 20)


def updates(workers: Iterable[RunningWorker]) -> dict[Uid, int]:
    """The version of each expert that is hosted, the greatest if several have it."""
    found: dict[Uid, int] = {}
    for running in workers:
        for expert in running.status().experts:
            uid = Uid.parse(expert.uid)
            found[uid] = max(found.get(uid, 0), expert.updates)
    return found

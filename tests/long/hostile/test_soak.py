"""Workers that stay while another comes and goes: what each process takes of the PC does not grow.

Two workers train for `HEARTH_SOAK_S` seconds (40 minutes unless told), and a third one is killed and started again
every half minute. After a warm-up, no figure of a process of the two that stay may grow by more than it goes up and
down anyway, and what that would be in a day is printed: of memory 3 MB, which in forty minutes' test is 220 MB a day,
and in 24 hours' 6 MB. In less time compute has not come to what it keeps: one took 17 minutes for the last 4 MB.
Python's objects are counted, too, as a leak shows in them sooner.
"""

import os
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import psutil
import pytest

from tests.long.hostile.counted import VARIABLE, counts
from tests.workers import HERE, RunningWorker, Workers, hearth, wait_until

PROGRAM = "tests.long.hostile.counted"
SOAK_S = float(os.environ.get("HEARTH_SOAK_S", "2400"))
WARM_UP_S = max(SOAK_S / 3, 120.0)
"""Not looked at: caches and tables fill."""
LOOK_S = 5.0
CHURN_S = 30.0
DAY_S = 86_400.0
SHARE = 30
"""Per cent of the time for which each computes."""


class Look(NamedTuple):
    """What one process took at a moment."""

    time: float
    """Seconds since the start."""
    memory_mb: float
    files: float
    sockets: float
    threads: float
    tasks: float
    objects: float
    """Of Python's collector."""


NOISE = {"memory_mb": 3.0, "files": 3.0, "sockets": 3.0, "threads": 2.0, "tasks": 6.0, "objects": 3000.0}
"""By which the lows of the last quarter may exceed those of the first: what comes and goes with the third worker."""


def look(began: float, process: psutil.Process, folder: Path) -> Look | None:
    """Now; None while the process has not counted itself."""
    counted = counts(folder, process.pid)
    if counted is None:
        return None
    with process.oneshot():
        memory, files = process.memory_info().rss / 2**20, process.num_fds()
        sockets, threads = len(process.net_connections("all")), process.num_threads()
    return Look(time.monotonic() - began, memory, files, sockets, threads, *counted)


def processes(running: RunningWorker) -> Iterator[tuple[str, psutil.Process]]:
    """Of a worker: itself and its compute."""
    yield "worker", psutil.Process(running.process.pid)
    compute = running.compute()
    assert compute is not None, "compute has gone"
    yield "compute", compute


def low(looks: list[Look], figure: str) -> float:
    """What a figure falls to again and again: its lowest tenth. What is lost never comes back, and peaks do."""
    return statistics.quantiles([float(getattr(one, figure)) for one in looks], n=10)[0]


def grown(looks: list[Look], figure: str) -> float:
    """From the first to the last quarter."""
    quarter = len(looks) // 4
    return low(looks[-quarter:], figure) - low(looks[:quarter], figure)


class Churn:
    """A worker that is killed every half minute, and started again in the same folder."""

    def __init__(self, workers: Workers, folder: Path, arguments: tuple[str, ...]) -> None:
        self._workers, self._folder, self._arguments = workers, folder, arguments
        self.kills = -1
        self._due, self._running = 0.0, None

    _running: RunningWorker | None

    def go_on(self) -> None:
        """Kill and start, if it is time to."""
        if time.monotonic() < self._due:
            return
        if self._running is not None:
            family = [psutil.Process(self._running.process.pid)]
            family += family[0].children(recursive=True)
            for process in family:
                process.kill()
            self._running.process.wait()
            psutil.wait_procs(family, 60.0)
        self._running = self._workers.start(self._folder, *self._arguments, program=PROGRAM, share=SHARE)
        self.kills += 1
        self._due = time.monotonic() + CHURN_S


@pytest.mark.timeout(SOAK_S + 900)
def test_nothing_grows_while_a_worker_comes_and_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = tmp_path / "counts"
    counted.mkdir()
    monkeypatch.setenv(VARIABLE, str(counted))
    found: dict[tuple[str, str], list[Look]] = defaultdict(list)
    roles = ("--role", "host,train,backbone"), ("--role", "host,train")
    with Workers() as workers:
        stay = {"first": workers.start(tmp_path / "first", "--listen", HERE, *roles[0], program=PROGRAM, share=SHARE)}
        known = ("--bootstrap", hearth(stay["first"].folder, "address").stdout.strip())
        others = ("--listen", HERE, *roles[1], *known)
        stay["second"] = workers.start(tmp_path / "second", *others, program=PROGRAM, share=SHARE)
        for each in stay.values():
            each.until(lambda status: status.step > 0, "training")
        of = {(name, kind): one for name, each in stay.items() for kind, one in processes(each)}
        wait_until(lambda: all(counts(counted, one.pid) for one in of.values()), "the first counts")
        churn = Churn(workers, tmp_path / "third", others)
        began = time.monotonic()
        before = {name: each.status().step for name, each in stay.items()}
        while time.monotonic() - began < SOAK_S:
            churn.go_on()
            for who, process in of.items():
                if now := look(began, process, counted):
                    found[who].append(now)
            time.sleep(LOOK_S)  # the pace of a measurement
        steps = {name: each.status().step - before[name] for name, each in stay.items()}
        assert {(name, kind): one for name, each in stay.items() for kind, one in processes(each)} == of, "one has died"
    (tmp_path / "looks.json").write_bytes(msgspec.json.encode({" ".join(who): looks for who, looks in found.items()}))
    print(f"{SOAK_S:.0f} s with {churn.kills} kills of a third worker, {steps} steps")
    check(found)
    assert all(steps.values())


def check(found: Mapping[tuple[str, str], list[Look]]) -> None:
    """That no figure of any process grows."""
    faults = []
    for (name, kind), all_looks in found.items():
        looks = [one for one in all_looks if one.time > WARM_UP_S]
        seconds = 0.75 * (looks[-1].time - looks[0].time)
        for figure, noise in NOISE.items():
            more = grown(looks, figure)
            told = f"{name} {kind}: {figure} {getattr(looks[-1], figure):.0f}, {more:+.1f} within {seconds:.0f} s"
            told += f", {more * DAY_S / seconds:+.0f} a day; told from noise {noise * DAY_S / seconds:.0f} a day"
            print(told)
            if more > noise and (figure, kind) != ("objects", "compute"):  # those follow how much it is at
                faults.append(told)
    assert not faults, faults

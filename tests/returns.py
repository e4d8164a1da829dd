"""A user who comes back again and again: real input on a real X server, a real worker that yields each time."""

import contextlib
import json
import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from core.community.reading import read_only
from core.contracts.ledger import ListParams, Yield
from core.contracts.status import Status
from tests.workers import RunningWorker, wait_until, worker

THRESHOLD_S = 5
"""The shortest that the settings allow."""
GRACE_S = 1
SETTINGS = {
    "idle_only": True,
    "idle_threshold_s": THRESHOLD_S,
    "memory_grace_s": GRACE_S,
    "busy_cpu_percent": 0,  # the machine of a test is busy
    "cpu_celsius": 0,
}
GONE_S = 3.0
"""Within this after the grace time the memory of compute is promised to be free."""


class Return(NamedTuple):
    """One time that the user came back."""

    input: float
    """Unix time at which the input began, ..."""
    sent: float
    """... and at which the X server had it for certain."""
    gone_s: float
    """From the end of the last kernel to the end of the compute process."""
    resumed_s: float
    """From the input to training again; 0: not waited for."""
    command: str
    """Of xdotool."""
    load: float
    """Of the machine, as the input was made."""


class User:
    """Uses the mouse and the keyboard of a display, each time a little differently."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def touch(self) -> tuple[float, float, str]:
        """Unix times before and after the input, and what it was."""
        x, y = (str(self.random.choice([-9, -3, 4, 8])) for _ in range(2))
        at = [str(self.random.randrange(1000)), "10"]  # the pointer is moved there by the program, by no device
        moves = [["mousemove_relative", "--", x, y], ["mousemove", *at]]
        command = self.random.choice([*moves, ["key", "shift"], ["click", "1"]])
        start = time.time()
        subprocess.run(["xdotool", *command], check=True, timeout=60)
        return start, time.time(), " ".join(command)


class Ledger:
    """Versions of the experts and steps of the trunk, of which none may be lost."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self.step = 0

    def check(self, status: Status) -> None:
        """No figure is ever lower than it was."""
        assert status.step >= self.step, f"step {status.step} after {self.step}"
        self.step = status.step
        for expert in status.experts:
            before = self.versions.get(expert.uid, 0)
            assert expert.updates >= before, f"{expert.uid}: version {expert.updates} after {before}"
            self.versions[expert.uid] = expert.updates


def returns(running: RunningWorker, user: User, count: int, wait_s: float, runs: int = 1) -> Iterator[Return]:
    """Have the user come back again and again.

    Args:
        running: the worker.
        user: who comes back.
        count: so many times.
        wait_s: at random moments of up to so long into the training.
        runs: of that PC, each of which yields.
    """
    ledger = Ledger()
    user.touch()
    input_at = 0.0
    for _ in range(count):
        status = running.until(lambda status: _trains(status, runs), "training while the user is away")
        resumed = time.time() - input_at if input_at else 0.0
        ledger.check(status)
        computes = {one.pid for one in status.processes if one.name == "compute"}
        assert len(computes) == runs and status.idle_s is not None and status.idle_s >= THRESHOLD_S - 0.5
        time.sleep(user.random.uniform(0.0, wait_s))
        yields = running.status().yields.count
        load = os.getloadavg()[0]
        input_at, sent, command = user.touch()
        stopped = running.until(lambda status: status.yields.count >= yields + runs, "measured stops")  # noqa: B023
        assert stopped.state in ("yielding", "waiting") and stopped.samples_per_s == 0
        end = input_at + (stopped.yields.last_ms or 0.0) / 1000
        wait_until(lambda: not any(map(_lives, computes)), "the end of the compute processes")  # noqa: B023
        gone = time.time() - end
        after = running.until(
            lambda status: computes.isdisjoint(one.pid for one in status.processes),  # noqa: B023
            "the memory's end in the status",
        )
        ledger.check(after)
        # compute stopped between two kernels, and what it had done is what was saved
        assert after.checkpoint_step is not None and after.checkpoint_step >= stopped.step and not after.attention
        assert len(after.processes) > 1 or after.checkpoint_step == after.step  # else the next process has begun
        yield Return(input_at, sent, gone, resumed, command, load)


def _trains(status: Status, runs: int) -> bool:
    training = [run for run in status.runs if run.phase == "training"]  # a slow one tells of no samples between steps
    return status.state == "contributing" and len(training) == runs and any(run.samples_per_s > 0 for run in training)


def _lives(pid: int) -> bool:
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


@contextlib.contextmanager
def yielding_worker(folder: Path) -> Iterator[RunningWorker]:
    """A worker that computes only while nobody touches this process's display."""
    assert os.environ.get("DISPLAY"), "this needs a display: run it with `make test`"
    (folder / "settings.json").write_text(json.dumps({"version": 2, **SETTINGS}))
    with worker(folder) as running:
        yield running


def recorded(folder: Path) -> list[Yield]:
    """What a worker that has ended kept of its yields."""
    return read_only(folder).yields(ListParams())

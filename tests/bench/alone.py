"""A volunteer alone: speed, how fast the machine is given back, memory, start times; with real processes."""

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from Xlib import X, display
from Xlib.error import XError

from core.contracts.errors import NotRunning
from core.contracts.status import Status
from core.control.client import ControlClient
from tests.bench import pauses, throughput
from tests.bench.machine import progress, spread
from tests.virtual_screen import desktop
from tests.workers import ROOT, agreed, hearth, wait_until, worker

PAUSES = 20
IDLE_S = 10.0
"""Over which an idle app's processor time is taken."""
GOOD = 0.95


def measure(quick: bool) -> dict[str, Any]:
    """All sections; times in seconds or, where named so, milliseconds."""
    progress("throughput: the whole path and a plain loop in turn")
    rates = throughput.measure(quick)
    progress(f"throughput: {rates}")
    with desktop() as env:
        starts = [_start(env, number) for number in range(1 if quick else 3)]
    return {
        "throughput": rates,
        "pauses_ms": _pauses(),
        "start_s": {key: spread([start[key] for start in starts]) for key in starts[0] if key.endswith("_s")},
        "memory_mb": starts[-1]["memory_mb"],
        "idle_app_core_share": starts[-1]["idle_app_core_share"],
    }


def _pauses() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, worker(Path(folder)) as running:
        return pauses.measure(running, PAUSES)


def _start(env: dict[str, str], number: int) -> dict[str, Any]:
    """One start of the app with an empty data folder, then a second one; times from the start of the process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with app(folder, env) as (process, start):
            found: dict[str, Any] = {
                f"first_{key}": value for key, value in landmarks(folder, env, process, start).items()
            }
            wait(folder, lambda status: (status.accuracy or 0) >= GOOD, "an accuracy of 0.95")
            found["first_accuracy_095_s"] = time.monotonic() - start
            found["memory_mb"] = memory(folder)
            found["idle_app_core_share"] = _idle_share(folder, process) if number == 0 else 0.0
        with app(folder, env) as (process, start):
            found |= {f"again_{key}": value for key, value in landmarks(folder, env, process, start).items()}
    progress(f"start {number + 1}: {found}")
    return found


@contextlib.contextmanager
def app(folder: Path, env: dict[str, str]) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """The app as `make run` starts it, and time.monotonic() of that; ended by `hearth quit`."""
    agreed(folder)
    start = time.monotonic()
    command = [sys.executable, "-m", "core", "--data-dir", str(folder)]
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=sys.stderr)
    try:
        yield process, start
        hearth(folder, "quit")
        process.wait(30)
    finally:
        process.kill()
        process.wait()


def landmarks(folder: Path, env: dict[str, str], process: subprocess.Popen[bytes], start: float) -> dict[str, float]:
    """When the window and the tray icon were on the screen and when a batch was trained."""
    screen = display.Display(env["DISPLAY"])
    try:
        wait_until(lambda: shown(screen, process.pid, "_NET_WM_PID"), "the window")
        window = time.monotonic() - start
        wait_until(lambda: shown(screen, process.pid, "_XEMBED_INFO"), "the tray icon")
        tray = time.monotonic() - start
    finally:
        screen.close()
    before = wait(folder, lambda status: True, "the worker").step
    wait(folder, lambda status: status.samples_per_s > 0 and status.step > before, "the first batch")
    return {"window_s": window, "tray_s": tray, "batch_s": time.monotonic() - start}


def shown(screen: display.Display, pid: int, mark: str) -> bool:
    """Whether a process has a visible window that carries a property."""
    mark_atom, pid_atom = screen.intern_atom(mark), screen.intern_atom("_NET_WM_PID")
    waiting = [screen.screen().root]
    while waiting:
        window = waiting.pop()
        with contextlib.suppress(XError):  # it may vanish at any time
            owner = window.get_full_property(pid_atom, X.AnyPropertyType)
            if owner and owner.value[0] == pid and window.get_full_property(mark_atom, X.AnyPropertyType):
                return bool(window.get_attributes().map_state == X.IsViewable)
            waiting.extend(window.query_tree().children)
    return False


def wait(folder: Path, condition: Any, what: str) -> Status:
    def check() -> Status | None:
        with contextlib.suppress(NotRunning), ControlClient(folder) as client:
            status = client.call("status", {}, Status)
            return status if condition(status) else None
        return None

    status: Status = wait_until(check, what, 120)
    return status


def memory(folder: Path) -> dict[str, dict[str, float]]:
    """Of each process, MiB: resident, and its share of what is shared."""
    with ControlClient(folder) as client:
        pids = {process.name: process.pid for process in client.call("status", {}, Status).processes}
    found: dict[str, dict[str, float]] = {}
    for name, pid in pids.items():
        info = psutil.Process(pid).memory_full_info()
        found[name] = {"rss": round(info.rss / 2**20, 1), "pss": round(info.pss / 2**20, 1)}
    return found


def _idle_share(folder: Path, process: subprocess.Popen[bytes]) -> float:
    """Processor time of the app while nothing is trained and nobody touches it, as a share of one core."""
    assert hearth(folder, "pause").returncode == 0
    wait(folder, lambda status: len(status.processes) == 2, "the end of the compute process")
    app = psutil.Process(process.pid)
    before = app.cpu_times()
    time.sleep(IDLE_S)
    after = app.cpu_times()
    assert hearth(folder, "resume").returncode == 0
    return (after.user + after.system - before.user - before.system) / IDLE_S

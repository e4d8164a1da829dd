"""The window: frames of the pages of a large swarm, how long a slow or dead worker holds it up, start, processor time
shown and hidden, memory; the screensaver."""

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from Xlib import display

from tests.bench.alone import app, landmarks, memory, shown, wait
from tests.bench.machine import progress, spread
from tests.virtual_screen import desktop
from tests.workers import ROOT, hearth, wait_until, worker

FRAMES, QUICK_FRAMES = 400, 80
STARTS, QUICK_STARTS = 5, 1
IDLE_S, QUICK_IDLE_S = 60.0, 10.0
STAGE_S, QUICK_STAGE_S = 20, 12
"""A worker that says nothing is given up after 10 s."""
SETTLE_S = 3.0


def measure(quick: bool) -> dict[str, Any]:
    """All sections."""
    with desktop() as env:
        pages = _run(env, "desktop_pages", QUICK_FRAMES if quick else FRAMES)
        turns = _run(env, "desktop_turns", QUICK_STAGE_S if quick else STAGE_S)
        saver = _screensaver(env, QUICK_IDLE_S if quick else IDLE_S)
        progress(f"screensaver: {saver}")
        starts = []
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for number in range(QUICK_STARTS if quick else STARTS):
                with app(folder, env) as (process, start):
                    starts.append(landmarks(folder, env, process, start)["window_s"])
                    if number == 0:
                        idle = _idle(folder, env, process, QUICK_IDLE_S if quick else IDLE_S)
    return {"pages": pages, "turns": turns, "screensaver": saver, "start_to_window_s": spread(starts), **idle}


def _run(env: dict[str, str], name: str, argument: float) -> dict[str, Any]:
    """A part of this benchmark that is a process of its own."""
    command = [sys.executable, "-m", f"tests.bench.{name}", str(argument)]
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, timeout=300, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    progress(f"{name}: {found}")
    return found


def _idle(folder: Path, env: dict[str, str], process: subprocess.Popen[bytes], seconds: float) -> dict[str, Any]:
    """The app while this PC is paused, its window shown and then closed to the tray."""
    assert hearth(folder, "pause").returncode == 0
    wait(folder, lambda status: len(status.processes) == 2, "the end of the compute process")
    time.sleep(SETTLE_S)
    one = psutil.Process(process.pid)
    shown = _share(one, seconds)
    used = memory(folder)["app"]
    subprocess.run(["xdotool", "key", "alt+F4"], env=env, timeout=20, check=True)
    time.sleep(SETTLE_S)
    hidden = _share(one, seconds)
    windows = subprocess.run(
        ["xdotool", "search", "--onlyvisible", "--name", "^Hearth$"], env=env, capture_output=True, timeout=20
    )
    assert hearth(folder, "resume").returncode == 0  # a pause outlives the app, and the next start is to train
    found = {"idle_core_share": {"shown": shown, "hidden": hidden}, "app_memory_mb": used}
    return found | {"window_was_hidden": not windows.stdout.split()}


def _screensaver(env: dict[str, str], seconds: float) -> dict[str, float]:
    """It covers the screen while this PC trains the run `digits`, in which every expert is called all the time."""
    with tempfile.TemporaryDirectory() as name, worker(Path(name)) as running:
        running.until(lambda status: status.samples_per_s > 0, "training")
        command = [sys.executable, "-m", "core", "screensaver", "--data-dir", name]
        process = subprocess.Popen(command, cwd=ROOT, env=env)
        try:
            with contextlib.closing(display.Display(env["DISPLAY"])) as screen:
                wait_until(lambda: shown(screen, process.pid, "_NET_WM_PID"), "the screensaver's window")
            time.sleep(SETTLE_S)
            found = {"core_share": _share(psutil.Process(process.pid), seconds)}
            found["memory_mb"] = round(psutil.Process(process.pid).memory_info().rss / 2**20, 1)
            return found
        finally:
            process.terminate()
            process.wait(20)


def _share(process: psutil.Process, seconds: float) -> float:
    before = process.cpu_times()
    time.sleep(seconds)
    after = process.cpu_times()
    return round((after.user + after.system - before.user - before.system) / seconds, 4)

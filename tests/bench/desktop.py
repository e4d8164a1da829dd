"""The window: frames of the pages of a large swarm, how long a slow or dead worker holds it up, start, processor time
shown and hidden, memory; the screensaver. The window on Wayland, too."""

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

from core.control.client import ControlClient
from tests.bench.alone import app, landmarks, memory, shown, wait
from tests.bench.machine import progress, spread
from tests.desktop.sway import sway
from tests.virtual_screen import desktop
from tests.workers import ROOT, hearth, wait_until, worker

FRAMES, QUICK_FRAMES = 400, 80
STARTS, QUICK_STARTS = 5, 1
IDLE_S, QUICK_IDLE_S = 60.0, 10.0
STAGE_S, QUICK_STAGE_S = 20, 12
"""A worker that says nothing is given up after 10 s."""
SETTLE_S = 3.0
CHANGES, CHANGE_S = 10, 1.0
"""Of language and theme, and seconds after each."""


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
    found = {"pages": pages, "turns": turns, "screensaver": saver, "start_to_window_s": spread(starts), **idle}
    return {**found, "wayland": _on_wayland(quick)}


def _on_wayland(quick: bool) -> dict[str, Any]:
    """The same of the window there; hidden is behind all others, as that desktop has no tray."""
    starts, seconds = list[float](), QUICK_IDLE_S if quick else IDLE_S
    with sway() as screen, tempfile.TemporaryDirectory() as name:
        env, folder = screen.environment, Path(name)
        pages = _run(env, "desktop_pages", QUICK_FRAMES if quick else FRAMES)
        for number in range(QUICK_STARTS if quick else STARTS):
            with app(folder, env) as (process, start):
                wait_until(screen.windows, "the window")
                starts.append(time.monotonic() - start)
                wait(folder, lambda status: True, "the worker")
                if number == 0:
                    idle = _shown(folder, process, seconds)
                    screen.ask('[app_id="hearth"] move scratchpad')
                    time.sleep(SETTLE_S)
                    hidden = _share(psutil.Process(process.pid), seconds)
    shares = {"shown": idle["shown"], "hidden": hidden}
    found = {"start_to_window_s": spread(starts), "idle_core_share": shares, "app_memory_mb": idle["memory"]}
    return {"pages": pages, **found}


def _shown(folder: Path, process: subprocess.Popen[bytes], seconds: float) -> dict[str, Any]:
    """The window of a paused PC: its share of a core, and its memory after changes of language and theme."""
    assert hearth(folder, "pause").returncode == 0
    wait(folder, lambda status: len(status.processes) == 2, "the end of the compute process")
    time.sleep(SETTLE_S)
    share = _share(psutil.Process(process.pid), seconds)
    for number in range(CHANGES):
        new = {"theme": ("dark", "system")[number % 2], "language": ("de", "system")[number % 2]}
        with ControlClient(folder) as client:
            client.call("set_settings", {"changes": new}, dict)
        time.sleep(CHANGE_S)
    return {"shown": share, "memory": memory(folder)["app"]}


def _run(env: dict[str, str], name: str, argument: float) -> dict[str, Any]:
    """A part of this benchmark that is a process of its own."""
    command = [sys.executable, "-m", f"tests.bench.{name}", str(argument)]
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, timeout=300, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    progress(f"{name}: {found}")
    return found


def _idle(folder: Path, env: dict[str, str], process: subprocess.Popen[bytes], seconds: float) -> dict[str, Any]:
    """The app while this PC is paused, its window shown and then closed to the tray."""
    there, one = _shown(folder, process, seconds), psutil.Process(process.pid)
    subprocess.run(["xdotool", "key", "alt+F4"], env=env, timeout=20, check=True)
    time.sleep(SETTLE_S)
    hidden = _share(one, seconds)
    windows = subprocess.run(
        ["xdotool", "search", "--onlyvisible", "--name", "^Hearth$"], env=env, capture_output=True, timeout=20
    )
    assert hearth(folder, "resume").returncode == 0  # a pause outlives the app, and the next start is to train
    found = {"idle_core_share": {"shown": there["shown"], "hidden": hidden}, "app_memory_mb": there["memory"]}
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

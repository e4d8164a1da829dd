"""How long the app's window is held up while its worker is slow or dead; prints one JSON document.

The real app with a real worker that trains: from the first turn on, at rest, while the worker is stopped (SIGSTOP),
when it goes on, when it is killed, and while the app starts another. Of each, processor time of the window's thread in
milliseconds: the longest turn of its event loop (all that happened until it waited again), and the longest call of the
worker's client.
"""

import functools
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from PySide6.QtCore import QAbstractEventDispatcher

import app.__main__ as program
from app.system.application import Application
from app.worker.client import WorkerClient
from core.contracts.control import ADDRESS_FILE
from tests.workers import agreed, hearth

CALLS = ("dial", "hang_up", "request", "_read", "_drop", "_say_hello", "_check_silence", "_expire")


class Longest:
    """By stage, milliseconds."""

    def __init__(self) -> None:
        self.stage = "start"
        self.turns: dict[str, float] = {}
        self.calls: dict[str, float] = {}
        self._begun = 0.0

    def turn_begins(self) -> None:
        self._begun = time.thread_time()

    def turn_ends(self) -> None:
        self.turns[self.stage] = max(self.turns.get(self.stage, 0.0), (time.thread_time() - self._begun) * 1000)

    def noted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def timed(*arguments: Any, **keywords: Any) -> Any:
            begun = time.thread_time()
            try:
                return call(*arguments, **keywords)
            finally:
                self.calls[self.stage] = max(self.calls.get(self.stage, 0.0), (time.thread_time() - begun) * 1000)

        return timed


class App(Application):
    """Tells when its loop has begun."""

    longest: Longest

    def exec(self) -> int:  # type: ignore[override]
        loop = QAbstractEventDispatcher.instance()
        loop.aboutToBlock.connect(self.longest.turn_begins)  # to wait takes no processor time
        loop.awake.connect(self.longest.turn_ends)
        return super().exec()


def _disturb(folder: Path, longest: Longest, seconds: float) -> None:
    """Through all stages, each of `seconds`; then quit."""

    def worker() -> psutil.Process:
        return psutil.Process(json.loads((folder / ADDRESS_FILE).read_text())["pid"])

    def stage(name: str) -> None:
        longest.stage = name
        time.sleep(seconds)

    try:
        stage("start")
        stage("at_rest")
        worker().suspend()
        stage("worker_stopped")
        worker().resume()
        stage("worker_continued")
        worker().kill()
        stage("worker_killed_and_started_again")
    finally:
        longest.stage = "quit"
        hearth(folder, "quit")
        os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Measure; the first argument is the seconds of each stage."""
    longest = App.longest = Longest()
    for name in CALLS:
        setattr(WorkerClient, name, longest.noted(getattr(WorkerClient, name)))
    program.Application = App  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        agreed(folder)
        threading.Thread(target=_disturb, args=(folder, longest, float(sys.argv[1])), daemon=True).start()
        code = program.main(["--data-dir", name])
    stages = [stage for stage in longest.turns if stage != "quit"]
    found = {
        stage: {"turn_ms": round(longest.turns[stage], 1), "client_call_ms": round(longest.calls.get(stage, 0.0), 1)}
        for stage in stages
    }
    print(json.dumps(found))
    sys.exit(code)


if __name__ == "__main__":
    main()

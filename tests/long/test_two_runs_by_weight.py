"""Two runs on one PC share its time and its memory by weight. It takes an idle PC: on a busy one neither gets what it
may have."""

import json
import time
from pathlib import Path

import msgspec
import psutil
import pytest

from core.contracts import manifest
from core.contracts.ledger import Totals
from tests.workers import DIGITS, RunningWorker, hearth, wait_until, worker

TEXT = manifest.load("text").run_id
SHARED_S = 60.0
LEAST_PERCENT = 5
"""Of the memory that Hearth may be given; two runs whose experts want twice as much share it."""


def seconds(running: RunningWorker) -> dict[str, float]:
    """For which each run's kernels ran, ever."""
    return {run: amounts.seconds for run, amounts in running.ask("totals", {}, Totals).all.runs.items()}


def test_weights_of_three_to_one_are_shares_of_the_time_of_three_to_one(tmp_path: Path) -> None:
    with worker(tmp_path) as running:
        assert hearth(running.folder, "run", "join", "text").returncode == 0
        assert hearth(running.folder, "run", "weight", "digits", "3").returncode == 0
        wait_until(lambda: set(seconds(running)) >= {DIGITS, TEXT}, "both in the ledger", 120)
        steps = {run.id: run.step for run in running.status().runs}
        wait_until(lambda: all(run.step > steps[run.id] + 5 for run in running.status().runs), "settled paces", 120)
        before, began = seconds(running), time.monotonic()
        wait_until(lambda: time.monotonic() - began > SHARED_S, "a minute of both", 2 * SHARED_S)
        spent = {run: after - before[run] for run, after in seconds(running).items()}
        assert spent[DIGITS] / spent[TEXT] == pytest.approx(3.0, rel=0.1), spent


UNIT = 20_500
"""Bytes of an expert of width 128 for each of its hidden units, with what training needs."""


def large(folder: Path, name: str) -> str:
    """The path of a run all of whose experts take as much as Hearth may have on this PC."""
    digits = manifest.load("digits")
    expert = psutil.virtual_memory().total * LEAST_PERCENT // 100 // (digits.model.layers * 16)
    model = msgspec.structs.replace(digits.model, width=128, hidden=expert // UNIT)
    path = folder / f"{name}.json"
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(digits, run=name, model=model)))
    return str(path)


def taken(running: RunningWorker) -> int:
    """Resident bytes of the worker and all of its processes."""
    worker = psutil.Process(running.process.pid)
    return sum(process.memory_info().rss for process in [worker, *worker.children(recursive=True)])


def test_the_limit_of_memory_holds_for_both_and_the_heavier_run_keeps_more(tmp_path: Path) -> None:
    few = {"memory_in_use_percent": LEAST_PERCENT, "memory_idle_percent": LEAST_PERCENT, "checkpoints_disk_mb": 16_384}
    folder, cap = tmp_path / "data", psutil.virtual_memory().total * LEAST_PERCENT // 100
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps({"version": 2, **few}))
    with worker(folder, "--run", large(tmp_path, "heavy")) as running:
        assert hearth(folder, "run", "join", large(tmp_path, "light"), "--yes").returncode == 0
        assert hearth(folder, "run", "weight", "heavy", "3").returncode == 0

        def experts() -> list[int]:
            return [run.experts for run in running.status().runs if run.phase == "training"]

        def keeps_to_it() -> bool:
            here = experts()
            return len(here) == 2 and here[0] > 1.5 * here[1] > 0 and taken(running) <= cap

        wait_until(keeps_to_it, "fewer experts of both", 180)
        steps = [run.step for run in running.status().runs]
        wait_until(
            lambda: all(run.step > step for run, step in zip(running.status().runs, steps, strict=True)), "steps"
        )
        assert taken(running) <= cap * 1.05

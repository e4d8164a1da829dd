"""Two runs on one PC share its time by weight. It takes an idle PC: on a busy one neither gets what it may have."""

import time
from pathlib import Path

import pytest

from core.contracts import manifest
from core.contracts.ledger import Totals
from tests.workers import DIGITS, RunningWorker, hearth, wait_until, worker

TEXT = manifest.load("text").run_id
SHARED_S = 60.0


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

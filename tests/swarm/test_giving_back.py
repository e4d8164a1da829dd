"""The user comes back at awkward moments: while compute dies, measures this PC, or saves."""

import json
import signal
from pathlib import Path

import pytest

from core.contracts.status import Status
from tests.workers import ROOT, RunningWorker, codes, worker

SOON_MS = 2000.0
"""Compute that has not stopped by then is killed."""


def trains(status: Status) -> bool:
    return status.state == "contributing" and status.samples_per_s > 0


def come_back(running: RunningWorker) -> Status:
    """Give the machine back, and wait until that has been measured."""
    before = running.status().yields.count
    running.call("pause")
    return running.until(lambda status: status.yields.count > before, "a measured stop")


def test_a_yield_in_which_compute_dies_is_measured_too(tmp_path: Path) -> None:
    with worker(tmp_path) as running:
        running.until(trains, "training")
        compute = running.compute()
        assert compute is not None
        compute.send_signal(signal.SIGSTOP)  # it will not answer
        running.call("pause")
        compute.kill()
        ended = running.until(lambda status: status.yields.count == 1, "a measured stop")
        assert ended.state == "paused" and ended.yields.last_ms is not None and 0 < ended.yields.last_ms < SOON_MS
        assert [process.name for process in ended.processes] == ["worker"]
        assert [*map(str, ended.attention)] == [
            "Compute ended before all that it trained was saved; it runs again from its last checkpoint."
        ]
        running.call("resume")
        running.until(trains, "training")


def test_the_first_measurement_of_a_pc_is_given_back_like_training(tmp_path: Path) -> None:
    manifest = json.loads((ROOT / "resources" / "runs" / "digits.json").read_text())
    manifest["model"] |= {"layers": 1, "grid": [2, 2], "k": 2, "width": 512, "hidden": 2048}
    (tmp_path / "large.json").write_text(json.dumps({**manifest, "run": "large"}))
    folder = tmp_path / "data"
    with worker(folder, "--run", str(tmp_path / "large.json")) as running:
        running.until(lambda status: codes(status.reason) == ["compute.measuring"], "the measurement")
        compute = running.compute()
        stopped = come_back(running)
        assert stopped.yields.last_ms is not None and stopped.yields.last_ms < SOON_MS
        assert running.compute() == compute and not stopped.attention, "it was killed"
        assert not [*folder.glob("runs/*/benchmark.json")], "it was measured before the user came"
        running.call("resume")
        running.until(trains, "training")
        assert [*folder.glob("runs/large-*/benchmark.json")]


def test_while_a_checkpoint_is_being_saved_the_machine_is_given_back_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FSYNC_S", "0.05")
    with worker(tmp_path, program="tests.swarm.slow_disk") as running:
        running.until(lambda status: status.step > 5, "training")
        compute = running.compute()
        first = come_back(running)
        running.call("resume")
        saving = running.until(lambda status: trains(status) and status.step > first.step, "training")
        assert saving.checkpoint_step is None, "it was saved too soon for this test"
        second = come_back(running)
        assert second.yields.last_ms is not None and second.yields.last_ms < SOON_MS
        saved = running.until(lambda status: status.checkpoint_step == status.step, "all to be saved")
        assert saved.step >= second.step and not saved.attention and running.compute() == compute

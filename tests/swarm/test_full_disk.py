"""A disk on which nothing more can be written: training goes on, a sentence says what to do, and room ends it."""

import resource
import sys
from pathlib import Path

import psutil
import pytest

from core.contracts.errors import DataFolderError
from core.contracts.status import Status
from tests.workers import RunningWorker, hearth, worker

TINY = 100
"""Bytes of a file, at most: the system refuses the rest of it, as of a full disk."""


def limit(running: RunningWorker, size: int) -> None:
    processes = [psutil.Process(running.process.pid)]
    for process in [*processes, *processes[0].children(recursive=True)]:
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def training(status: Status) -> bool:
    return status.state == "contributing" and status.samples_per_s > 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot set another process's limits")
def test_a_full_disk_is_told_and_forgotten_when_there_is_room(tmp_path: Path) -> None:
    with worker(tmp_path, "--join") as running:
        running.until(training, "training")
        limit(running, TINY)
        running.call("pause")  # saves
        full = running.until(lambda status: status.attention, "a sentence about the disk")
        assert any("was not saved" in text and "Free some space" in text for text in map(str, full.attention)), (
            full.attention
        )
        running.call("resume")
        before = running.until(training, "training without a checkpoint").step
        running.until(lambda status: status.step > before, "more training")
        limit(running, resource.RLIM_INFINITY)
        running.call("pause")
        saved = running.until(lambda status: status.checkpoint_step == status.step, "a checkpoint")
        assert saved.checkpoint_step is not None and saved.checkpoint_step > before
        running.until(lambda status: not status.attention, "the end of the trouble")
        running.call("resume")
        before = saved.checkpoint_step
        running.until(lambda status: training(status) and status.step > before, "something new")
        limit(running, TINY)
        quitted = hearth(tmp_path, "quit")
        assert quitted.returncode == DataFolderError.exit_code and "was not saved" in quitted.stderr, quitted

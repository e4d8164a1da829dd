"""How much disk Hearth's files take: whatever else writes there meanwhile, and however slow the disk is."""

import os
import threading
import time
from pathlib import Path

import pytest

from core.community.ledger import Ledger
from core.manifest import load
from core.policy.facts import Usage
from core.worker.caps import Caps, _size
from core.worker.progress import Progress
from core.worker.supervisor import ComputeSupervisor
from core.worker.traffic import Traffic
from core.worker.yields import Yields


def caps(folder: Path) -> Caps:
    progress = Progress()
    compute = ComputeSupervisor(load("digits"), folder, 1, progress, lambda: None, lambda point: None, Yields())
    return Caps(folder, Traffic(Ledger(folder), "digits"), compute, None, lambda: 0)


def test_a_folder_that_vanishes_while_it_is_measured_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept").write_bytes(bytes(8192))
    (tmp_path / "gone" / "deeper").mkdir(parents=True)
    scandir = os.scandir

    def vanishing(path: str) -> object:
        if Path(path).name == "deeper":
            raise FileNotFoundError(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", vanishing)
    assert _size(tmp_path) >= 8192


def test_a_slow_disk_holds_up_no_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some").write_bytes(bytes(8192))
    spins, lstat = threading.Event(), Path.lstat

    def slow(path: Path) -> os.stat_result:
        if not spins.wait(10):
            raise OSError("It never spun up.")
        return lstat(path)

    monkeypatch.setattr(Path, "lstat", slow)
    used, measured = Usage(), caps(tmp_path)
    assert measured.measure(used).disk_bytes == 0  # and it has returned
    spins.set()
    end = time.monotonic() + 10
    while not (used := measured.measure(used)).disk_bytes:
        assert time.monotonic() < end
    assert used.disk_bytes >= 8192

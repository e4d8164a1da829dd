"""The data folder of an older Hearth is taken over; that of a newer one is left alone.

`tests/data/data-folder-0.1.0.tar.xz` was made by version 0.1.0: a trainer without experts of its own, which trained the
run digits and then the run text with one host on the same PC, a minute each. Of its files the trunk of text, the copies
of other peers' experts and the text itself were left out.
"""

import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from core.contracts import manifest
from core.contracts.errors import DataFolderError
from core.contracts.ledger import Totals
from core.identity import Identity, peer_text
from core.store.data_folder import LAYOUT_FILE, RUNS, data_folder
from tests.workers import DIGITS, HERE, PATIENCE_S, ROOT, hearth, worker

OLD = ROOT / "tests" / "data" / "data-folder-0.1.0.tar.xz"
PEER = "389cb74cf4b2f90fb22e31b45400048470bfc6692ab301ef1b6f1aedbbf6b674"
STEP, SAMPLES, BYTES_OF_TEXT = 860, 27_520, 141_312
TEXT = manifest.load("text").run_id


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with tarfile.open(OLD) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def test_peer_step_and_contribution_go_on(old: Path) -> None:
    with worker(old, "--listen", HERE) as running:
        running.call("pause")
        status = running.status()
        assert (status.run_id, status.checkpoint_step) == (DIGITS, STEP) and status.step >= STEP
        assert running.call("network")["peer"] == PEER == peer_text(Identity.load(old).peer)
        assert running.call("subscribe")["settings"]["price_kwh"] == 0.31
        assert running.ask("totals", {}, Totals).all.runs[DIGITS].samples >= SAMPLES
        running.call("resume")
        running.until(lambda status: status.step > STEP, "training from where it was")
    assert not (old / RUNS / "digits").exists()

    with worker(old, "--run", "text") as running:
        assert running.status().checkpoint_step == 69 and not (old / RUNS / "text").exists()
        told = running.ask("totals", {}, Totals).all
        assert told.runs[TEXT].tokens >= BYTES_OF_TEXT and "text" not in told.runs


@pytest.mark.skipif(os.name == "nt", reason="no kill -9 there")
@pytest.mark.parametrize("moment", ["sqlite3.connect:1", *(f"os.rename:{count}" for count in range(1, 5))])
def test_a_start_that_is_killed_while_it_takes_over_loses_nothing(old: Path, moment: str) -> None:
    """Before the ledger's rows get the new name, before the run's folder does, before that is marked, and after it."""
    command = [sys.executable, "-m", "tests.swarm.killed_start", "worker", "--listen", HERE, "--data-dir", str(old)]
    died = subprocess.run(command, cwd=ROOT, env={**os.environ, "DIES_AT": moment}, timeout=PATIENCE_S, check=False)
    assert died.returncode == -signal.SIGKILL
    with worker(old, "--listen", HERE) as running:
        status = running.status()
        assert (status.run_id, status.checkpoint_step) == (DIGITS, STEP) and status.step >= STEP
        assert running.call("network")["peer"] == PEER
        assert running.call("subscribe")["settings"]["price_kwh"] == 0.31
        told = running.ask("totals", {}, Totals).all.runs
        assert told[DIGITS].samples >= SAMPLES and "digits" not in told
    assert not (old / RUNS / "digits").exists()


def test_a_folder_of_a_newer_hearth_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / LAYOUT_FILE).write_text('{"version": 3, "of": "what nobody knows yet"}')
    with pytest.raises(DataFolderError, match="newer Hearth"):
        data_folder(tmp_path)
    done = hearth(tmp_path, "worker")
    assert done.returncode == DataFolderError.exit_code and "newer Hearth" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [LAYOUT_FILE]


def test_a_mark_that_is_damaged_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / LAYOUT_FILE).write_text("{")
    with worker(tmp_path, "--run", "digits"):
        assert '"version":2' in (tmp_path / LAYOUT_FILE).read_text()

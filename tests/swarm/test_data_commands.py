"""`hearth data` beside a running worker: it goes on in the new place; after a purge nothing is left."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from core.contracts.errors import NotRunning
from core.control.client import ControlClient
from core.store.backup import MANIFEST
from core.store.data_folder import data_path
from tests.workers import ROOT, RunningWorker, answers, give_key, never_busy, start_paused, wait_until, worker

Hearth = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of one's own, as the environment names it."""
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home" / ".config").mkdir(parents=True)
    (tmp_path / "home" / ".local" / "share").mkdir(parents=True)
    (tmp_path / "home" / ".config" / "mimeapps.list").write_text("[Default Applications]\ntext/html=firefox.desktop\n")
    (tmp_path / "home" / ".xscreensaver").write_text('programs: \\\n  "Other"  other -root \\n\\\n')
    return tmp_path / "home"


def hearth(*arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "core", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, input=typed, check=False)


@pytest.fixture
def running(home: Path) -> Iterator[RunningWorker]:
    folder = data_path(None)
    folder.mkdir(parents=True)
    give_key(folder)
    start_paused(folder)
    with worker(folder) as one:
        yield one


def quit_all(*folders: Path) -> None:
    """End what a command has started again."""
    for folder in folders:
        try:
            with ControlClient(folder) as client:
                pid = psutil.Process(json.loads((folder / "worker.json").read_text())["pid"])
                client.call("quit", {}, dict)
            pid.wait(60)
        except (NotRunning, psutil.NoSuchProcess):
            continue


def test_a_worker_that_runs_goes_on_in_the_new_place(running: RunningWorker, tmp_path: Path) -> None:
    old, new = running.folder, tmp_path / "elsewhere"
    key = (old / "identity.key").read_bytes()
    try:
        done = hearth("data", "move", str(new))
        assert done.returncode == 0 and str(new) in done.stdout, done.stderr
        wait_until(lambda: answers(new), "a worker in the new folder")
        assert (new / "identity.key").read_bytes() == key and [path.name for path in old.iterdir()] == ["moved.json"]
        assert json.loads(hearth("status", "--json").stdout)["state"] == "paused"  # and it is found without a word
        refused = hearth("data", "move", str(new / "inside"))
        assert refused.returncode == 5 and "inside the other" in refused.stderr and answers(new)
    finally:
        quit_all(new)


def test_backed_up_while_it_runs_and_restored_elsewhere(running: RunningWorker, tmp_path: Path) -> None:
    file, other = tmp_path / "hearth.zip", tmp_path / "other"
    done = hearth("data", "backup", str(file))
    assert done.returncode == 0 and "secret key" in done.stdout, done.stderr
    with zipfile.ZipFile(file) as archive:
        assert {"identity.key", "ledger.db", "settings.json", MANIFEST} <= {*archive.namelist()}
    assert answers(running.folder)
    (tmp_path / "cut.zip").write_bytes(file.read_bytes()[:-9])
    refused = hearth("data", "restore", str(tmp_path / "cut.zip"), "--data-dir", str(other))
    assert refused.returncode == 5 and "its end is missing" in refused.stderr and not other.exists()
    assert hearth("data", "restore", str(file), "--data-dir", str(other)).returncode == 0
    assert (other / "identity.key").read_bytes() == (running.folder / "identity.key").read_bytes()
    never_busy(other)
    with worker(other) as restored:
        assert restored.status().state == "paused"
        again = hearth("data", "restore", str(file), "--data-dir", str(other))
        assert again.returncode == 5 and "--force" in again.stderr
        cut = hearth("data", "restore", str(tmp_path / "cut.zip"), "--force", "--data-dir", str(other))
        assert cut.returncode == 5 and "its end is missing" in cut.stderr
        assert restored.process.poll() is None and answers(other)  # nothing was ended for it
        quit_all(other)


REGISTER = """
import sys
from pathlib import Path
from core.system import link_handler, start_at_login
start_at_login.start_at_login(Path(sys.argv[1]), True)
link_handler.opens_links(Path(sys.argv[1]), True)
"""


def snapshot(home: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in home.rglob("*")}


def test_nothing_is_left_after_a_purge(home: Path, tmp_path: Path) -> None:
    before, folder = snapshot(home), data_path(None)
    give_key(folder)
    with worker(folder) as one:
        one.until(lambda status: status.checkpoint_step, "a checkpoint")
        subprocess.run([sys.executable, "-c", REGISTER, str(folder)], cwd=ROOT, check=True)
        with (home / ".xscreensaver").open("a") as list_of_programs:
            list_of_programs.write('  "Hearth"  hearth screensaver -root  \\n\\\n')
        sizes = json.loads(hearth("data", "size", "--json").stdout)
        assert sizes["bytes"]["checkpoints"] > 100_000 and sizes["total"] == sum(sizes["bytes"].values())
        assert len(snapshot(home)) > len(before) + 10
        asked = hearth("data", "purge")
        assert asked.returncode == 2 and "--yes" in asked.stderr and answers(folder)
        done = hearth("data", "purge", "--yes")
        assert done.returncode == 0 and not answers(folder), done.stderr
    assert snapshot(home) == before


def test_what_another_folder_registered_stays(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    subprocess.run([sys.executable, "-c", REGISTER, str(other)], cwd=ROOT, check=True)
    start_paused(tmp_path / "this")
    assert hearth("data", "purge", "--yes", "--data-dir", str(tmp_path / "this")).returncode == 0
    assert (home / ".config" / "autostart" / "hearth.desktop").exists() and not (tmp_path / "this").exists()
    assert hearth("data", "purge", "--yes", "--data-dir", str(other)).returncode == 0
    assert not (home / ".config" / "autostart").exists() and not other.exists()


@pytest.mark.skipif(os.name == "nt", reason="of POSIX")
def test_another_pcs_data_are_left_alone(running: RunningWorker, tmp_path: Path) -> None:
    lead = tmp_path / "attic"
    lead.mkdir()
    (lead / "worker.json").write_bytes((running.folder / "worker.json").read_bytes())
    for verb in (["move", str(tmp_path / "new")], ["purge", "--yes"]):
        done = hearth("data", *verb, "--data-dir", str(lead))
        assert done.returncode == 5 and "another PC" in done.stderr and answers(running.folder)

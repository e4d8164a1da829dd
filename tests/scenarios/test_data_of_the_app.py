"""The whole app, with its worker, when its data are moved or deleted from its window."""

import subprocess
import sys
from pathlib import Path

import pytest

from core.commands.standstill import _is_held
from core.store import moved
from tests.release_feed import release_feed, start
from tests.scenarios.test_updates import version_of
from tests.workers import PATIENCE_S, ROOT, agreed, answers, start_paused, wait_until


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of one's own."""
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home" / ".local" / "share").mkdir(parents=True)
    (tmp_path / "home" / ".cache").mkdir()
    folder = tmp_path / "home" / ".local" / "share" / "Hearth"
    start_paused(folder)
    agreed(folder)
    return tmp_path / "home"


def run(what: str, folder: Path) -> int:
    """The app until it ends, in the usual data folder."""
    command = [sys.executable, "-m", "tests.desktop.app_with_data", what, str(folder), "--", "--in-tray"]
    return subprocess.run(command, cwd=ROOT, timeout=PATIENCE_S, check=False).returncode


def test_moved_from_the_window_app_and_worker_run_in_the_new_place(home: Path, tmp_path: Path) -> None:
    old, new = home / ".local" / "share" / "Hearth", tmp_path / "new"
    assert run("move", new) == 0
    wait_until(lambda: answers(new), "a worker in the new place")
    assert [path.name for path in old.iterdir()] == [moved.FILE] and (new / "consent.json").exists()
    wait_until(lambda: (new / "app.lock").exists(), "the app")
    purging = [sys.executable, "-m", "core", "data", "purge", "--yes"]
    assert subprocess.run(purging, cwd=ROOT, timeout=PATIENCE_S, check=False).returncode == 0
    assert not old.exists() and not new.exists()


def test_deleted_from_the_window_nothing_is_left(home: Path, tmp_path: Path) -> None:
    before = {str(path) for path in home.rglob("*")} - {str(path) for path in (home / ".local/share/Hearth").rglob("*")}
    folder = home / ".local" / "share" / "Hearth"
    assert run("delete", folder) == 0
    wait_until(lambda: not folder.exists(), "the deletion")
    after = {str(path) for path in home.rglob("*") if ".cache" not in path.parts}
    assert after == {path for path in before if ".cache" not in Path(path).parts} - {str(folder)}


@pytest.mark.parametrize(("then", "code"), [("", 0), ("exit 1", 24)], ids=["comes up", "does not"])
def test_app_and_worker_run_after_an_update(home: Path, tmp_path: Path, then: str, code: int) -> None:
    folder = home / ".local" / "share" / "Hearth"
    with release_feed(tmp_path / "feed") as feed:
        root = feed.install(feed.publish("0.1.0"))
        feed.publish("0.2.0", then=then)
        app = subprocess.Popen([str(root / "hearth"), "--in-tray"])
        wait_until(lambda: answers(folder), "the worker")
        done = start(root, "update")
        assert done.returncode == code, done.stderr
        assert app.wait(PATIENCE_S) == 0
        wait_until(lambda: answers(folder), "the worker again")
        assert start(root, "which").stdout == ("0.1.0\n" if then else "0.2.0\n")
        assert version_of(folder) == (root / "current").read_text() and not (root / "trial").exists()
        assert _is_held(folder / "app.lock")
        assert start(root, "quit").returncode == 0
        wait_until(lambda: not _is_held(folder / "app.lock"), "the app's end")

"""Data are moved as a whole or not at all, and who starts with the old folder finds them."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.contracts.errors import DataFolderError
from core.store import moved
from core.store.data_folder import data_folder, data_path
from core.store.moving import move
from core.store.sizes import sizes
from tests.workers import ROOT

FILES = {
    "identity.key": b"secret",
    "settings.json": b"{}",
    "runs/digits-1/checkpoints/a.safetensors": b"a" * 300_000,
    "runs/digits-1/data/s": b"s" * 5000,
    "own-data/x": b"x",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        path = tmp_path / "old" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (tmp_path / "old" / "identity.key").chmod(0o600)
    blobs = tmp_path / "old" / "runs/digits-1/blobs"
    blobs.mkdir()
    (blobs / "a.safetensors").hardlink_to(tmp_path / "old" / "runs/digits-1/checkpoints/a.safetensors")
    (tmp_path / "old" / "worker.lock").touch()
    return tmp_path / "old"


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount another disk")
    yield place
    ctypes.CDLL(None).umount2(os.fsencode(place), 2)


def content(folder: Path) -> dict[str, bytes]:
    left_out = {"worker.lock", moved.FILE, moved.FILE + ".partial"}
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in left_out and "blobs" not in path.parts
    }


def test_all_is_in_the_new_folder_and_the_old_one_leads_there(folder: Path, other_disk: Path) -> None:
    told: list[tuple[int, int]] = []
    new = other_disk / "hearth"
    move(folder, folder, new, lambda done, total: told.append((done, total)))
    assert content(new) == FILES and told[-1][0] == told[-1][1] == sum(map(len, FILES.values()))
    assert [path.name for path in folder.iterdir()] == [moved.FILE]
    assert data_path(folder) == data_folder(folder) == data_folder(new) == new
    assert (new / "identity.key").stat().st_mode & 0o777 == 0o600
    pair = [new / "runs/digits-1" / kind / "a.safetensors" for kind in ("blobs", "checkpoints")]
    assert pair[0].samefile(pair[1])


def test_it_is_moved_on_and_back(folder: Path, other_disk: Path, tmp_path: Path) -> None:
    second, third = other_disk / "second", tmp_path / "third"
    move(folder, folder, second)
    move(folder, second, third)
    assert data_folder(folder) == third and content(third) == FILES and not second.exists()
    move(folder, third, folder)
    assert data_folder(folder) == folder and content(folder) == FILES and not third.exists()
    assert not (folder / moved.FILE).exists()


def test_a_disk_that_is_not_there_is_told(folder: Path, tmp_path: Path) -> None:
    move(folder, folder, tmp_path / "new")
    (tmp_path / "new").rename(tmp_path / "unplugged")
    with pytest.raises(DataFolderError, match="Connect its disk"):
        data_folder(folder)
    assert not (tmp_path / "new").exists()


def test_a_file_is_no_data_folder(tmp_path: Path) -> None:
    (tmp_path / "dec.toml").touch()
    with pytest.raises(DataFolderError, match="is a file"):
        data_folder(tmp_path / "dec.toml")


@pytest.mark.parametrize(
    ("name", "why"),
    [("old", "already"), ("old/inside", "inside the other"), ("full", "not empty"), ("file", "is a file")],
)
def test_what_cannot_be_a_data_folder_is_refused(folder: Path, tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").touch()
    (tmp_path / "file").touch()
    with pytest.raises(DataFolderError, match=why):
        move(folder, folder, tmp_path / name)
    assert content(folder) == FILES and data_folder(folder) == folder
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["letter.txt"]


def test_a_full_disk_is_told_before_and_in_the_middle(folder: Path, other_disk: Path) -> None:
    (folder / "large").write_bytes(bytes(3 << 20))
    with pytest.raises(DataFolderError, match=r"only 2 MB are free"):
        move(folder, folder, other_disk / "new")
    os.truncate(folder / "large", 1 << 20)

    def fill(done: int, total: int) -> None:
        if not (other_disk / "filler").exists() and done:
            (other_disk / "filler").write_bytes(bytes(900_000))

    with pytest.raises(DataFolderError, match="is full"):
        move(folder, folder, other_disk / "new", fill)
    assert not (other_disk / "new").exists() and data_folder(folder) == folder
    assert {**content(folder)} == {**FILES, "large": bytes(1 << 20)}


KILLED = """
import os, signal, sys
from pathlib import Path
from core.store.moving import move
left = int(sys.argv[3])
def watch(event, arguments):
    global left
    if event in ("open", "os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "shutil.rmtree"):
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
old, new = Path(sys.argv[1]), Path(sys.argv[2])
sys.addaudithook(watch)
move(old, old, new)
"""


@pytest.mark.skipif(os.name == "nt", reason="no kill -9 there")
def test_killed_anywhere_nothing_is_lost_and_it_can_be_gone_on_with(folder: Path, other_disk: Path) -> None:
    """At every tenth thing that it does with files, until it does no more."""
    new, killed = other_disk / "new", 0
    for count in range(1, 400, 3):
        command = [sys.executable, "-c", KILLED, str(folder), str(new), str(count)]
        code = subprocess.run(command, cwd=ROOT, timeout=60, check=False).returncode
        there = data_folder(folder)
        assert content(there) == FILES, count
        assert moved.read(new) is None or data_folder(new) == there, count
        if code == 0:
            break
        assert code == -signal.SIGKILL
        killed += 1
        if there == new:  # back to where it began
            move(folder, new, folder)
    assert killed > 5 and data_folder(folder) == new and [path.name for path in folder.iterdir()] == [moved.FILE]


def test_what_is_gone_since_a_move_that_was_killed_does_not_come_back(folder: Path, tmp_path: Path) -> None:
    """As with a ledger's log that belongs to an older state of it."""
    new = tmp_path / "new"
    for name in ("ledger.db-wal", "runs/digits-1/old/file"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"of then")
    (folder / "was-a-file").touch()

    class Killed(BaseException):
        pass

    def killed(done: int, total: int) -> None:
        if done == total:
            raise Killed

    with pytest.raises(Killed):
        move(folder, folder, new, killed)
    assert (new / "ledger.db-wal").exists() and data_folder(folder) == folder
    (folder / "ledger.db-wal").unlink()
    shutil.rmtree(folder / "runs/digits-1/old")
    (folder / "was-a-file").unlink()
    (folder / "was-a-file").mkdir()
    (new / "worker.lock").touch()  # of who asks for it again
    move(folder, folder, new)
    assert content(new) == FILES and data_folder(folder) == new
    assert not (new / "runs/digits-1/old").exists() and (new / "was-a-file").is_dir() and (new / "worker.lock").exists()


def test_sizes_are_told_by_kind(folder: Path) -> None:
    found = sizes(folder)
    assert found["checkpoints"] >= 300_000 and found["copies"] == 0  # a link to the same file
    assert found["shards"] and found["own"] and found["other"] and not found["ledger"]

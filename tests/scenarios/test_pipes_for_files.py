"""A pipe or a device in the place of a file of the data folder: nobody waits for its other end, or reads for ever."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core import consent, logs
from core.community import schema
from core.compute import benchmark
from core.contracts.control import ADDRESS_FILE
from core.contracts.errors import CheckpointError
from core.contracts.files import PartFile
from core.runtime.part_files import read
from core.store import data_folder, progress, settings_file
from core.store.checkpoint_files import BLOBS, CHECKPOINTS, is_whole, newest_states, path_of
from core.store.checkpoints import CheckpointStore
from core.store.writing import PARTIAL, write_whole
from core.worker import joined_runs, network, policy
from tests.disks import files_of
from tests.workers import DIGITS, HERE, PATIENCE_S, ROOT, hearth, wait_until

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes in folders there")

SMALL = [
    settings_file.FILE,
    consent.FILE,
    data_folder.LAYOUT_FILE,
    joined_runs.FILE,
    policy.WISHES_FILE,
    network.STATE_FILE,
    network.PORTS_FILE,
    schema.FILE,
    str(logs.FILE),
    ADDRESS_FILE,
    f"runs/{DIGITS}/{progress.FILE}",
    f"runs/{DIGITS}/{data_folder.MANIFEST_FILE}",
    f"runs/{DIGITS}/{benchmark.FILE}",
    benchmark.FILE,
]
HASH = "0" * 64


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.fixture(params=[pipe, device])
def put(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    """Puts a pipe or a device in a file's place."""

    def made(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        request.param(path)

    return made


def test_a_worker_starts_serves_and_ends(tmp_path: Path, put: Callable[[Path], None]) -> None:
    for name in SMALL:
        put(tmp_path / name)
    put(tmp_path / f"{settings_file.FILE}{PARTIAL}")
    put(tmp_path / "runs" / DIGITS / CHECKPOINTS / "checkpoint-00000001.json")
    put(path_of(tmp_path / "runs" / DIGITS / CHECKPOINTS, HASH))
    put(path_of(tmp_path / "runs" / DIGITS / BLOBS, HASH))
    command = [sys.executable, "-m", "core", "worker", "--listen", HERE, "--data-dir", str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: hearth(tmp_path, "status").returncode == 0, "an answer")
        for asked in ("pause", "why", "resume"):
            assert hearth(tmp_path, asked).returncode == 0, asked
        told = hearth(tmp_path, "log")
        assert told.returncode != 0 and "no regular file" in told.stderr
        assert hearth(tmp_path, "quit").returncode == 0
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait()


def test_a_worker_whose_key_is_none_says_so(tmp_path: Path, put: Callable[[Path], None]) -> None:
    put(tmp_path / "identity.key")
    told = hearth(tmp_path, "worker", "--listen", HERE)
    assert told.returncode != 0 and "identity.key" in told.stderr, told.stderr
    assert hearth(tmp_path, "identity").returncode != 0


def test_checkpoints_and_copies_are_read_from_files_only(tmp_path: Path, put: Callable[[Path], None]) -> None:
    files = files_of(tmp_path)
    for folder in (files.checkpoints, tmp_path / "runs" / "digits" / BLOBS):
        put(path_of(folder, HASH))
    put(files.checkpoints / "checkpoint-00000001.json")
    assert newest_states(files.checkpoints) == {}
    assert not is_whole(files.checkpoints, PartFile("trunk", 1, 1, HASH, 0))
    CheckpointStore(files.checkpoints, "digits", copies=tmp_path / "runs" / "digits" / BLOBS).restore(
        {"trunk": lambda data: pytest.fail("There is none.")}
    )
    files.load()
    assert files.all_newest() == []
    with pytest.raises(CheckpointError):
        files.read(HASH, 0, 100)
    with pytest.raises(CheckpointError, match="pipe or a device"):
        read("digits", "trunk", path_of(files.checkpoints, HASH))


def test_a_file_is_written_though_a_pipe_is_in_the_way(tmp_path: Path, put: Callable[[Path], None]) -> None:
    put(tmp_path / f"file{PARTIAL}")
    write_whole(tmp_path / "file", [b"new"])
    assert (tmp_path / "file").read_bytes() == b"new"

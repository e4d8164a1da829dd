"""The worker's small files: read, damaged, written in order by another thread, lost by nobody's haste."""

import os
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from core.contracts.errors import DataFolderError
from core.contracts.notices import plain
from core.policy.inputs import Wishes
from core.store import progress
from core.store.progress import Progress
from core.store.small_files import Files
from core.worker import policy

KINDS: list[tuple[str, type[Any], list[bytes]]] = [
    (policy.WISHES_FILE, Wishes, [b'{"paused": 1}', b'{"paused_until": "x"}']),
    (progress.FILE, Progress, [b'{"step": -5}', b'{"samples": 1e30}', b'{"curve": [[1, 1, 0.5, 7]]}']),
]
ANY_DAMAGE = [b"", b"{", b"\xff\xfe", b"[" * 100_000]


@pytest.mark.parametrize(
    ("name", "kind", "damage"), [(name, kind, one) for name, kind, own in KINDS for one in ANY_DAMAGE + own]
)
def test_a_damaged_file_is_set_aside_and_the_user_told(
    tmp_path: Path, name: str, kind: type[Any], damage: bytes
) -> None:
    (tmp_path / name).write_bytes(damage)
    files = Files(tmp_path)
    assert files.read(name, kind, plain("All is forgotten.")) == kind()
    (aside,) = tmp_path.iterdir()
    assert aside.read_bytes() == damage and aside.name.startswith(f"{Path(name).stem}.bad-")
    assert str(files.notes[name]).startswith(f"{name} could not be read")
    assert str(files.notes[name]).endswith(f"It was kept as {aside.name}. All is forgotten.")
    again = Files(tmp_path)
    assert again.read(name, kind, plain("")) == kind() and not again.notes  # told once


class Disk:
    """fsync waits while `spinning` is not set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spinning, self.asked = threading.Event(), threading.Semaphore(0)
        fsync = os.fsync

        def slow(file: int) -> None:
            self.asked.release()
            assert self.spinning.wait(60)
            fsync(file)

        monkeypatch.setattr(os, "fsync", slow)


def test_a_slow_disk_holds_up_nobody_and_gets_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, files = Disk(monkeypatch), Files(tmp_path)
    first = files.save("a.json", 1)
    assert disk.asked.acquire(timeout=60)
    others = [files.save("a.json", number) for number in range(2, 50)]  # while the first is being written
    files.save("b.json", {"x": 1})
    assert not any(done.done() for done in (first, *others)) and not (tmp_path / "a.json").exists()
    disk.spinning.set()
    files.flush()
    assert [*map(msgspec.json.decode, ((tmp_path / name).read_bytes() for name in ("a.json", "b.json")))] == [
        49,
        {"x": 1},
    ]
    assert first.done() and all(done.done() for done in others)
    assert disk.asked.acquire(timeout=0) and disk.asked.acquire(timeout=0) and not disk.asked.acquire(timeout=0)


def test_what_cannot_be_written_says_so_and_the_next_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = Files(tmp_path)
    with pytest.raises(DataFolderError, match="could not be written"):
        files.save("missing/a.json", 1, plain("It holds until Hearth ends.")).result()
    assert "The old file stays. It holds until Hearth ends." in caplog.text
    files.save("b.json", b"raw").result()
    assert (tmp_path / "b.json").read_bytes() == b"raw"

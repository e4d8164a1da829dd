"""A backup brings everything back; a damaged, foreign or hostile one changes nothing."""

import hashlib
import io
import json
import os
import signal
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from core.community.ledger import Ledger
from core.community.reading import read_only
from core.contracts.errors import DataFolderError
from core.contracts.ledger import Amounts
from core.store.backup import MANIFEST, back_up, restore
from core.store.data_folder import data_folder
from core.store.writing import write_whole
from tests.workers import ROOT, contributed

KEPT = {"identity.key": b"k", "settings.json": b"{}", "runs/digits-1/manifest.json": b"m" * 5000}
CHECKPOINTS = {"runs/digits-1/checkpoints/c.safetensors": b"c" * 99_999, "own-data/s": b"s"}
NOT_KEPT = {
    "runs/digits-1/blobs/b": b"b",
    "logs/hearth.log": b"l",
    "worker.lock": b"",
    "worker.json": b"{}",
    "runtimes/chosen": b"0",
}


def fill(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return fill(tmp_path / "data", {**KEPT, **CHECKPOINTS, **NOT_KEPT})


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    (tmp_path / "empty").mkdir()
    return tmp_path / "empty"


@pytest.mark.parametrize("checkpoints", [False, True])
def test_what_was_backed_up_comes_back(folder: Path, empty: Path, tmp_path: Path, checkpoints: bool) -> None:
    back_up(folder, tmp_path / "b.zip", checkpoints)
    assert stat.S_IMODE((tmp_path / "b.zip").stat().st_mode) == 0o600
    told: list[tuple[int, int]] = []
    restore(empty, tmp_path / "b.zip", told=lambda done, total: told.append((done, total)))
    assert content(empty) == {**KEPT, **(CHECKPOINTS if checkpoints else {})} and told[-1][0] == told[-1][1]
    assert stat.S_IMODE((empty / "identity.key").stat().st_mode) == 0o600
    assert content(folder) == {**KEPT, **CHECKPOINTS, **NOT_KEPT}


def test_the_ledger_is_whole_although_it_is_being_written(tmp_path: Path, empty: Path) -> None:
    folder = fill(tmp_path / "data", {"settings.json": b"{}"})
    contributed(folder, Amounts(samples=7))
    ledger = Ledger(folder)
    back_up(folder, tmp_path / "b.zip")
    ledger.close()
    restore(empty, tmp_path / "b.zip")
    assert {path.name for path in empty.iterdir()} == {"ledger.db", "settings.json"}
    assert read_only(empty).totals(time.time()).all.amounts.samples == 7


def test_nothing_is_overwritten_unless_it_is_said(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.zip"
    back_up(folder, out)
    with pytest.raises(DataFolderError, match="there already"):
        back_up(folder, out)
    back_up(folder, out, force=True)
    other = fill(tmp_path / "other", {"identity.key": b"another", "runs/text-1/manifest.json": b"t"})
    with pytest.raises(DataFolderError, match="holds data already"):
        restore(other, out)
    assert (other / "identity.key").read_bytes() == b"another"
    restore(other, out, force=True)
    assert content(other) == KEPT


def test_a_backup_that_cannot_be_written_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataFolderError, match="could not be written"):
        back_up(folder, tmp_path / "no" / "b.zip")
    assert not (tmp_path / "no").exists()


def test_what_a_killed_backup_held_goes_at_the_next_start_and_what_another_one_holds_stays(
    folder: Path, tmp_path: Path
) -> None:
    data_folder(folder)
    held = folder / "backing-up"

    def during(done: int, total: int) -> None:
        data_folder(folder)  # a worker starts
        assert [path.read_bytes() for path in held.iterdir()] == [*CHECKPOINTS.values()][:1]
        with pytest.raises(DataFolderError, match="could not be written"):
            back_up(folder, tmp_path / "second.zip", checkpoints=True)

    back_up(folder, tmp_path / "b.zip", checkpoints=True, told=during)
    assert not held.exists()
    held.mkdir()
    (held / "0").hardlink_to(folder / next(iter(CHECKPOINTS)))
    data_folder(folder)
    assert not held.exists()


def manifest(listed: dict[str, bytes], **changes: Any) -> bytes:
    entries = [
        {"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in listed.items()
    ]
    return json.dumps({"format": 1, "layout": 2, "checkpoints": False, "files": entries} | changes).encode()


def archive(path: Path, files: dict[str, bytes], document: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(name, data)
        made.writestr(MANIFEST, document)
    return path


HOSTILE = [
    "../evil", "/etc/evil", "a/../../evil", "a//b", "./a", "C:/evil", "a\\b", "con", "NUL.txt", "a\n", "x" * 2000,
    "a/" * 20 + "b", "worker.lock", "moved.json", "restoring/x", "logs/x", "runtimes/x", "trailing.", ".hidden", "a/",
    "Runtimes/x", "Moved.json",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_leads_out_of_the_folder(empty: Path, tmp_path: Path, name: str) -> None:
    file = archive(tmp_path / "b.zip", {name: b"evil"}, manifest({name: b"evil"}))
    with pytest.raises(DataFolderError, match="Nothing has changed"):
        restore(empty, file)
    assert content(empty) == {} and {path.name for path in tmp_path.iterdir()} == {"b.zip", "empty"}


def test_what_is_not_as_it_is_listed_is_refused(empty: Path, tmp_path: Path) -> None:
    good, file = {"a": b"a" * 1000}, tmp_path / "b.zip"
    many = {f"f{number}": b"" for number in range(5000)}
    for files, document, why in (
        (good, manifest({"a": b"b" * 1000}), "not what it was"),
        (good, manifest({"a": b"a"}), "another size"),
        ({**good, "b": b""}, manifest(good), "not those that it lists"),
        (good, manifest({**good, "b": b""}), "not those that it lists"),
        (good, manifest(good, layout=99), "newer Hearth"),
        (good, manifest(good, format=2), "damaged"),
        (good, b"{", "damaged"),
        (good, manifest({"a": b"a" * 1000, "A": b""}), "twice"),
        (many, manifest(many), "more files at its top"),
    ):
        with pytest.raises(DataFolderError, match=why):
            restore(empty, archive(file, files, document))
        assert content(empty) == {}


def test_links_and_pipes_lead_out_of_no_folder(folder: Path, empty: Path, tmp_path: Path) -> None:
    out = tmp_path / "secret"
    out.write_bytes(b"secret")
    (folder / "notes.txt").symlink_to(out)
    os.mkfifo(folder / "pipe")
    back_up(folder, tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as made:
        assert not {"notes.txt", "pipe"} & {*made.namelist()}
    (empty / "restoring").symlink_to(tmp_path)
    restore(empty, tmp_path / "b.zip")
    assert content(empty) == KEPT and out.read_bytes() == b"secret"
    (empty / "settings.json.partial").symlink_to(out)
    write_whole(empty / "settings.json", [b"{}"])
    assert (empty / "settings.json").read_bytes() == b"{}" and out.read_bytes() == b"secret"


def test_a_bomb_is_refused_before_it_bursts(empty: Path, tmp_path: Path) -> None:
    """The list says little, or more than the disk has."""
    huge = [{"name": "a", "size": 1 << 45, "sha256": "0" * 64}]
    file = archive(tmp_path / "b.zip", {"a": bytes(50 << 20)}, manifest({}, files=huge))
    with pytest.raises(DataFolderError, match="another size"):
        restore(empty, file)
    data = file.read_bytes()
    at = data.rindex(b"PK\x05\x06")
    many = data[: at + 8] + b"\xfe\xff\xfe\xff" + (80 << 20).to_bytes(4, "little") + data[at + 16 :]
    file.write_bytes(many)
    with pytest.raises(DataFolderError, match="more than any backup has"):
        restore(empty, file)


def test_no_damage_goes_unnoticed(folder: Path, empty: Path, tmp_path: Path) -> None:
    """A bit that fell over anywhere, and a file cut off anywhere."""
    back_up(folder, tmp_path / "b.zip")
    whole, file = (tmp_path / "b.zip").read_bytes(), tmp_path / "damaged.zip"
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        file.write_bytes(whole[:at])
        with pytest.raises(DataFolderError):
            restore(empty, file)
        flipped = bytearray(whole)
        flipped[at] ^= 0x10
        file.write_bytes(flipped)
        try:
            restore(empty, file)
        except DataFolderError:
            assert content(empty) == {}
        else:  # the bit meant nothing, such as a time
            assert content(empty) == KEPT
            for path in [*empty.iterdir()]:
                subprocess.run(["rm", "-r", str(path)], check=True)


KILLED = """
import os, signal, sys
from pathlib import Path
from core.store.backup import restore
left = int(sys.argv[3])
def watch(event, arguments):
    global left
    if event in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree"):
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
restore(Path(sys.argv[1]), Path(sys.argv[2]), True)
"""


@pytest.mark.skipif(os.name == "nt", reason="no kill -9 there")
def test_killed_anywhere_either_the_old_or_the_restored_data_are_there(folder: Path, tmp_path: Path) -> None:
    back_up(folder, tmp_path / "b.zip")
    old = {"identity.key": b"another", "runs/text-1/manifest.json": b"t", "settings.json": b"other"}
    there = fill(tmp_path / "there", old)
    states = []
    for count in range(1, 100, 2):
        command = [sys.executable, "-c", KILLED, str(there), str(tmp_path / "b.zip"), str(count)]
        code = subprocess.run(command, cwd=ROOT, timeout=60, check=False).returncode
        found = content(data_folder(there))
        found.pop("worker.lock", None)
        assert found in (old, KEPT), count
        states.append(found == KEPT)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        if found == KEPT:
            subprocess.run(["rm", "-r", str(there)], check=True)
            fill(there, old)
    assert code == 0 and states.count(False) > 2 and states.count(True) > 2


def test_text_is_no_backup(empty: Path, tmp_path: Path) -> None:
    for data in (b"", b"hello", io.BytesIO().getvalue(), b"PK\x05\x06" + bytes(18)):
        (tmp_path / "t").write_bytes(data)
        with pytest.raises(DataFolderError):
            restore(empty, tmp_path / "t")
    with pytest.raises(DataFolderError, match="No such file"):
        restore(empty, tmp_path / "none")

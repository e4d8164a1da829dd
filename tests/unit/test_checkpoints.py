"""The checkpoint store: what was saved comes back, whatever happens to the files or to the process."""

import asyncio
import errno
import math
import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import msgspec
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.contracts.errors import CheckpointError
from core.contracts.notices import Notice, notice
from core.runtime.part_files import Part, unpack
from core.store import checkpoints
from core.store.checkpoint_files import Checkpoint, read_manifest
from core.store.checkpoints import BAD_KEPT, KEPT, CheckpointStore

NAMES = ("digits.0.1.2", "digits.0.1.3", "trunk")


def parts(step: int, names: tuple[str, ...] = NAMES) -> dict[str, Part]:
    return {
        name: Part({"weight": torch.full((3, 4), float(step)), "adam.step": torch.tensor(step)}, step, 8 * step)
        for name in names
    }


def take(got: dict[str, Part], name: str, data: bytes) -> None:
    got[name] = unpack(data)


def restore(
    folder: Path, names: tuple[str, ...] = NAMES, run: str = "digits"
) -> tuple[tuple[Notice, ...], dict[str, Part]]:
    got: dict[str, Part] = {}
    notes = CheckpointStore(folder, run).restore({name: partial(take, got, name) for name in names})
    return notes, got


async def saved(folder: Path, *steps: int) -> CheckpointStore:
    store = CheckpointStore(folder, "digits")
    for step in steps:
        await store.save(step, 32 * step, parts(step))
    return store


def blobs_of(folder: Path, manifest: Path) -> dict[str, Path]:
    parts = read_manifest(manifest).parts
    return {name: folder / f"{file.sha256}.safetensors" for name, file in parts.items()}


def files(folder: Path, pattern: str = "*") -> dict[str, int]:
    """Names and inodes."""
    return {path.name: path.stat().st_ino for path in sorted(folder.glob(pattern))}


def manifests(folder: Path) -> list[Path]:
    """Newest first."""
    return sorted(folder.glob("checkpoint-*.json"), reverse=True)


async def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    await saved(tmp_path / "new" / "folder", 5)
    notes, got = restore(tmp_path / "new" / "folder")
    newest = read_manifest(manifests(tmp_path / "new" / "folder")[0])
    assert (newest.step, newest.samples) == (5, 160)
    assert notes == ()
    assert set(got) == set(NAMES)
    assert got["trunk"].version == 5 and got["trunk"].samples == 40
    torch.testing.assert_close(got["trunk"].tensors, parts(5)["trunk"].tensors, rtol=0, atol=0)


def test_an_empty_folder_is_a_first_start(tmp_path: Path) -> None:
    assert restore(tmp_path / "none") == ((), {})


async def test_the_newest_three_are_kept_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "left-over.safetensors.partial").write_bytes(b"half")
    await saved(tmp_path, 1, 2, 3, 4, 5)
    assert len(manifests(tmp_path)) == KEPT
    used = {path for manifest in manifests(tmp_path) for path in blobs_of(tmp_path, manifest).values()}
    assert {path.name for path in [*used, *manifests(tmp_path)]} == set(files(tmp_path))
    assert len(used) == KEPT * len(NAMES)


async def test_what_a_save_leaves_out_stays_on_a_pc_that_is_alone(tmp_path: Path) -> None:
    await saved(tmp_path, 1, 2)
    newest = blobs_of(tmp_path, manifests(tmp_path)[0])["digits.0.1.3"]
    newest.write_bytes(b"x" * newest.stat().st_size)  # found out before the state that serves instead goes
    store = CheckpointStore(tmp_path, "digits", keeps_all=True)
    for step in range(3, 9):
        await store.save(step, 32 * step, parts(step, ("trunk",)))
    assert len(manifests(tmp_path)) == KEPT
    notes, got = restore(tmp_path)
    assert notes == () and [got[name].version for name in NAMES] == [2, 1, 8]


async def test_a_save_that_gets_no_room_leaves_what_was_there(tmp_path: Path) -> None:
    store = await saved(tmp_path, 1)
    before = files(tmp_path)

    async def nothing(part: str, needed: int, wanted: int, superseded: bool) -> int:
        return 0

    with pytest.raises(CheckpointError, match=r"step 2 was not saved: .* you allow Hearth.*Settings"):
        await store.save(2, 64, parts(2), nothing)
    assert files(tmp_path) == before


async def test_a_first_state_without_room_is_left_out(tmp_path: Path) -> None:
    await saved(tmp_path, 1)
    store, new = CheckpointStore(tmp_path, "digits"), ("digits.1.0.0", "digits.1.0.1")

    async def none_for_new_ones(part: str, needed: int, wanted: int, superseded: bool) -> int:
        return 0 if part in new else needed if superseded else 0

    checkpoint = await store.save(2, 64, parts(2, (new[0], *NAMES, new[1])), none_for_new_ones)
    assert (checkpoint.step, [*checkpoint.parts]) == (2, [*NAMES])
    assert {restore(tmp_path)[1][name].version for name in NAMES} == {2}
    full = await store.save(3, 96, parts(3, (*NAMES, *new)))
    assert {*full.parts} == {*NAMES, *new}


async def test_a_save_in_stages_that_dies_has_the_parts_of_the_finished_ones(tmp_path: Path) -> None:
    store = await saved(tmp_path, 1)
    told: list[Checkpoint] = []

    async def room_for_one(part: str, needed: int, wanted: int, superseded: bool) -> int:
        if superseded and len(told) == 2:
            raise CheckpointError("It dies.")
        return needed if superseded else 0

    with pytest.raises(CheckpointError, match="It dies"):
        await store.save(2, 64, parts(2), room_for_one, told.append)
    notes, got = restore(tmp_path)
    assert notes == () and [got[name].version for name in NAMES] == [2, 2, 1]
    assert [checkpoint.step for checkpoint in told] == [1, 1]  # the trunk is as it was
    told.clear()
    await store.save(2, 64, parts(2), room_for_one)
    assert [restore(tmp_path)[1][name].version for name in NAMES] == [2, 2, 2]


async def test_unchanged_parts_are_not_written_again(tmp_path: Path) -> None:
    store = await saved(tmp_path, 1)
    before = files(tmp_path, "*.safetensors")
    changed = {**parts(1), "trunk": parts(2)["trunk"]}
    await store.save(2, 64, changed)
    after = files(tmp_path, "*.safetensors")
    assert len(after) == 4 and before.items() <= after.items()


async def test_saving_the_same_again_pushes_no_older_checkpoint_out(tmp_path: Path) -> None:
    store = await saved(tmp_path, 1, 2)
    before = files(tmp_path)
    for _ in range(5):
        assert (await store.save(2, 64, parts(2))).step == 2
    assert files(tmp_path) == before


@pytest.mark.parametrize("damage", ["truncated", "flipped", "emptied", "removed", "lengthened"])
async def test_a_damaged_part_comes_from_the_checkpoint_before(tmp_path: Path, damage: str) -> None:
    await saved(tmp_path, 1, 2)
    path = blobs_of(tmp_path, manifests(tmp_path)[0])["digits.0.1.3"]
    data = path.read_bytes()
    damaged = {
        "truncated": data[: len(data) // 2],
        "flipped": data[:-5] + bytes([data[-5] ^ 1]) + data[-4:],
        "emptied": b"",
        "lengthened": data + b"\0",
    }
    path.unlink() if damage == "removed" else path.write_bytes(damaged[damage])

    notes, got = restore(tmp_path)
    assert read_manifest(manifests(tmp_path)[0]).step == 2
    assert [got[name].version for name in NAMES] == [2, 1, 2]
    assert "digits.0.1.3" in str(notes[0]) and notes[-1] == notice("checkpoint.replaced")
    assert not path.exists() and path.with_name(path.name + ".bad").exists() == (damage != "removed")
    assert restore(tmp_path)[1]["digits.0.1.3"].version == 1

    await saved(tmp_path, 3)
    notes, got = restore(tmp_path)
    assert notes == () and {part.version for part in got.values()} == {3}


async def test_a_damaged_manifest_is_set_aside(tmp_path: Path) -> None:
    await saved(tmp_path, 1, 2)
    newest = manifests(tmp_path)[0]
    newest.write_bytes(newest.read_bytes()[:-20])
    notes, got = restore(tmp_path)
    assert read_manifest(manifests(tmp_path)[0]).step == 1
    assert {part.version for part in got.values()} == {1}
    aside = newest.with_name(newest.name + ".bad")
    assert notes[0].code == "checkpoint.set_aside" and notes[0].args["file"] == aside.name
    assert newest.name in str(notes[0].args["damage"]) and aside.exists()
    # The next checkpoint is newer than the one set aside.
    await saved(tmp_path, 2)
    restore(tmp_path)
    assert read_manifest(manifests(tmp_path)[0]).step == 2
    assert manifests(tmp_path)[0].name > newest.name


async def test_a_manifest_of_version_0_1_0_is_read(tmp_path: Path) -> None:
    await saved(tmp_path, 4)
    (path,) = manifests(tmp_path)
    document = msgspec.json.decode(path.read_bytes())
    for entry in document["parts"].values():
        assert entry.pop("samples") == 32  # which that version did not tell
    path.write_bytes(msgspec.json.encode(document))
    _, got = restore(tmp_path)
    assert set(got) == set(NAMES) and {part.version for part in got.values()} == {4}


async def test_if_nothing_is_left_training_starts_anew_and_says_so(tmp_path: Path) -> None:
    await saved(tmp_path, 1, 2, 3)
    for name in files(tmp_path):
        (tmp_path / name).write_bytes(b"{}")
    notes, got = restore(tmp_path)
    assert not manifests(tmp_path) and got == {}
    assert notes[-1] == notice("checkpoint.none_left")
    await saved(tmp_path, 1)
    assert len(restore(tmp_path)[1]) == 3


async def test_a_lone_pc_goes_on_from_copies_where_its_own_states_are_missing_or_damaged(tmp_path: Path) -> None:
    copies, folder = tmp_path / "blobs", tmp_path / "checkpoints"
    await saved(copies, 5, 9)  # kept for others: files without a manifest
    await CheckpointStore(folder, "digits").save(3, 96, parts(3, NAMES[1:]))

    def restored(names: tuple[str, ...] = NAMES) -> tuple[tuple[Notice, ...], dict[str, int]]:
        got: dict[str, int] = {}
        store = CheckpointStore(folder, "digits", keeps_all=True, copies=copies)
        targets = {name: lambda data, name=name: got.update({name: unpack(data).version}) for name in names}
        return store.restore(targets), got

    notes, got = restored(NAMES[1:])
    assert got == dict.fromkeys(NAMES[1:], 3) and notes == (), "nothing was missing: what it trained is its own"
    notes, got = restored()
    assert got == dict.fromkeys(NAMES, 9) and notes == ()
    notes, got = restored((*NAMES, "digits.1.0.0"))
    assert got == dict.fromkeys(NAMES, 9)
    assert notes == (notice("checkpoint.not_here", n=1, all=4),)

    for path in copies.glob("*.safetensors"):
        path.write_bytes(path.read_bytes()[:-1])
    manifests(folder)[0].write_bytes(bytes(100))
    notes, got = restored()
    assert got == {} and len(notes) == 2 and notes[-1] == notice("checkpoint.none_left")
    await saved(copies, 7)
    assert restored()[1] == dict.fromkeys(NAMES, 7)


async def test_few_damaged_files_are_kept_and_few_notes_given(tmp_path: Path) -> None:
    names = tuple(f"digits.0.{cell}" for cell in range(20))
    await CheckpointStore(tmp_path, "digits").save(1, 1, parts(1, names))
    for name in files(tmp_path, "*.safetensors"):
        (tmp_path / name).write_bytes(b"rubbish")
    notes, got = restore(tmp_path, names)
    assert got == {} and len(notes) <= 8
    assert len(files(tmp_path, "*.bad")) == BAD_KEPT


async def test_a_part_that_does_not_fit_is_refused_but_not_set_aside(tmp_path: Path) -> None:
    await saved(tmp_path, 1, 2)
    versions = []

    def picky(data: bytes) -> None:
        part = unpack(data)
        versions.append(part.version)
        if part.version == 2:
            raise CheckpointError("it has 3 layers instead of 2")

    notes = CheckpointStore(tmp_path, "digits").restore({"trunk": picky})
    assert versions == [2, 1]
    assert notes[0].code == "checkpoint.part_does_not_fit" and "3 layers" in str(notes[0])
    assert not files(tmp_path, "*.bad")


async def test_what_is_not_finite_is_not_saved(tmp_path: Path) -> None:
    store = await saved(tmp_path, 1)
    before = files(tmp_path)
    broken = {**parts(2), "trunk": Part({"weight": torch.tensor([1.0, math.nan])})}
    with pytest.raises(CheckpointError, match="trunk holds NaN"):
        await store.save(2, 64, broken)
    assert files(tmp_path) == before


async def test_another_runs_checkpoint_is_not_used(tmp_path: Path) -> None:
    await saved(tmp_path, 1)
    notes, got = restore(tmp_path, run="text")
    assert got == {}
    assert "belongs to the run digits" in str(notes[0])


async def test_swapped_parts_are_noticed(tmp_path: Path) -> None:
    await saved(tmp_path, 1)
    manifest = manifests(tmp_path)[0]
    document = msgspec.json.decode(manifest.read_bytes())
    document["parts"]["trunk"] = document["parts"]["digits.0.1.2"]
    manifest.write_bytes(msgspec.json.encode(document))
    notes, got = restore(tmp_path)
    assert "trunk" not in got and "belongs to digits.0.1.2" in str(notes[0])


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_damage_raises_or_returns_something_else(data: st.DataObject) -> None:
    """Any overwritten bytes in any file: every part that comes back is one that was saved."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "copy"
        shutil.copytree(_original(), folder)
        path = data.draw(st.sampled_from(sorted(folder.iterdir())))
        content = bytearray(path.read_bytes())
        at = data.draw(st.integers(0, len(content) - 1))
        rubbish = data.draw(st.binary(min_size=1, max_size=40))
        content[at : at + len(rubbish)] = rubbish
        path.write_bytes(content)
        _, got = restore(folder)
        for part_name, part in got.items():
            assert part.version in (1, 2)
            torch.testing.assert_close(part.tensors, parts(part.version)[part_name].tensors, rtol=0, atol=0)


_originals: list[tempfile.TemporaryDirectory[str]] = []


def _original() -> Path:
    if not _originals:
        _originals.append(tempfile.TemporaryDirectory())
        asyncio.run(saved(Path(_originals[0].name), 1, 2))
    return Path(_originals[0].name)


@pytest.mark.parametrize("where", ["tmpfs", "limited"])
def test_a_full_disk_is_reported_and_the_older_checkpoint_stays(tmp_path: Path, where: str) -> None:
    """On a file system of 256 KB where the kernel lets us mount one, and by a limit on the size of files anywhere."""
    command = [sys.executable, "-m", "tests.unit.checkpoint_writer", where, str(tmp_path)]
    if where == "tmpfs" and _can_mount():
        mount = 'mount -t tmpfs -o size=256k tmpfs "$1" && shift && exec "$@"'
        command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh", str(tmp_path), *command]
    elif where == "tmpfs":
        command[3] = "limited"
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert "step 2 was not saved" in result.stdout and "Free some space" in result.stdout


def _can_mount() -> bool:
    probe = ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(probe, capture_output=True, timeout=60).returncode == 0


def test_death_at_any_point_of_a_save_loses_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.unit.checkpoint_writer", "killed", str(tmp_path / "store")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) >= 20


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "checkpoint.disk_full"),
        (errno.EROFS, "checkpoint.not_allowed"),
        (errno.EIO, "checkpoint.not_written"),
    ],
)
def test_the_advice_follows_the_cause(code: int, advice: str) -> None:
    said = checkpoints._advice(Path("/data"), 7, OSError(code, os.strerror(code)))
    assert said.code == advice and "/data" in str(said) and "step 7" in str(said)


async def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointError, match="The older checkpoint stays"):
        await CheckpointStore(tmp_path / "file" / "checkpoints", "digits").save(1, 1, parts(1))

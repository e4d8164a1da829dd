"""The files of a checkpoint folder, told apart without torch: which states there are, and which files may go."""

import contextlib
import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from core.contracts.errors import UNREADABLE, CheckpointError
from core.contracts.files import Natural, PartFile, Sha256, Size
from core.contracts.notices import notice
from core.regular_files import open_regular
from core.store.part_header import describe
from core.store.writing import PARTIAL

CHECKPOINTS, BLOBS = "checkpoints", "blobs"
"""Folders of a run's: what this PC has saved, and what it keeps for others."""
BAD, SUFFIX = ".bad", ".safetensors"
MAX_MANIFEST = 8 << 20
"""Bytes; 4,096 experts take 600 KB."""
BLOCK = 4096
"""Bytes by which files take up a disk."""
_MANIFEST_NAME = re.compile(r"checkpoint-(\d{8,})\.json(?:\.bad)?")


class Checkpoint(NamedTuple):
    """The states of a run's parts that belong together."""

    run: str
    step: int
    samples: int
    time: float
    """Unix time."""
    parts: Mapping[str, PartFile]


class _Entry(msgspec.Struct, frozen=True):
    """A part's file in a manifest; up to Hearth 0.1.0 without its samples."""

    sha256: Sha256
    size: Size
    version: Natural
    samples: Natural = 0


class _Manifest(msgspec.Struct, frozen=True):
    format: Literal[1]
    run: str
    step: Natural
    samples: Natural
    time: float
    parts: dict[str, _Entry]


class Survey(NamedTuple):
    """What a checkpoint folder holds."""

    states: dict[str, PartFile]
    """The newest whole state of each part that nobody else here has."""
    spare: list[list[Path]]
    """What may go together, the oldest first: an older checkpoint, and the files that only it names."""
    strays: list[Path]
    """Files of no checkpoint: of a save that goes on, or of one that a crash broke off."""


def number(path: Path) -> int:
    """Of a manifest's name; 0 if it is none."""
    match = _MANIFEST_NAME.fullmatch(path.name)
    return int(match[1]) if match else 0


def manifests(folder: Path) -> list[Path]:
    """Newest first."""
    return sorted(folder.glob("checkpoint-*.json"), key=number, reverse=True)


def read_manifest(path: Path) -> Checkpoint:
    """A checkpoint by its manifest.

    Args:
        path: The manifest's file.

    Raises:
        CheckpointError: It is damaged.
        OSError: It cannot be read.
    """
    with open_regular(path) as file:
        data = file.read(MAX_MANIFEST + 1)
    if len(data) > MAX_MANIFEST:
        raise CheckpointError(notice("checkpoint.too_large"))
    try:
        found = msgspec.json.decode(data, type=_Manifest)
    except UNREADABLE as error:
        raise CheckpointError(str(error)) from error
    parts = {name: PartFile(name, e.version, e.samples, e.sha256, e.size) for name, e in found.parts.items()}
    return Checkpoint(found.run, found.step, found.samples, found.time, parts)


def manifest_of(checkpoint: Checkpoint) -> bytes:
    """The content of a checkpoint's manifest."""
    run, step, samples, time, parts = checkpoint
    entries = {name: _Entry(file.sha256, file.size, file.version, file.samples) for name, file in parts.items()}
    return msgspec.json.format(msgspec.json.encode(_Manifest(1, run, step, samples, time, entries)))


def path_of(folder: Path, sha256: str) -> Path:
    """A part's file in a folder."""
    return folder / f"{sha256}{SUFFIX}"


def on_disk(size: int) -> int:
    """Bytes that a file of `size` bytes takes."""
    return -(-size // BLOCK) * BLOCK


def sha256_of(path: Path) -> str:
    """The hash of a file.

    Raises:
        OSError: It cannot be read.
    """
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_whole(folder: Path, file: PartFile) -> bool:
    """Whether a part's file is there and is what its name says; reads all of it."""
    path = path_of(folder, file.sha256)
    try:
        return path.stat().st_size == file.size and sha256_of(path) == file.sha256
    except OSError:
        return False


def newest_states(folder: Path) -> dict[str, PartFile]:
    """The parts of the newest checkpoint whose files are whole."""
    for path in manifests(folder):
        with contextlib.suppress(CheckpointError, OSError):
            return {part: file for part, file in read_manifest(path).parts.items() if is_whole(folder, file)}
    return {}


def survey(folder: Path, good: Callable[[PartFile], bool], elsewhere: Mapping[str, int]) -> Survey:
    """Tell what is needed from what is not.

    Args:
        folder: That of the checkpoints.
        good: Whether a part's file is whole.
        elsewhere: The versions of parts that are kept in another folder.
    """
    found: list[Checkpoint] = []
    paths: list[Path] = []
    for path in manifests(folder):
        with contextlib.suppress(CheckpointError, OSError):
            found.append(read_manifest(path))
            paths.append(path)
    states: dict[str, PartFile] = {}
    for index, checkpoint in enumerate(found):
        for part, file in checkpoint.parts.items():
            needed = not index or elsewhere.get(part, -1) < file.version
            if part not in states and needed and good(file):
                states[part] = file
    needed_files = {file.sha256 for file in states.values()}
    named: set[str] = set()
    spare: list[list[Path]] = []
    for path, checkpoint in zip(paths, found, strict=True):
        own = {file.sha256 for file in checkpoint.parts.values()}
        if path != paths[0] and not own & needed_files - named:
            spare.append([path, *(path_of(folder, sha256) for sha256 in sorted(own - named - needed_files))])
        named |= own
    strays = [path for path in folder.glob(f"*{SUFFIX}") if path.stem not in named]
    return Survey(states, spare[::-1], [*strays, *folder.glob(f"*{PARTIAL}")])


def copies_of(run: str | None, folder: Path) -> list[PartFile]:
    """The parts' files in a folder without manifests, the newest first; their hashes are not checked.

    Args:
        run: The run that they belong to, others' files are passed over; None: any.
        folder: Where they are.
    """
    found: list[PartFile] = []
    for path in folder.glob(f"*{SUFFIX}"):
        with contextlib.suppress(CheckpointError, OSError):
            found.append(describe(run, path, path.stem))
    return sorted(found, key=lambda file: file.version, reverse=True)


def superseded_copies(folder: Path, good: Callable[[PartFile], bool]) -> list[Path]:
    """The parts' files in a folder without manifests that a newer one, which is whole, has taken the place of."""
    found: dict[str, list[PartFile]] = {}
    for file in copies_of(None, folder):
        found.setdefault(file.part, []).append(file)
    old: list[Path] = []
    for files in found.values():
        newest = next((file for file in files if good(file)), None)
        if newest is not None:
            old += [path_of(folder, file.sha256) for file in files if file.version < newest.version]
    return old

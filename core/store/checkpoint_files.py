"""The files of a checkpoint folder, told apart without torch: the worker sees to it that they fit the disk space."""

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from core.contracts.errors import CheckpointError
from core.store.part_header import MAX_HEADER, MAX_PART, UNREADABLE, Natural, read_metadata

CHECKPOINTS, BLOBS = "checkpoints", "blobs"
"""Folders of a run's: what this PC has saved, and what it keeps for others."""
PARTIAL, BAD, SUFFIX = ".partial", ".bad", ".safetensors"
MAX_MANIFEST = 8 << 20
"""Bytes; 4,096 experts take 600 KB."""
BLOCK = 4096
"""Bytes by which files take up a disk."""
_MANIFEST_NAME = re.compile(r"checkpoint-(\d{8,})\.json(?:\.bad)?")

Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Blob(msgspec.Struct, frozen=True):
    """A part's file, `<sha256>.safetensors`."""

    sha256: Sha256
    size: Annotated[int, msgspec.Meta(ge=8, le=MAX_PART)]
    version: Natural


class Checkpoint(msgspec.Struct, frozen=True):
    """A checkpoint's manifest, `checkpoint-<number>.json`."""

    format: Literal[1]
    run: str
    step: Natural
    samples: Natural
    time: float
    """Unix time."""
    parts: dict[str, Blob]


class Survey(NamedTuple):
    """What a checkpoint folder holds."""

    states: dict[str, Blob]
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
    """Raises:
    CheckpointError: it is damaged.
    OSError: it cannot be read.
    """
    if path.stat().st_size > MAX_MANIFEST:
        raise CheckpointError("it is too large")
    try:
        return msgspec.json.decode(path.read_bytes(), type=Checkpoint)
    except UNREADABLE as error:
        raise CheckpointError(str(error)) from error


def blob_path(folder: Path, sha256: str) -> Path:
    return folder / f"{sha256}{SUFFIX}"


def on_disk(size: int) -> int:
    """Bytes that a file of `size` bytes takes."""
    return -(-size // BLOCK) * BLOCK


def is_whole(folder: Path, blob: Blob) -> bool:
    """Whether a part's file is there and is what its name says; reads all of it."""
    path = blob_path(folder, blob.sha256)
    try:
        if path.stat().st_size != blob.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == blob.sha256
    except OSError:
        return False


def newest_states(folder: Path) -> dict[str, Blob]:
    """The parts of the newest checkpoint whose files are whole."""
    for path in manifests(folder):
        with contextlib.suppress(CheckpointError, OSError):
            return {part: blob for part, blob in read_manifest(path).parts.items() if is_whole(folder, blob)}
    return {}


def survey(folder: Path, good: Callable[[Blob], bool], elsewhere: Mapping[str, int]) -> Survey:
    """Tell what is needed from what is not.

    Args: the folder; whether a part's file is whole; the versions of parts that are kept in another folder.
    """
    found: list[tuple[Path, Checkpoint]] = []
    for path in manifests(folder):
        try:
            found.append((path, read_manifest(path)))
        except (CheckpointError, OSError):
            continue
    states: dict[str, Blob] = {}
    for index, (_, checkpoint) in enumerate(found):
        for part, blob in checkpoint.parts.items():
            needed = not index or elsewhere.get(part, -1) < blob.version
            if part not in states and needed and good(blob):
                states[part] = blob
    needed_files = {blob.sha256 for blob in states.values()}
    named: set[str] = set()
    spare: list[list[Path]] = []
    for index, (path, checkpoint) in enumerate(found):
        own = {blob.sha256 for blob in checkpoint.parts.values()}
        if index and not own & needed_files - named:
            spare.append([path, *(blob_path(folder, sha256) for sha256 in sorted(own - named - needed_files))])
        named |= own
    strays = [path for path in folder.glob(f"*{SUFFIX}") if path.stem not in named]
    return Survey(states, spare[::-1], [*strays, *folder.glob(f"*{PARTIAL}")])


def copies_of(folder: Path) -> list[tuple[str, Blob]]:
    """Of a folder of parts' files without manifests the part and the file of each, the newest first; none of them is
    checked."""
    found: list[tuple[str, Blob]] = []
    for path in folder.glob(f"*{SUFFIX}"):
        with contextlib.suppress(CheckpointError, OSError), path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            about = read_metadata(file.read(8 + MAX_HEADER), size)
            found.append((about.part, Blob(path.stem, size, about.version)))
    return sorted(found, key=lambda copy: copy[1].version, reverse=True)


def superseded_copies(folder: Path, good: Callable[[Blob], bool]) -> list[Path]:
    """Of a folder of parts' files without manifests those for which a newer one is there that is whole."""
    found: dict[str, list[Blob]] = {}
    for part, blob in copies_of(folder):
        found.setdefault(part, []).append(blob)
    old: list[Path] = []
    for blobs in found.values():
        newest = next((blob for blob in blobs if good(blob)), None)
        if newest is not None:
            old += [blob_path(folder, blob.sha256) for blob in blobs if blob.version < newest.version]
    return old

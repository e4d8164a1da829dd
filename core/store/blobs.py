"""Checkpoint files of experts and trunks on this disk, named by their hash: one's own newest, and copies for others."""

import hashlib
import logging
import os
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from core.contracts.errors import CheckpointError, ProtocolError
from core.experts.grid import Grid, Uid
from core.store.checkpoint_files import BLOBS
from core.store.part_header import MAX_HEADER, MAX_PART, read_metadata
from core.store.quota import HELD, SUPERSEDED, TRUNK, Disk, Spare

log = logging.getLogger(__name__)

VERSIONS = 2
"""Kept of a part while there is room: should the newest be damaged, the one before it serves."""
COPIES = 2
"""Other peers that shall keep each part's newest state."""
BAD_KEPT = 8
"""Damaged files and those of no use, the newest, for who wants to look at them."""
SUFFIX, PARTIAL, BAD = ".safetensors", ".partial", ".bad"
BLOCK = 1 << 20

Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Size = Annotated[int, msgspec.Meta(ge=8, le=MAX_PART)]
Version = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]


class Blob(NamedTuple):
    """A file of this disk."""

    part: str
    """A uid, or "trunk"."""
    version: int
    sha256: str
    size: int


class Blobs:
    """The blobs of one run. Not for several threads at once, but for `sha256_of`."""

    def __init__(self, folder: Path, grid: Grid, disk: Disk) -> None:
        """Args: the run's folder, its grid, and who gives room."""
        self._folder, self._grid, self._disk = folder / BLOBS, grid, disk
        disk.kept = lambda: {blob.part: blob.version for blob in self.all_newest()}
        self._blobs: dict[str, Blob] = {}
        self._parts: dict[str, list[Blob]] = {}
        """Each part's, newest first."""
        self._shared: dict[str, Path] = {}
        """Files elsewhere on this disk that others may read: those of the run's data."""

    def load(self) -> None:
        """Look at what is there. Damaged files are set aside, unfinished ones stay to be finished."""
        for path in [*self._folder.glob(f"*{SUFFIX}")]:
            try:
                if sha256_of(path) != path.stem:
                    raise CheckpointError("its content does not match its name")
                self._enter(self._described(path, path.stem))
            except CheckpointError as error:
                self._set_aside(path, str(error))
            except OSError as error:
                log.warning("%s cannot be read: %s", path, error.strerror)

    def newest(self, part: str) -> Blob | None:
        """The newest state of a part on this disk."""
        return next(iter(self._parts.get(part, ())), None)

    def all_newest(self) -> list[Blob]:
        """Of every part that is here."""
        return [blobs[0] for blobs in self._parts.values()]

    def share(self, sha256: str, path: Path) -> None:
        """Let others read a file that is kept elsewhere."""
        self._shared[sha256] = path

    def get(self, sha256: str) -> Blob | None:
        return self._blobs.get(sha256)

    def path(self, sha256: str) -> Path:
        return self._folder / f"{sha256}{SUFFIX}"

    def partial(self, sha256: str) -> Path:
        """Where a file is put together.

        Raises:
            OSError: the folder cannot be made.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder / f"{sha256}{PARTIAL}"

    def read(self, sha256: str, offset: int, length: int) -> tuple[int, bytes]:
        """The size of a file and some of its bytes.

        Raises:
            CheckpointError: it is not here (any more).
        """
        try:
            with (self._shared.get(sha256) or self.path(sha256)).open("rb") as file:
                file.seek(offset)
                return os.fstat(file.fileno()).st_size, file.read(length)
        except OSError as error:
            self._forget(sha256)
            raise CheckpointError(f"This peer does not have the file {sha256[:8]}. Ask another one.") from error

    def link(self, path: Path) -> Blob | None:
        """Take up a file of one's own checkpoints, at no cost where the disk can; None if it cannot be kept.

        Args: the file, named by its hash.
        """
        if (known := self._blobs.get(path.stem)) is not None:
            return known
        try:
            blob = self._described(path, path.stem)
            target = self.partial(path.stem)
            target.unlink(missing_ok=True)
            try:
                os.link(path, target)
            except OSError as error:  # a disk without hard links
                if not self._disk.take(blob.size):
                    raise CheckpointError("there is no room in the disk space that Hearth may use") from error
                shutil.copyfile(path, target)
            target.replace(self.path(path.stem))
        except (OSError, CheckpointError) as error:
            log.warning("No copy of %s is kept: %s", path.name, error)
            return None
        return self._enter(blob)

    def accept(self, blob: Blob) -> Blob:
        """Take up the finished partial file, whose hash has been checked.

        Raises:
            CheckpointError: it is not the state that it was said to be.
            OSError: it cannot be put in place.
        """
        partial = self.partial(blob.sha256)
        found = self._described(partial, blob.sha256)
        if found != blob:
            raise CheckpointError(f"it is version {found.version} of {found.part}, not {blob.version} of {blob.part}")
        partial.replace(self.path(blob.sha256))
        return self._enter(blob)

    def reject(self, sha256: str, why: str) -> None:
        """This file is of no use: it is kept no more, and the state before it serves."""
        self._forget(sha256)
        self._set_aside(self.path(sha256), why)

    def _set_aside(self, path: Path, why: str) -> None:
        log.warning("%s was set aside: %s.", path, why)
        try:
            path.replace(path.with_name(path.name + BAD))
            bad = sorted(self._folder.glob(f"*{BAD}"), key=lambda path: path.stat().st_mtime, reverse=True)
            for old in bad[BAD_KEPT:]:
                old.unlink()
        except OSError as error:
            log.warning("%s could not be set aside: %s", path, error.strerror)

    def spares(self, held: Mapping[str, int]) -> list[Spare]:
        """What may go: superseded states, and newest ones that at least `COPIES` others keep, those of most keepers
        and the oldest first; never a newest state that fewer keep.

        Args: for each part how many others keep the same or a newer state.
        """
        found = []
        for part, blobs in self._parts.items():
            for rank, blob in enumerate(blobs):
                need, order = (SUPERSEDED, ()) if rank else (HELD, (-held.get(part, 0), blob.version))
                if rank or held.get(part, 0) >= COPIES:
                    path = self.path(blob.sha256)
                    found.append(Spare(need, order, [path], partial(self._forget, blob.sha256)))
        return found

    def belongs(self, part: str) -> bool:
        """Whether the run has such a part."""
        try:
            return part == TRUNK or Uid.parse(part) in self._grid
        except ProtocolError:
            return False

    def _described(self, path: Path, sha256: str) -> Blob:
        """Raises:
        CheckpointError: it is of no part of this run.
        """
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            about = read_metadata(file.read(8 + MAX_HEADER), size)
        if not self.belongs(about.part) or about.run != self._grid.run:
            raise CheckpointError(f"it belongs to {about.part} of the run {about.run}")
        return Blob(about.part, about.version, sha256, size)

    def _enter(self, blob: Blob) -> Blob:
        self._blobs[blob.sha256] = blob
        blobs = self._parts.setdefault(blob.part, [])
        blobs.append(blob)
        blobs.sort(key=lambda b: b.version, reverse=True)
        for old in blobs[VERSIONS:]:
            self._remove(old)
        return blob

    def _remove(self, blob: Blob) -> None:
        try:
            self.path(blob.sha256).unlink(missing_ok=True)
        except OSError as error:
            log.warning("%s could not be removed: %s", self.path(blob.sha256), error.strerror)
        self._forget(blob.sha256)

    def _forget(self, sha256: str) -> None:
        if (gone := self._blobs.pop(sha256, None)) is not None:
            self._parts[gone.part].remove(gone)
            if not self._parts[gone.part]:
                del self._parts[gone.part]


def sha256_of(path: Path) -> str:
    """The hash of a file.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

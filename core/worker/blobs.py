"""Checkpoint files of experts and trunks on this disk, named by their hash: one's own newest, and copies for others."""

import hashlib
import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from core.errors import CheckpointError, ProtocolError
from core.experts.grid import Grid, Uid
from core.runtime.part_header import MAX_HEADER, MAX_PART, read_metadata

log = logging.getLogger(__name__)

FOLDER = "blobs"
"""Inside the run's folder."""
TRUNK = "trunk"
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

    def __init__(self, folder: Path, grid: Grid, cap_bytes: int) -> None:
        """Args: the run's folder, its grid, and the most that the files may take together."""
        self._folder, self._grid = folder / FOLDER, grid
        self.cap_bytes = cap_bytes
        self._blobs: dict[str, Blob] = {}
        self._parts: dict[str, list[Blob]] = {}
        """Each part's, newest first."""
        self._shared: dict[str, Path] = {}
        """Files elsewhere on this disk that others may read: those of the run's data."""
        self.coming: dict[str, int] = {}
        """Bytes of the files that are being fetched, by hash."""

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

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(blob.size for blob in self._blobs.values())

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

    def link(self, path: Path, held: Mapping[str, int]) -> Blob | None:
        """Take up a file of one's own checkpoints, at no cost where the disk can; None if it cannot be kept.

        Args: the file, named by its hash; for each part how many others keep the same or a newer state (`make_room`).
        """
        if (known := self._blobs.get(path.stem)) is not None:
            return known
        try:
            blob = self._described(path, path.stem)
            if not self.make_room(blob, held, here=True):
                log.warning("No copy of %s is kept: the disk space for checkpoints is full. See Settings.", blob.part)
                return None
            target = self.partial(path.stem)
            target.unlink(missing_ok=True)
            try:
                os.link(path, target)
            except OSError:  # another disk, or one without hard links
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

    def make_room(self, blob: Blob, held: Mapping[str, int], here: bool = False) -> bool:
        """Remove what is least needed until there is room for a file: superseded states, then those that most others
        keep, the oldest first; never the newest state of a part that fewer than `COPIES` others keep.

        Args: the newcomer; for each part how many others keep the same or a newer state; whether the newcomer is on
        this disk already, and so supersedes what is here of its part.

        Returns:
            Whether there is room now.
        """
        order: list[tuple[bool, int, int, Blob]] = []
        for part, blobs in self._parts.items():
            for rank, old in enumerate(blobs):
                superseded = rank > 0 or (here and old.part == blob.part and old.version < blob.version)
                if superseded or held.get(part, 0) >= COPIES:
                    order.append((not superseded, -held.get(part, 0), old.version, old))
        excess = self.size + sum(self.coming.values()) + blob.size - self.cap_bytes
        excess = self._tidy_partials(excess, blob.sha256)
        chosen = []
        for *_, victim in sorted(order):
            if excess <= 0:
                break
            chosen.append(victim)
            excess -= victim.size
        if excess > 0 or blob.size > shutil.disk_usage(self._folder.parent).free:
            return False
        for victim in chosen:
            self._remove(victim)
        return True

    def _tidy_partials(self, excess: int, but: str) -> int:
        """Count what was begun to be fetched and not finished, and remove the oldest of it as far as it is too much.

        Returns:
            How much too much there is then.
        """
        found = [path for path in self._folder.glob(f"*{PARTIAL}") if path.stem != but and path.stem not in self.coming]
        states = [(path, path.stat()) for path in found]
        excess += sum(state.st_size for _, state in states)
        for path, state in sorted(states, key=lambda item: item[1].st_mtime):
            if excess > 0:
                path.unlink(missing_ok=True)
                excess -= state.st_size
        return excess

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

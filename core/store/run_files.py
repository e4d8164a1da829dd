"""The files of one run on this disk that have a hash for a name: what is here of each part, and what may go.

Compute writes checkpoints; what other peers shall have too, or gave to be kept, is a *copy* beside them: a link to the
same file where the disk has links. Shards of the run's data are only named here.
"""

import asyncio
import logging
import os
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from core.contracts.errors import CheckpointError, ProtocolError
from core.contracts.files import TRUNK, PartFile
from core.contracts.net import DATA_READ, PACK_READ
from core.contracts.notices import notice
from core.experts.grid import Grid, Uid
from core.regular_files import open_regular
from core.store.checkpoint_files import BAD, BLOBS, CHECKPOINTS, SUFFIX, path_of, sha256_of
from core.store.disk_use import HELD, SUPERSEDED, Spare
from core.store.part_header import describe
from core.store.quota import Hosted, Quota
from core.store.writing import PARTIAL, remove

log = logging.getLogger(__name__)

VERSIONS = 2
"""Kept of a part while there is room: should the newest be damaged, the one before it serves."""
KEEPERS = 2
"""Other peers that shall keep each part's newest state."""
BAD_KEPT = 8
"""Damaged files and those of no use, the newest, for who wants to look at them."""


class RunFiles:
    """One for each run that is joined. Not for several threads at once, but for `read`."""

    def __init__(self, folder: Path, grid: Grid, hosted: Hosted, quota: Quota, wheels: Path | None = None) -> None:
        """
        Args:
            folder: The run's own.
            grid: The run's.
            hosted: Which experts this PC hosts.
            quota: Who gives room on the disk.
            wheels: Where files of GPU packs may be that the user keeps for others.
        """
        self._wheels = wheels
        self.folder, self.checkpoints = folder, folder / CHECKPOINTS
        self.hosted, self.quota = hosted, quota
        self.shared = False
        """Whether there may be others to host experts and to keep their states."""
        self._copies, self._grid = folder / BLOBS, grid
        self._by_hash: dict[str, PartFile] = {}
        self._by_part: dict[str, list[PartFile]] = {}
        """Each part's copies, newest first."""
        self._givers: dict[str, bytes] = {}
        """Of copies that were given to be kept, by hash: no giver pushes out what another one gave."""
        self._shards: dict[str, Path] = {}
        self.replicated: Sequence[Spare] = ()
        """Shards that were trained on, and that enough others have: the most replicated go first."""
        self._held: dict[str, dict[str, int]] = {}
        """By part the versions that other peers confirmed to keep."""
        self.on_saved: list[Callable[[Sequence[PartFile]], None]] = []
        """Told of the files of each checkpoint."""
        quota.join(self)

    # what compute writes

    def saved(self, files: Sequence[PartFile]) -> None:
        """Compute has made a checkpoint of these."""
        self.quota.saved(self, files)
        for listener in self.on_saved:
            listener(files)

    # what is here

    def load(self) -> None:
        """Look at the copies. Damaged files are set aside, unfinished ones stay to be finished."""
        for path in [*self._copies.glob(f"*{SUFFIX}")]:
            try:
                if sha256_of(path) != path.stem:
                    raise CheckpointError(notice("checkpoint.wrong_hash"))
                for old in self._enter(self._described(path, path.stem)):
                    remove(old)
            except CheckpointError as error:
                self._set_aside(path, str(error))
            except OSError as error:
                log.warning("%s cannot be read: %s", path, error.strerror)

    def newest(self, part: str) -> PartFile | None:
        """The newest copy of a part's states."""
        return next(iter(self._by_part.get(part, ())), None)

    def all_newest(self) -> list[PartFile]:
        """Of every part of which there is a copy."""
        return [files[0] for files in self._by_part.values()]

    def kept(self) -> dict[str, int]:
        """The newest version of every part of which there is a copy."""
        return {file.part: file.version for file in self.all_newest()}

    def get(self, sha256: str) -> PartFile | None:
        """A copy by its hash."""
        return self._by_hash.get(sha256)

    def path(self, sha256: str) -> Path:
        """Where a copy is."""
        return path_of(self._copies, sha256)

    def partial(self, sha256: str) -> Path:
        """Where a file is put together.

        Raises:
            OSError: The folder cannot be made.
        """
        self._copies.mkdir(parents=True, exist_ok=True)
        return self._copies / f"{sha256}{PARTIAL}"

    def share(self, sha256: str, path: Path) -> None:
        """Let others read a shard of the run's data."""
        self._shards[sha256] = path

    def unshare(self, sha256: str) -> None:
        """It is here no more."""
        self._shards.pop(sha256, None)

    def counted(self, sha256: str) -> str:
        """As what a file's bytes are counted: see `core.swarm.fetching.fetch_file`."""
        return self._place(sha256)[1]

    def _place(self, sha256: str) -> tuple[Path, str]:
        if (shard := self._shards.get(sha256)) is not None:
            return shard, DATA_READ
        if self._wheels and sha256 not in self._by_hash and (wheel := self._wheels / sha256).exists():
            return wheel, PACK_READ
        return self.path(sha256), ""

    def read(self, sha256: str, offset: int, length: int) -> tuple[int, bytes]:
        """The size of a file, and some of its bytes.

        Raises:
            CheckpointError: It is not here (any more).
        """
        try:
            with open_regular(self._place(sha256)[0]) as file:
                file.seek(offset)
                return os.fstat(file.fileno()).st_size, file.read(length)
        except OSError as error:
            raise CheckpointError(notice("checkpoint.not_at_peer", file=sha256[:8])) from error

    # what comes and goes

    async def keep(self, sha256: str) -> PartFile | None:
        """Make a copy of a file of the newest checkpoint, at no cost where the disk can; None if that fails."""
        if (known := self._by_hash.get(sha256)) is not None:
            return known
        path = path_of(self.checkpoints, sha256)
        try:
            file, is_kept = await asyncio.to_thread(self._linked, path, sha256)
            if not is_kept:  # a disk without hard links
                partial = self.partial(sha256)
                async with self.quota.hold(partial, file.size):
                    await asyncio.to_thread(shutil.copyfile, path, partial)
                    await asyncio.to_thread(partial.replace, self.path(sha256))
        except (OSError, CheckpointError) as error:
            log.warning("No copy of %s is kept: %s", path.name, error)
            return None
        for old in self._enter(file):
            await asyncio.to_thread(remove, old)
        return file

    def _linked(self, path: Path, sha256: str) -> tuple[PartFile, bool]:
        """A file of the newest checkpoint, and whether it could be made a copy by another name.

        Raises:
            CheckpointError: It is of no part of this run.
            OSError: It is not there, or nothing can be written.
        """
        file, target = self._described(path, sha256), self.partial(sha256)
        target.unlink(missing_ok=True)
        try:
            os.link(path, target)
        except OSError:
            return file, False
        target.replace(self.path(sha256))
        return file, True

    def accept(self, file: PartFile) -> None:
        """Take up the finished partial file, whose hash has been checked.

        Raises:
            CheckpointError: It is not the state that it was said to be.
            OSError: It cannot be put in place.
        """
        partial = self.partial(file.sha256)
        found = self._described(partial, file.sha256)
        if found != file:
            raise CheckpointError(notice("checkpoint.other_version", version=found.version, part=found.part))
        partial.replace(self.path(file.sha256))
        for old in self._enter(file):
            remove(old)

    def given(self, sha256: str, giver: bytes) -> None:
        """A copy that is about to come is given to be kept.

        Args:
            sha256: its hash.
            giver: the peer's key.
        """
        self._givers[sha256] = giver

    def reject(self, sha256: str, why: str) -> None:
        """This copy is of no use: it is kept no more, and the state before it serves."""
        self.forget(sha256)
        self._set_aside(self.path(sha256), why)

    def belongs(self, part: str) -> bool:
        """Whether the run has such a part."""
        try:
            return part == TRUNK or Uid.parse(part) in self._grid
        except ProtocolError:
            return False

    # what others keep

    def holders(self, part: str) -> dict[str, int]:
        """The versions of a part that other peers confirmed to keep, to be changed by who asks them."""
        return self._held.setdefault(part, {})

    def spares(self) -> list[Spare]:
        """What may go of the copies: superseded states, and newest ones that at least `KEEPERS` others keep, those of
        most keepers and the oldest first; never a newest state that fewer keep. Likewise of the shards."""
        found = [*self.replicated]
        for part, files in self._by_part.items():
            held = sum(version >= files[0].version for version in self._held.get(part, {}).values())
            for rank, file in enumerate(files):
                need, order = (SUPERSEDED, ()) if rank else (HELD, (-held, file.version))
                if rank or held >= KEEPERS:
                    found.append(Spare(need, order, [self.path(file.sha256)], partial(self.forget, file.sha256)))
        return found

    # inside

    def _described(self, path: Path, sha256: str) -> PartFile:
        """Raises:
        CheckpointError: it is of no part of this run.
        """
        file = describe(self._grid.run, path, sha256)
        if not self.belongs(file.part):
            raise CheckpointError(notice("checkpoint.of_another_part", part=file.part, run=self._grid.run))
        return file

    def _enter(self, file: PartFile) -> list[Path]:
        """Know a copy from now on; those that are not needed any more, to be removed."""
        self._by_hash[file.sha256] = file
        files = self._by_part.setdefault(file.part, [])
        files.append(file)
        files.sort(key=lambda f: f.version, reverse=True)
        superseded = []
        while len(files) > VERSIONS:
            old = self._superseded(files, file)
            superseded.append(self.path(old.sha256))
            self.forget(old.sha256)
        return superseded

    def _superseded(self, files: Sequence[PartFile], last: PartFile) -> PartFile:
        """Which state of a part is needed least, newest first: one of which the same giver gave a newer one."""
        givers = [self._givers.get(file.sha256) for file in files]
        again = [file for place, file in enumerate(files) if givers[place] in givers[:place]]
        return (again or [file for file in files if file != last])[-1]

    def forget(self, sha256: str) -> None:
        """A copy is not here any more."""
        self._givers.pop(sha256, None)
        if (gone := self._by_hash.pop(sha256, None)) is not None:
            self._by_part[gone.part].remove(gone)
            if not self._by_part[gone.part]:
                del self._by_part[gone.part]

    def _set_aside(self, path: Path, why: str) -> None:
        log.warning("%s was set aside: %s.", path, why)
        try:
            path.replace(path.with_name(path.name + BAD))
            bad = sorted(self._copies.glob(f"*{BAD}"), key=lambda path: path.stat().st_mtime, reverse=True)
            for old in bad[BAD_KEPT:]:
                old.unlink()
        except OSError as error:
            log.warning("%s could not be set aside: %s", path, error.strerror)

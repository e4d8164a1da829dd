"""Checkpoints: content-addressed safetensors files, and for each checkpoint one small manifest that names them.

A checkpoint exists once its manifest is in place, and that is written last: a crash at any point leaves the one before.
"""

import asyncio
import errno
import hashlib
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from core.contracts.errors import CheckpointError
from core.contracts.files import PartFile
from core.contracts.notices import Notice, notice, plain
from core.regular_files import read_regular
from core.store.checkpoint_files import (
    BAD,
    SUFFIX,
    Checkpoint,
    copies_of,
    is_whole,
    manifest_of,
    manifests,
    number,
    on_disk,
    path_of,
    read_manifest,
)
from core.store.part_header import check_owner
from core.store.writing import PARTIAL, remove, sync_folder, write_whole

log = logging.getLogger(__name__)

KEPT = 3
"""Checkpoints kept in the folder."""
BAD_KEPT = 4
"""Damaged files kept for a look at them."""
NOTES = 5
"""Damaged files that are told of one by one."""

Data = bytes | memoryview


class State(Protocol):
    """What is saved of a part: its weights and more, which nobody changes any more."""

    @property
    def version(self) -> int:
        """Steps that it has taken."""

    @property
    def samples(self) -> int:
        """Samples that it was trained on."""

    def pieces(self, run: str, name: str) -> list[Data]:
        """Its file, piece by piece.

        Raises:
            CheckpointError: It is not finite.
        """


Target = Callable[[bytes], None]
"""Takes a part's file; raises CheckpointError if that does not fit."""
Room = Callable[[str, int, int, bool], Awaitable[int]]
"""Asked for room for the file of the part that is named and, if there is, for all that are left (bytes), and told
whether the older states of what was written so far are superseded already; how many bytes may be written."""


async def _unbounded(part: str, needed: int, wanted: int, superseded: bool) -> int:
    return wanted


class CheckpointStore:
    """The checkpoints of one run in one folder. Only one process may write to it at a time; another may remove older
    checkpoints."""

    def __init__(self, folder: Path, run: str, keeps_all: bool = False, copies: Path | None = None) -> None:
        """
        Args:
            folder: That of the checkpoints.
            run: As the files name it.
            keeps_all: Whether what a save leaves out stays as it was saved last: on a PC that is alone nobody else
                has it.
            copies: A folder of parts' files from other peers, which may serve where there is none here.
        """
        self._folder = folder
        self._copies = copies
        self._run = run
        self._keeps_all = keeps_all
        self._sound: set[str] = set()  # hashes this process wrote or checked: such a file need not be written again
        self._writing = threading.Lock()

    async def save(
        self,
        step: int,
        samples: int,
        parts: Mapping[str, State | Callable[[], Awaitable[State]]],
        room: Room = _unbounded,
        staged: Callable[[Checkpoint], object] = lambda checkpoint: None,
    ) -> Checkpoint:
        """Save all parts, one after the other, in another thread: one save at a time.

        Where there is no room for all of them beside their older states, it is done in stages: some parts make a
        checkpoint with the older states of the others, then what they supersede can go. A part that has no older state
        is left out where there is no room even then.

        Args:
            step: Of the trunk.
            samples: Those that the trunk was trained on.
            parts: By name, or what copies each in the caller's thread when its turn has come, so that never more than
                one is held.
            room: Who gives room.
            staged: Who is told of each stage.

        Raises:
            CheckpointError: The disk is full or cannot be written, or a part is not finite, which would push the good
                ones out; the older checkpoints stay as they were.
        """
        files: dict[str, PartFile] = {}
        added: list[Path] = []
        allowed = 0
        try:
            for done, (name, part) in enumerate(parts.items()):
                state = await part() if callable(part) else part
                file, data = await asyncio.to_thread(self._described, step, name, state)
                if data and (size := on_disk(file.size)) > allowed:
                    allowed = await room(name, size, size * (len(parts) - done), not added)
                    if size > allowed and added:
                        staged(await asyncio.to_thread(self._finish, step, samples, files, added, parts.keys()))
                        allowed = await room(name, size, size * (len(parts) - done), True)
                    if size > allowed:
                        await asyncio.to_thread(self._leave_out, step, name)
                        continue
                if data:
                    allowed -= on_disk(file.size)
                    await asyncio.to_thread(self._write_part, file, data, added)
                files[name] = file
                del state, data
            return await asyncio.to_thread(self._finish, step, samples, files, added)
        except (CheckpointError, OSError) as error:
            for path in added:
                self._sound.discard(path.stem)
                remove(path)
            if isinstance(error, CheckpointError):
                raise
            raise CheckpointError(_advice(self._folder, step, error)) from error

    def _leave_out(self, step: int, name: str) -> None:
        """Raises:
        CheckpointError: the newest checkpoint has an older state of the part, which would go with it.
        """
        before = self._logged()
        if before and name in before[0].parts:
            raise CheckpointError(notice("checkpoint.no_room", step=step))
        log.info("There is no room for the first state of %s.", name)

    def restore(self, targets: Mapping[str, Target]) -> tuple[Notice, ...]:
        """Give each target its newest undamaged part; what was wrong.

        A damaged manifest or part is set aside, and the checkpoint before it serves instead, also where a target
        refuses a part that does not fit it, by raising CheckpointError. Where parts are missing, or something was
        damaged, newer copies serve. May be called from any thread.
        """
        with self._writing:
            return self._restore(targets)

    def _restore(self, targets: Mapping[str, Target]) -> tuple[Notice, ...]:
        notes: list[Notice] = []
        checkpoints = list(self._readable(notes))
        versions: dict[str, int] = {}
        for name, accept in targets.items():
            files = dict.fromkeys(checkpoint.parts[name] for checkpoint in checkpoints if name in checkpoint.parts)
            used = next((file for file in files if self._restore_part(file, accept, notes)), None)
            if used is not None:
                versions[name] = used.version
        # Where experts are missing, this PC was one of many: what it has of the trunk is as old as its last save of it.
        copied = bool(notes or targets.keys() - versions.keys()) and self._restore_copies(targets, versions)
        missing = [name for name in targets if name not in versions]
        lost = [name for name in missing if any(name in checkpoint.parts for checkpoint in checkpoints)]
        found = [*_shortened(notes, bool(checkpoints or copied), lost)]
        if copied and missing:
            found.append(notice("checkpoint.not_here", n=len(missing), all=len(targets)))
        return tuple(found)

    def _restore_copies(self, targets: Mapping[str, Target], versions: dict[str, int]) -> bool:
        """Have copies serve that are newer than `versions`, which are brought up to date; whether any did."""
        copied = False
        for file in copies_of(self._run, self._copies) if self._copies else ():
            if file.part not in targets or file.version <= versions.get(file.part, -1):
                continue
            try:
                targets[file.part](self._read(file, self._copies))
            except (CheckpointError, OSError) as error:
                log.warning("A copy of %s cannot be used: %s", file.part, error)
            else:
                versions[file.part], copied = file.version, True
        return copied

    def _restore_part(self, file: PartFile, accept: Target, notes: list[Notice]) -> bool:
        path = path_of(self._folder, file.sha256)
        try:
            data = self._read(file)
        except (CheckpointError, OSError) as error:
            self._sound.discard(file.sha256)
            damage = notice("checkpoint.part_unusable", part=file.part, why=_reason(error))
            notes.append(self._set_aside(path, error, damage))
            return False
        try:
            accept(data)
        except CheckpointError as error:
            notes.append(notice("checkpoint.part_does_not_fit", part=file.part, why=_reason(error)))
            return False
        self._sound.add(file.sha256)
        return True

    def _read(self, file: PartFile, folder: Path | None = None) -> bytes:
        path = path_of(folder or self._folder, file.sha256)
        if (size := path.stat().st_size) != file.size:
            raise CheckpointError(notice("checkpoint.wrong_size", found=size, due=file.size))
        data = read_regular(path, file.size)
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise CheckpointError(notice("checkpoint.wrong_hash"))
        check_owner(self._run, file.part, data)
        return data

    def _readable(self, notes: list[Notice]) -> Iterator[Checkpoint]:
        for path in manifests(self._folder):
            try:
                checkpoint = read_manifest(path)
                if checkpoint.run != self._run:
                    raise CheckpointError(notice("checkpoint.of_another_run", run=checkpoint.run))
            except FileNotFoundError:
                continue  # its room was needed for something else just now
            except (CheckpointError, OSError) as error:
                damage = notice("checkpoint.file_unusable", file=path.name, why=_reason(error))
                notes.append(self._set_aside(path, error, damage))
            else:
                yield checkpoint

    def _logged(self) -> list[Checkpoint]:
        notes: list[Notice] = []
        checkpoints = list(self._readable(notes))
        for note in notes:
            log.warning("%s", note)
        return checkpoints

    def _described(self, step: int, name: str, state: State) -> tuple[PartFile, list[Data]]:
        """A part's file and what to write; nothing if that is there already and sound."""
        try:
            data = state.pieces(self._run, name)
        except CheckpointError as error:
            raise CheckpointError(notice("checkpoint.broken", step=step, why=error.notice)) from error
        digest = hashlib.sha256()
        for piece in data:
            digest.update(piece)
        file = PartFile(name, state.version, state.samples, digest.hexdigest(), sum(map(len, data)))
        return file, [] if self._is_there(file) else data

    def _write_part(self, file: PartFile, data: list[Data], added: list[Path]) -> None:
        """`added` gets the path if there was no such file before."""
        path = path_of(self._folder, file.sha256)
        with self._writing:
            self._folder.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                added.append(path)
            write_whole(path, data)
            self._sound.add(file.sha256)

    def _finish(
        self, step: int, samples: int, files: dict[str, PartFile], added: list[Path], stage: Collection[str] = ()
    ) -> Checkpoint:
        """Make the parts that were written a checkpoint; in a stage (all names) with the others as they were."""
        with self._writing:
            self._folder.mkdir(parents=True, exist_ok=True)
            before = self._logged()
            newest = before[0] if before else None
            parts = self._completed(files, before, stage)
            if newest and (newest.step, newest.parts) == (step, parts) and not added:
                return newest
            if stage and newest:
                step, samples = newest.step, newest.samples
            checkpoint = Checkpoint(self._run, step, samples, time.time(), parts)
            sync_folder(self._folder)
            added.append(self._next_manifest())
            write_whole(added[-1], [manifest_of(checkpoint)])
            sync_folder(self._folder)
            added.clear()  # it is in place: whatever comes now, its files stay
            self._prune()
            return checkpoint

    def _completed(
        self, files: Mapping[str, PartFile], before: Sequence[Checkpoint], stage: Collection[str]
    ) -> dict[str, PartFile]:
        """`files`, and of every other part that stays its newest state that is whole."""
        whole = dict(files)
        for checkpoint in before:
            for name, file in checkpoint.parts.items():
                stays = name not in whole and (self._keeps_all or name in stage)
                if stays and (self._is_there(file) or is_whole(self._folder, file)):
                    self._sound.add(file.sha256)
                    whole[name] = file
        return whole

    def _prune(self) -> None:
        for path in manifests(self._folder)[KEPT:]:
            remove(path)
        used = {file.sha256 for checkpoint in self._logged() for file in checkpoint.parts.values()}
        for path in self._folder.glob(f"*{SUFFIX}"):
            if path.stem not in used:
                self._sound.discard(path.stem)
                remove(path)
        for path in self._folder.glob(f"*{PARTIAL}"):
            remove(path)

    def _set_aside(self, path: Path, error: Exception, damage: Notice) -> Notice:
        """Rename a damaged file, but leave one that could not be read; the damage, and what became of the file."""
        if isinstance(error, OSError):
            return damage
        try:
            path.replace(path.with_name(path.name + BAD))
        except OSError as failure:
            return notice("checkpoint.not_set_aside", damage=damage, file=path.name, why=str(failure.strerror))
        for old in sorted(self._folder.glob(f"*{BAD}"), key=_age, reverse=True)[BAD_KEPT:]:
            remove(old)
        return notice("checkpoint.set_aside", damage=damage, file=f"{path.name}{BAD}")

    def _next_manifest(self) -> Path:
        newest = max(map(number, self._folder.glob("checkpoint-*.json*")), default=0)
        return self._folder / f"checkpoint-{newest + 1:08}.json"

    def _is_there(self, file: PartFile) -> bool:
        try:
            return file.sha256 in self._sound and path_of(self._folder, file.sha256).stat().st_size == file.size
        except OSError:
            return False


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _shortened(notes: list[Notice], found: bool, missing: list[str]) -> tuple[Notice, ...]:
    """The first notes, how many more there are, and what the damage led to."""
    if not notes:
        return ()
    more = [notice("checkpoint.more_damaged", n=len(notes) - NOTES)] if len(notes) > NOTES else []
    if not found:
        result = notice("checkpoint.none_left")
    elif missing:
        result = notice("checkpoint.parts_lost", n=len(missing))
    else:
        result = notice("checkpoint.replaced")
    return (*notes[:NOTES], *more, result)


def _reason(error: Exception) -> Notice:
    if isinstance(error, FileNotFoundError):
        return notice("checkpoint.missing")
    return error.notice if isinstance(error, CheckpointError) else plain(getattr(error, "strerror", "") or str(error))


def _advice(folder: Path, step: int, error: OSError) -> Notice:
    full = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
    if error.errno in full:
        return notice("checkpoint.disk_full", step=step, folder=str(folder))
    if error.errno in {errno.EROFS, errno.EACCES, errno.EPERM}:
        return notice("checkpoint.not_allowed", step=step, folder=str(folder), why=str(error.strerror))
    return notice("checkpoint.not_written", step=step, folder=str(folder), why=str(error.strerror))

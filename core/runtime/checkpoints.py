"""Checkpoints: content-addressed safetensors files, and for each checkpoint one small manifest that names them.

A checkpoint exists once its manifest is in place, and that is written last: a crash at any point leaves the one before.
"""

import asyncio
import errno
import hashlib
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from core.contracts.errors import CheckpointError
from core.runtime.part_files import Part, pieces, unpack
from core.store.checkpoint_files import (
    BAD,
    PARTIAL,
    SUFFIX,
    Blob,
    Checkpoint,
    blob_path,
    copies_of,
    is_whole,
    manifests,
    number,
    on_disk,
    read_manifest,
)

log = logging.getLogger(__name__)

KEPT = 3
"""Checkpoints kept in the folder."""
BAD_KEPT = 4
"""Damaged files kept for a look at them."""
NOTES = 5
"""Damaged files that are told of one by one."""
NO_ROOM = "it does not fit into the disk space that you allow Hearth. Allow more in Settings."

Room = Callable[[int, int, bool], Awaitable[int]]
"""Asked for room for the next file and, if there is, for all that are left (bytes), and told whether the older states
of what was written so far are superseded already; how many bytes may be written."""


class Restored(NamedTuple):
    """What was found in the folder."""

    checkpoint: Checkpoint | None
    """The newest one whose manifest is good."""
    missing: list[str]
    """Parts that no checkpoint holds undamaged: they start anew."""
    notes: tuple[str, ...]
    """Sentences for the user about what was set aside."""


async def _unbounded(needed: int, wanted: int, superseded: bool) -> int:
    return wanted


class CheckpointStore:
    """The checkpoints of one run in one folder. Only one process may write to it at a time; another may remove older
    checkpoints."""

    def __init__(self, folder: Path, run: str, keeps_all: bool = False, copies: Path | None = None) -> None:
        """Args: the folder, the run, whether what a save leaves out stays as it was saved last (on a PC that is alone
        nobody else has it), and a folder of parts' files from other peers that may serve where there is none here."""
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
        parts: Mapping[str, Part | Callable[[], Awaitable[Part]]],
        room: Room = _unbounded,
        staged: Callable[[Checkpoint], object] = lambda checkpoint: None,
    ) -> Checkpoint:
        """Save all parts, one after the other, in another thread: one save at a time.

        Where there is no room for all of them beside their older states, it is done in stages: some parts make a
        checkpoint with the older states of the others, then what they supersede can go.

        Args: step and samples of the trunk; the parts, as copies that nobody changes any more, or what copies each in
        the caller's thread when its turn has come, so that never more than one is held; who gives room; who is told
        of each stage.

        Raises:
            CheckpointError: the disk is full or cannot be written, or a part is not finite, which would push the good
                ones out; the older checkpoints stay as they were.
        """
        blobs: dict[str, Blob] = {}
        added: list[Path] = []
        allowed = 0
        try:
            for done, (name, part) in enumerate(parts.items()):
                whole = part if isinstance(part, Part) else await part()
                blob, data = await asyncio.to_thread(self._described, step, name, whole)
                if data and (size := on_disk(blob.size)) > allowed:
                    allowed = await room(size, size * (len(parts) - done), not added)
                    if size > allowed and added:
                        staged(await asyncio.to_thread(self._finish, step, samples, blobs, added, parts.keys()))
                        allowed = await room(size, size * (len(parts) - done), True)
                    if size > allowed:
                        raise CheckpointError(f"{_unsaved(step)}{NO_ROOM} The older checkpoint stays.")
                if data:
                    allowed -= on_disk(blob.size)
                    await asyncio.to_thread(self._write_part, blob, data, added)
                blobs[name] = blob
                del whole, data
            return await asyncio.to_thread(self._finish, step, samples, blobs, added)
        except (CheckpointError, OSError) as error:
            for path in added:
                self._sound.discard(path.stem)
                _remove(path)
            if isinstance(error, CheckpointError):
                raise
            raise CheckpointError(_advice(self._folder, step, error)) from error

    def restore(self, targets: Mapping[str, Callable[[Part], None]]) -> Restored:
        """Give each target its newest undamaged part.

        A damaged manifest or part is set aside, and the checkpoint before it serves instead, also where a target
        refuses a part that does not fit it, by raising CheckpointError. Where parts are missing, or something was
        damaged, newer copies serve. May be called from any thread.
        """
        with self._writing:
            return self._restore(targets)

    def _restore(self, targets: Mapping[str, Callable[[Part], None]]) -> Restored:
        notes: list[str] = []
        checkpoints = list(self._readable(notes))
        versions: dict[str, int] = {}
        for name, accept in targets.items():
            blobs = dict.fromkeys(checkpoint.parts[name] for checkpoint in checkpoints if name in checkpoint.parts)
            used = next((blob for blob in blobs if self._restore_part(name, blob, accept, notes)), None)
            if used is not None:
                versions[name] = used.version
        # Where experts are missing, this PC was one of many: what it has of the trunk is as old as its last save of it.
        copied = bool(notes or targets.keys() - versions.keys()) and self._restore_copies(targets, versions)
        newest = checkpoints[0] if checkpoints else None
        missing = [name for name in targets if name not in versions]
        lost = [name for name in missing if any(name in checkpoint.parts for checkpoint in checkpoints)]
        found = [*_shortened(notes, bool(newest or copied), lost)]
        if copied and missing:
            found.append(
                f"No state of {len(missing)} of the {len(targets)} parts is on this PC: these start from the beginning."
            )
        return Restored(newest, missing, tuple(found))

    def _restore_copies(self, targets: Mapping[str, Callable[[Part], None]], versions: dict[str, int]) -> bool:
        """Have copies serve that are newer than `versions`, which are brought up to date; whether any did."""
        copied = False
        for name, blob in copies_of(self._copies) if self._copies else ():
            if name not in targets or blob.version <= versions.get(name, -1):
                continue
            try:
                targets[name](self._read(name, blob, self._copies))
            except (CheckpointError, OSError) as error:
                log.warning("A copy of %s cannot be used: %s", name, error)
            else:
                versions[name], copied = blob.version, True
        return copied

    def _restore_part(self, name: str, blob: Blob, accept: Callable[[Part], None], notes: list[str]) -> bool:
        path = self._blob_path(blob.sha256)
        try:
            part = self._read(name, blob)
        except (CheckpointError, OSError) as error:
            self._sound.discard(blob.sha256)
            notes.append(f"The saved state of {name} cannot be used: {_reason(error)}.{self._set_aside(path, error)}")
            return False
        try:
            accept(part)
        except CheckpointError as error:
            notes.append(f"The saved state of {name} does not fit: {_reason(error)}.")
            return False
        self._sound.add(blob.sha256)
        return True

    def _read(self, name: str, blob: Blob, folder: Path | None = None) -> Part:
        path = blob_path(folder or self._folder, blob.sha256)
        if (size := path.stat().st_size) != blob.size:
            raise CheckpointError(f"it has {size} bytes instead of {blob.size}")
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != blob.sha256:
            raise CheckpointError("its content does not match its checksum")
        return unpack(self._run, name, data)

    def _readable(self, notes: list[str]) -> Iterator[Checkpoint]:
        """The checkpoints whose manifests are good, newest first."""
        for path in manifests(self._folder):
            try:
                checkpoint = read_manifest(path)
                if checkpoint.run != self._run:
                    raise CheckpointError(f"it belongs to the run {checkpoint.run!r}")
            except FileNotFoundError:
                continue  # its room was needed for something else just now
            except (CheckpointError, OSError) as error:
                notes.append(f"{path.name} cannot be used: {_reason(error)}.{self._set_aside(path, error)}")
            else:
                yield checkpoint

    def _logged(self) -> list[Checkpoint]:
        notes: list[str] = []
        checkpoints = list(self._readable(notes))
        for note in notes:
            log.warning(note)
        return checkpoints

    def _described(self, step: int, name: str, part: Part) -> tuple[Blob, list[bytes | memoryview]]:
        """A part's file and what to write; nothing if that is there already and sound."""
        if not all(bool(tensor.isfinite().all()) for tensor in part.tensors.values()):
            raise CheckpointError(
                f"{_unsaved(step)}{name} holds NaN or infinity. Quit Hearth and start it again: it goes on from the "
                "older checkpoint."
            )
        data = pieces(self._run, name, part)
        digest = hashlib.sha256()
        for piece in data:
            digest.update(piece)
        blob = Blob(digest.hexdigest(), sum(map(len, data)), part.version)
        return blob, [] if self._is_there(blob) else data

    def _write_part(self, blob: Blob, data: list[bytes | memoryview], added: list[Path]) -> None:
        """`added` gets the path if there was no such file before."""
        path = self._blob_path(blob.sha256)
        with self._writing:
            self._folder.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                added.append(path)
            _write_file(path, data)
            self._sound.add(blob.sha256)

    def _finish(
        self, step: int, samples: int, blobs: dict[str, Blob], added: list[Path], stage: Collection[str] = ()
    ) -> Checkpoint:
        """Make the parts that were written a checkpoint; in a stage (all names) with the others as they were."""
        with self._writing:
            self._folder.mkdir(parents=True, exist_ok=True)
            before = self._logged()
            newest = before[0] if before else None
            parts = self._completed(blobs, before, stage)
            if newest and (newest.step, newest.parts) == (step, parts) and not added:
                return newest
            if stage and newest:
                step, samples = newest.step, newest.samples
            checkpoint = Checkpoint(1, self._run, step, samples, time.time(), parts)
            _sync_folder(self._folder)
            added.append(self._next_manifest())
            _write_file(added[-1], [msgspec.json.format(msgspec.json.encode(checkpoint))])
            _sync_folder(self._folder)
            added.clear()  # it is in place: whatever comes now, its files stay
            self._prune()
            return checkpoint

    def _completed(
        self, blobs: Mapping[str, Blob], before: Sequence[Checkpoint], stage: Collection[str]
    ) -> dict[str, Blob]:
        """`blobs`, and of every other part that stays its newest state that is whole."""
        whole = dict(blobs)
        for checkpoint in before:
            for name, blob in checkpoint.parts.items():
                stays = name not in whole and (self._keeps_all or name in stage)
                if stays and (self._is_there(blob) or is_whole(self._folder, blob)):
                    self._sound.add(blob.sha256)
                    whole[name] = blob
        return whole

    def _prune(self) -> None:
        for path in manifests(self._folder)[KEPT:]:
            _remove(path)
        used = {blob.sha256 for checkpoint in self._logged() for blob in checkpoint.parts.values()}
        for path in self._folder.glob(f"*{SUFFIX}"):
            if path.stem not in used:
                self._sound.discard(path.stem)
                _remove(path)
        for path in self._folder.glob(f"*{PARTIAL}"):
            _remove(path)

    def _set_aside(self, path: Path, error: Exception) -> str:
        """Rename a damaged file, but leave one that could not be read; a sentence about it with a space before it."""
        if isinstance(error, OSError):
            return ""
        try:
            path.replace(path.with_name(path.name + BAD))
        except OSError as failure:
            return f" {path.name} could not be renamed ({failure.strerror})."
        for old in sorted(self._folder.glob(f"*{BAD}"), key=_age, reverse=True)[BAD_KEPT:]:
            _remove(old)
        return f" It was kept as {path.name}{BAD}."

    def _next_manifest(self) -> Path:
        newest = max(map(number, self._folder.glob("checkpoint-*.json*")), default=0)
        return self._folder / f"checkpoint-{newest + 1:08}.json"

    def _blob_path(self, sha256: str) -> Path:
        return blob_path(self._folder, sha256)

    def _is_there(self, blob: Blob) -> bool:
        try:
            return blob.sha256 in self._sound and self._blob_path(blob.sha256).stat().st_size == blob.size
        except OSError:
            return False


def _write_file(path: Path, data: Sequence[bytes | memoryview]) -> None:
    """Put a whole file in place, on the disk and not only in its cache, or none."""
    partial = path.with_name(path.name + PARTIAL)
    try:
        with partial.open("wb") as file:
            for piece in data:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        _remove(partial)
        raise


def _sync_folder(folder: Path) -> None:
    """Make renames last through a power failure; Windows has no such call and does it by itself."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s could not be removed: %s", path, error.strerror)


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _shortened(notes: list[str], found: bool, missing: list[str]) -> tuple[str, ...]:
    """The first notes, how many more there are, and what the damage led to."""
    if not notes:
        return ()
    more = [f"{len(notes) - NOTES} more files of the checkpoints are damaged."] if len(notes) > NOTES else []
    if not found:
        result = "No checkpoint is left: training starts from the beginning."
    elif missing:
        result = f"No checkpoint holds {len(missing)} of the parts undamaged: these start from the beginning."
    else:
        result = "What is missing was taken from the checkpoint before it, or from newer copies."
    return (*notes[:NOTES], *more, result)


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "it is not there"
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _advice(folder: Path, step: int, error: OSError) -> str:
    full = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
    if error.errno in full:
        what = f"there is no space left for {folder}. Free some space on that disk."
    elif error.errno in {errno.EROFS, errno.EACCES, errno.EPERM}:
        what = f"{folder} cannot be written ({error.strerror}). Give Hearth the right to write there."
    else:
        what = f"writing to {folder} failed ({error.strerror}). Look at that disk."
    return f"{_unsaved(step)}{what} The older checkpoint stays."


def _unsaved(step: int) -> str:
    return f"The checkpoint at step {step} was not saved: "

"""One file with what this PC must not lose: key, ledger, settings and runs; checkpoints, if they are wanted too.

It is a ZIP archive. `MANIFEST`, its last entry, names the files with their sizes and hashes. Who has the file has the
key. A restored file is checked as one of a stranger: every name, count and size before anything is made of it.
"""

import contextlib
import errno
import hashlib
import os
import re
import shutil
import sqlite3
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Annotated, BinaryIO, Literal

import msgspec

from core.contracts.errors import UNREADABLE, DataFolderError
from core.contracts.notices import notice
from core.regular_files import open_regular
from core.store import restored
from core.store.checkpoint_files import BLOBS, CHECKPOINTS
from core.store.data_folder import HELD, LAYOUT, RUNS, backing_up
from core.store.moving import CHUNK, PASSING, Told
from core.store.shards import FOLDER as SHARDS
from core.store.shards import OWN
from core.store.sizes import RUNTIMES
from core.store.writing import PARTIAL

MANIFEST = "hearth-backup.json"
MOST_FILES, MOST_INDEX, MOST_MANIFEST = 200_000, 64 << 20, 64 << 20
"""Of an archive: entries, bytes of ZIP's own index, bytes of the manifest. 1,000 experts have 5,000 files."""
MOST_DEPTH, MOST_NAME = 16, 1024
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._ +@=-]*\Z")
"""Of each part of a path: what Hearth calls its files, and nothing that any system understands otherwise."""
DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?\Z", re.IGNORECASE)
DATABASES = (".db", ".sqlite")
LEFT_OUT = (*PASSING, "logs", "backups", RUNTIMES, HELD, restored.FOLDER, restored.FILE)
"""GPU packs are programs: none is ever taken from a backup."""
BESIDE = ("-wal", "-shm", "-journal", PARTIAL)
"""Ends of names that belong to an open database or to a file that is being written."""
FAULTS = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError, RuntimeError, struct.error)
"""What `zipfile` raises for an archive that is not as it should be."""
END, END64 = struct.Struct("<4s4H2LH"), struct.Struct("<4sQ2H2L4Q")
LOCATOR_SIZE = 20


class Entry(msgspec.Struct, frozen=True):
    """A file of the backup."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_NAME)]
    size: Annotated[int, msgspec.Meta(ge=0, le=1 << 46)]
    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class Backup(msgspec.Struct, frozen=True):
    """The manifest."""

    format: Literal[1]
    layout: Annotated[int, msgspec.Meta(ge=1)]
    """Of the data folder, as `core.store.data_folder.LAYOUT`."""
    checkpoints: bool
    files: Annotated[tuple[Entry, ...], msgspec.Meta(max_length=MOST_FILES)]


def back_up(
    folder: Path, out: Path, checkpoints: bool = False, force: bool = False, told: Told = lambda done, total: None
) -> None:
    """Write the backup; a worker may run meanwhile.

    Args:
        folder: the data folder.
        out: the file, readable by its owner only.
        checkpoints: whether those, and an organiser's own data, are in it.
        force: whether a file that is there is replaced.
        told: see `core.store.moving.Told`.

    Raises:
        DataFolderError: it cannot be written, or there is such a file; nothing is left behind.
    """
    if out.exists() and not force:
        raise DataFolderError(notice("backup.exists", file=str(out)))
    unfinished = out.with_name(out.name + PARTIAL)
    try:
        unfinished.unlink(missing_ok=True)  # one that somebody else has put there would be read by them
        descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(descriptor, "w+b") as file:
            _write(folder, file, checkpoints, told)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(out)
    except (OSError, sqlite3.Error) as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        why = str(getattr(error, "strerror", None) or error)
        raise DataFolderError(notice("backup.not_written", file=str(out), why=why)) from error


def _write(folder: Path, file: BinaryIO, checkpoints: bool, told: Told) -> None:
    names = [*_names(folder, checkpoints)]
    total, done, entries = sum(size for _, size in names), 0, []
    with zipfile.ZipFile(file, "w") as archive, _held(folder, [name for name, _ in names]) as held:
        for name, _ in names:
            with contextlib.suppress(FileNotFoundError), _opened(held.get(name, folder / name)) as source:
                packed = zipfile.ZIP_STORED if name in held else zipfile.ZIP_DEFLATED
                entries.append(Entry(name, *_add(archive, name, source, packed, partial(_tell, told, done, total))))
                done += entries[-1].size
        document = msgspec.json.encode(Backup(1, LAYOUT, checkpoints, tuple(entries)))
        archive.writestr(zipfile.ZipInfo(MANIFEST), document)


def _tell(told: Told, before: int, total: int, more: int) -> None:
    told(min(before + more, total), total)


@contextlib.contextmanager
def _held(folder: Path, names: list[str]) -> Iterator[dict[str, Path]]:
    """Names of checkpoints' files under which they stay although a worker removes old ones meanwhile.

    Raises:
        OSError: another backup is being made.
    """
    held = dict[str, Path]()
    checkpoints = [name for name in names if CHECKPOINTS in PurePosixPath(name).parts]
    if not checkpoints:
        yield held
        return
    with backing_up(folder) as place:
        for name in checkpoints:
            with contextlib.suppress(OSError):  # it has gone, or the disk has no links
                (place / str(len(held))).hardlink_to(folder / name)
                held[name] = place / str(len(held))
        yield held


def _names(folder: Path, checkpoints: bool) -> Iterator[tuple[str, int]]:
    """What is backed up, and how large it is about."""
    for parent, folders, names in os.walk(folder):
        here = Path(parent).relative_to(folder)
        inside = len(here.parts) == 2 and here.parts[0] == RUNS
        out = {*LEFT_OUT, *(() if checkpoints else (OWN,))} if not here.parts else set()
        out |= {BLOBS, SHARDS, *(() if checkpoints else (CHECKPOINTS,))} if inside else set()
        folders[:] = sorted(name for name in folders if name not in out)
        for name in sorted(names):
            path = here / name
            if name not in out and not name.endswith(BESIDE) and _is_named_well(path.as_posix()):
                with contextlib.suppress(OSError):
                    about = Path(parent, name).lstat()
                    if stat.S_ISREG(about.st_mode):  # what a link leads to may be another's, and a pipe has no end
                        yield path.as_posix(), about.st_size


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """A file, or a database as it is between two changes."""
    if path.suffix not in DATABASES:
        with open_regular(path) as file:
            yield file
        return
    copy = path.with_name(f"{path.name}.backup{PARTIAL}")
    try:
        with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        with open_regular(copy) as file:
            yield file
    finally:
        copy.unlink(missing_ok=True)


def _add(
    archive: zipfile.ZipFile, name: str, source: BinaryIO, packed: int, told: Callable[[int], None]
) -> tuple[int, str]:
    """Put a file into the archive; its bytes and its hash."""
    info = zipfile.ZipInfo(name)
    info.compress_type, info.external_attr = packed, 0o600 << 16
    digest, size = hashlib.sha256(), 0
    with archive.open(info, "w", force_zip64=True) as target:
        while piece := source.read(CHUNK):
            target.write(piece)
            digest.update(piece)
            size += len(piece)
            told(size)
    return size, digest.hexdigest()


def check_restore(folder: Path, file: Path, force: bool = False) -> None:
    """Whether a backup could be put in the place of the data, as far as can be told without writing.

    Args, Raises: as `restore`.
    """
    if not force and any(path.name not in restored.STAYS and path.name != "logs" for path in folder.iterdir()):
        raise DataFolderError(notice("restore.not_empty", folder=str(folder)))
    with _told(file), _readable(folder, file):
        pass


def restore(folder: Path, file: Path, force: bool = False, told: Told = lambda done, total: None) -> None:
    """Put what a backup holds in the place of the data. Who calls owns the folder's locks.

    Args:
        folder: the data folder.
        file: the backup.
        force: whether data that are there are replaced.
        told: see `core.store.moving.Told`.

    Raises:
        DataFolderError: the file is none, is damaged, or there are data already; nothing has changed.
    """
    check_restore(folder, file, force)
    restored.clear(folder)
    try:
        with _told(file), _readable(folder, file) as (archive, backup):
            _unpack(archive, backup, folder / restored.FOLDER, told)
            restored.commit(folder)
    except DataFolderError:
        restored.clear(folder)
        raise
    restored.finish(folder)


@contextlib.contextmanager
def _readable(folder: Path, file: Path) -> Iterator[tuple[zipfile.ZipFile, Backup]]:
    """A backup that is as it says, up to what its files hold, and fits on the folder's disk."""
    with open_regular(file) as opened:
        _check_index(opened)
        with _archive(opened) as archive:
            backup = _manifest(archive)
            _check(archive, backup)
            _check_room(folder, sum(entry.size for entry in backup.files))
            yield archive, backup


@contextlib.contextmanager
def _told(file: Path) -> Iterator[None]:
    """What goes wrong with a backup becomes a sentence."""
    try:
        yield
    except _Damaged as error:
        raise DataFolderError(notice("restore.damaged", file=str(file), why=str(error))) from error
    except OSError as error:
        is_full, why = error.errno == errno.ENOSPC, str(error.strerror or error)
        said = notice("restore.disk_full" if is_full else "restore.unreadable", file=str(file), why=why)
        raise DataFolderError(said) from error


class _Damaged(Exception):
    """What is wrong with a file, for the end of a sentence."""


def _check_index(file: BinaryIO) -> None:
    """How large ZIP's index is, which `zipfile` reads as a whole.

    Raises:
        _Damaged: it is too large, or the file does not end as an archive of ours does.
    """
    length = file.seek(0, os.SEEK_END)
    file.seek(max(0, length - END.size))
    tail = file.read()
    if len(tail) < END.size or not tail.startswith(b"PK\x05\x06") or not tail.endswith(b"\0\0"):
        raise _Damaged("it is no backup, or its end is missing")
    _, _, _, _, count, size, _, _ = END.unpack(tail)
    file.seek(max(0, length - END.size - LOCATOR_SIZE - END64.size))
    found = file.read(END64.size)
    if found.startswith(b"PK\x06\x06"):
        count, size = END64.unpack(found)[7:9]
    if count > MOST_FILES or size > MOST_INDEX:
        raise _Damaged(f"it has {count:,} files, more than any backup has")
    file.seek(0)


def _archive(file: BinaryIO) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except FAULTS as error:
        raise _Damaged(str(error)) from error


def _manifest(archive: zipfile.ZipFile) -> Backup:
    try:
        info = archive.getinfo(MANIFEST)
        if info.file_size > MOST_MANIFEST:
            raise _Damaged("its list of files is too long")
        with archive.open(info) as file:
            return msgspec.json.decode(file.read(MOST_MANIFEST), type=Backup)
    except KeyError:
        raise _Damaged("it has no list of files: no backup of Hearth's") from None
    except (*UNREADABLE, *FAULTS) as error:
        raise _Damaged(f"its list of files is damaged ({error})") from error


def _check(archive: zipfile.ZipFile, backup: Backup) -> None:
    """Compare the list with the archive, before anything is written.

    Raises:
        _Damaged: they differ, or a name leads out of the folder.
        DataFolderError: the backup is of a newer Hearth.
    """
    if backup.layout > LAYOUT:
        raise DataFolderError(notice("restore.newer"))
    names = [entry.name for entry in backup.files]
    for name in names:
        folded = name.casefold()  # as disks of Windows and macOS take it
        if not _is_named_well(name) or PurePosixPath(folded).parts[0] in LEFT_OUT or folded == MANIFEST.casefold():
            raise _Damaged(f"it has a file called {name[:80]!r}, which no backup has")
    if len({name.casefold() for name in names}) != len(names):
        raise _Damaged("it names a file twice")
    if len({PurePosixPath(name).parts[0] for name in names}) > restored.MOST_NAMES:
        raise _Damaged("it has more files at its top than any backup has")
    found = {info.filename: info for info in archive.infolist()}
    if len(found) != len(archive.infolist()) or found.keys() != {MANIFEST, *names}:
        raise _Damaged("its files are not those that it lists")
    if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in found.values()):
        raise _Damaged("it is packed as no backup is")
    if wrong := [entry.name for entry in backup.files if found[entry.name].file_size != entry.size]:
        raise _Damaged(f"{wrong[0]} has another size")


def _is_named_well(name: str) -> bool:
    """Whether a name means the same file within the folder on every system."""
    parts = name.split("/")
    good = all(NAME.match(part) and not part.endswith((".", " ")) and not DEVICES.match(part) for part in parts)
    return good and len(parts) <= MOST_DEPTH and len(name) <= MOST_NAME


def _check_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise DataFolderError(notice("restore.no_room", needed=needed, free=free))


def _unpack(archive: zipfile.ZipFile, backup: Backup, into: Path, told: Told) -> None:
    """Write all files, none of them longer than it is listed; the hashes must be those listed."""
    total, done = sum(entry.size for entry in backup.files), 0
    into.mkdir(mode=0o700)
    for entry in backup.files:
        path = into / entry.name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        digest, left = hashlib.sha256(), entry.size
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
            for piece in _pieces(archive, entry):
                digest.update(piece)
                left -= len(piece)
                if left < 0:
                    raise _Damaged(f"{entry.name} is longer than it says")
                target.write(piece)
                done += len(piece)
                told(done, total)
            target.flush()
            os.fsync(target.fileno())
        if left or digest.hexdigest() != entry.sha256:
            raise _Damaged(f"{entry.name} is not what it was")


def _pieces(archive: zipfile.ZipFile, entry: Entry) -> Iterator[bytes]:
    try:
        with archive.open(entry.name) as file:
            while piece := file.read(CHUNK):
                yield piece
    except FAULTS as error:
        raise _Damaged(f"{entry.name} is damaged ({error})") from error

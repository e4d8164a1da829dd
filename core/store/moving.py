"""Moves all data to another folder, on whatever disk: copied, compared by hash, switched, and removed at last.

Killed in the middle, nothing is lost: until the switch the old folder is in force and whole, and the copy is gone on
with when it is asked for again; after it, the new one is (`core.store.moved`).
"""

import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from core.contracts.control import ADDRESS_FILE, LOCK_FILE
from core.contracts.errors import DataFolderError
from core.contracts.notices import notice
from core.regular_files import empty_regular, open_regular
from core.store import moved
from core.store.checkpoint_files import sha256_of
from core.store.data_folder import HELD_LOCK
from core.store.writing import PARTIAL

PASSING = (LOCK_FILE, ADDRESS_FILE, HELD_LOCK, "app.lock", "screensaver.lock", moved.FILE)
"""Files of whoever runs now; there is nothing to be kept of them."""
CHUNK = 1 << 20
Told = Callable[[int, int], None]
"""Is told how many bytes of how many are done."""


def move(start: Path, source: Path, target: Path, told: Told = lambda done, total: None) -> None:
    """Move the data. Who calls owns the locks of the old folder.

    Args:
        start: the folder that Hearth was started with; it leads to the new one from now on.
        source: the one in force for it.
        target: the new one. It may be there if it is empty, or holds what an earlier attempt has copied.
        told: see `Told`.

    Raises:
        DataFolderError: it cannot be; all is as it was.
    """
    check(source, target)
    begun = target.exists() and (mark := moved.read(target)) is not None and mark.state == "copying"
    try:
        target.mkdir(parents=True, exist_ok=True, mode=0o700)
        moved.write(target, source, "copying")
        if begun:
            _remove_what_is_gone(source, target)
        _copy(source, target, told)
    except OSError as error:
        if not begun:
            _leave(target, start)
        raise _refused(target, error) from error
    moved.write(source, target, "clearing")
    moved.finish(start, target)
    if start == target:
        moved.clear(source)  # nobody starts with it


def check(source: Path, target: Path) -> None:
    """Whether data can be moved there.

    Raises:
        DataFolderError: they cannot.
    """
    if target == source:
        raise DataFolderError(notice("move.same", folder=str(target)))
    if source in target.parents or target in source.parents:
        raise DataFolderError(notice("move.inside", folder=str(target)))
    if target.exists() and not target.is_dir():
        raise DataFolderError(notice("move.no_folder", folder=str(target)))
    mark = moved.read(target)
    ours = mark is not None and Path(mark.folder) == source
    if not ours and target.is_dir() and any(path.name != moved.FILE + PARTIAL for path in target.iterdir()):
        raise DataFolderError(notice("move.not_empty", folder=str(target)))
    above = next(path for path in (target, *target.parents) if path.exists())
    if above.stat().st_dev == source.stat().st_dev:
        return  # the files are there already
    needed = sum(size for _, size in _files(source)) - sum(size for _, size in _files(target))
    free = shutil.disk_usage(above).free
    if needed > free:
        raise DataFolderError(notice("move.no_room", folder=str(target), needed=needed, free=free))


def _refused(target: Path, error: OSError) -> DataFolderError:
    if error.errno == errno.ENOSPC:
        return DataFolderError(notice("move.disk_full", folder=str(target)))
    return DataFolderError(notice("move.failed", folder=str(target), why=str(error.strerror or error)))


def _leave(target: Path, start: Path) -> None:
    """Take away what was copied in vain; the folder that Hearth was started with leads on as before."""
    if target == start:
        mark = moved.read(target)
        moved.clear(target, keep=moved.FILE)
        if mark is not None:
            moved.write(target, Path(mark.folder))
    else:
        moved.clear(target)


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    """All files that are moved, with their bytes; each once, however many names it has."""
    seen = set()
    for parent, _, names in os.walk(folder):
        for name in names:
            status = Path(parent, name).lstat()
            inode = status.st_dev, status.st_ino
            if inode not in seen and not (Path(parent) == folder and name in PASSING):
                seen.add(inode)
                yield Path(parent, name), status.st_size


def _remove_what_is_gone(source: Path, target: Path) -> None:
    """Of what an earlier attempt has copied, take away what is in the old folder no more: a database must not be found
    beside a log that belongs to an older state of it.

    Raises:
        OSError: it cannot be.
    """
    for parent, folders, names in os.walk(target):
        here = source / Path(parent).relative_to(target)
        for name in [*folders, *names]:
            old, copied = here / name, Path(parent, name)
            if Path(parent) == target and name in PASSING:
                continue
            if not _is_folder(copied):
                if not os.path.lexists(old) or _is_folder(old):
                    copied.unlink()
            elif not _is_folder(old):
                shutil.rmtree(copied)
                folders.remove(name)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _copy(source: Path, target: Path, told: Told) -> None:
    total, done = sum(size for _, size in _files(source)), 0
    copied: dict[tuple[int, int], Path] = {}
    for parent, folders, names in os.walk(source):
        there = target / Path(parent).relative_to(source)
        for name in folders:
            if not Path(parent, name).is_symlink():
                (there / name).mkdir(exist_ok=True, mode=0o700)
        for name in [*names, *(one for one in folders if Path(parent, one).is_symlink())]:
            path, new = Path(parent, name), there / name
            status = path.lstat()
            inode = status.st_dev, status.st_ino
            if Path(parent) == source and name in PASSING:
                continue
            if (first := copied.get(inode)) is not None:
                new.unlink(missing_ok=True)
                os.link(first, new)
                continue
            copied[inode] = new
            _place(path, new, status)
            done += status.st_size
            told(done, total)


def _place(path: Path, new: Path, status: os.stat_result) -> None:
    """Put one file in its new place: by another name where the disk is the same one, else as a copy.

    Raises:
        OSError: it cannot be, or the copy is not the same.
    """
    if stat.S_ISLNK(status.st_mode):
        new.unlink(missing_ok=True)
        new.symlink_to(path.readlink())
        return
    if not stat.S_ISREG(status.st_mode):
        return  # a pipe or a socket of who ran
    if new.exists() and (
        new.samefile(path) or (new.stat().st_size == status.st_size and sha256_of(new) == sha256_of(path))
    ):
        return
    new.unlink(missing_ok=True)
    try:
        os.link(path, new)
        return
    except OSError:  # another disk, or one without links
        pass
    digest = hashlib.sha256()
    with open_regular(path) as read, empty_regular(new) as written:
        new.chmod(stat.S_IMODE(status.st_mode))
        while piece := read.read(CHUNK):
            digest.update(piece)
            written.write(piece)
        written.flush()
        os.fsync(written.fileno())
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
    if sha256_of(new) != digest.hexdigest():
        raise OSError(errno.EIO, "what was copied is not the same", str(new))

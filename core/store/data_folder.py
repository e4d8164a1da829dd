"""The data folder: where it is, which layout its files have, and what an older Hearth left in it."""

import contextlib
import logging
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import filelock
import msgspec
import platformdirs

from core.contracts.control import LOCK_FILE
from core.contracts.errors import DataFolderError
from core.contracts.manifest import DIGEST, Manifest
from core.contracts.notices import notice
from core.regular_files import read_json
from core.store import moved, restored
from core.store.settings_file import write_atomically

log = logging.getLogger(__name__)

RUNS = "runs"
"""The folder of all runs, each in a folder with its run id."""
MANIFEST_FILE = "manifest.json"
"""In a run's folder: what it goes by, signed if its organiser did."""
LAYOUT_FILE = "layout.json"
LAYOUT = 2
"""1, without a file that says so: up to Hearth 0.1.0, a run's folder had the run's name. 2: it has the run id."""
HELD, HELD_LOCK = "backing-up", "backing-up.lock"
"""While a backup is made, a folder of further names of checkpoints' files, and the lock of who makes it."""
_LIKE_AN_ID = re.compile(rf"-[0-9a-f]{{{DIGEST}}}\Z")
"""How the ids of runs end."""


class Layout(msgspec.Struct, frozen=True):
    """How the files of a data folder are laid out; more fields may come, this one stays."""

    version: Annotated[int, msgspec.Meta(ge=1)]


def first_path(chosen: Path | None) -> Path:
    """The folder that Hearth is started with: the chosen one, else the platform's standard one."""
    return (chosen or platformdirs.user_data_path("Hearth", appauthor=False)).absolute()


def data_path(chosen: Path | None) -> Path:
    """The folder of all of Hearth's data: the first one, or where its data were moved to."""
    return moved.follow(first_path(chosen))


def data_folder(chosen: Path | None) -> Path:
    """`data_path`, made if missing and checked. A folder that is refused is left as it was.

    Raises:
        DataFolderError: it is a file, cannot be made or written, a newer Hearth has laid it out, or its data were moved
            to where no folder is, as if a disk were not there.
    """
    first, folder = first_path(chosen), data_path(chosen)
    if folder != first and not folder.is_dir():
        raise DataFolderError(notice("folder.moved_away", first=str(first), folder=str(folder)))
    try:
        os.fspath(folder).encode()
    except UnicodeEncodeError:
        raise DataFolderError(notice("folder.not_utf8", folder=repr(os.fsencode(folder)))) from None
    if folder.is_file():
        raise DataFolderError(notice("folder.is_a_file", folder=str(folder)))
    if _layout(folder) > LAYOUT:
        raise DataFolderError(notice("folder.newer", folder=str(folder)))
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _close(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise DataFolderError(notice("folder.not_writable", folder=str(folder), why=str(error.strerror))) from error
    _finish(first, folder)
    return folder


def _close(folder: Path) -> None:
    """Keep other users of this PC out of a folder that was made by hand, or by an older Hearth: no file in it needs
    rights of its own then. A folder of all users (sticky) is no data folder, and stays as it is."""
    if os.name == "posix":
        status = folder.stat()
        mode = stat.S_IMODE(status.st_mode)
        if status.st_uid == os.geteuid() and mode & 0o077 and not mode & stat.S_ISVTX:
            with contextlib.suppress(OSError):  # a disk without rights
                folder.chmod(mode & ~0o077)


def _finish(first: Path, folder: Path) -> None:
    """Do what a move, a restore or a backup that was killed has left to be done, unless it still is at it."""
    if (folder / HELD).exists():  # those files would never go
        with contextlib.suppress(OSError), backing_up(folder):
            pass
    if moved.read(folder) is None and not restored.is_waiting(folder):
        return
    with contextlib.suppress(filelock.Timeout, OSError), filelock.FileLock(folder / LOCK_FILE, blocking=False):
        moved.finish(first, folder)
        restored.finish(folder)


@contextlib.contextmanager
def backing_up(folder: Path) -> Iterator[Path]:
    """An empty folder for further names of checkpoints' files while a backup is made; it is gone afterwards.

    Args:
        folder: the data folder.

    Raises:
        OSError: another backup is being made (`filelock.Timeout` is one), or the folder cannot be made.
    """
    held = folder / HELD
    with filelock.FileLock(folder / HELD_LOCK, blocking=False):
        try:
            shutil.rmtree(held, ignore_errors=True)
            held.mkdir(exist_ok=True)
            yield held
        finally:
            shutil.rmtree(held, ignore_errors=True)
            with contextlib.suppress(OSError):
                (folder / HELD_LOCK).unlink()


def mark(folder: Path) -> None:
    """Note that the folder has this Hearth's layout. What cannot be noted now is noted at the next start."""
    if _layout(folder) != LAYOUT:
        with contextlib.suppress(DataFolderError):
            write_atomically(folder / LAYOUT_FILE, msgspec.json.encode(Layout(LAYOUT)))


def take_over(folder: Path, manifest: Manifest, rename: Callable[[str, str], None]) -> None:
    """Make what an older Hearth has left of a run this one's: its folder, and its rows in the ledger.

    A run may have another one's id for its name: a folder that is named like an id is that other run's. The folder is
    moved last, so that what was interrupted is done at the next start.

    Args:
        folder: the data folder.
        manifest: the run that is joined.
        rename: gives the ledger's rows of a run another name: old, new.

    Raises:
        DataFolderError: the folder cannot be moved; nothing is lost.
    """
    old, new = folder / RUNS / manifest.run, folder / RUNS / manifest.run_id
    if _LIKE_AN_ID.search(manifest.run) or new.exists() or not old.is_dir():
        return
    rename(manifest.run, manifest.run_id)
    try:
        old.replace(new)
    except OSError as error:
        raise DataFolderError(
            notice("folder.not_moved", old=str(old), new=str(new), why=str(error.strerror))
        ) from error
    log.info("Took over what this PC has of the run %s.", manifest.run)


def _layout(folder: Path) -> int:
    """Version of the layout, as far as it can be read; a mark that is damaged is made anew."""
    layout = read_json(folder / LAYOUT_FILE, Layout)
    return layout.version if layout else 1

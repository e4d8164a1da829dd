"""A backup takes the place of the data in one step: all of it is unpacked first. Killed then, it is finished later."""

import contextlib
import shutil
from pathlib import Path
from typing import Annotated

import msgspec

from core.contracts.control import LOCK_FILE
from core.contracts.errors import UNREADABLE
from core.regular_files import read_regular
from core.store import moved
from core.store.settings_file import write_atomically
from core.store.writing import PARTIAL, sync_folder

FOLDER = "restoring"
"""In the data folder: what was unpacked."""
FILE = "restoring.json"
"""Written when all of it is there and checked: from then on it replaces what was there before."""
STAYS = (FOLDER, FILE, LOCK_FILE, "app.lock", moved.FILE)
MOST_NAMES = 4096
"""Of files and folders directly in the data folder."""


class Complete(msgspec.Struct, frozen=True):
    """The file."""

    names: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_NAMES)]
    """As they are to be."""


def is_waiting(folder: Path) -> bool:
    """Whether something is left to be done."""
    return (folder / FOLDER).exists() or (folder / FILE).exists()


def clear(folder: Path) -> None:
    """Remove what was unpacked, be it but a link."""
    with contextlib.suppress(OSError):
        _remove(folder / FOLDER)


def commit(folder: Path) -> None:
    """Let what was unpacked replace the data, from now on whatever happens.

    Raises:
        DataFolderError: it cannot be noted; nothing has changed.
    """
    names = tuple(sorted(path.name for path in (folder / FOLDER).iterdir()))
    write_atomically(folder / FILE, msgspec.json.encode(Complete(names)))
    with contextlib.suppress(OSError):
        sync_folder(folder)


def finish(folder: Path) -> None:
    """Go on with the replacement, if it was begun; what was unpacked in part only is removed.

    Raises:
        OSError: a file cannot be moved or removed.
    """
    unpacked = folder / FOLDER
    try:
        names = msgspec.json.decode(read_regular(folder / FILE), type=Complete).names
    except (OSError, *UNREADABLE):
        clear(folder)
        (folder / f"{FILE}{PARTIAL}").unlink(missing_ok=True)
        return
    for path in folder.iterdir():
        if path.name not in STAYS and (path.name not in names or (unpacked / path.name).exists()):
            _remove(path)
    for name in names:
        if (unpacked / name).exists():
            (unpacked / name).replace(folder / name)
    clear(folder)
    (folder / FILE).unlink()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()

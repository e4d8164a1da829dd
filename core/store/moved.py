"""Where a data folder is after it was moved: each folder that it was known by leads to it.

A move is over from one moment to the next. Before, the old folder is whole and in force, and the new one leads back to
it; after, it is the other way round. What is left in the old one is removed then, also at a later start.
"""

import contextlib
import shutil
from pathlib import Path
from typing import Annotated

import msgspec

from core.contracts.errors import DataFolderError
from core.regular_files import read_json
from core.store.settings_file import write_atomically

FILE = "moved.json"
MOST_MOVES = 16
"""Folders that lead to each other; more would be a circle that somebody made by hand."""
Place = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]


class Moved(msgspec.Struct, frozen=True):
    """The file: it makes a folder lead to another one."""

    folder: Place
    state: str = ""
    """"copying": this folder is to be a copy of the other one, which is in force until it leads here. "clearing": the
    data are in the other one, and what is still here may go."""


def read(folder: Path) -> Moved | None:
    """What a folder leads to; None: it is not one that was moved."""
    return read_json(folder / FILE, Moved)


def write(folder: Path, to: Path, state: str = "") -> None:
    """Have a folder lead to another one.

    Raises:
        DataFolderError: it cannot be written.
    """
    write_atomically(folder / FILE, msgspec.json.encode(Moved(str(to), state)))


def follow(start: Path) -> Path:
    """The folder that is in force for who starts with this one; it need not be there."""
    return chain(start)[-1]


def chain(start: Path) -> list[Path]:
    """All folders from the first one to the one that is in force; only the first, if they lead in a circle."""
    places = [start]
    for _ in range(MOST_MOVES):
        if (mark := read(places[-1])) is None:
            return places
        to = Path(mark.folder)
        back = read(to) if mark.state == "copying" else None
        if back is not None and back.state != "copying" and Path(back.folder) == places[-1]:
            return places
        places.append(to)
    return [start]


def finish(start: Path, folder: Path) -> None:
    """Remove what a move has left in the old folder, if it was killed then; what cannot be removed stays for later.

    Args:
        start: the folder that Hearth was started with.
        folder: the one in force for it.
    """
    mark = read(folder)
    if mark is None or mark.state != "copying":
        return
    old = Path(mark.folder)
    back = read(old)
    if back is not None and Path(back.folder) == folder:
        with contextlib.suppress(DataFolderError):  # the old disk may be read-only by now
            if start in (old, folder):
                clear(old, keep=FILE)
                write(old, folder)
            else:
                write(start, folder)
                clear(old)
        if old.is_dir() and any(path.name != FILE for path in old.iterdir()):
            return
    elif old.is_dir():
        return  # the copy is not whole
    with contextlib.suppress(OSError):
        (folder / FILE).unlink()


def clear(folder: Path, keep: str = "") -> None:
    """Remove all of a folder, and the folder itself unless something is kept; what cannot be removed stays.

    Args:
        folder: is emptied.
        keep: the name of what stays in it.
    """
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
        return
    for path in folder.iterdir():
        if path.name == keep:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()

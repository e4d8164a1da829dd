"""Which Hearth this is: its version, and what its packages say of their build. The one way to start it again, too."""

import ast
import functools
import sys
from pathlib import Path

import msgspec

from core import version


def _of_files(executable: Path) -> Path:
    """Where a package has the two files below: beside its executable; on macOS, where nothing but programs may be
    beside it, among the resources of its app.

    Args:
        executable: what runs.
    """
    folder = executable.parent
    return folder.parent / "Resources" if folder.parts[-2:] == ("Contents", "MacOS") else folder


FOLDER = _of_files(Path(sys.executable))
BUILD_FILE = "build.json"
"""Written when a package is built, as the last file: an `Origin`."""
MANAGED_FILE = "managed-by-distribution"
"""Only in packages that the system installs, updates and removes."""
PACK = "HEARTH_PACK"
"""In the environment of a process that computes: a folder with another torch (`core.update.packs`)."""


class Origin(msgspec.Struct, frozen=True):
    """What a package was made of."""

    version: str = ""
    commit: str = ""
    """Of the sources; with "+" at its end if they had been changed since."""
    hash: str = ""
    """SHA-256 over names and contents of all files but `BUILD_FILE`: the same files, the same hash."""


class Build(msgspec.Struct, frozen=True):
    """What runs here."""

    version: str
    commit: str
    """Empty unless it is a package, as is `hash`: see `Origin`."""
    hash: str
    frozen: bool
    """Whether it is a package: it has its own Python, and its executable takes Hearth's commands."""
    managed_by_distribution: bool
    """Whether updates are the system's business."""


@functools.cache
def this_build() -> Build:
    """Read once; of a package, also from its files.

    Raises:
        OSError: a package without its file.
        msgspec.MsgspecError: that file is damaged.
    """
    frozen, origin = _is_frozen(), _origin() if _is_frozen() else Origin()
    managed = frozen and (FOLDER / MANAGED_FILE).exists()
    return Build(version.VERSION, origin.commit, origin.hash, frozen, managed)


def installed_version() -> str:
    """Of the program on the disk; it may be newer than the one that runs. "" while it is being installed."""
    try:
        if _is_frozen():
            return _origin().version
        return str(ast.literal_eval(Path(version.__file__).read_text().splitlines()[0].partition(" = ")[2]))
    except (OSError, ValueError, SyntaxError, IndexError, msgspec.MsgspecError):
        return ""


def _is_frozen() -> bool:
    return bool(getattr(sys, "frozen", False))


def _origin() -> Origin:
    return msgspec.json.decode((FOLDER / BUILD_FILE).read_bytes(), type=Origin)


def hearth_command(*words: str) -> list[str]:
    """A command line of Hearth's: a package takes it itself; from the sources Python is asked for it.

    Args:
        words: the command and its arguments.
    """
    if not _is_frozen():
        return [sys.executable, "-m", "core", *words]
    if sys.platform == "win32":  # it may run as hearthw.exe, which has no terminal, or as hearth.scr
        return [str(Path(sys.executable).with_name("hearth.exe")), *words]
    return [sys.executable, *words]

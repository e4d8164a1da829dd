"""Which Hearth this is: its version, and what its packages say of their build. The one way to start it again, too."""

import functools
import sys
from importlib.metadata import version
from pathlib import Path

import msgspec

FOLDER = Path(sys.executable).parent
"""Of a packaged Hearth: its executable lies there, with the two files below beside it."""
BUILD_FILE = "build.json"
"""Written when a package is built, as the last file: an `Origin`."""
MANAGED_FILE = "managed-by-distribution"
"""Only in packages that the system installs, updates and removes."""


class Origin(msgspec.Struct, frozen=True):
    """What a package was made of."""

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
    frozen = bool(getattr(sys, "frozen", False))
    origin = msgspec.json.decode((FOLDER / BUILD_FILE).read_bytes(), type=Origin) if frozen else Origin()
    managed = frozen and (FOLDER / MANAGED_FILE).exists()
    return Build(version("hearth"), origin.commit, origin.hash, frozen, managed)


def hearth_command(*words: str) -> list[str]:
    """A command line of Hearth's: a package takes it itself; from the sources Python is asked for it.

    Args:
        words: the command and its arguments.
    """
    return [sys.executable, *([] if getattr(sys, "frozen", False) else ["-m", "core"]), *words]

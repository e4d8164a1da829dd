"""Files that are on the disk as a whole, and not only in its cache, or not there at all."""

import contextlib
import logging
import os
from collections.abc import Iterable
from pathlib import Path

from core.regular_files import empty_regular

log = logging.getLogger(__name__)

PARTIAL = ".partial"
"""Ends the name of a file that is being written."""


def write_whole(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Put a file in place, or leave what was there as it was.

    Args:
        path: The file.
        pieces: Its content, one after the other.

    Raises:
        OSError: The disk is full, or the folder cannot be written.
    """
    partial = path.with_name(path.name + PARTIAL)
    try:
        partial.unlink(missing_ok=True)  # a link there would have what it leads to overwritten
        with empty_regular(partial) as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        with contextlib.suppress(OSError):  # in a folder that is read-only by now even this is refused
            partial.unlink()
        raise


def sync_folder(folder: Path) -> None:
    """Make renames last through a power failure; Windows has no such call and does it by itself.

    Raises:
        OSError: It cannot be done.
    """
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(path: Path) -> None:
    """Remove a file, if it is there and can be removed."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s could not be removed: %s", path, error.strerror)

"""Files of the data folder that are opened only if they are regular: a pipe or a device in the place of one may never
begin or never end, and whoever starts Hearth would wait for ever."""

import errno
import os
import stat
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import TypeVar

import msgspec

from core.contracts.errors import UNREADABLE

T = TypeVar("T")
SMALL = 16 << 20
"""Bytes that a file may have that is read as a whole, unless its kind has a limit of its own."""
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def open_regular(path: Path) -> BufferedReader:
    """Open a file, or what a link leads to, for its bytes.

    Raises:
        OSError: It cannot be opened, or it is no regular file.
    """
    return os.fdopen(_opened(path, os.O_RDONLY), "rb")


def empty_regular(path: Path, append: bool = False) -> BufferedWriter:
    """Open a file to be written anew; it is made if there is none.

    Args:
        path: The file, or a link to it.
        append: Whether all is written at its end, wherever that is by then.

    Raises:
        OSError: It cannot be opened, or it is no regular file.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | (os.O_APPEND if append else 0)
    return os.fdopen(_opened(path, flags), "wb")


def _opened(path: Path, flags: int) -> int:
    descriptor = os.open(path, flags | _AT_ONCE, 0o666)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "It is a pipe or a device, and no regular file", str(path))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(path: Path, most: int = SMALL) -> bytes:
    """All bytes of a file.

    Args:
        path: The file, or a link to it.
        most: So many bytes it may have.

    Raises:
        OSError: It cannot be read, has more bytes, or is no regular file.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(min(size, most) + 1)  # it first takes the memory of all that it may read
        if len(data) > size:  # it has grown, or is one of /proc, which call themselves empty
            data += file.read(most + 1 - len(data))
    if len(data) > most:
        raise OSError(errno.EFBIG, f"It has more than {most} bytes", str(path))
    return data


def read_json(path: Path, kind: type[T], most: int = SMALL) -> T | None:
    """What a small file says; None: it is not there, or is not what it should be.

    Args:
        path: The file, or a link to it.
        kind: Its type.
        most: So many bytes it may have.
    """
    try:
        return msgspec.json.decode(read_regular(path, most), type=kind)
    except (OSError, *UNREADABLE):
        return None

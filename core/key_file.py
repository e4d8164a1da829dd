"""The file of a PC's secret key. Apart from `core.identity`, so that who only makes it loads nothing of the network."""

import contextlib
import os
from pathlib import Path

from core.contracts.errors import DataFolderError
from core.contracts.notices import notice

FILE = "identity.key"


def ensure(folder: Path) -> None:
    """Make the key at the first start of a data folder. A file that is there is never touched.

    Raises:
        DataFolderError: the file is missing and cannot be written.
    """
    if not (folder / FILE).exists():
        write_new(folder / FILE, os.urandom(32))


def partial_file(path: Path, seed: bytes) -> Path:
    """Write the key beside `path`, readable by the owner only from its first byte on."""
    partial = path.with_name(f"{path.name}.{os.urandom(4).hex()}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(seed.hex().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return partial


def write_new(path: Path, seed: bytes) -> bool:
    """Make the file with the key; False if somebody else made it first.

    Raises:
        DataFolderError: it cannot be written.
    """
    partial = None
    try:
        partial = partial_file(path, seed)
        os.link(partial, path)  # unlike a rename, this never replaces a key
    except FileExistsError:
        return False
    except OSError as error:
        raise DataFolderError(notice("identity.key_not_written", path=str(path), why=str(error.strerror))) from error
    finally:
        if partial is not None:
            with contextlib.suppress(OSError):
                partial.unlink()
    return True

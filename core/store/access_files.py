"""What a run's folder has about access: this PC's token, the list of the revoked, and its organiser's own grants."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from core.contracts.access import MAX_LIST, MAX_TOKEN, Moment, UserName
from core.contracts.errors import UNREADABLE, DataFolderError
from core.contracts.notices import notice
from core.contracts.trunk import PeerText
from core.regular_files import read_regular
from core.store.settings_file import write_atomically

TOKEN_FILE, REVOKED_FILE = "access.token", "access.revoked"
"""Signed by the organiser (`core.access`)."""
GRANTS_FILE = "access.grants.json"
"""On the organiser's PC alone."""
MOST_GRANTS = 65_536


class Grant(msgspec.Struct, frozen=True):
    """To whom the organiser gave a token."""

    peer: PeerText
    name: UserName
    issued: Moment
    expires: Moment


class Grants(msgspec.Struct, frozen=True):
    """The file: of each peer the newest, in the order in which they were given."""

    version: Literal[1] = 1
    grants: Annotated[tuple[Grant, ...], msgspec.Meta(max_length=MOST_GRANTS)] = ()


def read_grants(folder: Path) -> Grants:
    """What the organiser has granted.

    Args:
        folder: the run's.

    Raises:
        DataFolderError: the file cannot be read: to write another one would lose who was let in.
    """
    path = folder / GRANTS_FILE
    try:
        return msgspec.json.decode(read_regular(path), type=Grants)
    except FileNotFoundError:
        return Grants()
    except (OSError, *UNREADABLE) as error:
        raise DataFolderError(notice("access.file_damaged", path=str(path), why=str(error))) from error


def write_grants(folder: Path, grants: Grants) -> None:
    """Keep what the organiser has granted.

    Args:
        folder: the run's.
        grants: all of them.

    Raises:
        DataFolderError: it cannot be written.
    """
    write(folder, GRANTS_FILE, msgspec.json.format(msgspec.json.encode(grants)))


def read_signed(folder: Path, name: str) -> bytes:
    """A token or list of a run's folder; nothing if there is none.

    Args:
        folder: the run's.
        name: `TOKEN_FILE` or `REVOKED_FILE`.

    Raises:
        DataFolderError: it is there, and cannot be read.
    """
    path = folder / name
    try:
        return read_regular(path, MAX_TOKEN if name == TOKEN_FILE else MAX_LIST)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise DataFolderError(notice("access.file_damaged", path=str(path), why=str(error.strerror))) from error


def write(folder: Path, name: str, document: bytes) -> None:
    """Keep a file.

    Args:
        folder: the run's, made if it is missing.
        name: the file's.
        document: its content.

    Raises:
        DataFolderError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataFolderError(notice("data.not_written", path=str(folder), why=str(error.strerror))) from error
    write_atomically(folder / name, document)

"""What the user agreed to, and when. Without it the app starts no worker: nothing computes and nothing is sent."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from core.contracts.errors import DataFolderError
from core.contracts.notices import notice
from core.contracts.settings import Settings
from core.regular_files import read_json
from core.store.settings_file import write_atomically
from core.version import VERSION

FILE = "consent.json"
TERMS = 1
"""Version of what is agreed to. Whoever agreed to an older one is asked anew."""


class Consent(msgspec.Struct, frozen=True):
    """The file's content."""

    version: Literal[1]
    terms: Annotated[int, msgspec.Meta(ge=1)]
    date: datetime
    """When it was given, UTC."""
    given: Literal["app", "command line"]
    """Where: in the window, or by an organiser's starting a worker."""
    hearth: Annotated[str, msgspec.Meta(max_length=64)]
    """The version that asked."""


def read(folder: Path) -> Consent | None:
    """The consent of a data folder; None if there is none to these terms, or none that can be read."""
    consent = read_json(folder / FILE, Consent)
    return consent if consent and consent.terms >= TERMS else None


def give(folder: Path, where: Literal["app", "command line"]) -> Consent:
    """Keep the consent to what this version does, given now.

    Raises:
        DataFolderError: it cannot be written.
    """
    consent = Consent(1, TERMS, datetime.now(UTC).replace(microsecond=0), where, VERSION)
    write_atomically(folder / FILE, msgspec.json.format(msgspec.json.encode(consent)))
    return consent


def withdraw(folder: Path) -> None:
    """Keep no consent any more: nothing is started here until it is given anew.

    Raises:
        DataFolderError: the file cannot be removed.
    """
    path = folder / FILE
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise DataFolderError(notice("file.not_written", path=str(path), why=str(error.strerror))) from error


def standard(folder: Path) -> Settings:
    """The settings of who has chosen nothing yet, by how they agreed: the window promises to compute only while they
    are away, and who starts a worker by hand wants it to work."""
    consent = read(folder)
    return Settings(idle_only=consent is not None and consent.given == "app")

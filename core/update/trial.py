"""A version that was just installed is on trial until it has come up; if it does not, the one before is started again.

Who updates waits for that. Killed meanwhile, the launcher starts the former version the next time, which takes the
update back; and a version that does come up ends its own trial.
"""

import contextlib
import logging
from pathlib import Path
from typing import Annotated, Literal

import filelock
import msgspec

from core.contracts.control import LOCK_FILE
from core.contracts.errors import HearthError
from core.regular_files import read_json
from core.store.writing import write_whole
from core.update.installation import Installation, this_installation

log = logging.getLogger(__name__)

TRIAL, TRIED, FAILED, LOCK = "trial", "tried", "failed", "update.lock"
"""In the installation's folder: a `Trial`; that it was started; the id of a version that did not come up; held by who
updates."""
BACKUPS = "backups"
"""In the installation's folder: the data as they were before a version that changes their format."""
Kind = Literal["app", "worker"]


class Trial(msgspec.Struct, frozen=True):
    """The file."""

    id: Annotated[str, msgspec.Meta(max_length=64)]
    former: Annotated[str, msgspec.Meta(max_length=64)]
    wants: tuple[Kind, ...]
    """What must come up."""
    folder: str = ""
    """The data folder."""
    backup: str = ""
    """Of its data, if the new version changes their format."""


def begin(installation: Installation, trial: Trial) -> None:
    """Have the launcher start a version, on trial.

    Raises:
        OSError: it cannot be written; then the version so far is started.
    """
    end(installation)
    write_whole(installation.root / TRIAL, [msgspec.json.encode(trial)])
    installation.switch(trial.id)


def read(installation: Installation) -> Trial | None:
    """The trial that goes on; None: there is none."""
    return read_json(installation.root / TRIAL, Trial)


def end(installation: Installation) -> None:
    """Be on trial no more.

    Raises:
        OSError: the folder cannot be written.
    """
    for name in (TRIAL, TRIED, *(f"{TRIAL}.{kind}" for kind in ("app", "worker"))):
        (installation.root / name).unlink(missing_ok=True)


def came_up(kind: Kind) -> None:
    """Say that this process works. With the last one that had to, the trial is over."""
    installation = this_installation()
    if installation is None or (trial := read(installation)) is None or trial.id != installation.id:
        return
    with contextlib.suppress(OSError):
        (installation.root / f"{TRIAL}.{kind}").touch()
        if all((installation.root / f"{TRIAL}.{one}").exists() for one in trial.wants):
            end(installation)
            (installation.root / FAILED).unlink(missing_ok=True)
            log.info("This version has come up.")


def take_back(installation: Installation, trial: Trial) -> None:
    """Start the former version from now on, with the data as they were. Nothing of the new one may run any more.

    Raises:
        HearthError: the data cannot be brought back; the former version is started all the same.
        OSError: the folder cannot be written.
    """
    from core.store.backup import restore  # brings SQLite: the app begins with this module

    write_whole(installation.root / FAILED, [trial.id.encode()])
    try:
        if trial.backup and Path(trial.backup).exists():
            restore(Path(trial.folder), Path(trial.backup), force=True)
    finally:
        installation.switch(trial.former)
        end(installation)


def settle() -> None:
    """At a start of the former version: take back what did not come up, unless somebody waits for that already."""
    installation = this_installation()
    if installation is None or (trial := read(installation)) is None or installation.id == trial.id:
        return
    try:
        with filelock.FileLock(installation.root / LOCK, blocking=False):
            if installation.current != trial.id:
                end(installation)  # killed before the switch
            elif (installation.root / TRIED).exists():
                with filelock.FileLock(Path(trial.folder) / LOCK_FILE, blocking=False):
                    take_back(installation, trial)
    except (filelock.Timeout, OSError, HearthError) as error:
        log.warning("The update cannot be taken back now: %s", error)

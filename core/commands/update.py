"""`hearth update`: looks for another version, and installs it if that is wanted; the version before is kept."""

import argparse
import contextlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import filelock
import msgspec
import psutil

from core import consent
from core.commands import common
from core.commands.progress import Progress
from core.commands.standstill import Ran, standstill, started
from core.community.schema import MIGRATIONS
from core.contracts.errors import UpdateError
from core.contracts.notices import notice
from core.contracts.words import size
from core.store.backup import back_up
from core.store.data_folder import LAYOUT, data_folder, first_path
from core.store.settings_file import VERSION as SETTINGS
from core.update import trial
from core.update.feed import Offer, look
from core.update.fetching import assemble, to_fetch
from core.update.installation import (
    FORMER,
    ROOT,
    VERSION,
    VERSIONS,
    Installation,
    hindrance,
    read_id,
    this_installation,
)
from core.update.releases import PROGRAM
from core.update.trial import Trial

DATA_FORMAT = f"{LAYOUT}.{SETTINGS}.{len(MIGRATIONS)}"
"""Of the data folder, the settings and the ledger: before a release with another one, data are backed up."""
UP_S = 60.0
"""In which a new version must have come up."""
LOOK_S, END_S = 0.1, 10.0


class Answer(msgspec.Struct, frozen=True):
    """What `--check --json` says."""

    available: bool
    version: str = ""
    size: int = 0
    """Bytes to be fetched."""
    notes: str = ""
    failed: bool = False
    """It was installed already, and did not come up."""


def update(options: argparse.Namespace) -> None:
    """Look, tell, and install.

    Raises:
        UpdateError: there is nothing to be had, or it does not come up here; what runs is as it was.
    """
    installation = _installation()
    try:
        with filelock.FileLock(installation.root / trial.LOCK, blocking=False):
            offer = look(installation)
            if options.check or offer is None:
                _tell(installation, offer, options.json)
                return
            print(f"Hearth {offer.release.version}: {size(to_fetch(installation, offer))} to fetch.", flush=True)
            fetched = assemble(installation, offer, Progress(options.progress))
            _try(installation, offer.id)
            _install(installation, offer, options)
            _remove_others(installation)
    except filelock.Timeout:
        raise UpdateError(notice("update.under_way")) from None
    except OSError as error:
        why = str(error.strerror or error)
        raise UpdateError(notice("update.not_written", folder=str(installation.root), why=why)) from error
    with contextlib.suppress(OSError):  # the app that has asked has gone
        print(f"Hearth {offer.release.version} is installed; {size(fetched)} were fetched.", flush=True)


def _installation() -> Installation:
    """The one that this process was started from.

    Raises:
        UpdateError: it does not update itself.
    """
    if (why := hindrance()) is not None:
        raise UpdateError(why)
    installation = this_installation()
    assert installation is not None
    return installation


def _tell(installation: Installation, offer: Offer | None, json: bool) -> None:
    if offer is None:
        answer = Answer(False)
    else:
        failed = read_id(installation.root / trial.FAILED) == offer.id
        release = offer.release
        answer = Answer(True, release.version, to_fetch(installation, offer), release.notes, failed)
    if json:
        print(common.in_one_line(answer))
    elif not answer.available:
        print("This is the newest version.")
    else:
        print(f"Hearth {answer.version} is available, {size(answer.size)} to fetch. Install it: hearth update")
        if answer.failed:
            print("It was tried here already and did not come up.")
        print(answer.notes, end="\n" if answer.notes else "")


def _environment(installation: Installation, version: str) -> dict[str, str]:
    return {**os.environ, ROOT: str(installation.root), VERSION: version}


def _try(installation: Installation, version: str) -> None:
    """Have the new version say its name, before anything is stopped for it.

    Raises:
        UpdateError: it does not run on this PC.
    """
    command = [str(installation.folder(version) / PROGRAM), "--version"]
    try:
        done = subprocess.run(
            command, env=_environment(installation, version), capture_output=True, timeout=UP_S, check=False
        )
        why = done.stderr.decode("utf-8", "replace").strip()[-300:] if done.returncode else ""
    except subprocess.TimeoutExpired:
        why = "it hangs"
    except OSError as error:
        why = str(error.strerror)
    else:
        if not done.returncode:
            return
    raise UpdateError(notice("update.does_not_run", why=why or "it ended at once"))


def _install(installation: Installation, offer: Offer, options: argparse.Namespace) -> None:
    """Stop what runs, switch, start it again, and wait until it has come up; else go back.

    Raises:
        UpdateError: it did not; the former version runs again.
        DataFolderError: the data could not be backed up, or something does not end; nothing has changed.
    """
    start, folder = first_path(options.data_dir), data_folder(options.data_dir)
    with standstill(start, folder, show=options.progress) as ran:
        backup = _backed_up(installation, offer, folder)
        wants = _wants(ran, folder)
        begun = Trial(offer.id, installation.current, wants, str(folder), backup)
        if not wants:
            installation.switch(offer.id)
            return
        trial.begin(installation, begun)
        ran.command, command = [], ran.command
    process = started(command, ran.cwd)
    if _comes_up(installation, process):
        return
    _end(process)
    with standstill(start, folder, show=options.progress) as late:
        trial.take_back(installation, begun)
        late.command, late.cwd = command, ran.cwd
    raise UpdateError(notice("update.taken_back", version=offer.release.version))


def _backed_up(installation: Installation, offer: Offer, folder: Path) -> str:
    """Where the data were saved, if the new version changes their format."""
    if offer.release.data_format == DATA_FORMAT or not any(folder.iterdir()):
        return ""
    backups = installation.root / trial.BACKUPS
    backups.mkdir(mode=0o700, exist_ok=True)
    file = backups / f"{offer.id}.zip"
    back_up(folder, file, checkpoints=True, force=True)
    return str(file)


def _wants(ran: Ran, folder: Path) -> tuple[trial.Kind, ...]:
    """What has to come up again."""
    if not ran.command:
        return ()
    if not ran.app:
        return ("worker",)
    return ("app", "worker") if consent.read(folder) is not None else ("app",)


def _comes_up(installation: Installation, process: subprocess.Popen[bytes] | None) -> bool:
    until = time.monotonic() + UP_S
    while process is not None and time.monotonic() < until:
        if not (installation.root / trial.TRIAL).exists():
            return True
        if process.poll() is not None:
            break
        time.sleep(LOOK_S)
    return not (installation.root / trial.TRIAL).exists()


def _end(process: subprocess.Popen[bytes] | None) -> None:
    """End a version that does not come up, with all that it has started."""
    if process is None or process.poll() is not None:
        return
    family = [psutil.Process(process.pid)]
    with contextlib.suppress(psutil.Error):
        family += family[0].children(recursive=True)
    for one in family:
        with contextlib.suppress(psutil.Error):
            one.terminate()
    _, alive = psutil.wait_procs(family, END_S)
    for one in alive:
        with contextlib.suppress(psutil.Error):
            one.kill()


def _remove_others(installation: Installation) -> None:
    """Keep the version that is started and the one before it."""
    kept = {installation.current, read_id(installation.root / FORMER), installation.id}
    for path in (installation.root / VERSIONS).iterdir():
        if path.name not in kept:
            shutil.rmtree(path, ignore_errors=True)

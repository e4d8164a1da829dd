"""While files are moved or replaced, nothing of Hearth's runs: worker and app save and end, and are started again."""

import contextlib
import dataclasses
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import filelock
import psutil

from core.contracts.control import ADDRESS_FILE, LOCK_FILE, Address
from core.contracts.errors import DataFolderError, NotRunning
from core.contracts.notices import notice
from core.control.client import ControlClient
from core.regular_files import read_json
from core.system.start_at_login import program

APP_LOCK = "app.lock"
END_S = 60.0
"""A worker saves within 10 s, and on a busy machine within a minute."""
AGAIN_S = 2.0
"""After which a worker that is there is asked again."""


@dataclasses.dataclass
class Ran:
    """What ran before."""

    app: bool
    command: list[str]
    """Starts it again; []: nothing ran, or nothing is to be started."""
    cwd: Path
    """Where it was started."""


@contextlib.contextmanager
def standstill(start: Path, folder: Path, show: bool = False, beside_app: bool = False) -> Iterator[Ran]:
    """Own the data folder; what ran before runs again afterwards, also after a failure.

    Args:
        start: the folder that Hearth is started with.
        folder: the one in force for it.
        show: whether the app, if it ran, opens its window then.
        beside_app: it is the app that asks: it stays, and sees to the worker afterwards.

    Raises:
        DataFolderError: something does not end, or the data are another PC's.
    """
    address = _address(folder)
    if address is not None and address.folder not in ("", str(folder)):
        raise DataFolderError(notice("data.elsewhere", folder=str(folder)))
    ran = Ran(_is_held(folder / APP_LOCK), [], Path.home())
    words, ran.cwd = _words(folder, address)
    if ran.app:
        ran.cwd = Path.home()
        words = [*([] if show else ["--in-tray"]), "--data-dir", str(start)]
    ran.command = [*program(), *words] if words and not beside_app else []
    try:
        with contextlib.ExitStack() as locks:
            for name in (LOCK_FILE,) if beside_app else (APP_LOCK, LOCK_FILE):
                _own(locks, folder / name)
            yield ran
    finally:
        if ran.command:
            started(ran.command, ran.cwd)


def _own(locks: contextlib.ExitStack, file: Path) -> None:
    """Own a lock as soon as who has it has gone. An app that did not know its worker yet when that ended starts
    another one: that is asked to end, too, and the app with it."""
    until = time.monotonic() + END_S
    while True:
        with contextlib.suppress(NotRunning), ControlClient(file.parent) as client:
            client.call("quit", {}, dict)
        try:
            locks.enter_context(filelock.FileLock(file, timeout=AGAIN_S))
            return
        except filelock.Timeout:
            if time.monotonic() > until:
                raise DataFolderError(notice("data.in_use", folder=str(file.parent))) from None
        except OSError as error:
            raise DataFolderError(notice("folder.lock_not_written", file=str(file), why=str(error.strerror))) from error


def _address(folder: Path) -> Address | None:
    return read_json(folder / ADDRESS_FILE, Address)


def _is_held(file: Path) -> bool:
    try:
        with filelock.FileLock(file, blocking=False):
            return False
    except filelock.Timeout:
        return True
    except OSError:
        return False


def _words(folder: Path, address: Address | None) -> tuple[list[str], Path]:
    """With which words the worker of the folder was started, and where; [] if none runs."""
    if address is not None and _is_held(folder / LOCK_FILE):
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(address.pid)
            command, cwd = process.cmdline(), Path(process.cwd())
            return command[command.index("worker") :] if "worker" in command else [], cwd
    return [], Path.home()


def started(command: list[str], cwd: Path) -> subprocess.Popen[bytes] | None:
    """Start something in a session of its own, without this terminal; None if it cannot be.

    Args:
        command: its program and arguments.
        cwd: the folder to start it in.
    """
    null = subprocess.DEVNULL
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
    try:
        return subprocess.Popen(
            command, stdin=null, stdout=null, stderr=null, start_new_session=True, creationflags=flags, cwd=cwd
        )
    except OSError:
        return None

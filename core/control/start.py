"""Start of the worker process: folder, lock, log, worker, control socket, signals, and the terminal's status."""

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import filelock

from core import event_loop, key_file, logs
from core.contracts.control import LOCK_FILE
from core.contracts.errors import AlreadyRunning, DataFolderError
from core.contracts.notices import notice
from core.control.server import ControlServer
from core.update import trial
from core.worker.peer import Peer
from core.worker.places import NetworkOptions

if sys.platform != "win32":
    import resource

log = logging.getLogger(__name__)

FILES = 8192
"""That a worker may have open at least, where the system allows it. Programs of a desktop often get 256, and lanes over
TCP to other peers alone may be 512."""


def lock(folder: Path) -> filelock.BaseFileLock:
    """Own the data folder until the process ends.

    Raises:
        AlreadyRunning: another worker owns it.
    """
    owner = filelock.FileLock(folder / LOCK_FILE)
    try:
        owner.acquire(blocking=False)
    except filelock.Timeout:
        raise AlreadyRunning(notice("worker.already_serves", folder=str(folder))) from None
    except OSError as error:
        raise DataFolderError(
            notice("folder.lock_not_written", file=str(folder / LOCK_FILE), why=str(error.strerror))
        ) from error
    return owner


Screen = Callable[[Peer], Coroutine[Any, Any, None]]
"""Draws the worker's status on the terminal until cancelled."""


def run_worker(
    folder: Path,
    run: str | None,
    network: NetworkOptions | None = None,
    join: bool = False,
    screen: Screen | None = None,
    agree: Callable[[Path], None] = lambda folder: None,
) -> int:
    """Serve the data folder until asked to quit.

    Args:
        folder: the data folder.
        run: as `Peer` takes it.
        network: likewise.
        join: join peers as the settings say, likewise.
        screen: shows the status; None: log lines are shown.
        agree: called with the folder once nothing stands in the way of a start.

    Raises:
        HearthError: it cannot start, and nothing was changed; or the folder has been removed.
    """
    allow_files()
    with lock(folder):
        ring = logs.start(folder, terminal=sys.stdout is not None and screen is None)
        try:
            key_file.ensure(folder)  # at the first start, also of a worker that is alone as yet
        except DataFolderError as error:
            log.warning("%s", error)  # it can compute without; who joins others is told again, and ends
        event_loop.run(_serve(folder, run, ring, network, join, screen, agree))
    return 0


def allow_files(wanted: int = FILES) -> None:
    """Let this process have more files open, if it may have few.

    Args:
        wanted: so many, if the system lets it have them.
    """
    if sys.platform != "win32":
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        if soft != resource.RLIM_INFINITY and soft < most:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


async def _serve(
    folder: Path,
    run: str | None,
    ring: logs.Ring,
    network: NetworkOptions | None,
    join: bool,
    screen: Screen | None,
    agree: Callable[[Path], None],
) -> None:
    worker = Peer(folder, run, ring, network, join)
    agree(folder)
    loop = asyncio.get_running_loop()
    numbers = [signal.SIGINT, signal.SIGTERM]
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:  # else nohup: stay
        numbers.append(signal.SIGHUP)  # the terminal was closed
    for number in numbers:
        try:
            loop.add_signal_handler(number, worker.quit)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(worker.quit))
    async with worker.joined(), ControlServer(worker, folder, worker.settings.control_port):
        trial.came_up("worker")
        drawing = None if screen is None else asyncio.create_task(screen(worker), name="terminal")
        await worker.run()
        if drawing is not None:
            drawing.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError):  # OSError: the terminal is gone
                await drawing

"""Telling the worker what to do: pause, start, resume, quit."""

import argparse
import contextlib
import time

import filelock

from core.commands import common
from core.contracts.control import LOCK_FILE, Bye, PaceParams, Snapshot
from core.contracts.errors import DataFolderError, NoAnswer, NotRunning
from core.contracts.notices import Notice, english
from core.contracts.status import STATE_WORD, Status
from core.contracts.words import clock, duration
from core.control.why import gpu_is_paused
from core.store.data_folder import data_path

QUIT_S = 30.0
"""For the worker to end."""


def pause(options: argparse.Namespace) -> None:
    if options.gpu:
        return _pause_gpu(options)
    with common.client(options) as client:
        client.call("pause", {"seconds": options.seconds}, dict)
    if options.seconds is None:
        print("Paused until you resume.")
        return
    now = time.time()
    print(f"Paused for {duration(options.seconds)}, until {clock(now + options.seconds, now)}.")


def _pause_gpu(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        client.call("pause_gpu", {}, dict)
        paused = gpu_is_paused(client.call("status", {}, Status).why)
    print("The GPU is paused until you resume." if paused else "No GPU is used; it would be paused until you resume.")


def start(options: argparse.Namespace) -> None:
    if options.end:
        return _end_start(options)
    with common.client(options) as client:
        client.call("start_now", {"seconds": options.seconds}, dict)
        status = client.call("status", {}, Status)
    now = time.time()
    print(f"Started for {duration(options.seconds)}, until {clock(now + options.seconds, now)}.")
    if not (status.cpu or status.gpu):
        print(f"It does not compute yet: {english(status.reason)} {english(status.until)}")


def _now(status: Status) -> str:
    word = STATE_WORD[status.state]
    return f"Now {word[0].lower()}{word[1:]}: {english(status.reason)} {english(status.until)}".rstrip()


def _end_start(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        client.call("end_lift", {"rule": "choice"}, dict)
        now = client.call("status", {}, Status)
    print(f"All rules hold. {_now(now)}")


def resume(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        before = client.call("status", {}, Status)
        client.call("resume", {}, dict)
        now = client.call("status", {}, Status)
    done = "Resumed." if before.state == "paused" or gpu_is_paused(before.why) else "It was not paused."
    print(f"{done} {_now(now)}")


def quit(options: argparse.Namespace) -> None:
    """Returns when the worker has gone, so that scripts can rely on it; fails if something was not saved."""
    unsaved: list[Notice] = []
    with common.client(options) as client:
        client.call("subscribe", {}, Snapshot)
        client.call("pace", PaceParams(QUIT_S), dict)
        client.call("quit", {}, dict)
        print("Saving and ending.", flush=True)
        with contextlib.suppress(NotRunning, NoAnswer):  # it tells nobody that it ends for a fault
            unsaved = client.wait("bye", Bye, QUIT_S).unsaved
    try:
        with filelock.FileLock(data_path(options.data_dir) / LOCK_FILE, timeout=QUIT_S):
            pass
    except (filelock.Timeout, OSError):  # OSError: the folder is read-only by now
        print("The worker is still busy; it ends by itself.")
    if unsaved:
        raise DataFolderError(unsaved[0])

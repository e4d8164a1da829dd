"""Telling the worker what to do: pause, start, resume, quit."""

import argparse
import time

from core.commands import common
from core.store.data_folder import data_path


def pause(options: argparse.Namespace) -> None:
    if options.gpu:
        return _pause_gpu(options)
    with common.client(options) as client:
        client.call("pause", {"seconds": options.seconds}, dict)
    if options.seconds is None:
        print("Paused until you resume.")
        return
    from core.contracts.words import clock, duration

    now = time.time()
    print(f"Paused for {duration(options.seconds)}, until {clock(now + options.seconds, now)}.")


def _pause_gpu(options: argparse.Namespace) -> None:
    from core.contracts.control import Status
    from core.control.why import gpu_is_paused

    with common.client(options) as client:
        client.call("pause_gpu", {}, dict)
        paused = gpu_is_paused(client.call("status", {}, Status).why)
    print("The GPU is paused until you resume." if paused else "No GPU is used; it would be paused until you resume.")


def start(options: argparse.Namespace) -> None:
    from core.contracts.control import Status
    from core.contracts.words import clock, duration

    with common.client(options) as client:
        client.call("start_now", {"seconds": options.seconds}, dict)
        status = client.call("status", {}, Status)
    now = time.time()
    print(f"Started for {duration(options.seconds)}, until {clock(now + options.seconds, now)}.")
    if not (status.cpu or status.gpu):
        print(f"It does not compute yet: {status.reason} {status.until}")


def resume(options: argparse.Namespace) -> None:
    from core.contracts.control import Status
    from core.control.why import gpu_is_paused

    with common.client(options) as client:
        before = client.call("status", {}, Status)
        client.call("resume", {}, dict)
        now = client.call("status", {}, Status)
    done = "Resumed." if before.state == "paused" or gpu_is_paused(before.why) else "It was not paused."
    print(f"{done} Now {now.state}: {now.reason} {now.until}".rstrip())


def quit(options: argparse.Namespace) -> None:
    """Returns when the worker has gone, so that scripts can rely on it."""
    import filelock

    from core.contracts.control import LOCK_FILE

    with common.client(options) as client:
        client.call("quit", {}, dict)
    print("Saving and ending.", flush=True)
    try:
        with filelock.FileLock(data_path(options.data_dir) / LOCK_FILE, timeout=30.0):
            return
    except (filelock.Timeout, OSError):  # OSError: the folder is read-only by now
        print("The worker is still busy; it ends by itself.")

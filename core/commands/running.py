"""`hearth`, `hearth worker`, `hearth screensaver`: what goes on running."""

import argparse
import contextlib
import os
import runpy
import sys
from pathlib import Path

from core import consent
from core.contracts.errors import DataFolderError, SettingsError
from core.contracts.notices import notice
from core.contracts.run_link import is_link
from core.store.data_folder import data_folder
from core.update import trial

CONSENT = (
    "By starting this worker you agree that this PC computes for its run and, if it joins peers, sends them tensors "
    "and its address. This is noted in the data folder. The app asks before it starts anything."
)


def app(options: argparse.Namespace) -> int:
    trial.settle()
    if sys.platform == "linux" and not _has_display():
        if options.link:
            raise SettingsError("There is no display. Join the run without the app: hearth run join LINK")
        print("There is no display: the worker runs in this terminal. Ctrl+C saves and ends it.", file=sys.stderr)
        options.run = options.listen = options.role = None
        options.bootstrap, options.join = [], True
        return worker(options)
    _run("app", options, [*(["--in-tray"] if options.in_tray else []), *filter(None, [options.link])])
    return 0


def screensaver(options: argparse.Namespace) -> int:
    if sys.platform == "linux" and not _has_display():
        print("hearth: There is no display that a screensaver could be shown on.", file=sys.stderr)
        return 1
    _run("app.screensaver", options, options.words)
    return 0


def _run(package: str, options: argparse.Namespace, words: list[str]) -> None:
    """The app is a program of its own that knows the core; the core does not know the app. It ends this process."""
    folder = [] if options.data_dir is None else ["--data-dir", str(options.data_dir)]
    sys.argv = ["hearth", *folder, *words]
    runpy.run_module(package, run_name="__main__", alter_sys=True)


def _has_display() -> bool:
    """Whether a window can be shown; a DISPLAY left over from another session cannot (Qt would abort)."""
    if os.environ.get("WAYLAND_DISPLAY"):
        return True
    if not os.environ.get("DISPLAY"):
        return False
    from Xlib import display, error

    try:
        display.Display().close()
    except (error.DisplayError, error.XauthError, OSError) as failure:
        print(f"The display {os.environ['DISPLAY']} cannot be used: {failure}", file=sys.stderr)
        return False
    return True


def worker(options: argparse.Namespace) -> int:
    from core.control.start import run_worker  # the app starts through this module as well, and needs none of these

    if options.run and is_link(options.run):
        raise SettingsError(notice("run.link_to_start"))
    network = screen = None
    if options.listen or options.bootstrap or options.role:
        from core.worker.network_options import parse_options

        network = parse_options(options.listen, options.bootstrap, options.role)
    trial.settle()
    folder = data_folder(options.data_dir)
    if sys.stdout is not None and sys.stdout.isatty():  # None: started with stdout closed
        from core.commands import terminal  # takes 4 MB, of which a worker in the background has no use

        screen = terminal.show
    return run_worker(folder, options.run, network, options.join, screen, _consent)


def _consent(folder: Path) -> None:
    """Who starts a worker here by hand agrees to what it does, and is told so once."""
    if consent.read(folder) is None:
        print(CONSENT, file=sys.stderr)
        with contextlib.suppress(DataFolderError):  # the worker itself tells that the disk is full
            consent.give(folder, "command line")

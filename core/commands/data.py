"""`hearth data`: how much there is, moved, backed up, restored, or removed without a trace."""

import argparse
import contextlib
import sys
from pathlib import Path

from core.commands import common
from core.commands.progress import Progress
from core.commands.standstill import standstill
from core.contracts.errors import DataFolderError, HearthError, SettingsError
from core.contracts.notices import notice
from core.contracts.words import size
from core.store import moved
from core.store.backup import back_up, check_restore, restore
from core.store.data_folder import data_folder, data_path, first_path
from core.store.moving import check, move
from core.store.sizes import sizes
from core.system import link_handler, start_at_login, xscreensaver
from core.update.installation import this_installation
from core.update.trial import BACKUPS

LABELS = {
    "checkpoints": "checkpoints of runs",
    "copies": "copies kept for other peers",
    "shards": "data of runs",
    "own": "data of your own runs",
    "packs": "GPU packs",
    "ledger": "ledger and history",
    "logs": "log",
    "other": "key, settings and the rest",
}
WARNING = "It contains this PC's secret key: whoever has the file can impersonate this PC. Keep it to yourself."


def data(options: argparse.Namespace) -> None:
    """Do what was asked.

    Raises:
        HearthError: it cannot be done; nothing is lost.
    """
    verbs = {"size": _size, "move": _move, "backup": _backup, "restore": _restore, "purge": _purge}
    verbs[options.what](options)


def _size(options: argparse.Namespace) -> None:
    folder = data_path(options.data_dir)
    found = sizes(folder)
    if options.json:
        common.print_json({"folder": str(folder), "bytes": found, "total": sum(found.values())})
        return
    print(folder)
    for kind, amount in found.items():
        if amount:
            print(f"{size(amount):>10}  {LABELS[kind]}")
    print(f"{size(sum(found.values())):>10}  in total")


def _move(options: argparse.Namespace) -> None:
    start, source = first_path(options.data_dir), data_folder(options.data_dir)
    target = options.folder.absolute()
    check(source, target)
    with standstill(start, source, beside_app=options.progress):
        move(start, source, target, Progress(options.progress))
    print(f"The data are in {target} now. {start} leads there, so that nothing else changes.")


def _backup(options: argparse.Namespace) -> None:
    folder = data_path(options.data_dir)
    if not folder.is_dir():
        raise DataFolderError(notice("data.none", folder=str(folder)))
    file = options.file.absolute()
    back_up(folder, file, options.checkpoints, options.force, Progress(options.progress))
    print(f"Saved as {file}, {size(file.stat().st_size)}. {WARNING}")


def _restore(options: argparse.Namespace) -> None:
    start, is_new = first_path(options.data_dir), not data_path(options.data_dir).exists()
    folder = data_folder(options.data_dir)
    file = options.file.absolute()
    try:
        check_restore(folder, file, options.force)  # before the worker is ended for it
        with standstill(start, folder, beside_app=options.progress):
            restore(folder, file, options.force, Progress(options.progress))
    except DataFolderError:
        if is_new:
            moved.clear(folder)
        raise
    print(f"Restored into {folder}.")


def _purge(options: argparse.Namespace) -> None:
    """Everything that Hearth has written for this user; the program itself stays."""
    start, folder = first_path(options.data_dir), data_path(options.data_dir)
    if not options.yes:
        _ask(folder)
    places = moved.chain(start)
    if folder.is_dir():
        with standstill(start, folder) as ran:
            ran.command = []
            _forget(places)
            moved.clear(folder)
    for place in places:  # and what Windows had not let go
        moved.clear(place)
    if (installation := this_installation()) is not None:
        moved.clear(installation.root / BACKUPS)
    left = [str(place) for place in places if place.exists()]
    if left:
        raise DataFolderError(notice("purge.left", folders=left))
    print("Nothing is left of Hearth's data. Its program is removed as it was installed.")


def _ask(folder: Path) -> None:
    if not sys.stdin.isatty():
        raise SettingsError("Nobody can be asked here: add --yes to delete everything.")
    print(f"This deletes {folder}: key, ledger, settings, runs, checkpoints, and data of your own runs.")
    print("Without a backup or the recovery words, this PC's key and its credit are lost for good.")
    if input("Type “delete” to continue: ").strip() != "delete":
        raise SettingsError("Nothing was deleted.")


def _forget(places: list[Path]) -> None:
    """Undo what was registered with the system for this data folder, by any name."""
    for one in places:
        for kept in (start_at_login, link_handler):
            with contextlib.suppress(HearthError):
                kept.forget(one)
    xscreensaver.forget()

"""The settings file: read, brought to the newest version, written atomically."""

import codecs
import contextlib
import dataclasses
import logging
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from core.contracts.errors import UNREADABLE, DataFolderError, SettingsError
from core.contracts.notices import Notice, notice
from core.contracts.settings import Settings, convert
from core.regular_files import read_regular
from core.store.writing import write_whole

log = logging.getLogger(__name__)

VERSION = 3
FILE = "settings.json"
Document = dict[str, Any]


def _from_1(document: Document) -> Document:
    """Version 2 brought profiles: threads that were chosen by hand belong to none."""
    return {**document, "profile": "own"} if document.get("threads") else document


def _from_2(document: Document) -> Document:
    """Version 3 counts a month's traffic in MB, for lines that have few."""
    quota = document.pop("quota_gb", 0)
    return {**document, "quota_mb": 1000 * quota if isinstance(quota, int) else quota}


MIGRATIONS: dict[int, Callable[[Document], Document]] = {1: _from_1, 2: _from_2}
"""What makes a document of a version one of the next."""


def load(folder: Path, standard: Settings | None = None) -> tuple[Settings, Notice | None]:
    """The settings of a data folder, and what to tell the user if the file could not be used as it is.

    Args:
        folder: the data folder.
        standard: the settings if there is no file that can be used; None: `Settings()`.

    An unreadable file is set aside under a new name, never deleted, and the defaults are used. A value that cannot be
    costs no other one: who chose to be left alone while here is not trained on for a typing error elsewhere. Of such a
    file, and of one that a newer Hearth has written, a copy is kept, and what this one understands is used.
    """
    path, standard = folder / FILE, standard or Settings()
    try:
        document = msgspec.json.decode(read_regular(path).removeprefix(codecs.BOM_UTF8), type=Document)
        version = document.pop("version", 1)
        if not isinstance(version, int) or version < 1:
            raise SettingsError(notice("settings.no_version", version=repr(version)))
        if version > VERSION:
            return _understood(document)[0], _keep_newer(path, version)
        for step in range(version, VERSION):
            document = MIGRATIONS[step](document)
        settings, wrong = _understood(document)
        return settings, _keep_wrong(path, settings, wrong) if wrong else None
    except FileNotFoundError:
        return standard, None
    except (*UNREADABLE, SettingsError, OSError) as error:
        try:
            kept = notice("file.kept", name=path.replace(aside(path)).name)
        except OSError:
            kept = notice("file.left")
        return standard, notice("settings.unreadable", why=str(error), kept=kept)


def _known(document: Document) -> Document:
    known = {field.name for field in dataclasses.fields(Settings)}
    for name in sorted(set(document) - known):
        log.warning("%s: ignoring the unknown setting %r", FILE, name)
    return {name: value for name, value in document.items() if name in known}


def _understood(document: Document) -> tuple[Settings, list[str]]:
    """The settings without those values that cannot be, and the names of these."""
    values, wrong = _known(document), []
    for name, value in list(values.items()):
        try:
            convert({name: value})
        except SettingsError as error:
            log.warning("%s: ignoring %s: %s", FILE, name, error)
            wrong.append(name)
            del values[name]
    return convert(values), wrong


def _keep_wrong(path: Path, settings: Settings, wrong: list[str]) -> Notice:
    """Write the file anew without the values that cannot be, if a copy of the old one can be kept; what to say."""
    labels = [f"“{field.metadata['label']}”" for field in dataclasses.fields(Settings) if field.name in wrong]
    copy, told = aside(path), notice("settings.had_impossible", names=labels)
    with contextlib.suppress(OSError, DataFolderError):
        shutil.copyfile(path, copy)
        told = notice("settings.had_impossible_kept", names=labels, name=copy.name)
        save(path.parent, settings)
    return told


def _keep_newer(path: Path, version: int) -> Notice:
    copy = path.with_name(f"settings.version-{version}.json")
    with contextlib.suppress(OSError):
        shutil.copyfile(path, copy)
        return notice("settings.of_newer_kept", name=copy.name)
    return notice("settings.of_newer")


def save(folder: Path, settings: Settings) -> None:
    """Write the settings atomically.

    Raises:
        DataFolderError: the folder cannot be written; the old file stays.
    """
    write_atomically(folder / FILE, encoded(settings))


def encoded(settings: Settings) -> bytes:
    """The content of the file."""
    document = {"version": VERSION, **dataclasses.asdict(settings)}
    return msgspec.json.format(msgspec.json.encode(document))


def write_atomically(path: Path, data: bytes) -> None:
    """Replace `path` by `data`, or leave it as it was.

    Raises:
        DataFolderError: the disk is full or the folder cannot be written.
    """
    try:
        write_whole(path, [data])
    except OSError as error:
        raise DataFolderError(notice("file.not_written", path=str(path), why=str(error.strerror))) from error


def aside(path: Path) -> Path:
    """Where a file that cannot be used is kept."""
    return path.with_name(f"{path.stem}.bad-{time.strftime('%Y%m%d-%H%M%S')}{path.suffix}")

"""Which runs this PC has joined, kept in the data folder: ids and weights, and in each run's folder its manifest."""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec

from core.contracts import manifest as manifests
from core.contracts.errors import DataFolderError, ManifestError
from core.contracts.manifest import Manifest
from core.contracts.notices import Notice, notice
from core.contracts.status import Weight
from core.store.data_folder import RUNS
from core.store.settings_file import write_atomically
from core.store.small_files import Files

log = logging.getLogger(__name__)

FILE, MANIFEST_FILE = "runs.json", "manifest.json"
MOST = 16
"""Runs of one PC: each has a process of its own."""


class JoinedRun(msgspec.Struct, frozen=True):
    """One entry of the file."""

    id: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]{0,63}\Z")]
    weight: Weight = 1


class Joined(msgspec.Struct, frozen=True):
    """The file; without one, there is only the run of the settings."""

    version: int = 1
    runs: Annotated[tuple[JoinedRun, ...], msgspec.Meta(max_length=MOST)] = ()


def read(folder: Path, files: Files, first: Manifest, notes: list[Notice]) -> list[tuple[Manifest, int]]:
    """The runs and their weights, the first one first. One whose manifest cannot be read is left out, and kept.

    Args:
        folder: the data folder.
        files: its small files.
        first: the run of the settings.
        notes: for the user; one is added for each that is left out.
    """
    joined = files.read(FILE, Joined, notice("file.loss_runs"))
    weights = {one.id: one.weight for one in joined.runs}
    found = [(first, weights.pop(first.run_id, 1))]
    for run_id, weight in weights.items():
        path = folder / RUNS / run_id / MANIFEST_FILE
        try:
            found.append((manifests.load(str(path)), weight))
        except ManifestError as error:
            notes.append(error.notice)
            log.warning("%s", error)
    return found


def save(files: Files, runs: Iterable[tuple[str, int]]) -> None:
    """Note ids and weights soon."""
    content = Joined(runs=tuple(JoinedRun(run_id, weight) for run_id, weight in runs))
    files.save(FILE, content, notice("file.loss_runs_unsaved"))


def keep_manifest(folder: Path, manifest: Manifest) -> None:
    """Keep what a run is in its folder: its organiser's file may go.

    Raises:
        DataFolderError: it cannot be written.
    """
    path = folder / RUNS / manifest.run_id / MANIFEST_FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataFolderError(notice("data.not_written", path=str(path.parent), why=str(error.strerror))) from error
    write_atomically(path, msgspec.json.format(msgspec.json.encode(manifest)))

"""Which runs this PC has joined, kept in the data folder: ids and weights, and in each run's folder its manifest."""

import contextlib
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from core.contracts import manifest as manifests
from core.contracts.errors import DataFolderError, ManifestError, RunError
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


class Kept:
    """The list for the next start: also of runs that are not trained now, as their manifest is missing or another run
    was asked for by hand."""

    def __init__(self, files: Files, by_hand: str | None) -> None:
        """Read it.

        Args:
            files: the small files of the data folder.
            by_hand: id of a run that was asked for at this start only; None: there is none.
        """
        self._files, self._by_hand = files, by_hand
        self.weights = {one.id: one.weight for one in files.read(FILE, Joined, notice("file.loss_runs")).runs}
        """By run id, in the order in which they were joined."""

    def join(self, run_id: str, weight: int) -> None:
        """Note a run soon; one that is noted gets another weight."""
        self.weights[run_id] = weight
        self._save()

    def leave(self, run_id: str) -> None:
        """Note it no more."""
        self.weights.pop(run_id, None)
        self._save()

    def weigh(self, run_id: str, weight: int) -> None:
        """Note its weight, unless it is here for this time only.

        Raises:
            RunError: it is not noted, and there is no room for it in the list.
        """
        if run_id in self.weights or run_id != self._by_hand:
            if len({*self.weights, run_id}) > MOST:
                raise RunError(notice("run.too_many", most=MOST))
            self.join(run_id, weight)

    def _save(self) -> None:
        content = Joined(runs=tuple(JoinedRun(*one) for one in self.weights.items()))
        self._files.save(FILE, content, notice("file.loss_runs_unsaved"))


def manifests_of(folder: Path, weights: Mapping[str, int], notes: list[Notice]) -> list[tuple[Manifest, int]]:
    """The manifests of runs, with their weights. One that cannot be read is left out.

    Args:
        folder: the data folder.
        weights: by run id.
        notes: for the user; one is added for each that is left out.
    """
    found = []
    for run_id, weight in weights.items():
        try:
            manifest = manifests.load(str(folder / RUNS / run_id / MANIFEST_FILE))
            if manifest.run_id != run_id:
                raise ManifestError(notice("run.other_manifest", run=run_id, found=manifest.run_id))
            found.append((manifest, weight))
        except ManifestError as error:
            notes.append(error.notice)
            log.warning("%s", error)
    return found


def setting_of(folder: Path, manifest: Manifest) -> str:
    """How `Settings.run` names a run: those that come with Hearth by their name, others by the manifest kept here.

    Args:
        folder: the data folder.
        manifest: the run's.

    Raises:
        DataFolderError: as `keep_manifest`.
    """
    with contextlib.suppress(ManifestError):
        if manifests.load(manifest.run).run_id == manifest.run_id:
            return manifest.run
    keep_manifest(folder, manifest)
    return str((folder / RUNS / manifest.run_id / MANIFEST_FILE).absolute())


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

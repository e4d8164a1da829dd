"""Which runs this PC has joined, kept in the data folder: ids and weights, and in each run's folder its manifest."""

import contextlib
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from core.contracts import manifest as manifests
from core.contracts.errors import ManifestError, RunError
from core.contracts.manifest import MOST_BOOTSTRAP, Bootstrap, Manifest
from core.contracts.notices import Notice, notice
from core.contracts.run_link import MOST_PEERS
from core.contracts.status import Weight
from core.store import access_files
from core.store.data_folder import MANIFEST_FILE, RUNS
from core.store.small_files import Files

log = logging.getLogger(__name__)

FILE = "runs.json"
MOST = 16
"""Runs of one PC: each has a process of its own."""


class JoinedRun(msgspec.Struct, frozen=True):
    """One entry of the file."""

    id: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]{0,63}\Z")]
    weight: Weight = 1
    peers: Annotated[tuple[Bootstrap, ...], msgspec.Meta(max_length=MOST_PEERS)] = ()
    """Of the link by which it was joined."""


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
        runs = files.read(FILE, Joined, notice("file.loss_runs")).runs
        self.weights = {one.id: one.weight for one in runs}
        """By run id, in the order in which they were joined."""
        self._peers = {one.id: one.peers for one in runs}

    def join(self, run_id: str, weight: int, peers: tuple[str, ...] = ()) -> None:
        """Note a run soon; one that is noted gets another weight.

        Args:
            run_id: the run.
            weight: see `RunStatus`.
            peers: of the link by which it is joined, for the next starts.
        """
        self.weights[run_id] = weight
        self._peers[run_id] = peers or self._peers.get(run_id, ())
        self._save()

    def met(self, manifest: Manifest) -> Manifest:
        """A run's manifest with the peers of the link by which it was joined among those that it names."""
        return with_peers(manifest, self._peers.get(manifest.run_id, ()))

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
        content = Joined(runs=tuple(JoinedRun(*one, self._peers.get(one[0], ())) for one in self.weights.items()))
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
        DataFolderError: as `keep`.
    """
    with contextlib.suppress(ManifestError):
        if manifests.load(manifest.run).run_id == manifest.run_id:
            return manifest.run
    if manifest.organiser is None:  # else what was signed is there
        keep(folder, manifest.run_id, msgspec.json.format(msgspec.json.encode(manifest)))
    return str((folder / RUNS / manifest.run_id / MANIFEST_FILE).absolute())


def keep(folder: Path, run_id: str, document: bytes) -> None:
    """Keep what a run is in its folder: its organiser's file may go.

    Args:
        folder: the data folder.
        run_id: the run.
        document: its manifest as JSON, with its signature if it has one.

    Raises:
        DataFolderError: it cannot be written.
    """
    access_files.write(folder / RUNS / run_id, MANIFEST_FILE, document)


def newest(folder: Path, manifest: Manifest, document: bytes) -> Manifest:
    """The manifest that holds for a run that is named by a file: where it is signed, one of a higher revision that came
    from peers. It is in the run's folder then, for others that ask for it.

    Args:
        folder: the data folder.
        manifest: what the file says.
        document: the file.

    Raises:
        DataFolderError: it cannot be written.
    """
    if manifest.organiser is None:
        return manifest
    with contextlib.suppress(ManifestError):
        kept = manifests.load(str(folder / RUNS / manifest.run_id / MANIFEST_FILE))
        if kept.lasting == manifest.lasting and kept.revision >= manifest.revision:
            return kept
    keep(folder, manifest.run_id, document)
    return manifest


def with_peers(manifest: Manifest, peers: tuple[str, ...]) -> Manifest:
    """A manifest that names more peers to join through.

    Args:
        manifest: the run's.
        peers: they come first; as many stay as a manifest may name.
    """
    named = {one.partition("@")[0]: one for one in (*reversed(manifest.bootstrap), *reversed(peers))}
    return msgspec.structs.replace(manifest, bootstrap=tuple(reversed(named.values()))[:MOST_BOOTSTRAP])

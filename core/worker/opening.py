"""What a data folder is opened with: its settings, the run that they name, what an older Hearth left, the network."""

import functools
import logging
import sqlite3
from collections.abc import Callable, Collection
from pathlib import Path

from core import consent
from core.community import schema
from core.community.ledger import Ledger
from core.contracts import manifest as manifests
from core.contracts.errors import DataFolderError, IdentityError, ManifestError
from core.contracts.manifest import Manifest
from core.contracts.net import ANYWHERE
from core.contracts.notices import Notice, notice
from core.contracts.settings import Settings
from core.store import data_folder, settings_file
from core.store.small_files import Files
from core.worker import joined_runs
from core.worker.joined_runs import Kept, manifests_of
from core.worker.no_network import NoNetwork
from core.worker.places import NetworkOptions, NetworkPlace

log = logging.getLogger(__name__)


def read_settings(folder: Path, notes: list[Notice]) -> Settings:
    """The settings of a data folder.

    Args:
        folder: the data folder.
        notes: for the user; one is added if the file could not be used as it is.
    """
    settings, note = settings_file.load(folder, consent.standard(folder))
    if note:
        _note(notes, note)
    return settings


def chosen_run(settings: Settings, notes: list[Notice]) -> tuple[Manifest, bytes]:
    """The run of the settings, and its document. One that is no more, as a manifest's file that was moved, must not
    keep the worker from starting: without it nobody could choose another one.

    Args:
        settings: those of the data folder.
        notes: as in `read_settings`.
    """
    try:
        return manifests.read(settings.run)
    except ManifestError as error:
        usual, document = manifests.read(Settings().run)
        _note(notes, notice("run.choose_another", why=error.notice, title=usual.title))
        return usual, document


def runs(
    folder: Path, files: Files, settings: Settings, by_hand: str | None, notes: list[Notice]
) -> tuple[list[tuple[Manifest, int]], Kept]:
    """The runs of this PC and their weights, the one that is shown first, and the list in which they are kept; what an
    older Hearth left of them is theirs.

    Args:
        folder: the data folder.
        files: its small files.
        settings: its settings.
        by_hand: the only one, by name or path; None: that of the settings, and those that were joined.
        notes: as in `read_settings`.

    Raises:
        ManifestError: `by_hand` is none.
        DataFolderError: as `take_over`, or a signed manifest cannot be kept.
    """
    first = joined_runs.newest(folder, *(manifests.read(by_hand) if by_hand else chosen_run(settings, notes)))
    kept = Kept(files, first.run_id if by_hand else None)
    others = {} if by_hand else {run_id: weight for run_id, weight in kept.weights.items() if run_id != first.run_id}
    found = [(first, kept.weights.get(first.run_id, 1)), *manifests_of(folder, others, notes)]
    take_over(folder, [manifest for manifest, _ in found])
    return [(kept.met(manifest), weight) for manifest, weight in found], kept


def take_over(folder: Path, joined: Collection[Manifest]) -> None:
    """Make what an older Hearth has left of these runs this one's (`core.store.data_folder`).

    Args:
        folder: the data folder.
        joined: the runs.

    Raises:
        DataFolderError: a folder cannot be moved.
    """
    for manifest in joined:
        data_folder.take_over(folder, manifest, functools.partial(_rename_run, folder / schema.FILE))
    data_folder.mark(folder)


def _rename_run(ledger: Path, old: str, new: str) -> None:
    """What is contributed stays counted, be it under the old name, also where the file cannot be written now."""
    try:
        schema.rename_run(ledger, old, new)
    except (sqlite3.Error, schema.DamagedError) as error:
        log.warning("The history of the run %s is kept under its old name: %s", old, error)


def network(
    folder: Path,
    files: Files,
    settings: Settings,
    by_hand: NetworkOptions | None,
    join: bool,
    joined: Collection[Manifest],
    notes: list[Notice],
    ledger: Ledger,
    named: Callable[[], tuple[str, str]],
) -> NetworkPlace:
    """The PC among its peers, if it was asked for or the settings say so: then a fault of it is no reason not to work
    alone.

    Args:
        folder: the data folder.
        files: its small files.
        settings: its settings.
        by_hand: what the command line says; None: nothing.
        join: whether to join without that if the settings say so.
        joined: the runs, which may name peers to join through.
        notes: as in `read_settings`.
        ledger: where credit is kept.
        named: name and team that the user wishes to be shown with it.

    Raises:
        IdentityError, DataFolderError: it was asked for by hand, and the key cannot be used or made.
    """
    if by_hand is None and not (join and settings.peers):
        return NoNetwork()
    from core.worker.network import PORTS_FILE, Network, Ports  # 10 MB, of no use to a PC that works alone

    options = (by_hand or NetworkOptions())._replace(lan=settings.lan, relay=settings.relay)
    if keeps_ports := options.listen == ANYWHERE:  # where it was found last time, unless another address was asked for
        options = options._replace(listen=files.read(PORTS_FILE, Ports, notice("file.loss_ports")).listen)
    try:
        return Network(folder, options, ledger, named, joined, keeps_ports)
    except (IdentityError, DataFolderError) as error:
        if by_hand is not None:
            raise
        _note(notes, notice("network.works_alone", why=error.notice))
        return NoNetwork()


def _note(notes: list[Notice], said: Notice) -> None:
    notes.append(said)
    log.warning("%s", said)

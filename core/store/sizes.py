"""How much of the disk the data folder takes, by what it is for."""

import contextlib
import os
from pathlib import Path

from core.store.checkpoint_files import BLOBS, CHECKPOINTS, on_disk
from core.store.data_folder import RUNS
from core.store.shards import FOLDER as SHARDS
from core.store.shards import OWN

RUNTIMES = "runtimes"
"""The folder of GPU packs (`core.update.packs`)."""
KINDS = ("checkpoints", "copies", "shards", "own", "packs", "ledger", "logs", "other")
"""Checkpoints of runs, copies kept for other peers, data of runs that were fetched, data of an organiser's own, GPU
packs, ledger, log, and all else."""
TOP = {OWN: "own", RUNTIMES: "packs", "logs": "logs"}
IN_RUN = {CHECKPOINTS: "checkpoints", BLOBS: "copies", SHARDS: "shards"}


def sizes(folder: Path) -> dict[str, int]:
    """Bytes on the disk by kind; a file with several names counts once, by its first one.

    Args:
        folder: the data folder; one that is not there takes nothing.
    """
    found, seen = dict.fromkeys(KINDS, 0), set()
    for parent, folders, names in os.walk(folder):
        folders.sort(reverse=True)  # checkpoints before the copies that are links to them
        here = Path(parent).relative_to(folder).parts
        for name in names:
            with contextlib.suppress(OSError):
                status = Path(parent, name).lstat()
                if (inode := (status.st_dev, status.st_ino)) not in seen:
                    seen.add(inode)
                    size = status.st_blocks * 512 if hasattr(status, "st_blocks") else on_disk(status.st_size)
                    found[_kind((*here, name))] += size
    return found


def _kind(parts: tuple[str, ...]) -> str:
    if parts[0] == RUNS and len(parts) > 3:
        return IN_RUN.get(parts[2], "other")
    return "ledger" if parts[0].startswith("ledger.") else TOP.get(parts[0], "other")

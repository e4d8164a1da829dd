"""What takes how much of the disk, and what of it may go, the least needed first."""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from core.contracts.files import PartFile
from core.store.checkpoint_files import BAD, BLOBS, CHECKPOINTS, manifests, on_disk, superseded_copies, survey
from core.store.data_folder import RUNS
from core.store.shards import OWN
from core.store.sizes import RUNTIMES
from core.store.writing import PARTIAL

UNFINISHED, SUPERSEDED, HELD = 0, 1, 2
"""How little something is needed; `HELD`: enough other peers keep it."""
LOOKS = 3
"""At most, if checkpoints are finished meanwhile: files and what they are for are to be of one moment."""


class Spare(NamedTuple):
    """Files that may go, all or none."""

    need: int
    order: tuple[int, ...]
    """Among those that are needed as little; (): by age."""
    paths: Sequence[Path]
    forget: Callable[[], object] = lambda: None
    """Called before they are removed."""


class File(NamedTuple):
    inode: tuple[int, int]
    size: int
    """Bytes on the disk."""
    changed: float


class Found(NamedTuple):
    """What a look saw."""

    total: int
    """Bytes of all files and folders, each file once however many names it has."""
    files: Mapping[str, File]
    links: Counter[tuple[int, int]]
    """Names of each file."""
    outstanding: int
    """What was still to come then of the files that were being fetched."""


def look_through(
    folder: Path, runs: Iterable[tuple[Path, Mapping[str, int]]], coming: Mapping[Path, int]
) -> tuple[Found, dict[Path, Mapping[str, PartFile]]]:
    """In a thread: a slow disk with many files must not hold up a yield.

    Args:
        folder: The data folder.
        runs: The folder of each run, and what is kept of it beside the checkpoints.
        coming: The sizes of the files that come: one that is finished meanwhile counts in full, whether or not it was
            seen.

    Returns:
        What is there, and of each run's checkpoints the newest state of each part.
    """
    runs = [*runs]  # gone through more than once

    def finished() -> list[list[Path]]:
        return [[*manifests(run / CHECKPOINTS)] for run, _ in runs]

    for _ in range(LOOKS):
        before = finished()
        found = _look_once(folder, runs, coming)
        if finished() == before:
            break
    return found


def _look_once(
    folder: Path, runs: Iterable[tuple[Path, Mapping[str, int]]], coming: Mapping[Path, int]
) -> tuple[Found, dict[Path, Mapping[str, PartFile]]]:
    total, files, links = 0, dict[str, File](), Counter[tuple[int, int]]()
    for parent, folders, names in os.walk(folder):  # unlike Path.rglob it passes over folders that are gone
        # an organiser's own files are not Hearth's, and a GPU pack is wanted as it is, however little may be kept
        folders[:] = [name for name in folders if name not in (OWN, RUNTIMES)]
        for name in [*folders, *names]:
            path = Path(parent, name)
            with contextlib.suppress(OSError):  # what vanishes meanwhile counts for nothing
                status = path.lstat()
                inode = status.st_dev, status.st_ino
                size = status.st_blocks * 512 if hasattr(status, "st_blocks") else on_disk(status.st_size)
                total += 0 if inode in links else size
                links[inode] += 1
                files[str(path)] = File(inode, size, status.st_mtime)
    states = dict[Path, Mapping[str, PartFile]]()
    for run, kept in runs:
        states[run] = survey(run / CHECKPOINTS, lambda file: True, kept).states
    sizes = {path: files[str(path)].size if str(path) in files else 0 for path in coming}
    outstanding = sum(max(0, on_disk(size) - sizes[path]) for path, size in coming.items())
    return Found(total, files, links, outstanding), states


class _Sound:
    """Whether files of a folder are whole, where what is not known counts as whole."""

    def __init__(self, is_sound: Callable[[Path, PartFile], bool | None], folder: Path) -> None:
        self._is_sound, self._folder, self.is_known = is_sound, folder, True

    def __call__(self, file: PartFile) -> bool:
        sound = self._is_sound(self._folder, file)
        self.is_known &= sound is not None
        return sound is not False


def spares(
    folder: Path, runs: Mapping[Path, tuple[Mapping[str, int], bool]], is_sound: Callable[[Path, PartFile], bool | None]
) -> list[Spare]:
    """What may go of all that no other peer is asked about: of every run that was ever trained here.

    Args:
        folder: The data folder.
        runs: The folders of the runs that are trained now, each with what is kept of it beside the checkpoints, and
            whether a compute process may be writing one.
        is_sound: Which files are whole; None: that is not known, and no older state may go in its folder.
    """
    found: list[Spare] = []
    for one in folder.glob(f"{RUNS}/*"):
        kept, writing = runs.get(one, ({}, False))
        checkpoints = one / CHECKPOINTS
        sound = _Sound(is_sound, checkpoints)
        seen = survey(checkpoints, sound, kept)
        found += [Spare(SUPERSEDED, (), paths) for paths in seen.spare if sound.is_known]
        if one not in runs:  # of these the network knows better
            sound = _Sound(is_sound, one / BLOBS)
            old = superseded_copies(one / BLOBS, sound)
            found += [Spare(SUPERSEDED, (), [path]) for path in old if sound.is_known]
        left = [] if writing else seen.strays
        left += [*checkpoints.glob(f"*{BAD}"), *one.glob(f"{BLOBS}/*{PARTIAL}"), *one.glob(f"{BLOBS}/*{BAD}")]
        found += [Spare(UNFINISHED, (), [path]) for path in left]
    return found


def choose(found: Found, spares: Iterable[Spare], excess: int) -> tuple[list[Spare], int]:
    """The least needed, until they free so many bytes: a file is gone with the last of its names."""

    def rank(spare: Spare) -> tuple[int, tuple[float, ...]]:
        ages = [found.files[str(path)].changed for path in spare.paths if str(path) in found.files]
        return spare.need, spare.order or (max(ages, default=0.0),)

    links, chosen, freed = Counter(found.links), [], 0
    for spare in sorted(spares, key=rank):
        if freed >= excess:
            break
        files = [found.files[str(path)] for path in spare.paths if str(path) in found.files]
        gain = sum(file.size for file in files if links[file.inode] == 1)
        if gain or spare.need < HELD:
            links.subtract(file.inode for file in files)
            chosen.append(spare)
            freed += gain
    return chosen, freed

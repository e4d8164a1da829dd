"""The disk space that the user allows for all of Hearth's files: what takes how much, what may come, what goes for it.

Whatever is large asks here before it is written: compute for its checkpoints, the network for each file that it
fetches. What is small (log, history, settings, manifests) grows into `HEADROOM`. No answer relies on anybody's word:
each looks through the data folder anew, and counts as the file system does.

What goes, the least needed first: what was begun and never finished; superseded states, the oldest first; newest states
that enough other peers keep. All else stays. Experts whose states would not fit beside it are parked or not taken on,
and where it is too much all the same, compute stops: nothing is lost.
"""

import asyncio
import contextlib
import logging
import math
import os
import shutil
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from core.contracts.control import ExpertStatus
from core.contracts.errors import CheckpointError
from core.contracts.pipe import AskSpace, SavedPart
from core.contracts.words import size as words
from core.experts.grid import Uid
from core.store.checkpoint_files import (
    BAD,
    BLOBS,
    CHECKPOINTS,
    PARTIAL,
    SUFFIX,
    Blob,
    is_whole,
    on_disk,
    superseded_copies,
    survey,
)
from core.store.data_folder import RUNS
from core.swarm.placement import least_needed

log = logging.getLogger(__name__)

TRUNK = "trunk"
HEADROOM = 4 << 20
"""Bytes of the space that nothing large gets: what is small grows into it between two looks."""
STAGES = 8
"""A checkpoint is saved in so many, or a few more, where there is no room for all of it beside the one before."""
GRANT_S = 60.0
"""A save that tells nothing for so long has ended."""
UNFINISHED, SUPERSEDED, HELD = 0, 1, 2
"""How little something is needed; `HELD`: enough other peers keep it."""


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
    states: Mapping[str, Blob]
    """The newest state of each part of the run in compute's checkpoints."""
    outstanding: int
    """What was still to come then of the files that were being fetched."""


class Hosted(Protocol):
    """What is asked of who knows which experts are hosted here."""

    experts: Sequence[ExpertStatus]
    parked: frozenset[Uid]


class Compute(Protocol):
    """What is asked of the supervisor of compute."""

    expert_bytes: int

    @property
    def hosted(self) -> Hosted:
        """The experts in it."""

    @property
    def pid(self) -> int | None:
        """None: there is no process."""


class Disk:
    """The files of one data folder. To be used in the worker's loop; what waits for the disk does so in threads."""

    def __init__(self, folder: Path, run: str, compute: Compute, cap_bytes: int) -> None:
        """Args: data folder, name of the run, who computes it, what the user allows."""
        self._folder, self._run, self._compute = folder, run, compute
        self.cap_bytes = cap_bytes
        self.spares: Callable[[], list[Spare]] = list
        """What of the network's files may go; set by it."""
        self.kept: Callable[[], dict[str, int]] = dict
        """The versions of the parts that it keeps; set by it."""
        self.used = 0
        """Bytes, as of the last look."""
        self.full = False
        """What is needed is more than the user allows, and nothing can be left to other peers."""
        self.shared = False
        """Whether there may be others to host experts and keep their states; set by the network."""
        self._fits: float = math.inf
        """Experts that have no state here yet, whose states there is room for; negative: so many are too much."""
        self._limited: int | None = None
        """To how many experts this PC keeps, if it would take more on with more space."""
        self._room = 0
        self._working = self._largest = self._state_bytes = 0
        """To be left free for states that take the place of others; what one of them takes at most; what an expert's
        takes, with its share of the first."""
        self._states: Collection[str] = ()
        self._coming: dict[Path, int] = {}
        self._came = asyncio.Event()
        self._granted, self._granted_at = 0, -math.inf
        self._sound: set[str] = set()
        """Hashes of files that compute wrote or this process has checked."""
        self._one = asyncio.Lock()

    # what is asked

    async def ask(self, question: AskSpace) -> int:
        """How many bytes compute may write of its checkpoint now.

        At least the next file when nothing that was written waits to take the place of older states: what was trained
        is not lost, though the space be full for that moment.
        """
        async with self._one:
            self._granted = 0
            found = await self._measure()
            left = self.cap_bytes - HEADROOM - found.total - found.outstanding
            if left < question.wanted:
                left += await self._free(found, question.wanted - left, SUPERSEDED)
            if left < (least := min(question.wanted, max(self._working, question.needed))):
                left += await self._free(await self._measure(), least - left, HELD)
            granted = max(0, min(question.wanted, left))
            if granted < question.needed and question.superseded:
                granted = question.needed
            self._granted, self._granted_at = granted, time.monotonic()
            return granted

    def saved(self, parts: Mapping[str, SavedPart]) -> None:
        """Compute has made a checkpoint of these."""
        self._granted = 0
        self._sound = {part.sha256 for part in parts.values()}

    @contextlib.asynccontextmanager
    async def hold(self, path: Path, size: int, replaces: bool = False) -> AsyncIterator[None]:
        """Room for a file that is put together at `path` meanwhile.

        Args: where it comes, its bytes, and whether another one is superseded by it, and can go then.

        Raises:
            CheckpointError: on entering: there is none.
        """
        while not await self._admit(path, size, replaces):
            if not (replaces and self._coming):
                raise CheckpointError("there is no room for it in the disk space that Hearth may use. See Settings.")
            await self._came.wait()  # what another one supersedes makes room then
        try:
            yield
        finally:
            del self._coming[path]
            self._came.set()
            self._came = asyncio.Event()

    async def _admit(self, path: Path, size: int, replaces: bool) -> bool:
        """Note that a file comes, if there is room for it.

        Raises:
            CheckpointError: the disk itself is full.
        """
        async with self._one:
            found = await self._measure()
            begun = found.files.get(str(path))
            rest = max(0, on_disk(size) - (begun.size if begun else 0))
            left = self._left(found, replaces) - self._promised(found) - rest
            if left < 0 and not await self._free(found, -left, HELD, whole=True, but=path):
                return False
            if rest > shutil.disk_usage(self._folder).free:
                raise CheckpointError("there is no room for it on this disk. Free some space there.")
            self._coming[path] = size
            return True

    def take(self, size: int) -> bool:
        """Whether a file may be copied, by the last look: for those who cannot wait for another."""
        if fits := on_disk(size) <= self._room:
            self._room -= on_disk(size)
        return fits

    async def look(self) -> None:
        """See what is there, have go what is too much, and tell what fits."""
        async with self._one:
            found = await self._measure()
            self.used = found.total
            if self._granted and time.monotonic() - self._granted_at < GRANT_S:
                return  # compute is in the middle of it
            self._granted = 0
            if (excess := self._promised(found) - self._left(found)) > 0 and await self._free(found, excess, HELD):
                found = await self._measure()
            self.used, self._room, self._states = found.total, self._left(found), found.states.keys()
            self._fits = self._room // self._state_bytes if self._state_bytes else math.inf
            over = self.cap_bytes < found.total + found.outstanding + self._largest
            self.full = over and not (self.shared and self._compute.hosted.experts)

    # what follows from it

    @property
    def notes(self) -> list[str]:
        """Sentences for the user."""
        if self._limited is None:
            return []
        return [
            f"Only {self._limited} experts are trained here: the states of more do not fit into the "
            f"{words(self.cap_bytes)} of disk space that you allow Hearth. Nothing is lost; allow more in Settings."
        ]

    def most(self, able: int) -> int:
        """How many of `able` experts may be hosted here."""
        most = len(self._compute.hosted.experts) - len(self._unsaved()) + self._fits
        held_up = most < able and most <= len(self._compute.hosted.experts)
        self._limited = int(max(0, most)) if held_up else None
        return int(max(0, min(able, most)))

    def surplus(self) -> list[Uid]:
        """Experts in compute for whose first states there is no room: those to be parked. Each layer keeps one."""
        experts, new, fits = self._compute.hosted.experts, self._unsaved(), max(0, self._fits)
        over = int(max(0, len(new) - fits))
        waits = len(new) >= fits and any(str(uid) not in self._states for uid in self._compute.hosted.parked)
        self._limited = len(experts) - over if over or waits else None
        if not over:
            return []
        saved = {Uid.parse(uid).layer for uid in self._states if uid != TRUNK}
        return least_needed(new, over, kept=0 if saved >= {Uid.parse(expert.uid).layer for expert in experts} else 1)

    def fitting(self, parked: Iterable[Uid]) -> list[Uid]:
        """Of parked experts those that there is room for: whose state is here anyway, and as many others as fit."""
        free = self._fits - len(self._unsaved())
        chosen = []
        for uid in parked:
            if str(uid) not in self._states:
                free -= 1
            if str(uid) in self._states or free >= 0:
                chosen.append(uid)
        return chosen

    def _unsaved(self) -> list[ExpertStatus]:
        """Experts in compute that had no state here at the last look."""
        return [expert for expert in self._compute.hosted.experts if expert.uid not in self._states]

    def _promised(self, found: Found) -> int:
        """What the first states of the experts in compute will take."""
        return sum(expert.uid not in found.states for expert in self._compute.hosted.experts) * self._state_bytes

    # looking and making room

    def _left(self, found: Found, replaces: bool = False) -> int:
        """What may be given out, also of what is left free to replace states; negative: there is too much."""
        kept_free = self._granted if replaces else max(self._working, self._granted)
        return self.cap_bytes - HEADROOM - found.total - found.outstanding - kept_free

    async def _measure(self) -> Found:
        found = await asyncio.to_thread(_look_through, self._folder, self._run, self.kept(), {**self._coming})
        sizes = [on_disk(blob.size) for blob in found.states.values()]
        experts = [on_disk(blob.size) for part, blob in found.states.items() if part != TRUNK]
        largest = max((file.size for path, file in found.files.items() if path.endswith(SUFFIX)), default=0)
        state = max(experts, default=self._compute.expert_bytes)
        self._state_bytes = state + state // STAGES
        self._largest = max(state, largest)
        self._working = max(self._largest, sum(sizes) // STAGES)
        return found

    async def _free(self, found: Found, excess: int, most: int, whole: bool = False, but: Path | None = None) -> int:
        """Remove what is least needed.

        Args: what is there; how many bytes are too much; the most that something may be needed to go; whether nothing
        goes if that is not enough; a file that stays.

        Returns:
            Bytes that are free now.
        """
        alive, stay = self._compute.pid is not None, {but, *self._coming}  # also what is finished meanwhile
        spares = await asyncio.to_thread(_spares, self._folder, self._run, self._is_sound, self.kept(), alive)
        spares = [spare for spare in [*spares, *self.spares()] if spare.need <= most]
        chosen, freed = _choose(found, [spare for spare in spares if not stay & {*spare.paths}], excess)
        if whole and freed < excess:
            return 0
        for spare in chosen:
            spare.forget()
        await asyncio.to_thread(_remove, [path for spare in chosen for path in spare.paths])
        if chosen:
            log.info("Removed %d files that were least needed: %d KB.", len(chosen), freed >> 10)
        return freed

    def _is_sound(self, folder: Path, blob: Blob) -> bool:
        if blob.sha256 not in self._sound and is_whole(folder, blob):
            self._sound.add(blob.sha256)
        return blob.sha256 in self._sound


def _look_through(folder: Path, run: str, kept: Mapping[str, int], coming: Mapping[Path, int]) -> Found:
    """In a thread: a slow disk with many files must not hold up a yield.

    Args: data folder, run, what is kept beside the checkpoints, and the sizes of the files that come: one that is
    finished meanwhile counts in full, whether or not it was seen.
    """
    total, files, links = 0, dict[str, File](), Counter[tuple[int, int]]()
    for parent, folders, names in os.walk(folder):  # unlike Path.rglob it passes over folders that are gone
        for name in [*folders, *names]:
            path = Path(parent, name)
            with contextlib.suppress(OSError):  # what vanishes meanwhile counts for nothing
                status = path.lstat()
                inode = status.st_dev, status.st_ino
                size = status.st_blocks * 512 if hasattr(status, "st_blocks") else on_disk(status.st_size)
                total += 0 if inode in links else size
                links[inode] += 1
                files[str(path)] = File(inode, size, status.st_mtime)
    states = survey(folder / RUNS / run / CHECKPOINTS, lambda blob: True, kept).states
    sizes = {path: files[str(path)].size if str(path) in files else 0 for path in coming}
    outstanding = sum(max(0, on_disk(size) - sizes[path]) for path, size in coming.items())
    return Found(total, files, links, states, outstanding)


def _spares(
    folder: Path, run: str, is_sound: Callable[[Path, Blob], bool], kept: Mapping[str, int], alive: bool
) -> list[Spare]:
    """What may go of all that no other peer is asked about: of every run that was ever trained here.

    Args: the data folder, the run that is trained now, which files are whole, what is kept of it beside the
    checkpoints, and whether a compute process may be writing one.
    """
    found: list[Spare] = []
    for one in folder.glob(f"{RUNS}/*"):
        current = one.name == run
        checkpoints = one / CHECKPOINTS
        seen = survey(checkpoints, partial(is_sound, checkpoints), kept if current else {})
        found += [Spare(SUPERSEDED, (), paths) for paths in seen.spare]
        if not current:  # of this one the network knows better
            old = superseded_copies(one / BLOBS, partial(is_sound, one / BLOBS))
            found += [Spare(SUPERSEDED, (), [path]) for path in old]
        left = [] if alive and current else seen.strays
        left += [*checkpoints.glob(f"*{BAD}"), *one.glob(f"{BLOBS}/*{PARTIAL}"), *one.glob(f"{BLOBS}/*{BAD}")]
        found += [Spare(UNFINISHED, (), [path]) for path in left]
    return found


def _choose(found: Found, spares: Iterable[Spare], excess: int) -> tuple[list[Spare], int]:
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


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("%s could not be removed: %s", path, error.strerror)

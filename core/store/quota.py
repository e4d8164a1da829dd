"""The disk space that the user allows for all of Hearth's files: what takes how much, what may come, what goes for it.

Whatever is large asks here before it is written: the compute process of each run for its checkpoints, the network for
each file that it fetches. What is small (log, history, settings, manifests) grows into `HEADROOM`. No answer relies on
anybody's word: each looks through the data folder anew, and counts as the file system does.

What goes, the least needed first: what was begun and never finished; superseded states, the oldest first; newest states
that enough other peers keep. All else stays. Experts whose states would not fit beside it are parked or not taken on
(`core.swarm.state_room`), and where it is too much all the same, compute stops: nothing is lost.
"""

import asyncio
import contextlib
import logging
import os
import shutil
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from core.contracts.errors import CheckpointError
from core.contracts.files import TRUNK, PartFile
from core.contracts.notices import notice
from core.contracts.status import ExpertStatus
from core.store.checkpoint_files import CHECKPOINTS, SUFFIX, is_whole, on_disk
from core.store.disk_use import HELD, SUPERSEDED, File, Found, Spare, choose, look_through, spares
from core.store.writing import remove

log = logging.getLogger(__name__)

HEADROOM = 4 << 20
"""Bytes of the space that nothing large gets: what is small grows into it between two looks."""
STAGES = 8
"""A checkpoint is saved in so many, or a few more, where there is no room for all of it beside the one before."""
GRANT_S = 60.0
"""A save that tells nothing for so long has ended."""


class Hosted(Protocol):
    """What is asked of who knows which experts of a run are hosted here (`core.swarm.hosted`)."""

    experts: Sequence[ExpertStatus]
    expert_bytes: int
    computes: bool


class Run(Protocol):
    """What is asked of the files of each run that is joined (`core.store.run_files`)."""

    folder: Path
    hosted: Hosted
    shared: bool

    def kept(self) -> Mapping[str, int]:
        """The versions of the parts that are kept beside compute's checkpoints."""

    def spares(self) -> list[Spare]:
        """What of that may go."""


class Needs(NamedTuple):
    """What a run needs of the space."""

    states: Mapping[str, PartFile] = {}
    """The newest state of each part in compute's checkpoints."""
    largest: int = 0
    """Bytes of the largest file."""
    working: int = 0
    """To be left free for states that take the place of others."""
    state: int = 0
    """What an expert's state takes, with its share of that; 0: not known yet."""
    promised: int = 0
    """What the first states of the experts in compute will take."""


class _Grant(NamedTuple):
    """What the compute process of a run may write of its checkpoint."""

    bytes: int
    since: float


class Quota:
    """One for each data folder. To be used in the worker's loop; what waits for the disk does so in threads."""

    def __init__(self, folder: Path, cap_bytes: int) -> None:
        """
        Args:
            folder: The data folder.
            cap_bytes: What the user allows; may be changed later.
        """
        self._folder = folder
        self.cap_bytes = cap_bytes
        self.used = 0
        """Bytes, as of the last look."""
        self.full = False
        """What is needed is more than the user allows, and nothing can be left to other peers."""
        self.room = 0
        """Bytes that may be given out, as of the last look; negative: so many are too much."""
        self.looked: dict[Path, Needs] = {}
        """What each run needs, by its folder, as of the last look."""
        self._runs: list[Run] = []
        self._needs: dict[Path, Needs] = {}
        self._coming: dict[Path, int] = {}
        self._came = asyncio.Event()
        self._grants: dict[Path, _Grant] = {}
        self._sound: dict[Path, set[str]] = {}
        """By checkpoint folder the hashes of files that compute wrote or this process has checked."""
        self._one = asyncio.Lock()

    def join(self, run: Run) -> None:
        """From now on the space is this run's too."""
        self._runs.append(run)

    def leave(self, run: Run) -> None:
        """The run is trained here no more; its files stay, and its older states may go."""
        self._runs.remove(run)
        self._grants.pop(run.folder, None)

    # what is asked

    async def grant(self, run: Run, needed: int, wanted: int, superseded: bool) -> int:
        """How many bytes the compute process of a run may write of its checkpoint now.

        At least the next file when nothing that was written waits to take the place of older states: what was trained
        is not lost, though the space be full for that moment.

        Args:
            run: The run.
            needed: Bytes of the next file.
            wanted: Bytes of all files that are left.
            superseded: Whether nothing that was written so far waits to be made a checkpoint.
        """
        async with self._one:
            self._grants.pop(run.folder, None)
            found = await self._measure()
            left = self.cap_bytes - HEADROOM - found.total - found.outstanding - self._granted()
            if left < wanted:
                left += await self._free(found, wanted - left, SUPERSEDED)
            if left < (least := min(wanted, max(self._needs[run.folder].working, needed))):
                left += await self._free(await self._measure(), least - left, HELD)
            granted = max(0, min(wanted, left))
            if granted < needed and superseded:
                granted = needed
            self._grants[run.folder] = _Grant(granted, time.monotonic())
            return granted

    def saved(self, run: Run, files: Sequence[PartFile]) -> None:
        """Compute has made a checkpoint of these."""
        self._grants.pop(run.folder, None)
        self._sound[run.folder / CHECKPOINTS] = {file.sha256 for file in files}

    @contextlib.asynccontextmanager
    async def hold(self, path: Path, size: int, replaces: bool = False) -> AsyncIterator[None]:
        """Room for a file that is put together at `path` meanwhile.

        Args:
            path: Where it comes.
            size: Its bytes.
            replaces: Whether another one is superseded by it, and can go then.

        Raises:
            CheckpointError: On entering: there is none.
        """
        while not await self._admit(path, size, replaces):
            if not (replaces and self._coming):
                raise CheckpointError(notice("checkpoint.quota_full"))
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
            left = self._left(found, replaces) - self._promised() - rest
            if left < 0 and not await self._free(found, -left, HELD, whole=True, but=path):
                return False
            if rest > shutil.disk_usage(self._folder).free:
                raise CheckpointError(notice("checkpoint.no_disk_space"))
            self._coming[path] = size
            return True

    def take(self, size: int) -> bool:
        """Whether a file may be copied, by the last look: for those who cannot wait for another."""
        if fits := on_disk(size) <= self.room:
            self.room -= on_disk(size)
        return fits

    async def look(self) -> None:
        """See what is there, have go what is too much, and tell what fits."""
        async with self._one:
            found = await self._measure()
            self.used = found.total
            now = time.monotonic()
            if any(grant.bytes and now - grant.since < GRANT_S for grant in self._grants.values()):
                return  # compute is in the middle of it
            self._grants.clear()
            if (excess := self._promised() - self._left(found)) > 0 and await self._free(found, excess, HELD):
                found = await self._measure()
            self.used, self.room, self.looked = found.total, self._left(found), self._needs
            largest = max((needs.largest for needs in self._needs.values()), default=0)
            over = self.cap_bytes < found.total + found.outstanding + largest
            self.full = over and not any(run.shared and run.hosted.experts for run in self._runs)

    # looking and making room

    def _granted(self) -> int:
        return sum(grant.bytes for grant in self._grants.values())

    def _promised(self) -> int:
        return sum(needs.promised for needs in self._needs.values())

    def _left(self, found: Found, replaces: bool = False) -> int:
        """What may be given out, also of what is left free to replace states; negative: there is too much."""
        kept_free = 0
        for folder, needs in self._needs.items():
            granted = self._grants[folder].bytes if folder in self._grants else 0
            kept_free += granted if replaces else max(needs.working, granted)
        return self.cap_bytes - HEADROOM - found.total - found.outstanding - kept_free

    async def _measure(self) -> Found:
        runs = [*self._runs]  # one that is joined meanwhile is not seen yet
        kept = [(run.folder, run.kept()) for run in runs]
        found, states = await asyncio.to_thread(look_through, self._folder, kept, {**self._coming})
        self._needs = {run.folder: _needs(run, states[run.folder], found.files) for run in runs}
        return found

    async def _free(self, found: Found, excess: int, most: int, whole: bool = False, but: Path | None = None) -> int:
        """Remove what is least needed.

        Args:
            found: What is there.
            excess: How many bytes are too much.
            most: The most that something may be needed to go.
            whole: Whether nothing goes if that is not enough.
            but: A file that stays.

        Returns:
            Bytes that are free now.
        """
        stay = {but, *self._coming}  # also what is finished meanwhile
        runs = {run.folder: (run.kept(), run.hosted.computes) for run in self._runs}
        may_go = await asyncio.to_thread(spares, self._folder, runs, self._is_sound)
        for run in self._runs:
            may_go += run.spares()
        fit = [spare for spare in may_go if spare.need <= most and not stay & {*spare.paths}]
        chosen, freed = choose(found, fit, excess)
        if whole and freed < excess:
            return 0
        for spare in chosen:
            spare.forget()
        for path in [path for spare in chosen for path in spare.paths]:
            await asyncio.to_thread(remove, path)
        if chosen:
            log.info("Removed %d files that were least needed: %d KB.", len(chosen), freed >> 10)
        return freed

    def _is_sound(self, folder: Path, file: PartFile) -> bool:
        sound = self._sound.setdefault(folder, set())
        if file.sha256 not in sound and is_whole(folder, file):
            sound.add(file.sha256)
        return file.sha256 in sound


def _needs(run: Run, states: Mapping[str, PartFile], files: Mapping[str, File]) -> Needs:
    folder = f"{run.folder}{os.sep}"
    experts = [on_disk(file.size) for part, file in states.items() if part != TRUNK]
    largest = max((f.size for path, f in files.items() if path.endswith(SUFFIX) and path.startswith(folder)), default=0)
    state = max(experts, default=run.hosted.expert_bytes)
    state += state // STAGES
    largest = max(state, largest)
    working = max(largest, sum(on_disk(file.size) for file in states.values()) // STAGES)
    first = sum(expert.uid not in states for expert in run.hosted.experts)
    return Needs(states, largest, working, state, first * state)

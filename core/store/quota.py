"""The disk space that the user allows for all of Hearth's files: what takes how much, what may come, what goes for it.

Whatever is large asks here before it is written: the compute process of each run for its checkpoints, the network for
each file that it fetches. What is small (log, history, settings, manifests) grows into `HEADROOM`. No answer relies on
anybody's word: each looks through the data folder anew, and counts as the file system does.

Each run has a share: what was promised to the first states of its experts, and a little for states that take the place
of others. Nobody else gets any of it. An expert is promised room before it is trained (`core.swarm.state_room`); a
first state that has none is not written, because it would stay. A newer state takes the place of another one: where
more is kept already than the user allows now, it comes all the same, one at a time for all runs together.

What goes, the least needed first: what was begun and never finished; superseded states, the oldest first; newest states
that enough other peers keep. All else stays. Experts whose states would not fit beside it are parked or not taken on
(`core.swarm.state_room`). A run that has no room even so waits, and the others go on as if it were not there: one whose
next file does not fit beside what is there, or whose first states do not, be it that others do with as few as they can.
"""

import asyncio
import contextlib
import logging
import math
import shutil
from collections.abc import AsyncIterator, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from core.contracts.errors import CheckpointError
from core.contracts.files import TRUNK, PartFile
from core.contracts.notices import notice
from core.contracts.status import ExpertStatus
from core.contracts.words import counted, traffic
from core.store.checkpoint_files import CHECKPOINTS, on_disk
from core.store.disk_use import HELD, SUPERSEDED, Found, Spare, choose, look_through, spares
from core.store.needs import Claim, Needs, Promise, Wait, needs_of, waiting
from core.store.soundness import Soundness
from core.store.writing import remove

log = logging.getLogger(__name__)

HEADROOM = 4 << 20
"""Bytes of the space that nothing large gets: what is small grows into it between two looks."""

CHECK_S = 3.0
"""For which a save waits until it is known which files are whole: compute takes the disk for hung after four times."""


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


class _Grant(NamedTuple):
    """What the compute process of a run may write before it makes that a checkpoint."""

    bytes: int
    before: Container[str]
    """The files that there were when the save began."""
    passes: bool
    """Whether it passes the limit by that."""

    def written(self, needs: Needs, but: Container[str] = ()) -> int:
        """What of it is there, but for files with these hashes."""
        new = (path for path in needs.files if path not in self.before and Path(path).stem not in but)
        return sum(needs.files[path] for path in new)

    def unfinished(self, needs: Needs) -> int:
        """What of it is there and no checkpoint yet: that was promised, or takes another one's place."""
        return self.written(needs, {file.sha256 for file in needs.states.values()})


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
        self.waiting: dict[Path, Wait] = {}
        """Of the runs that have no room and can leave nothing to other peers, by their folders."""
        self.looked: dict[Path, Needs] = {}
        """What each run needs, by its folder, as of the last look."""
        self._free_bytes = 0
        """What nobody takes, as of the last look."""
        self._promised: dict[Path, Promise] = {}
        """To each run."""
        self._runs: list[Run] = []
        self._needs: dict[Path, Needs] = {}
        self._coming: dict[Path, int] = {}
        self._gone = asyncio.Event()
        """Set, and replaced, when something that was on its way has come or comes no more."""
        self._grants: dict[Path, _Grant] = {}
        self._writing: dict[Path, _Grant] = {}
        """Those of the moment at which `_needs` were seen."""
        self._sound = Soundness()
        self._one = asyncio.Lock()

    def join(self, run: Run) -> None:
        """From now on the space is this run's too."""
        self._runs.append(run)

    def leave(self, run: Run) -> None:
        """The run is trained here no more; its files stay, and its older states may go."""
        self._runs.remove(run)
        self._promised.pop(run.folder, None)
        self.end_save(run)
        self._judge()

    @property
    def full(self) -> bool:
        """What is needed is more than the user allows, and nothing can be left to other peers: no run has room."""
        return bool(self._runs) and all(run.folder in self.waiting for run in self._runs)

    # first states

    @property
    def room(self) -> int:
        """Bytes that may be given out beside all that is promised, by the last look; negative: so many are too much."""
        return self._free_bytes - sum(self._share(*needs) for needs in self.looked.items())

    def fits(self, run: Run) -> float:
        """How many experts of a run that have no state here there is room for, beside what others were promised.

        By the last look, and without limit for a run that it did not see; negative: so many are too much.
        """
        needs = self.looked.get(run.folder, Needs())
        free = self.room + self._share(run.folder, needs) - needs.working
        return free // needs.state if needs.state else math.inf

    def promise(self, run: Run, experts: Iterable[str], least: int = 0) -> None:
        """Keep room for the first states of these experts of a run, and of no others of its experts.

        Args:
            run: The run.
            experts: Their uids; as many as fit, and more only as far as the run cannot do with fewer.
            least: How many of them it cannot do without: the others leave it room for these, or it waits.
        """
        self._promised[run.folder] = Promise(frozenset(experts), least)
        self._judge()

    def _claim(self, folder: Path, needs: Needs) -> Claim:
        return Claim(needs, self._promised.get(folder, Promise()))

    def _share(self, folder: Path, needs: Needs, replaces: bool = False) -> int:
        """What is kept for a run; nothing for one that waits.

        Args:
            folder: The run's.
            needs: What it needs.
            replaces: Whether without what is kept to replace states.
        """
        claim = self._claim(folder, needs)
        return 0 if folder in self.waiting else claim.first_bytes + (0 if replaces else claim.working)

    def _judge(self) -> None:
        self.waiting = self._without_room(self.looked, self._free_bytes)

    def _without_room(self, looked: Mapping[Path, Needs], free: int) -> dict[Path, Wait]:
        claims = [
            (folder, self._claim(folder, looked.get(folder, Needs())), run.shared and bool(run.hosted.experts))
            for run in self._runs
            for folder in [run.folder]
        ]
        return waiting(claims, free, HEADROOM)

    # what is asked

    async def grant(self, run: Run, part: str, needed: int, wanted: int, superseded: bool) -> int:
        """How many bytes the compute process of a run may write of its checkpoint now.

        At least the next file, if it replaces another one and nothing that was written waits to take the place of older
        states: what was trained is not lost, though the space be full for that moment.

        Args:
            run: The run.
            part: Whose file is next.
            needed: Its bytes.
            wanted: Bytes of all files that are left.
            superseded: Whether nothing that was written so far waits to be made a checkpoint.
        """
        granted = await self._granted(run, part, needed, wanted, superseded)
        if self._sound.unknown:  # more may go once that is known
            await asyncio.wait([self._sound.check_soon()], timeout=CHECK_S)
            granted = await self._granted(run, part, needed, wanted, superseded)
        return granted

    async def _granted(self, run: Run, part: str, needed: int, wanted: int, superseded: bool) -> int:
        while (granted := await self._grant(run, part, needed, wanted, superseded)) is None:
            await self._gone.wait()
        return granted

    async def _grant(self, run: Run, part: str, needed: int, wanted: int, superseded: bool) -> int | None:
        """None: another run passes the limit now."""
        async with self._one:
            last = self._grants.get(run.folder)
            self.end_save(run)
            found, needs, share, left = await self._what_is_left(run)
            if left < wanted and await self._free(found, wanted - left, SUPERSEDED):
                found, needs, share, left = await self._what_is_left(run)
            if left < (least := min(wanted, max(needs.working, needed))) and await self._free(
                found, least - left, HELD
            ):
                found, needs, share, left = await self._what_is_left(run)
            granted, passes = max(0, min(wanted, left - (share if self._unexpected(run, needs) else 0))), False
            if granted < needed and self._expected(run, needs, part):
                passes = left < needed and superseded and (part in needs.states or part == TRUNK)
                if passes and any(grant.passes for grant in self._grants.values()):
                    return None
                granted = needed if passes or left >= needed else granted
            grant = _Grant(granted, last.before if last and not superseded else needs.files, passes)
            self._grants[run.folder] = grant._replace(bytes=grant.written(needs) + granted)
            return granted

    async def _what_is_left(self, run: Run) -> tuple[Found, Needs, int, int]:
        """What is there, what a run needs, its share, and what it may write with that."""
        found = await self._measure()
        needs = self._needs[run.folder]
        share = self._share(run.folder, needs)
        return found, needs, share, self._left(found) + share

    def _expected(self, run: Run, needs: Needs, part: str) -> bool:
        """Whether there is room for a part's state in the run's share."""
        return part == TRUNK or part in needs.states or part in self._promised.get(run.folder, Promise()).experts

    def _unexpected(self, run: Run, needs: Needs) -> bool:
        """Whether states may come that have no room in the run's share: then nothing of it is given in advance."""
        return not all(self._expected(run, needs, expert.uid) for expert in run.hosted.experts)

    def saved(self, run: Run, files: Sequence[PartFile]) -> None:
        """Compute has made a checkpoint of these."""
        self.end_save(run)
        self._sound.wrote(run.folder / CHECKPOINTS, files)

    def end_save(self, run: Run) -> None:
        """Compute writes no more of what it was granted."""
        if self._grants.pop(run.folder, None):
            self._note_gone()

    def _note_gone(self) -> None:
        self._gone.set()
        self._gone = asyncio.Event()

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
            if self._sound.unknown:
                await self._sound.check()  # more may go then
                continue
            if path not in self._coming and not (replaces and self._coming):
                raise CheckpointError(notice("checkpoint.quota_full"))
            await self._gone.wait()  # the same file is there then, or what another one supersedes makes room
        try:
            yield
        finally:
            del self._coming[path]
            self._note_gone()

    async def _admit(self, path: Path, size: int, replaces: bool) -> bool:
        """Note that a file comes, if it does not come already, and there is room for it.

        Raises:
            CheckpointError: the disk itself is full.
        """
        async with self._one:
            if path in self._coming:
                return False
            found = await self._measure()
            begun = found.files.get(str(path))
            rest = max(0, on_disk(size) - (begun.size if begun else 0))
            left = self._left(found, replaces) - rest
            if left < 0 and not await self._free(found, -left, HELD, whole=True, but=path):
                return False
            if rest > shutil.disk_usage(self._folder).free:
                raise CheckpointError(notice("checkpoint.no_disk_space"))
            self._coming[path] = size
            self._free_bytes -= rest
            return True

    async def look(self) -> None:
        """See what is there, have go what is too much, and tell what fits."""
        while not await self._look():
            await self._sound.check()

    async def _look(self) -> bool:
        """Whether all that is too much could go; False: first it must be known which files are whole."""
        async with self._one:
            found = await self._measure()
            waiting = self._without_room(self._needs, self._untaken(found))
            claims = [self._claim(*needs) for needs in self._needs.items() if needs[0] not in waiting]
            short = sum(claim.first_bytes + claim.working for claim in claims) - self._untaken(found)
            if short > 0 and await self._free(found, short, HELD):
                found = await self._measure()
            for folder in waiting:
                wait = self._without_room(self._needs, self._untaken(found)).get(folder)
                if wait and await self._free(found, wait.lacking, HELD, whole=True):  # nothing goes in vain
                    found = await self._measure()
            if self._sound.unknown:
                return False
            self.used, self.looked, self._free_bytes = found.total, self._needs, self._untaken(found)
            self._judge()
            return True

    # looking and making room

    def _untaken(self, found: Found) -> int:
        """What is neither there nor fetched, and what a save has written so far."""
        unfinished = sum(grant.unfinished(self._needs[folder]) for folder, grant in self._writing.items())
        return self.cap_bytes - HEADROOM - found.total - found.outstanding + unfinished

    def _left(self, found: Found, replaces: bool = False) -> int:
        """What may be written now beside all shares and grants.

        Args:
            found: What is there.
            replaces: Whether it may be of what is kept free to replace states.
        """
        left = self._untaken(found)
        for folder, needs in self._needs.items():
            left -= (share := self._share(folder, needs, replaces))
            if grant := self._writing.get(folder):
                left -= max(0, grant.bytes - grant.written(needs) - share + grant.unfinished(needs))
        return left

    async def _measure(self) -> Found:
        runs = [*self._runs]  # one that is joined meanwhile is not seen yet
        kept, writing = [(run.folder, run.kept()) for run in runs], {**self._grants}
        found, states = await asyncio.to_thread(look_through, self._folder, kept, {**self._coming})
        self._needs = {
            run.folder: needs_of(run.folder, run.hosted.expert_bytes, states[run.folder], found.files) for run in runs
        }
        self._writing = writing
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
        may_go = await asyncio.to_thread(spares, self._folder, runs, self._sound.of)
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
            log.info("Removed %s that were least needed: %s.", counted(len(chosen), "file"), traffic(freed))
        return freed

"""One run that this PC has joined: its manifest, files, place in the network, compute process and figures."""

import asyncio
import logging
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from core.community.ledger import Ledger
from core.contracts.errors import DataFolderError
from core.contracts.export import Collected, CollectedPart
from core.contracts.ledger import Amounts
from core.contracts.manifest import Manifest
from core.contracts.notices import Notice, notice
from core.contracts.pipe import Measured, Work
from core.contracts.run_times import closed
from core.contracts.status import CurvePoint, GridStatus, RunStatus
from core.contracts.succession import changes
from core.contracts.trunk import VcAsgd
from core.contracts.trunk_status import ForTrunk, TrunkStatus
from core.experts.grid import Grid
from core.pipe.calls import Calls
from core.policy.decide import Decision
from core.store.checkpoint_files import newest_states, path_of
from core.store.data_folder import RUNS
from core.store.progress import FILE, Progress
from core.store.quota import Quota
from core.store.run_files import RunFiles
from core.store.sizes import RUNTIMES
from core.store.small_files import Files
from core.swarm.hosted import HostedExperts
from core.swarm.state_room import StateRoom
from core.update import packs
from core.worker.compute.owner import Owner
from core.worker.compute.supervisor import ComputeSupervisor
from core.worker.compute.yields import Yields
from core.worker.events import Events
from core.worker.expert_grid import overview
from core.worker.memory import Memory
from core.worker.places import NetworkPlace

log = logging.getLogger(__name__)

LATEST_S = 3600.0
"""After which at the latest a run goes on by a newer manifest, though its compute process has not ended by itself; each
PC chooses a time of its own, so that not all of them are away at once."""
ACCESS_S = 20.0
"""The same where the newer one changes who may take part: those who go by the older one do not meet the others."""
TOLD_S = 86_400.0
"""For so long it is told what has changed."""
SAVE_S = 1.0
"""Between two times that the figures are written."""


class Resources(NamedTuple):
    """What a PC gives each of its runs."""

    folder: Path
    """The data folder."""
    files: Files
    ledger: Ledger
    network: NetworkPlace
    quota: Quota
    yields: Yields
    """Where it is noted how fast compute stopped."""
    threads: int
    memory_grace_s: float
    trains: bool
    """Whether this PC trains, and does not only host experts."""
    changed: Callable[[], None]
    """Called when something that can be read of the run has changed."""
    events: Events
    evaluated: Callable[[str, CurvePoint], None]
    """Called with the run's id and each new point of its curve."""


class Run:
    """From `begin` to `end`, inside the network's own lifetime, it has its place there. `work` returns when it was told
    to leave."""

    def __init__(self, manifest: Manifest, given: Resources, weight: int = 1, changed: Notice | None = None) -> None:
        """Read its figures and compose it; nothing is begun.

        Args:
            manifest: what is trained.
            given: what it has of the PC.
            weight: of the time that this PC computes, it gets its share of all runs' weights.
            changed: what its organiser has changed in it just now, for the user.

        Raises:
            DataFolderError: the run's folder cannot be made.
        """
        self.manifest, self.id, self.weight = manifest, manifest.run_id, weight
        self._changed, self._made = changed, time.monotonic()
        self._renew_at = float("inf")
        """By when it goes on by a newer manifest, if one has come."""
        self.seconds = 0.0
        """Of its kernels since the worker's start, on whatever device."""
        self._small_files, self._ledger, self._events = given.files, given.ledger, given.events
        folder = given.folder / RUNS / self.id
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataFolderError(notice("folder.not_made", folder=str(folder), why=str(error.strerror))) from error
        self._figures = f"{RUNS}/{self.id}/{FILE}"
        progress = self._small_files.read(self._figures, Progress, notice("file.loss_curve"))
        self._grid = Grid(manifest.run, manifest.model.layers, manifest.model.grid)
        self.hosted = HostedExperts(self._grid, progress.experts)
        files = RunFiles(folder, self._grid, self.hosted, given.quota, given.folder / RUNTIMES / packs.WHEELS)
        self.files, self.room, self._quota = files, StateRoom(self.hosted, files), given.quota
        self.compute = ComputeSupervisor(
            _Owner(self, given),
            Calls(),
            manifest,
            folder,
            self.hosted,
            files,
            progress,
            threads=given.threads,
            memory_grace_s=given.memory_grace_s,
            trains=given.trains,
            shuffle=0 if isinstance(manifest.trunk, VcAsgd) else given.network.shuffle,  # its servers deal the data out
        )
        self.swarm = given.network.swarm(manifest, self.compute, files, self.room)
        self.memory = Memory(self.compute, self.swarm)
        self._hosting: tuple[str, bool, Measured | None] = ("", False, None)
        """What hosting was told last: the state, whether compute is at work, and how fast this PC is."""
        self._counted = ForTrunk()
        """What the ledger knows of its work for the trunk."""
        self._saved_at = 0.0
        self._saved_checkpoint: float | None = None

    async def begin(self) -> None:
        """Take its place among peers."""
        await self.swarm.__aenter__()

    async def end(self) -> None:
        """Give it up; what only this PC has is handed out as far as there is time."""
        await self.swarm.__aexit__(None, None, None)

    async def work(self) -> None:
        """Have compute processes, until the supervisor is told to leave and all is saved."""
        try:
            await self.compute.run()
        finally:
            self._count()
            self.save()
            self._ledger.end(self.id, "quit")

    # what the PC tells

    def step(self, decision: Decision) -> None:
        """Tell the others what has changed, note what is done, save the figures. To be called about once a second."""
        told = decision.state, self.compute.at_work, self.compute.figures.measured
        before, self._hosting = self._hosting, told
        if before != told:  # how much can be hosted here has changed
            self.swarm.look()
        if self.compute.at_work:
            self._ledger.begin(self.id)
        else:
            self._ledger.end(self.id, _why_ended(decision))
        self._count()
        self._events.take(self.swarm.take_news())
        if (newer := self.swarm.successor) and self._renew_at == float("inf"):
            latest = LATEST_S if newer.access == self.manifest.access else ACCESS_S
            self._renew_at = time.monotonic() + random.uniform(latest / 2, latest)
        saved, now = self.compute.progress.checkpoint_time, time.monotonic()
        if saved != self._saved_checkpoint and now - self._saved_at > SAVE_S:
            self._saved_checkpoint, self._saved_at = saved, now
            self.save()

    def _count(self) -> None:
        """Note what was done for the trunk since the last time."""
        before, self._counted = self._counted, self.swarm.for_trunk()
        if before != self._counted:
            accepted, reduced = self._counted.accepted - before.accepted, self._counted.reduced - before.reduced
            self._ledger.add(self.id, "", Amounts(accepted=accepted, reduced=reduced))

    def save(self) -> None:
        """Write the figures soon."""
        progress = msgspec.structs.replace(self.compute.progress, experts=[*self.hosted.experts])
        self._small_files.save(self._figures, progress)

    # what it is asked

    @property
    def overdue(self) -> bool:
        """Whether a newer manifest has come, and nothing is lost by going on by it now, or it has waited long."""
        absent = self.compute.phase == "absent" and not self.compute.answering
        return self.swarm.successor is not None and (absent or time.monotonic() >= self._renew_at)

    @property
    def competes(self) -> bool:
        """Whether it would use its share of the time: not one that failed or waits, or has nothing left to train."""
        return self.compute.wanted and self.compute.retry_time is None and not self.reached

    @property
    def waits(self) -> Notice | None:
        """Why it does not go on though the others may: there is no room for it, or as `barred`."""
        return self.no_room or self.barred

    @property
    def barred(self) -> Notice | None:
        """Why nothing is trained here: this PC is not let in, or it is not the time for it."""
        return self.swarm.barred or closed(self.manifest.schedule, time.time())

    @property
    def no_room(self) -> Notice | None:
        """That there is no room for its states beside the others'."""
        wait, most = self._quota.waiting.get(self.files.folder), self._quota.cap_bytes
        return notice("disk.run_waits", needed=wait.needed, most=most) if wait else None

    @property
    def attention(self) -> list[Notice]:
        """What is wrong with it, and what to do."""
        compute = self.compute
        devices = compute.accelerator.notes(time.time(), len(self.hosted.experts))
        unsaved = [compute.figures.save_error] if compute.figures.save_error else []
        return [*compute.figures.notes, *devices, *self.swarm.notes, *unsaved, *self._changes()]

    def _changes(self) -> list[Notice]:
        """What its organiser has changed in it, for a day, or is about to."""
        if (next_one := self.swarm.successor) is not None:
            fields = changes(self.manifest, next_one)
            return [notice("run.successor", revision=next_one.revision, fields=fields)]
        return [self._changed] if self._changed and time.monotonic() < self._made + TOLD_S else []

    def status(self) -> RunStatus:
        """Its figures, as of now."""
        progress, compute = self.compute.progress, self.compute
        return RunStatus(
            id=self.id,
            name=self.manifest.run,
            title=self.manifest.title,
            weight=self.weight,
            phase=compute.phase,
            task=self.manifest.task.name,
            step=progress.step,
            samples=progress.samples,
            samples_per_s=compute.figures.report.samples_per_s,
            experts=len(self.hosted.experts),
            loss=progress.loss,
            accuracy=progress.accuracy,
            checkpoint_time=progress.checkpoint_time,
            waits=self.waits or compute.failure,
            reached=self.reached,
        )

    def grid(self, layer: int) -> GridStatus:
        """The hosted experts of a layer, as far as this PC knows."""
        return overview(self._grid, layer, self.hosted.experts, self.compute.figures.report.load, self.swarm)

    @property
    def reached(self) -> bool:
        """Whether the model is as good as the manifest wants, as the trainer here or other peers found."""
        return self.compute.figures.report.reached or self.swarm.reached

    async def collect(self) -> Collected:
        """Where the newest state of each part is, after those that others have were fetched."""
        await self.swarm.fetch_states()
        return await asyncio.to_thread(self._collected)

    def _collected(self) -> Collected:
        parts = {part: (file, self.files.checkpoints) for part, file in newest_states(self.files.checkpoints).items()}
        for file in self.files.all_newest():
            if file.part not in parts or file.version > parts[file.part][0].version:
                parts[file.part] = file, self.files.path(file.sha256).parent
        found = {
            part: CollectedPart(str(path_of(folder, file.sha256).absolute()), file.version, file.samples)
            for part, (file, folder) in parts.items()
        }
        experts = self._grid.layers * self._grid.cells
        return Collected(self.id, str(self.files.folder.absolute()), self.manifest, found, experts)

    def trunk(self) -> TrunkStatus:
        """What its trainers have agreed on."""
        known = self.swarm.trunk() or TrunkStatus(self.id, self.manifest.strategy, [])
        return msgspec.structs.replace(known, reached=self.reached)


class _Owner(Owner):
    """A run, as far as its compute process is concerned."""

    def __init__(self, run: Run, given: Resources) -> None:
        self._run, self._given = run, given

    def changed(self) -> None:
        self._given.changed()

    def evaluated(self, point: CurvePoint) -> None:
        self._given.evaluated(self._run.id, point)

    def yielded(self, cause: float, noticed: float, told: float, stopped: float) -> None:
        self._given.yields.add(self._run.id, cause, noticed, told, stopped)

    def worked(self, device: str, work: Work) -> None:
        run = self._run
        run.seconds += work.seconds
        samples, tokens = (0, work.samples) if run.manifest.task.in_tokens else (work.samples, 0)
        calls = work.calls, work.peer_calls, work.rows, work.passes
        self._given.ledger.add(run.id, device, Amounts(samples, tokens, *calls, work.seconds))

    def alone(self) -> bool:
        return self._run.swarm.lonely()

    def networked(self) -> bool:
        return self._run.swarm.networked

    def reachable(self) -> bool:
        return self._run.swarm.reachable

    def explain(self, code: int) -> Notice | None:
        return self._run.memory.explain(code)

    async def admit(self, pid: int) -> None:
        await self._run.memory.bounds.admit(pid)

    async def pack(self) -> Path | None:
        return await asyncio.to_thread(packs.chosen, self._given.folder)

    async def give_up(self, pack: Path, why: Notice) -> None:
        log.error("%s Compute goes by Hearth's own torch again, without the GPU.", why)
        try:
            await asyncio.to_thread(packs.give_up, pack)
        except OSError as error:
            log.warning("That is not noted: %s", error)

    async def settle(self) -> None:
        quota, run = self._given.quota, self._run
        await quota.look()
        await run.swarm.settle()
        if run.no_room:
            await quota.look()  # something may go now that it is known what the run needs
        if run.waits:
            run.compute.want(False, time.monotonic())


def _why_ended(decision: Decision) -> str:
    """What stopped computing, as `core.contracts.ledger.Session.why` names it."""
    named = {"paused": "paused", "leaving": "quit"}.get(decision.state)
    return named or next((rule.rule for rule in decision.rules if "cpu" in rule.stops), "failed")

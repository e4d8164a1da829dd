"""The runs that this PC has joined: they come and go, and the policy sees and tells all of them together."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator

from core.contracts import manifest as manifests
from core.contracts.errors import RunError
from core.contracts.manifest import Manifest
from core.contracts.notices import notice
from core.policy.inputs import Compute, Phase
from core.worker import joined_runs, opening
from core.worker.run import Resources, Run

log = logging.getLogger(__name__)

BUSIEST: tuple[Phase, ...] = ("training", "stopping", "starting", "stopped", "leaving", "absent")
"""Whose state stands for all."""


class Runs:
    """In the order in which they were joined; there is always one."""

    def __init__(self, given: Resources, chosen: Iterable[tuple[Manifest, int]], kept: joined_runs.Kept) -> None:
        """
        Args:
            given: what each run has of the PC.
            chosen: the first ones and their weights.
            kept: the list for the next start.

        Raises:
            DataFolderError: the folder of a run cannot be made.
        """
        self._given, self._kept = given, kept
        self._runs: dict[str, Run] = {}
        self._works: dict[str, asyncio.Task[None]] = {}
        """What each run does until it is left."""
        self._group: asyncio.TaskGroup | None = None
        self._changing = asyncio.Lock()
        self._quitting = asyncio.Event()
        for manifest, weight in chosen:
            self._add(manifest, weight)

    def __iter__(self) -> Iterator[Run]:
        return iter([*self._runs.values()])

    def __len__(self) -> int:
        return len(self._runs)

    def _add(self, manifest: Manifest, weight: int) -> Run:
        run = self._runs[manifest.run_id] = Run(manifest, self._given, weight)
        return run

    async def __aenter__(self) -> "Runs":
        for run in self:
            await run.begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(run.end() for run in self))

    async def work(self, group: asyncio.TaskGroup) -> None:
        """Train all runs, also those that are joined meanwhile, until `quit`; all is saved when this returns."""
        self._group = group
        for run in self:
            self._start(run, group)
        await self._quitting.wait()
        await asyncio.wait({*self._works.values()})

    def quit(self) -> None:
        """Save and end."""
        for run in self:
            run.compute.leave()
        self._quitting.set()

    @property
    def first(self) -> Run:
        """The one that is shown unless another is asked for."""
        return next(iter(self._runs.values()))

    def named(self, name: str | None) -> Run:
        """A run by its id, or its name if no other has that.

        Args:
            name: None: the first run.

        Raises:
            RunError: there is none, or several.
        """
        if name is None:
            return self.first
        if name in self._runs:
            return self._runs[name]
        found = [run for run in self if run.manifest.run == name]
        if len(found) == 1:
            return found[0]
        known = list(self._runs)
        raise RunError(notice("run.name_of_several" if found else "run.not_joined", run=name, known=known))

    def asked(self, name: str | None, prompt: str) -> Run:
        """The run that answers a prompt: the one that is named, else the first one whose model takes such a prompt.

        Args:
            name: None: whichever takes it; if none does, the first, which says so.
            prompt: what is given to the model: "picture" or "text".

        Raises:
            RunError: as `named`.
        """
        able = [] if name else [run for run in self if run.manifest.task.takes == prompt]
        return able[0] if able else self.named(name)

    # what people ask for

    async def join(self, name: str, weight: int) -> Run:
        """Train one more run, from now on and at each start.

        Args:
            name: of a run, or the path of its manifest.
            weight: see `RunStatus`.

        Raises:
            ManifestError: there is no such run.
            RunError: it has been joined, or there are too many, or Hearth is quitting.
            DataFolderError: its folder cannot be written.
        """
        manifest = manifests.load(name)
        async with self._changing:
            if manifest.run_id in {run.id for run in self}:
                raise RunError(notice("run.joined_already", run=manifest.run_id))
            many = len({*self._runs, *self._kept.weights}) >= joined_runs.MOST
            if many or self._group is None or self._quitting.is_set():
                raise RunError(notice("run.too_many", most=joined_runs.MOST))
            opening.take_over(self._given.folder, [manifest])
            joined_runs.keep_manifest(self._given.folder, manifest)
            run = self._add(manifest, weight)
            await run.begin()
            self._kept.join(run.id, weight)
            self._start(run, self._group)
        log.info("Joined the run %s.", run.id)
        return run

    async def leave(self, name: str, begins: Callable[[Run, Run], Awaitable[None]]) -> Run:
        """Train a run no more; what was trained is saved, and stays in the data folder.

        Args:
            name: its id, or its name if no other has that.
            begins: awaited before anything is done, with the run that is left and the first one of the others.

        Raises:
            RunError: there is no such run, or it is the only one.
            HearthError: as `begins`.
        """
        async with self._changing:
            run = self.named(name)
            others = [one for one in self if one is not run]
            if not others:
                raise RunError(notice("run.only_one", run=run.id))
            await begins(run, others[0])
            run.compute.leave()
            if work := self._works.pop(run.id, None):
                await work
            del self._runs[run.id]
            await run.end()
            self._given.network.leave(run.id)
            self._given.quota.leave(run.files)
            self._kept.leave(run.id)
        log.info("Left the run %s.", run.id)
        return run

    def set_weight(self, name: str, weight: int) -> Run:
        """Give a run more or less of the time.

        Args:
            name: its id, or its name if no other has that.
            weight: see `RunStatus`.

        Raises:
            RunError: there is no such run, or no room in the list of those that are kept.
        """
        run = self.named(name)
        self._kept.weigh(run.id, weight)
        run.weight = weight
        return run

    def _start(self, run: Run, group: asyncio.TaskGroup) -> None:
        self._works[run.id] = group.create_task(run.work(), name=f"run {run.id}")

    # what the policy sees and tells

    @property
    def can_use_gpus(self) -> bool:
        """Whether compute has said that it can use graphics processors."""
        return any(run.compute.accelerator.present for run in self)

    def view(self, now: float) -> Compute:
        """What is known of compute, of all runs together.

        Args:
            now: unix time.
        """
        computes = [run.compute for run in self if not run.waits] or [run.compute for run in self]
        one = min(computes, key=lambda compute: (BUSIEST.index(compute.phase), compute.failure is not None))
        ends = [compute.memory_free_time for compute in computes if compute.memory_free_time is not None]
        measured = next((compute.figures.measured for compute in computes if compute.figures.measured), None)
        failed = {
            device: failure.until
            for compute in computes
            for device, failure in compute.accelerator.failures(now).items()
        }
        return Compute(
            phase=one.phase,
            experts=sum(len(compute.hosted.experts) for compute in computes),
            whole=not any(run.manifest.model.layers for run in self),
            failure=one.failure,
            retry_time=one.retry_time,
            memory_free_time=max(ends, default=None),
            answering=any(compute.answering for compute in computes),
            reachable=any(compute.reachable for compute in computes),
            stuck=all(compute.stuck or not compute.reachable for compute in computes),
            reached=all(run.reached for run in self),
            trains=one.trains,
            measuring=one.figures.measuring,
            device=one.accelerator.device,
            speeds=measured.devices if measured else {},
            failed=failed,
        )

    def want(self, training: bool, cause: float) -> None:
        """Compute, or stop at once; a run that has no room on the disk waits. See `ComputeSupervisor.want`."""
        for run in self:
            if training and run.waits:
                run.compute.want(False, time.monotonic())
            else:
                run.compute.want(training, cause)

    def want_device(self, device: str, memory_share: float, cause: float) -> None:
        """Compute on a device; the runs share its memory by weight. See `Accelerator.want`."""
        whole = sum(run.weight for run in self)
        for run in self:
            run.compute.accelerator.want(device, memory_share * run.weight / whole, cause)

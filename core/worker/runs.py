"""The runs that this PC has joined: they come and go, and the policy sees and tells all of them together."""

import asyncio
import logging
import shutil
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator

import msgspec
import psutil

from core.contracts import manifest as manifests
from core.contracts.control import GrantParams, RunLinked
from core.contracts.errors import RunError
from core.contracts.manifest import Manifest
from core.contracts.notices import notice
from core.contracts.run_details import RunDetails, details_of, looks
from core.contracts.run_link import RunLink, is_link, link_to, parse_link
from core.contracts.succession import changes, check_successor
from core.net.limits import Newest
from core.policy.inputs import Compute, Phase
from core.store.shards import known_shards
from core.worker import joined_runs, opening
from core.worker.run import Resources, Run

log = logging.getLogger(__name__)

SHOWN = 8
"""Links of which it is remembered what was found."""
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
        self._shown = Newest[str, tuple[Manifest, bytes]](SHOWN)
        """By their links, or paths of their manifests, runs that somebody is asked about before they are joined."""
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
        await asyncio.gather(*self._works.values(), return_exceptions=True)

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

        One that is trained already goes on by the manifest, if that is signed and newer.

        Args:
            name: of a run, the path of its manifest, or a link.
            weight: see `RunStatus`.

        Raises:
            ManifestError: there is no such run, or its manifest is not to be believed.
            NetworkError: nobody gave the manifest of a link.
            RunError: it has been joined, or there are too many, or Hearth is quitting, or this PC is too small, or the
                link is none.
            AccessError: the token of the link is none for this PC.
            DataFolderError: its folder cannot be written.
        """
        manifest, document, link = await self._found(name)
        peers = link.peers if link else ()
        async with self._changing:
            if link and link.token:
                self._given.network.access.let_in(manifest, link.token)
            if manifest.run_id in self._runs:
                run = self._runs[manifest.run_id]
                newer = manifest.revision > (run.swarm.successor or run.manifest).revision
                if link and link.token and not newer and manifest.lasting == run.manifest.lasting:
                    after = run.swarm.successor  # it is let in by what holds for the others now
                    return await self._replace(run, after) if after else run
                return await self._succeed(run, manifest, document)
            self._check_size(manifest)
            many = len({*self._runs, *self._kept.weights}) >= joined_runs.MOST
            if many or self._group is None or self._quitting.is_set():
                raise RunError(notice("run.too_many", most=joined_runs.MOST))
            manifest = joined_runs.newest(self._given.folder, manifest, document)
            await asyncio.to_thread(opening.take_over, self._given.folder, [manifest])
            if manifest.organiser is None:
                joined_runs.keep(self._given.folder, manifest.run_id, document)
            run = self._add(joined_runs.with_peers(manifest, peers), weight)
            await run.begin()
            self._kept.join(run.id, weight, peers)
            self._start(run, self._group)
            self._shown.pop(name, None)
        log.info("Joined the run %s.", run.id)
        return run

    async def _found(self, name: str) -> tuple[Manifest, bytes, RunLink | None]:
        """A run's manifest, the document to keep of it, and what the link says that leads to it."""
        link = parse_link(name) if is_link(name) else None
        if name not in self._shown:
            fetched = self._given.network.fetch_manifest
            self._shown[name] = await fetched(link) if link else manifests.read(name)
        return *self._shown[name], link

    async def details(self, name: str) -> RunDetails:
        """What a run is.

        Args:
            name: its id, its name if it was joined or comes with Hearth, the path of its manifest, or a link. What
                that leads to is read now, and what is joined by it later is what is shown now.

        Raises:
            HearthError: as `join`.
        """
        self._shown.pop(name, None)
        if not is_link(name) and not manifests.is_path(name):
            known = [run for run in self if name in (run.id, run.manifest.run)]
            if known:
                run = self.named(name)
                listed, after = known_shards(run.manifest, run.files.folder), run.swarm.successor
                found = self._with_access(details_of(run.manifest, listed))
                if after is None:
                    return msgspec.structs.replace(found, joined=True)
                changed = tuple(changes(run.manifest, after))
                return msgspec.structs.replace(found, joined=True, next_revision=after.revision, changed=changed)
        manifest, _, link = await self._found(name)
        found, joined = self._with_access(details_of(manifest), link), manifest.run_id in self._runs
        return msgspec.structs.replace(found, joined=joined, namesake=None if joined else self._namesake(manifest))

    def _with_access(self, found: RunDetails, link: RunLink | None = None) -> RunDetails:
        network = self._given.network
        return network.access.shown(found, link.token if link else b"") if network.has_peers else found

    def _namesake(self, manifest: Manifest) -> str | None:
        """The signed run here that somebody could take this one for."""
        signed = (run for run in self if run.manifest.organiser)
        return next((run.id for run in signed if looks(run.manifest.title) == looks(manifest.title)), None)

    def link(self, name: str) -> str:
        """The link by which others join a run through this PC and the peers that its manifest names.

        Raises:
            RunError: there is no such run, or nobody has signed it, or there is no peer to join through.
            NetworkError: this PC works alone.
        """
        manifest = self.named(name).manifest
        return link_to(manifest, [self._given.network.status().address, *manifest.bootstrap])

    async def grant(self, params: GrantParams) -> RunLinked:
        """Give a peer a token for a run of this PC's own; the link lets that peer in.

        Raises:
            HearthError: as `link` and `core.store.granting.grant`.
        """
        manifest = self.named(params.run).manifest
        peers = parse_link(self.link(manifest.run_id)).peers
        token = await asyncio.to_thread(self._given.network.access.grant, manifest, params)
        return RunLinked(link_to(manifest, peers, token))

    def _check_size(self, manifest: Manifest) -> None:
        """Refuse a run that needs more than this PC has.

        Raises:
            RunError: it does.
        """
        folder, memory = self._given.folder, psutil.virtual_memory().total
        if (needed := (manifest.needs_memory_mb or 0) << 20) > memory:
            raise RunError(notice("run.needs_memory", run=manifest.title, needed=needed, has=memory))
        if (needed := (manifest.needs_disk_mb or 0) << 20) > (free := shutil.disk_usage(folder).free):
            raise RunError(notice("run.needs_disk", run=manifest.title, needed=needed, has=free))

    # what its organiser changes

    def overdue(self) -> bool:
        """Whether a run is to go on by a newer manifest now; not while another one comes or goes."""
        return not self._changing.locked() and any(run.overdue for run in self)

    async def renew(self) -> None:
        """Have the runs that are overdue go on by their newer manifests."""
        async with self._changing:
            for run in self:
                if run.overdue and (manifest := run.swarm.successor):
                    await self._replace(run, manifest)

    async def _succeed(self, run: Run, manifest: Manifest, document: bytes) -> Run:
        """Have a run go on by a manifest that was given by hand.

        Raises:
            RunError: it goes by that one already, or it is not signed.
            ManifestError: it cannot take the place of the one that holds, or waits to do so.
        """
        newest = run.swarm.successor or run.manifest
        if manifest.organiser is None or manifest.revision in (run.manifest.revision, newest.revision):
            raise RunError(notice("run.joined_already", run=run.id))
        check_successor(newest, manifest)
        joined_runs.keep(self._given.folder, run.id, document)
        return await self._replace(run, manifest)

    async def _replace(self, run: Run, manifest: Manifest) -> Run:
        """End a run, saved, and begin it anew by another manifest, which is kept already."""
        fields = changes(run.manifest, self._kept.met(manifest))
        changed = notice("run.changed", revision=manifest.revision, fields=fields)
        await self._save(run)
        await self._take_out(run)
        await asyncio.to_thread(self._given.files.flush)  # its figures are read again
        new = self._runs[run.id] = Run(self._kept.met(manifest), self._given, run.weight, changed)
        await new.begin()
        if self._group and not self._quitting.is_set():
            self._start(new, self._group)
        log.info("%s: %s", run.id, changed)
        return new

    async def _save(self, run: Run) -> None:
        """Have it saved, and its compute process end."""
        run.compute.leave()
        if work := self._works.pop(run.id, None):
            await work

    async def _take_out(self, run: Run) -> None:
        """Give up its place among peers, and what it has of the PC."""
        await run.end()
        self._given.network.leave(run.id)
        self._given.quota.leave(run.files)

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
            await self._save(run)
            del self._runs[run.id]
            await self._take_out(run)
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
        barred = [run.barred for run in self]
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
            barred=barred[0] if all(barred) else None,
            trains=one.trains,
            measuring=one.figures.measuring,
            device=one.accelerator.device,
            speeds=measured.devices if measured else {},
            failed=failed,
        )

    def want(self, training: bool, cause: float) -> None:
        """Compute, or stop at once; one that waits does not. See `ComputeSupervisor.want`."""
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

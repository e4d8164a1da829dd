"""The PC: composition root of one data folder. Decides for all of its runs, keeps the ledger, tells listeners."""

import asyncio
import contextlib
import dataclasses
import logging
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psutil

from core.community.credit_history import credit as credit_of
from core.community.ledger import Ledger
from core.community.rules import rules_of
from core.contracts import manifest as manifests
from core.contracts.control import Bye, Snapshot
from core.contracts.credit import BoardParams, Credit, Leaderboard, Published
from core.contracts.errors import HearthError
from core.contracts.notices import Notice, english
from core.contracts.status import STATE_WORD, BenchmarkStatus, CurvePoint, LogLine, RunStatus, State, Status
from core.logs import Ring
from core.net.background import Background
from core.policy.inputs import Wishes
from core.policy.limits.traffic import Traffic
from core.store import settings_file
from core.store.quota import Quota
from core.store.small_files import Files
from core.version import VERSION
from core.worker import joined_runs, opening
from core.worker.compute.yields import Yields
from core.worker.devices import Devices
from core.worker.energy import Energy
from core.worker.events import Events
from core.worker.limits import Caps
from core.worker.listeners import Listener, Listeners
from core.worker.places import NetworkOptions
from core.worker.policy import Policy
from core.worker.report import Report
from core.worker.run import Resources, Run
from core.worker.runs import Runs
from core.worker.speed import benchmark_of
from core.worker.windows import Windows

log = logging.getLogger(__name__)

TICK_S = 1.0
"""Countdowns change once a second, also when nothing else happens."""
PUBLISH_S = 0.5
"""Listeners get figures no more often; a new state, or wish of the user, is told at once."""


class Peer:
    """One PC and the runs that it has joined. `run` returns after `quit`."""

    def __init__(
        self, folder: Path, run: str | None, ring: Ring, network: NetworkOptions | None = None, join: bool = False
    ) -> None:
        """Read the settings, the manifest and the figures of last time. To be called from the event loop.

        Args:
            folder: the data folder.
            run: name of a run or path of its manifest; None: that of the settings.
            ring: recent log lines.
            network: as asked for by hand; None: not.
            join: whether to join without that if the settings say so.

        Raises:
            ManifestError: `run` is none.
            DataFolderError: the run's folder cannot be made.
            IdentityError: the folder's key cannot be used.
        """
        self.folder = folder
        self._notes: list[Notice] = []
        self.settings = opening.read_settings(folder, self._notes)
        self._files = Files(folder)
        self._events = Events(self._files)
        chosen, kept = opening.runs(folder, self._files, self.settings, run, self._notes)
        self.ledger, self.windows = Ledger(folder), Windows()
        self._changing, self._commands = asyncio.Lock(), Background()
        self.listeners = Listeners()
        self._changed, self._loop = asyncio.Event(), asyncio.get_running_loop()
        self._fault: HearthError | None = None
        self._told: tuple[State, Wishes] | None = None  # what was decided, and wished, when it was published last
        self._ring, self._published = ring, 0.0
        self._yields = Yields(self.ledger.earlier.yields, self.ledger.earlier.yield_count, self.ledger.yielded)
        self.network = opening.network(
            folder, self._files, self.settings, network, join, [one for one, _ in chosen], self._notes, self.ledger,
            lambda: (self.settings.shown_name, self.settings.team),
        )  # fmt: skip
        self._quota = Quota(folder, self.settings.checkpoints_disk_mb << 20)
        self.runs = Runs(self._resources(network), chosen, kept)
        self.policy = self._made_policy(computes=network is None or bool(network.roles & {"host", "train"}))
        self._energy, self._devices = Energy(self.ledger, self._pids), Devices(psutil.virtual_memory().total)
        self._caps = Caps(
            self._quota,
            Traffic(self.ledger, lambda: [run.id for run in self.runs]),
            self.runs,
            self.network,
            self.windows.memory,
            self.settings.experts_memory_mb << 20 or psutil.virtual_memory().available // 4,
        )
        self._report = Report(
            folder, self.runs, self.policy, self.windows, self._energy, self._devices, self._yields, self._told_here,
            lambda: self._caps.line, self._events,
        )  # fmt: skip
        self._meter()
        self.policy.decide()  # also by what was used this month: compute is not started to be stopped
        self._caps.apply(self.policy.decision, self.policy.signals, self.settings)  # nor the network joined to be left
        ring.listener = lambda line: self._from_any_thread(self.listeners.tell, "log", line)

    def _made_policy(self, computes: bool) -> Policy:
        return Policy(
            self._files,
            self.settings,
            self.runs,
            networked=self.network.has_peers,
            computes=computes,
            changed=self._changed.set,
            notice=lambda: self._from_any_thread(self._noticed),
            pids=self._pids,
        )

    def _resources(self, network: NetworkOptions | None) -> Resources:
        return Resources(
            folder=self.folder,
            files=self._files,
            ledger=self.ledger,
            network=self.network,
            quota=self._quota,
            yields=self._yields,
            threads=self.settings.threads,
            memory_grace_s=self.settings.memory_grace_s,
            trains=network is None or "train" in network.roles,
            changed=self._changed.set,
            events=self._events,
            evaluated=self._evaluated,
        )

    @contextlib.asynccontextmanager
    async def joined(self) -> AsyncIterator[None]:
        """Within it this PC is part of the network that it was made for, if any.

        Raises:
            NetworkError: on entering: the address to listen on cannot be used.
        """
        try:
            async with self.network:
                self.network.keep_ports(self._files)
                async with self.runs:
                    yield
        finally:
            self._caps.close()  # leaving moved bytes as well
            await asyncio.to_thread(self._files.flush)
            await asyncio.to_thread(self.ledger.close)

    async def run(self) -> None:
        """Work until `quit` is called; everything is saved and compute is gone when this returns.

        Raises:
            HearthError: the fault that `quit` was called for.
        """
        names = ", ".join(run.id for run in self.runs)
        log.info("Hearth %s serves %s from %s (pid %d).", VERSION, names, self.folder, os.getpid())
        try:
            async with asyncio.TaskGroup() as group:
                ticking = group.create_task(self._tick(), name="policy")
                await self.runs.work(group)
                await self._commands.done()
                ticking.cancel()
        finally:
            self.policy.close()
            self._ring.listener = lambda line: None
            await asyncio.to_thread(self._files.flush)
        unsaved = [why for run in self.runs if (why := run.compute.figures.save_error)]
        if unsaved:
            log.warning("Hearth has quit; what it trained since the last checkpoint could not be saved.")
        else:
            log.info("Hearth has quit; everything is saved.")
        if self._fault is not None:
            raise self._fault  # without a goodbye, which would be taken for the user's wish
        self.listeners.tell("bye", Bye("Hearth was asked to quit.", unsaved))

    # what clients ask for; nothing of it changes anything

    def status(self, name: str | None = None) -> Status:
        """All figures, as of the last decision.

        Args:
            name: of the run that they are of; None: the first.

        Raises:
            RunError: there is no such run.
        """
        return self._report.status(self.runs.named(name), self.settings)

    def _told_here(self) -> list[Notice]:
        """What is wrong with the data folder, or with what was decided for all runs."""
        return [*self._notes, *self._files.notes.values(), *self.ledger.notes, *self._caps.notes, *self.network.notes]

    def benchmark(self, again: bool, name: str | None = None) -> BenchmarkStatus:
        """How fast this PC is, as measured last.

        Args:
            again: measure anew as soon as it may compute.
            name: of a run; None: the first.
        """
        run = self.runs.named(name)
        if again:
            run.compute.terms.measure()
        return benchmark_of(run, self.network)

    def _manifests(self) -> list[manifests.Manifest]:
        return [run.manifest for run in self.runs]

    async def credit(self) -> Credit:
        """What this PC gave others and got from them.

        Raises:
            DataFolderError: the ledger cannot be read.
        """
        flops = {run.run_id: rules_of(run).flops for run in self._manifests()}
        return await self.ledger.asked(lambda reader: credit_of(reader, flops))

    async def board(self, asked: BoardParams) -> Published:
        """Verify and sum the credit of all peers of all runs here. See `CreditPlace.board`."""
        return await self.network.credit.board(self._manifests(), asked)

    async def leaderboard(self) -> Leaderboard:
        """Who was credited with most. See `CreditPlace.leaderboard`."""
        return await self.network.credit.leaderboard(self._manifests())

    async def certificate(self, path: Path) -> None:
        """Write what trainers have signed for this PC."""
        await self.network.credit.certificate(self._manifests(), path)

    def recent_log(self, lines: int) -> list[LogLine]:
        """The last lines."""
        return list(self._ring.lines)[-lines:]

    # what clients command

    def quit(self, fault: HearthError | None = None) -> None:
        """Save and end; for a `fault`, which `run` then raises, or because somebody asked for it."""
        self._fault = fault
        self.policy.quit()
        self.runs.quit()
        self._changed.set()

    async def set_settings(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Save and apply changes; nothing is changed if one is wrong.

        Raises:
            SettingsError: an unknown name or a value out of range.
            ManifestError: no such run.
            DataFolderError: the file cannot be written.
        """
        async with self._changing:
            settings = self.settings.changed(changes)
            if settings.run != self.settings.run:
                manifests.load(settings.run)
            await asyncio.wrap_future(self._files.save(settings_file.FILE, settings_file.encoded(settings)))
            self.settings = settings
        self._notes.clear()
        self._files.notes.clear()
        for run in self.runs:
            run.compute.set_memory_grace(settings.memory_grace_s)
        self.policy.set_settings(settings)
        log.info("Settings changed: %s.", ", ".join(f"{name} = {value}" for name, value in changes.items()))
        self._changed.set()
        self.listeners.tell("settings", values := dataclasses.asdict(settings))
        return values

    async def join_run(self, name: str, weight: int) -> RunStatus:
        """Train one more run, from now on and at each start, be the client gone or not. See `Runs.join`."""
        run = await asyncio.shield(self._commands.start(self.runs.join(name, weight), f"join {name}"))
        self.policy.decide()
        self._changed.set()
        return run.status()

    async def leave_run(self, name: str) -> RunStatus:
        """Train a run no more, be the client gone or not: nor at the next start, for which the settings name another
        one then. See `Runs.leave`.

        Raises:
            DataFolderError: the settings cannot be written; nothing is left.
        """
        run = await asyncio.shield(self._commands.start(self.runs.leave(name, self._choose_another), f"leave {name}"))
        self._changed.set()
        return run.status()

    def set_weight(self, name: str, weight: int) -> RunStatus:
        """Give a run more or less of the time. See `Runs.set_weight`."""
        run = self.runs.set_weight(name, weight)
        self._changed.set()
        return run.status()

    def listen(self, listener: Listener, name: str | None = None) -> Snapshot:
        """Call `listener` with each event from now on; what it has to know before that.

        Args:
            listener: one that listens already hears of another run now.
            name: of the run that it is told of; None: the first.

        Raises:
            RunError: there is no such run.
        """
        run = self.runs.named(name)
        self.listeners.add(listener, run.id)
        return Snapshot(
            self._report.status(run, self.settings), dataclasses.asdict(self.settings), run.compute.progress.curve
        )

    def pace(self, listener: Listener, every_s: float) -> None:
        """See `Listeners.pace`."""
        self.listeners.pace(listener, every_s)
        self._changed.set()

    # inside

    async def _renew_runs(self) -> None:
        """See `Runs.renew`."""
        await self.runs.renew()
        self.policy.decide()
        self._changed.set()

    async def _choose_another(self, left: Run, other: Run) -> None:
        """Have the settings name another run if they name the one that is left."""
        if opening.chosen_run(self.settings, [])[0].run_id == left.id:
            await self.set_settings({"run": joined_runs.setting_of(self.folder, other.manifest)})

    def _noticed(self) -> None:
        """The user came back, or the like: compute is told before anything else is done."""
        self.policy.decide()
        self._changed.set()

    async def _tick(self) -> None:
        """Decide and publish whenever something changed, and once a second."""
        while True:
            now = time.monotonic()
            self._meter()
            decision = self.policy.decide()
            self._caps.apply(decision, self.policy.signals, self.settings)
            for run in self.runs:
                run.step(decision)
            if self.runs.overdue():
                self._commands.start(self._renew_runs(), "new manifests")
            self.ledger.tick()
            before, self._told = self._told, (decision.state, self.policy.wishes)
            if before is None or decision.state != before[0]:
                log.info("%s: %s", STATE_WORD[decision.state], english((*decision.reason, *decision.until)))
            if self._told != before or now - self._published >= PUBLISH_S:
                self._publish(now, at_once=self._told != before)
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await self._changed.wait()
                    await asyncio.sleep(0)

    def _meter(self) -> None:
        working = [run for run in self.runs if run.compute.at_work or run.compute.answering]
        self._energy.step(
            {run.id: run.compute.terms.share for run in working},
            self.policy.signals,
            self.settings,
            {run.compute.accelerator.device for run in working},
        )
        usage = dataclasses.replace(self.policy.usage, kwh_month=self._energy.kwh_month)
        self.policy.usage = self._caps.measure(usage)

    def _evaluated(self, run_id: str, point: CurvePoint) -> None:
        self.listeners.tell("curve", point, run_id)

    def _publish(self, now: float, at_once: bool = False) -> None:
        self._published = now
        runs = {run.id: run for run in self.runs}
        self.listeners.tell_status(
            lambda run_id: self._report.status(runs[run_id], self.settings), runs, self.runs.first.id, now, at_once
        )

    def _from_any_thread(self, call: Callable[..., object], *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(call, *arguments)

    def _pids(self) -> list[int]:
        """Of Hearth's own processes; asked from other threads."""
        return [*self.windows.pids(), *(run.compute.pid for run in self.runs if run.compute.pid is not None)]

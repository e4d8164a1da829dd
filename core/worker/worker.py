"""The worker: composition root of one data folder. Decides, supervises compute, keeps the figures, tells listeners."""

import asyncio
import codecs
import contextlib
import dataclasses
import functools
import logging
import os
import secrets
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import psutil

from core.community import schema
from core.community.ledger import Ledger
from core.community.schema import FILE as LEDGER
from core.contracts import manifest as manifests
from core.contracts.control import (
    PROTOCOL,
    Answer,
    BenchmarkStatus,
    Bye,
    Continued,
    GenerateParams,
    GridStatus,
    LogLine,
    Prediction,
    PredictParams,
    ProcessStatus,
    RunStatus,
    Snapshot,
    Status,
)
from core.contracts.errors import (
    DataFolderError,
    HearthError,
    IdentityError,
    ManifestError,
    NetworkError,
    QuestionError,
)
from core.contracts.ledger import Amounts, Yield
from core.contracts.notices import english, notice, plain
from core.contracts.pipe import Generated, Measured, Work
from core.contracts.settings import Settings
from core.experts.grid import Grid
from core.logs import Ring
from core.policy.decide import Decision
from core.policy.limits.enforce import Caps
from core.policy.limits.traffic import Traffic
from core.store import data_folder, settings_file
from core.store.data_folder import RUNS
from core.store.progress import FILE, Progress
from core.store.quota import Quota
from core.store.run_files import RunFiles
from core.store.small_files import Files
from core.swarm.hosted import HostedExperts
from core.swarm.state_room import StateRoom
from core.worker.compute.supervisor import ComputeSupervisor
from core.worker.compute.yields import Yields
from core.worker.devices import Devices
from core.worker.energy import Energy
from core.worker.expert_grid import overview
from core.worker.policy import Policy
from core.worker.speed import Benchmark

if TYPE_CHECKING:  # a worker that is alone does not pay for the network's modules: 25 MB
    from core.worker.network import Network, NetworkOptions

log = logging.getLogger(__name__)

VERSION = version("hearth")
TICK_S = 1.0
"""Countdowns change once a second, also when nothing else happens."""
PUBLISH_S = 0.5
"""Listeners get figures no more often; a new state is told at once."""

Told = Literal["status", "curve", "log", "settings", "bye"]
Listener = Callable[[Told, Any], None]
Window = Literal["app", "screensaver"]
"""A client that shows windows."""


class Worker:
    """One run on one PC. `run` returns after `quit`."""

    def __init__(
        self, folder: Path, run: str | None, ring: Ring, network: "NetworkOptions | None" = None, join: bool = False
    ) -> None:
        """Read the settings, the manifest and the figures of last time. To be called from the event loop.

        Args: data folder, run (None: that of the settings), recent log lines, network as asked for by hand, whether
        to join without that if the settings say so.

        Raises:
            ManifestError: `run` is none.
            DataFolderError: the run's folder cannot be made.
            IdentityError: the folder's key cannot be used.
        """
        self.folder = folder
        self.settings, note = settings_file.load(folder)
        self._notes = [note] if note else []
        if note:
            log.warning("%s", note)
        self.manifest = manifests.load(run) if run else self._chosen_run()
        run_folder = folder / RUNS / self.manifest.run_id
        data_folder.take_over(folder, self.manifest, functools.partial(_rename_run, folder / LEDGER))
        data_folder.mark(folder)
        try:
            run_folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataFolderError(notice("folder.not_made", folder=str(run_folder), why=str(error.strerror))) from error
        self._files = Files(folder)
        self._progress_file = f"{RUNS}/{self.manifest.run_id}/{FILE}"
        self.ledger = Ledger(folder)
        self._changing = asyncio.Lock()
        self._ring = ring
        self._listeners: list[Listener] = []
        self._windows: dict[int, tuple[Window, int]] = {}
        """Programs with windows by process, each with the number of its connections."""
        self._changed = asyncio.Event()
        model = self.manifest.model
        self._grid = Grid(self.manifest.run, model.layers, model.grid)
        progress = self._files.read(self._progress_file, Progress, "The curve begins anew.")
        self._hosted = HostedExperts(self._grid, progress.experts)
        self._disk = Quota(folder, self.settings.checkpoints_disk_mb << 20)
        self._run_files = RunFiles(run_folder, self._grid, self._hosted, self._disk)
        self._room = StateRoom(self._hosted, self._run_files)
        self._compute = ComputeSupervisor(
            self.manifest,
            run_folder,
            self.settings.threads,
            progress,
            self._changed.set,
            lambda point: self._tell("curve", point),
            Yields(self.ledger.earlier.yields, self.ledger.earlier.yield_count, self._yielded),
            self._hosted,
            self._run_files,
        )
        self._compute.worked = self._worked
        self._compute.memory_grace_s = self.settings.memory_grace_s
        self._compute.trains = network is None or "train" in network.roles
        self._keeps_ports = False
        self._fault: HearthError | None = None
        self._network = self._joining(network, join)
        self._told: Decision | None = None
        """The decision that was published last."""
        self._hosting: tuple[str, bool, Measured | None] = ("", False, None)
        """What hosting was told last: the state, whether compute is at work, and how fast this PC is."""
        self._published = self._saved = 0.0
        self._saved_checkpoint: float | None = None
        self._loop = asyncio.get_running_loop()
        self.policy = Policy(
            self._files,
            self.settings,
            self._compute,
            networked=self._network is not None,
            computes=network is None or bool(network.roles & {"host", "train"}),
            notice=lambda: self._from_any_thread(self._noticed),
            pids=self._pids,
            counters=self._moved,
        )
        self._energy = Energy(self.ledger, self.manifest.run_id, self._pids)
        self._benchmark = Benchmark(self.manifest.run)
        self._devices = Devices(psutil.virtual_memory().total)
        traffic = Traffic(self.ledger, self.manifest.run_id)
        self._caps = Caps(self._disk, self._room, traffic, self._compute, self._network, self._memory_beside_compute)
        self._meter()
        self.policy.decide()  # also by what was used this month: compute is not started to be stopped
        self._caps.apply(self.policy.decision, self.policy.signals, self.settings)  # nor the network joined to be left
        ring.listener = lambda line: self._from_any_thread(self._tell, "log", line)

    def _chosen_run(self) -> manifests.Manifest:
        """That of the settings. One that is no more, as a manifest's file that was moved, must not keep the worker from
        starting: without it nobody could choose another one."""
        try:
            return manifests.load(self.settings.run)
        except ManifestError as error:
            usual = manifests.load(Settings().run)
            self._notes.append(f"{error} Choose a run in Settings; until then this PC trains “{usual.title}”.")
            log.warning("%s", self._notes[-1])
            return usual

    def _joining(self, options: "NetworkOptions | None", join: bool) -> "Network | None":
        """This PC among its peers, if it was asked for or the settings say so: then a fault of it is no reason not to
        work alone."""
        if options is not None:
            return self._networked(options)
        if not (join and self.settings.peers):
            return None
        from core.worker.network import NetworkOptions

        try:
            return self._networked(NetworkOptions())
        except (IdentityError, DataFolderError) as error:
            self._notes.append(f"{error} Until then this PC works alone.")
            log.warning("%s", self._notes[-1])
            return None

    def _networked(self, options: "NetworkOptions") -> "Network":
        from core.net.endpoint import ANYWHERE, kept
        from core.swarm.outgoing_calls import Asking
        from core.worker.network import PORTS_FILE, Network, Ports

        if options.listen == ANYWHERE:
            ports = self._files.read(PORTS_FILE, Ports, "Other peers look for this PC at its new port.")
            options = options._replace(listen=kept(ports.sockets))
            self._keeps_ports = True
        options = options._replace(lan=self.settings.lan, relay=self.settings.relay)
        memory = self.settings.experts_memory_mb << 20 or psutil.virtual_memory().available // 4
        network = Network(self.folder, self.manifest, options, self._compute, memory, self._run_files, self._room)
        self._compute.shuffle = int.from_bytes(network.identity.peer[:4])
        self._compute.asking = Asking(network.node, network.directory, network.grid, self._compute.send)
        return network

    @contextlib.asynccontextmanager
    async def joined(self) -> AsyncIterator[None]:
        """Within it this PC is part of the network that it was made for, if any.

        Raises:
            NetworkError: on entering: the address to listen on cannot be used.
        """
        try:
            async with self._network or contextlib.nullcontext():
                self._keep_ports()
                yield
        finally:
            self._caps.close()  # leaving moved bytes as well
            await asyncio.to_thread(self._files.flush)
            await asyncio.to_thread(self.ledger.close)

    def _keep_ports(self) -> None:
        """For the next start; ports that were asked for by hand are asked for again."""
        if self._keeps_ports and self._network is not None:
            from core.worker.network import PORTS_FILE, Ports

            self._files.save(PORTS_FILE, Ports(tuple(self._network.node.endpoint.sockets)))

    async def run(self) -> None:
        """Work until `quit` is called; everything is saved and compute is gone when this returns.

        Raises:
            HearthError: the fault that `quit` was called for.
        """
        log.info("Hearth %s serves run %s from %s (pid %d).", VERSION, self.manifest.run, self.folder, os.getpid())
        try:
            async with asyncio.TaskGroup() as group:
                compute = group.create_task(self._compute.run(), name="compute supervisor")
                ticking = group.create_task(self._tick(), name="policy")
                await asyncio.wait({compute})
                ticking.cancel()
        finally:
            self.policy.close()
            self._ring.listener = lambda line: None
            self._save_progress()
            self.ledger.end("quit")
            await asyncio.to_thread(self._files.flush)
        if self._compute.save_error is None:
            log.info("Hearth has quit; everything is saved.")
        else:
            log.warning("Hearth has quit; what it trained since the last checkpoint could not be saved.")
        if self._fault is not None:
            raise self._fault  # without a goodbye, which would be taken for the user's wish
        self._tell("bye", Bye("Hearth was asked to quit."))

    # what clients ask for

    def status(self) -> Status:
        """All figures, as of now."""
        decision = self.policy.decide()
        compute, progress, signals = self._compute, self._compute.progress, self.policy.signals
        idle, front, power = signals.idle_s, signals.front.value, signals.power.value
        attention = [
            *(*self._notes, *self._files.notes.values(), *self.ledger.notes, *self._caps.notes),
            *(map(str, self._network.notes) if self._network else ()),
            *compute.notes,
            *compute.accelerator.notes(time.time(), len(self._hosted.experts)),
            *([compute.save_error] if compute.save_error else []),
        ]
        return Status(
            version=VERSION,
            protocol=PROTOCOL,
            state=decision.state,
            reason=decision.reason,
            until=decision.until,
            until_time=decision.until_time,
            run=self.manifest.run,
            run_title=self.manifest.title,
            step=progress.step,
            samples=progress.samples,
            samples_per_s=compute.samples_per_s,
            calls_per_s=compute.calls_per_s,
            in_flight=compute.in_flight,
            slowest_step_s=compute.slowest_step_s,
            blocked_s=compute.blocked_s,
            lost_batches=compute.lost,
            loss=progress.loss,
            accuracy=progress.accuracy,
            experts=[*self._hosted.experts],
            grid=self.manifest.model.grid,
            layers=self.manifest.model.layers,
            processes=self._processes(),
            device=compute.accelerator.label or compute.device or "cpu",
            threads=compute.threads_used or self.settings.threads or max(1, (os.cpu_count() or 2) // 2),
            idle_only=self.settings.idle_only,
            idle_s=idle.value,
            idle_source=idle.source,
            yields=compute.yields.status(),
            checkpoint_step=progress.checkpoint_step,
            checkpoint_time=progress.checkpoint_time,
            attention=[plain(one) for one in attention],
            data_dir=str(self.folder),
            time=time.time(),
            task=self.manifest.task.name,
            why=self.policy.why(),
            cpu=decision.cpu,
            gpu=decision.gpu,
            start_now=decision.start_now,
            network=decision.network,
            devices=self._devices.status(decision, signals, self.settings, self._energy.load, compute),
            energy=self._energy.status(self.settings),
            front=None if front is None else front.kind,
            locked=signals.locked.value,
            mains=None if power is None else power.mains,
            run_id=self.manifest.run_id,
            runs=[self._run_status()],
        )

    def _run_status(self) -> RunStatus:
        progress, compute = self._compute.progress, self._compute
        return RunStatus(
            id=self.manifest.run_id,
            name=self.manifest.run,
            title=self.manifest.title,
            weight=1,
            phase=compute.phase,
            task=self.manifest.task.name,
            step=progress.step,
            samples=progress.samples,
            samples_per_s=compute.samples_per_s,
            experts=len(self._hosted.experts),
            loss=progress.loss,
            accuracy=progress.accuracy,
            checkpoint_time=progress.checkpoint_time,
        )

    def snapshot(self) -> Snapshot:
        return Snapshot(self.status(), dataclasses.asdict(self.settings), self._compute.progress.curve)

    def pause(self, seconds: float | None, cause: float) -> None:
        """Stop until resumed or for `seconds`; `cause` is the time.monotonic() of the request."""
        self.policy.pause(seconds, cause)
        self._changed.set()

    def pause_gpu(self, cause: float) -> None:
        """Leave the graphics processors until resumed; `cause` as in `pause`."""
        self.policy.pause_gpu(cause)
        self._changed.set()

    def resume(self) -> None:
        """End every pause."""
        self.policy.resume()
        self._changed.set()

    def start_now(self, seconds: float) -> None:
        """Compute for `seconds` although the user is not away."""
        self.policy.start_now(seconds)
        self._changed.set()

    def quit(self, fault: HearthError | None = None) -> None:
        """Save and end; for a `fault`, which `run` then raises, or because somebody asked for it."""
        self._fault = fault
        self.policy.quit()
        self._compute.leave()
        self._changed.set()

    async def predict(self, picture: PredictParams) -> Prediction:
        """What the run's model reads in a picture.

        Raises:
            QuestionError: it continues text instead.
            PictureError, ComputeError: as `ComputeSupervisor.predict`.
        """
        if self.manifest.task.takes != "picture":
            raise QuestionError(notice("question.run_continues_text", run=self.manifest.run, title=self.manifest.title))
        return await self._compute.predict(picture)

    async def generate(self, params: GenerateParams, each: Callable[[str, list[Answer], float], None]) -> Continued:
        """Go on with a text; `each` gets every byte's text, experts and milliseconds.

        Raises:
            QuestionError: the run's model reads pictures instead.
            ComputeError: as `ComputeSupervisor.generate`.
        """
        if self.manifest.task.takes != "text":
            raise QuestionError(notice("question.run_reads_pictures", run=self.manifest.run, title=self.manifest.title))
        seed = secrets.randbelow(2**31) if params.seed is None else params.seed
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        prompt, start, count, step = params.prompt.encode(), time.monotonic(), 0, 0
        async with contextlib.aclosing(
            self._compute.generate(prompt, params.length, params.temperature, seed)
        ) as pieces:
            async for piece in pieces:
                if isinstance(piece, Generated):
                    count += len(piece.data)
                    each(decoder.decode(piece.data), piece.experts, piece.ms)
                else:
                    step = piece.step
        return Continued(count, time.monotonic() - start, step, seed, self._compute.progress.bits)

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
        self.policy.set_settings(settings)
        self._notes.clear()
        self._files.notes.clear()
        self._compute.memory_grace_s = settings.memory_grace_s
        log.info("Settings changed: %s.", ", ".join(f"{name} = {value}" for name, value in changes.items()))
        self._changed.set()
        self._tell("settings", values := dataclasses.asdict(settings))
        return values

    def network(self) -> "Network":
        """This PC among its peers.

        Raises:
            NetworkError: the worker was started without a network.
        """
        if self._network is None:
            raise NetworkError(notice("network.alone"))
        return self._network

    def grid(self, layer: int) -> GridStatus:
        """The hosted experts of a layer, as far as this PC knows."""
        compute = self._compute
        calls = compute.asking.calls if compute.asking else Counter[str]()
        directory = None if self._network is None else self._network.directory
        return overview(self._grid, layer, self._hosted.experts, compute.load, calls, directory)

    def benchmark(self, again: bool) -> BenchmarkStatus:
        """How fast this PC is, as measured last; `again`: measure anew as soon as it may compute."""
        if again:
            self._compute.measure()
        return self._benchmark.status(self._compute, self._network)

    def recent_log(self, lines: int) -> list[LogLine]:
        return list(self._ring.lines)[-lines:]

    def listen(self, listener: Listener) -> None:
        """Call `listener` with each event from now on."""
        self._listeners.append(listener)

    def unlisten(self, listener: Listener) -> None:
        self._listeners.remove(listener)

    def window_came(self, pid: int, name: Window) -> None:
        """A program with windows connected; what it uses is Hearth's own, and its memory is part of the status."""
        self._windows[pid] = (name, self._windows.get(pid, (name, 0))[1] + 1)

    def window_went(self, pid: int) -> None:
        name, count = self._windows.pop(pid)
        if count > 1:
            self._windows[pid] = (name, count - 1)

    # inside

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
            self._keep_ledger(decision)
            self._caps.apply(decision, self.policy.signals, self.settings)
            before, self._told = self._told, decision
            if before is None or decision.state != before.state:
                log.info("%s: %s", decision.state, english((*decision.reason, *decision.until)))
                self._publish(now)
            elif now - self._published >= PUBLISH_S:
                self._publish(now)
            told = decision.state, self._compute.at_work, self._compute.measured
            before_hosting, self._hosting = self._hosting, told
            if self._network and self._hosting != before_hosting:  # how much can be hosted here has changed
                self._network.look()
            if self._compute.progress.checkpoint_time != self._saved_checkpoint and now - self._saved > 1.0:
                self._saved_checkpoint = self._compute.progress.checkpoint_time
                self._save_progress()
                self._saved = now
            self._changed.clear()
            try:
                async with asyncio.timeout(TICK_S):
                    await self._changed.wait()
                    await asyncio.sleep(0)
            except TimeoutError:
                pass

    def _meter(self) -> None:
        if self._network is not None:
            self._benchmark.moved(self._network.node.moved(), time.monotonic())
        works = self._compute.at_work or self._compute.answering
        self._energy.step(works, self.policy.signals, self.settings, self._compute.accelerator.device)
        usage = dataclasses.replace(self.policy.usage, kwh_month=self._energy.kwh_month)
        self.policy.usage = self._caps.measure(usage)

    def _keep_ledger(self, decision: Decision) -> None:
        if self._compute.at_work:
            self.ledger.begin(self.manifest.run_id)
        else:
            self.ledger.end(_why_ended(decision))
        self.ledger.tick()

    def _worked(self, device: str, work: Work) -> None:
        samples, tokens = (0, work.samples) if self.manifest.task.in_tokens else (work.samples, 0)
        calls = work.calls, work.peer_calls, work.rows, work.passes
        self.ledger.add(self.manifest.run_id, device, Amounts(samples, tokens, *calls, work.seconds))

    def _yielded(self, measured: Yield) -> None:
        self.ledger.yielded(self.manifest.run_id, measured)

    def _publish(self, now: float) -> None:
        self._published = now
        if self._listeners:
            self._tell("status", self.status())

    def _tell(self, event: Told, data: Any) -> None:
        for listener in list(self._listeners):
            listener(event, data)

    def _from_any_thread(self, call: Callable[..., object], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:  # the loop has ended
            pass

    def _save_progress(self) -> None:
        progress = msgspec.structs.replace(self._compute.progress, experts=[*self._hosted.experts])
        self._files.save(self._progress_file, progress)

    def _pids(self) -> list[int]:
        """Of Hearth's own processes; asked from other threads."""
        compute = self._compute.pid
        return [os.getpid(), *list(self._windows), *([] if compute is None else [compute])]

    def _moved(self) -> tuple[int, int]:
        """Bytes received and sent; asked from other threads."""
        return (0, 0) if self._network is None else self._network.node.moved()

    def _memory_beside_compute(self) -> int:
        """Bytes that this process and the windows take."""
        taken = 0
        for pid in (os.getpid(), *self._windows):
            with contextlib.suppress(psutil.Error):
                taken += psutil.Process(pid).memory_info().rss
        return taken

    def _processes(self) -> list[ProcessStatus]:
        pids: list[tuple[Window | Literal["worker", "compute"], int]] = [("worker", os.getpid())]
        pids += [(name, pid) for pid, (name, _) in self._windows.items()]
        if self._compute.pid is not None:
            pids.append(("compute", self._compute.pid))
        found = []
        for name, pid in pids:
            try:
                found.append(ProcessStatus(name, pid, psutil.Process(pid).memory_info().rss / 2**20))
            except psutil.Error:
                pass
        return found


def _rename_run(ledger: Path, old: str, new: str) -> None:
    """What is contributed stays counted, be it under the old name, also where the file cannot be written now."""
    try:
        schema.rename_run(ledger, old, new)
    except (sqlite3.Error, schema.DamagedError) as error:
        log.warning("The history of the run %s is kept under its old name: %s", old, error)


def _why_ended(decision: Decision) -> str:
    """What stopped computing, as `core.contracts.ledger.Session.why` names it."""
    if decision.state in ("paused", "leaving"):
        return "paused" if decision.state == "paused" else "quit"
    return next((rule.rule for rule in decision.rules if "cpu" in rule.stops), "failed")

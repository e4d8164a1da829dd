"""What the compute process does between Configure and Quit: trains, answers, reports, saves."""

import asyncio
import contextlib
import itertools
import logging
import math
import signal
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import psutil
import torch

from core.compute.benchmark import Benchmark
from core.compute.device_placement import Placing
from core.compute.hosting import Residents
from core.compute.lead import Lead, on_the_way
from core.compute.offered_trunks import OfferedTrunks
from core.compute.peer_directory import Hosts, PeerDirectory
from core.compute.questions import Questions
from core.compute.saving import Saving
from core.compute.serving import Serving, suspecting
from core.compute.tally import Tally
from core.compute.trials import Trials
from core.contracts import pipe, taking_on
from core.contracts.errors import DeviceError
from core.contracts.notices import Notice, notice
from core.contracts.pipe import Configure, Measured, Progress, Ready, SetDevice, Work
from core.contracts.settings import cores
from core.contracts.status import ExpertStatus
from core.contracts.taking_on import Taken, TakeOn
from core.experts.directory import LOCAL
from core.experts.grid import Grid, Uid
from core.hardware import processor
from core.pipe.calls import Calls
from core.pipe.compute_end import Pipe
from core.runtime.backend import check_memory, expert_bytes, useful_threads
from core.runtime.device import CPU, can_use_gpus, fault_of, first_line
from core.runtime.kernel_gate import KernelGate
from core.runtime.out_of_memory import causes, is_exhausted, lift_limit
from core.runtime.runtime import Runtime
from core.runtime.threads import team
from core.store.checkpoint_files import BLOBS, CHECKPOINTS
from core.store.checkpoints import CheckpointStore
from core.training.data.stream import open_stream, unheard
from core.training.trainer import Trainer

log = logging.getLogger(__name__)

REPORT_S = 0.5
RATE_REPORTS = 10
"""Reports over which rates are taken."""


class Session:
    """One run, trained in one thread: that of the loop."""

    def __init__(self, calls: Calls, end: Pipe, configure: Configure) -> None:
        """Build everything.

        Args:
            calls: to the worker; its methods are served from here on.
            end: this process's end of what carries them.
            configure: what to train.

        Raises:
            ManifestError: the run's model or data is unknown.
            DataError: a part of its data is missing.
        """
        self._calls, self._end = calls, end
        self.ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        """What this process can do, once all is loaded."""
        torch.set_num_interop_threads(1)
        manifest = configure.manifest
        _multiply(manifest.training.products)
        alone, folder = not configure.networked, Path(configure.folder)
        copies = folder / BLOBS if alone else None  # else the worker brings what is newest in the swarm
        store = CheckpointStore(folder / CHECKPOINTS, manifest.run, keeps_all=alone, copies=copies)
        self._kernel_gate = KernelGate(self._look)
        self._runtime = Runtime({}, self._kernel_gate, suspecting(calls), told_of_arrivals=True)
        self._residents = Residents(manifest, _first_experts(configure), store, self._runtime)
        self._backends = self._residents.backends
        self._threads, self._tally = configure.threads, Tally(calls)
        self._set_threads()
        lead = Lead(on_the_way(manifest))
        self._serving = Serving(calls, self._runtime, self._kernel_gate, self._tally, lead)
        self._trains, self._networked = configure.trains, configure.networked
        grid = Grid(manifest.run, manifest.model.layers, manifest.model.grid)
        self._directory = self._residents.directory
        self._others = PeerDirectory(grid, self._directory, calls, manifest.training, tally=self._tally)
        told = unheard if alone else partial(calls.tell, pipe.READING)
        self._stream = open_stream(manifest, folder, configure.shuffle, told)
        self._trainer = Trainer(
            manifest,
            {LOCAL: self._runtime} if alone else Hosts(self._runtime, self._others),
            self._directory if alone else self._others,
            self._kernel_gate,
            self._stream,
            on_evaluated=lambda point: calls.tell(pipe.EVALUATED, point),
            suspect=lambda host, points, why: self._others.host(host).distrust(points, why),
            vouch=lambda host, direction: self._others.host(host).vouch(direction),
            queue_s=lambda: self._others.queue_s,
            calls=None if alone else calls,
        )
        self._trials = Trials(self._trainer, self._others, Hosts(self._runtime, self._others))
        self._benchmark = Benchmark(Path(configure.folder), manifest, self._kernel_gate)
        self._to_measure = asyncio.Event()
        self._measured = asyncio.Event()
        self._questions = Questions(calls, self._trainer)
        self._manifest = manifest
        self._saving = Saving(calls, end.saving, store, self._residents, self._trainer, self._tell_progress)
        self._placing = Placing(self._kernel_gate, self._residents, self._trainer, self._work, self._moved)
        self._rates: deque[tuple[float, int, int]] = deque(maxlen=RATE_REPORTS)
        self._through = (0, 0.0)
        """The last step that was reported, and when it was taken or training was not to be expected."""
        self._quit = asyncio.Event()
        self._register()

    def _register(self) -> None:
        calls = self._calls
        calls.listen(pipe.TRAIN, lambda _: self._start())
        calls.listen(pipe.THREADS, self._use_threads)
        calls.listen(pipe.SHARE, self._kernel_gate.duty.set)
        calls.listen(
            pipe.ASIDE, lambda aside: self._kernel_gate.step_aside() if aside else self._kernel_gate.step_back()
        )
        calls.listen(pipe.MEASURE, lambda _: self._to_measure.set())
        another = partial(Trainer, self._manifest, {}, self._directory, self._kernel_gate, self._stream)
        trunks = OfferedTrunks(self._manifest.run, self._trainer, another, self._trials)
        calls.register(taking_on.TAKE_TRUNK, trunks.take)
        calls.register_carrier(taking_on.COMPARE_TRUNKS, trunks.compare)
        calls.register(taking_on.TRY_HOSTS, self._try_hosts)
        calls.listen(pipe.QUIT, lambda _: self._quit.set())
        calls.register(pipe.STOP, lambda _: self._stop())
        calls.register(pipe.DEVICE, self._placing.go)
        calls.register(taking_on.HOST, self._host)
        calls.register(taking_on.UNHOST, self._unhost)
        # What gives something back takes effect when it is read: no further kernel starts there.
        calls.when_read(pipe.STOP, lambda _: self._give_way())
        calls.when_read(pipe.QUIT, lambda _: self._give_way())
        calls.when_read(pipe.DEVICE, self._leave_device)

    async def run(self) -> None:
        """Go on from the newest checkpoint, and serve until Quit."""
        notes = self._saving.restore()
        self._end.when_heard(self._runtime.serve_arrived)
        if sys.platform != "win32":  # a shutdown of the computer tells every process
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._quit.set)
        if pipe.ANNOUNCED is not None:  # at once: the loop would come to it after a kernel or two
            signal.signal(pipe.ANNOUNCED, lambda *_: self._kernel_gate.hold())
        self._tell_progress()
        self._look_up_speed()
        self.ready.set_result(self._ready(notes))
        with _first_error():
            async with self._saved_in_need(), asyncio.TaskGroup() as group:
                tasks = {
                    "runtime": self._runtime.run(),
                    "report": self._report(),
                    "checkpoints": self._saving.regularly(self._kernel_gate),
                    "saves": self._saving.whenever_wanted(),
                    "calls": self._calls.failed(),
                    "peers": self._others.run(),
                    "benchmark": self._measure(),
                }
                if self._networked:
                    tasks["news"] = self._others.follow()
                if self._trains:
                    tasks["trainer"] = self._train()
                running = [group.create_task(task, name=name) for name, task in tasks.items()]
                await self._quit.wait()
                self._kernel_gate.close()
                self._questions.stop()
                self._tally.tell()
                await self._saving.save()
                for task in running:
                    task.cancel()

    @contextlib.asynccontextmanager
    async def _saved_in_need(self) -> AsyncIterator[None]:
        """What was trained is not lost when there is no memory left."""
        try:
            yield
        except BaseException as error:
            if is_exhausted(error):
                lift_limit()
                await self._saving.save()
                raise MemoryError from error
            if (fault := fault_of(error)) is not None:
                await self._saving.save(gpu_is_lost=True)
                raise DeviceError(notice("gpu.broke", why=first_line(fault))) from error
            raise

    async def _train(self) -> None:
        await self._measured.wait()  # else both would be slower, and what is measured too low
        await self._trainer.run()

    async def _measure(self) -> None:
        while True:
            await self._to_measure.wait()
            await self._benchmark.measure(self._allowed_threads())
            self._set_threads()
            self._to_measure.clear()
            self._tell_speed()

    def _look_up_speed(self) -> None:
        """Tell how fast the device in use is, as soon as it was measured."""
        if self._benchmark.holds(self._allowed_threads()):
            self._tell_speed()
        else:
            self._to_measure.set()

    def _moved(self) -> None:
        self._set_threads()
        self._look_up_speed()

    def _tell_speed(self) -> None:
        benchmark, device = self._benchmark, self._kernel_gate.device.id
        devices = benchmark.by_device(self._allowed_threads())
        used = device if device in devices else next(iter(devices))
        self._calls.tell(pipe.MEASURED, Measured(benchmark.speeds, devices, used, benchmark.time))
        self._measured.set()

    def _start(self) -> None:
        self._rates.clear()
        self._kernel_gate.open()

    def _stop(self) -> float:
        """All kernels run in this thread: none is running now, and none starts."""
        self._kernel_gate.close()
        self._rates.clear()
        self._serving.leave()
        self._saving.want()
        return self._kernel_gate.last_kernel_end

    def _look(self) -> None:
        """Before each kernel: only what was announced is worth a call of the system."""
        if self._kernel_gate.is_held:
            self._end.look()

    def _give_way(self) -> None:
        self._kernel_gate.close()
        self._kernel_gate.release()

    def _leave_device(self, message: SetDevice) -> None:
        self._kernel_gate.leave(message.device)
        self._kernel_gate.release()

    def _use_threads(self, threads: int) -> None:
        self._threads = threads
        self._set_threads()

    def _set_threads(self) -> None:
        """As many as were allowed, as far as they pay; 0: half of the cores that this process may use."""
        threads = useful_threads(self._backends.values(), self._allowed_threads())
        if self._kernel_gate.device is not CPU:
            threads = 1
        team.resize(threads)
        self._kernel_gate.duty.threads = threads

    def _allowed_threads(self) -> int:
        return self._threads or max(1, cores() // 2)

    def _ready(self, notes: tuple[Notice, ...]) -> Ready:
        trainer = self._trainer
        size = expert_bytes(self._manifest.model)
        return Ready(processor(), trainer.step, trainer.samples, notes, size, can_use_gpus())

    async def _host(self, asked: TakeOn) -> Taken:
        taken = await self._residents.host(asked, self._trials)
        self._set_threads()
        self._tell_progress()
        return taken

    async def _unhost(self, uids: list[str]) -> dict[str, Notice]:
        failed = await self._residents.unhost(uids, self._saving.save)
        self._tell_progress()
        return failed

    async def _try_hosts(self, hosts: dict[str, list[str]]) -> dict[str, bool]:
        here = {peer: [uid for uid in map(Uid.parse, uids) if uid in self._backends] for peer, uids in hosts.items()}
        found = {peer: await self._trials.serve(uids, peer) for peer, uids in here.items() if uids}
        return {peer: serves for peer, serves in found.items() if serves is not None}

    async def _report(self) -> None:
        """Twice a second while training, else every second time."""
        for count in itertools.count():
            if self._kernel_gate.is_open or count % 2 == 0:
                self._tell_progress()
            self._serving.tidy()
            self._others.tell_answered()
            self._tally.tell()
            await asyncio.sleep(REPORT_S)

    def _tell_progress(self) -> None:
        self._calls.tell(pipe.PROGRESS, self._progress())

    def _progress(self) -> Progress:
        trainer, runtime, gate, now = self._trainer, self._runtime, self._kernel_gate, time.monotonic()
        if trainer.step != self._through[0] or not (
            self._trains and gate.is_open and not gate.is_aside and self._measured.is_set() and not trainer.reached
        ):
            self._through = trainer.step, now
        self._rates.append((time.monotonic(), trainer.trained, runtime.calls))
        (start, trained, calls), (end, trained_now, calls_now) = self._rates[0], self._rates[-1]
        seconds = max(end - start, REPORT_S / 2)
        slowest_step_s, blocked_s = trainer.timing.longest_s()
        return Progress(
            step=trainer.step,
            samples=trainer.samples,
            samples_per_s=(trained_now - trained) / seconds,  # of this PC: `samples` counts what others trained, too
            calls_per_s=(calls_now - calls) / seconds,
            in_flight=trainer.window.in_flight,
            slowest_step_s=slowest_step_s,
            blocked_s=blocked_s,
            lost=trainer.lost,
            threads=team.threads,
            loss=trainer.loss,
            experts=[ExpertStatus(str(uid), b.version, b.samples, b.calls) for uid, b in self._backends.items()],
            load=min(1e6, runtime.load),
            work=self._placing.work(),
            device=self._placing.device.id,
            left_behind=self._placing.left_behind,
            device_bytes=self._placing.device.used_bytes,
            stuck_s=now - self._through[1],
            reached=trainer.reached,
        )

    def _work(self) -> Work:
        runtime = self._runtime
        calls = runtime.calls, runtime.peer_calls, runtime.rows, runtime.passes
        return Work(self._trainer.trained, *calls, self._kernel_gate.load.seconds)


def _multiply(products: str) -> None:
    """As the manifest says, where the processor is fast at it."""
    if products == "bf16" and _multiplies_bf16():
        torch.set_float32_matmul_precision("medium")


def _first_experts(configure: Configure) -> list[str] | None:
    """The experts to begin with; None: all of the run's grid.

    Raises:
        ManifestError: this PC has not enough memory for them.
    """
    model, memory, experts = configure.manifest.model, psutil.virtual_memory().total, configure.experts
    whole = model.layers * math.prod(model.grid)
    if experts is None and configure.networked and whole * expert_bytes(model) > memory:
        experts = []  # the worker has some taken on as soon as it knows how many there is room for
    check_memory(model, whole if experts is None else max(1, len(experts)), memory)
    return experts


def _multiplies_bf16() -> bool:
    """Whether this processor has instructions for it; where it has not, imitating them takes longer than fp32."""
    able = torch.cpu.get_capabilities()
    return any(able.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))


@contextlib.contextmanager
def _first_error() -> Iterator[None]:
    """The first of several errors at once, so that it can be told in one sentence."""
    try:
        yield
    except BaseExceptionGroup as group:
        raise next(causes(group)) from group

"""What this PC can do for a run: samples a second that one of its experts gets through, measured once and kept.

Measured by kernels like any other of training: they start only while this PC may compute, rest as training does, and
each is over in time when the user comes back. What is measured decides with the memory how many experts are hosted
(`core.swarm.placement.capacity`).
"""

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import msgspec
import psutil
import torch
from torch import Tensor

from core.contracts.errors import DataFolderError
from core.contracts.manifest import Manifest
from core.contracts.model import Model
from core.contracts.pipe import Speed
from core.contracts.settings import cores
from core.experts.grid import Uid
from core.hardware import processor
from core.regular_files import read_regular
from core.runtime.backend import BACKWARD, ExpertBackend, useful_threads
from core.runtime.device import CPU, Device
from core.runtime.kernel_gate import KernelGate
from core.runtime.load import FIRST_PACE
from core.runtime.runtime import MIN_ROWS, PASS_S
from core.runtime.threads import team
from core.store.settings_file import write_atomically
from core.version import VERSION

log = logging.getLogger(__name__)

FILE = "benchmark.json"
ROWS = 32
"""Samples of a pass; fewer of a large expert, as in the Runtime."""
WARM = 2
"""Passes that are not counted: threads start, memory is touched for the first time."""
PASSES = 4
"""Counted at least, if they are not too long."""
EACH_S, ALL_S = 0.2, 2.0
"""Kernel time for one number of threads, and after which no further number or pass is begun."""
YARDSTICK = "ffn"
"""The kind of expert that is measured for a run without experts: how fast this PC is, is to be known all the same."""
COUNTS = 32
"""Numbers of threads that a file may hold."""


class Subject(msgspec.Struct, frozen=True):
    """What was measured. If anything of it changes, it is measured anew."""

    processor: str
    cores: int
    memory_gb: int
    hearth: str
    torch: str
    expert: str
    width: int
    hidden: int
    products: str


class _File(msgspec.Struct, frozen=True):
    version: int
    subject: Subject
    speeds: Annotated[tuple[Speed, ...], msgspec.Meta(min_length=1, max_length=COUNTS)]
    time: Annotated[float, msgspec.Meta(ge=0, le=1e11)]
    """Unix time."""


class Benchmark:
    """The figures of one run on this PC."""

    def __init__(self, folder: Path, manifest: Manifest, kernel_gate: KernelGate) -> None:
        """Read what was measured earlier, if it still holds.

        Args:
            folder: the run's.
            manifest: the run's.
            kernel_gate: says when kernels may run, and where.
        """
        model = manifest.model
        self._model = model if model.expert else msgspec.structs.replace(model, grid=(1,), expert=YARDSTICK, k=1)
        self._path, self._training, self._kernel_gate = folder / FILE, manifest.training, kernel_gate
        self.subject = _subject(self._model, manifest.training.products)
        self._file = _load(self._path, self.subject)
        uid = Uid(manifest.run, 0, (0,) * len(self._model.grid))
        self._expert = ExpertBackend(uid, self._model, self._training)  # takes memory once it is used

    @property
    def speeds(self) -> tuple[Speed, ...]:
        """By device and by the number of threads, which grows."""
        return self._file.speeds if self._file else ()

    @property
    def time(self) -> float:
        """Unix time of the newest figure; 0: there is none."""
        return self._file.time if self._file else 0.0

    def holds(self, threads: int) -> bool:
        """Whether the device in use was measured, with as many of `threads` as pay."""
        wanted = self._kernel_gate.device.id, self._useful(threads)
        return any((speed.device, speed.threads) == wanted for speed in self.speeds)

    def by_device(self, threads: int) -> dict[str, float]:
        """Samples a second of one expert that computes with as many of `threads` as pay, or the next number that was
        measured."""
        used = useful_threads([self._expert], threads)
        ordered = sorted(self.speeds, key=lambda speed: -abs(speed.threads - used))
        return {speed.device: speed.samples_per_s for speed in ordered}

    def _useful(self, threads: int) -> int:
        return useful_threads([self._expert], threads) if self._kernel_gate.device is CPU else 1

    async def measure(self, threads: int) -> None:
        """Measure the device in use, with as many of `threads` as pay, and with fewer, and keep the figures.

        How many threads the kernels of training use is to be set anew afterwards.
        """
        measured: dict[int, Speed] | None = None
        while measured is None:
            with contextlib.suppress(_Moved):
                measured = await self._measure_all(self._kernel_gate.device, threads)
        self._expert = ExpertBackend(self._expert.uid, self._model, self._training)
        found = {(speed.device, speed.threads): speed for speed in (*self.speeds, *measured.values())}
        self._file = _File(1, self.subject, tuple(found[key] for key in sorted(found)[:COUNTS]), time.time())
        try:
            await asyncio.to_thread(write_atomically, self._path, msgspec.json.encode(self._file))
        except DataFolderError as error:
            log.warning("What was measured will be measured again at the next start: %s", error)

    async def _measure_all(self, device: Device, threads: int) -> dict[int, Speed]:
        """By the number of threads.

        Raises:
            _Moved: another device is to be used.
        """
        used, spent, found = self._useful(threads), 0.0, dict[int, Speed]()
        for count in [used, *(2**power for power in range(used.bit_length()) if 2**power < used)]:
            if spent < ALL_S:
                seconds, found[count] = await self._measure(device, count)
                spent += seconds
        told = ", ".join(f"{speed.samples_per_s:,.0f} samples/s ({speed.threads})" for speed in found.values())
        log.info("%s was measured in %.1f s: one expert, by threads: %s.", self._expert.device.label, spent, told)
        return found

    async def _measure(self, device: Device, threads: int) -> tuple[float, Speed]:
        """The time it took, and samples a second of forward and backward."""
        expert, passes = self._expert, list[float]()
        most = int(PASS_S / (FIRST_PACE * BACKWARD * expert.work))
        rows = max(MIN_ROWS, min(ROWS, most))
        generator = torch.Generator().manual_seed(0)  # the run's own random numbers go on as if nothing had been drawn
        shape = (rows, *expert.input_shape)
        inputs = torch.randn(shape, generator=generator, dtype=expert.dtype)
        gradients = torch.randn(shape, generator=generator, dtype=expert.dtype) / rows
        for number in itertools.count():
            seconds = await self._prepare(device, threads)
            seconds += await self._kernel_gate.run(self._run, device, threads, expert.forward, inputs)
            seconds += await self._kernel_gate.run(self._run, device, threads, expert.backward, inputs, gradients)
            passes.append(seconds)
            enough = number + 1 >= WARM + PASSES and sum(passes) >= EACH_S
            if enough or (number >= WARM and sum(passes) >= ALL_S):
                break
            await asyncio.sleep(0)
        where = expert.device
        label = "" if where is CPU else where.label
        return sum(passes), Speed(threads, rows / _undisturbed(passes[WARM:]), where.id, label)

    async def _prepare(self, device: Device, threads: int) -> float:
        """The time that it took to make the expert ready for a pass, and to end the step of the one before."""
        expert, seconds, more = self._expert, 0.0, True

        def prepare() -> None:
            nonlocal more
            more = expert.prepare() or expert.go_to(device) or expert.prepare(backward=True)

        while more:
            seconds += await self._kernel_gate.run(self._run, device, threads, prepare)
        return seconds

    def _run(self, device: Device, threads: int, kernel: Callable[..., object], *arguments: Tensor) -> float:
        """The time that a kernel takes, if the device is still the one in use."""
        if self._kernel_gate.device is not device:
            raise _Moved

        def whole() -> None:
            kernel(*arguments)
            device.synchronize()

        return self._expert.with_room(lambda: _timed(threads, whole))


class _Moved(Exception):
    """Kernels are to run elsewhere from now on."""


def _timed(threads: int, kernel: Callable[[], None]) -> float:
    team.resize(threads)
    start = time.perf_counter()
    kernel()
    return time.perf_counter() - start


def _undisturbed(seconds: Iterable[float]) -> float:
    """The mean of the fastest quarter: what else runs on this PC only slows passes, and on a busy one slows most."""
    ordered = sorted(seconds)
    kept = ordered[: max(1, len(ordered) // 4)]
    return max(1e-9, sum(kept) / len(kept))


def _subject(model: Model, products: str) -> Subject:
    assert model.expert
    memory_gb = round(psutil.virtual_memory().total / 2**30)
    versions = VERSION, str(torch.__version__)
    return Subject(processor(), cores(), memory_gb, *versions, model.expert, model.width, model.hidden, products)


def _load(path: Path, subject: Subject) -> _File | None:
    """The figures of a file, if they can be used; otherwise it is written anew."""
    try:
        file = msgspec.json.decode(read_regular(path), type=_File)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        log.warning("%s could not be read, so this PC is measured anew: %s", path.name, error)
        return None
    return file if file.version == 1 and file.subject == subject else None

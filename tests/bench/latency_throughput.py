"""Throughput of blocks on several servers under latency (paper, section 4.1 and Fig. 4).

A model of identical blocks lies on several servers, each a Runtime; every request takes an exponential delay on top of
its computation. Asynchronous trainers, many at once, are compared with a model-parallel pipeline, which keeps only as
many batches on the way as it has stages, and with that pipeline without any delay: the upper bound. The clock counts
the processor time of this process and the waits, which it skips: other programs do not count, and all servers share one
thread, so their passes follow each other.
"""

import asyncio
import itertools
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from core.contracts.kinds import EXPERTS
from core.contracts.manifest import Training
from core.contracts.model import Model
from core.experts.calls import Call, ExpertHost
from core.experts.grid import Uid
from core.runtime.backend import ExpertBackend
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from tests.bench import plot, virtual_time
from tests.bench.far_host import FarHost
from tests.bench.machine import progress
from tests.bench.transformer_block import TRANSFORMER

SERVERS = 4
BLOCKS = 8
"""The paper has 224 on four GPUs."""
TRAINERS = 256
"""Batches on the way at once; the paper has 64 trainers, and far larger blocks."""
RUNS = 5
DELAYS_MS = (0, 50, 100, 200)
WARM_UP_S = 1.0


class Setting(NamedTuple):
    """One kind of block, scaled to two cores.

    The paper's: feed-forward 1024-4096-4096-1024, batch 2048; Transformer of width 1024, sequence 512, batch 4.
    """

    name: str
    expert: str
    width: int
    hidden: int
    batch: int
    """Samples: rows, or sequences."""


SETTINGS = (
    Setting("feed-forward", "ffn", 256, 1024, 32),
    Setting("Transformer", TRANSFORMER, 128, 512, 4),
)
TRAINING = Training(
    batch=1,
    trunk_rate=1e-6,
    expert_rate=1e-6,
    warmup_samples=0,
    decay_samples=10**12,
    target_samples=1,
    max_age_s=3600.0,
    clip=1.0,
    balance=0.0,
    in_flight=1,
    evaluate_every=1,
    seed=0,
)
"""Every backward pass is followed by a step, too small to change what is computed."""


class Block(NamedTuple):
    uid: Uid
    host: ExpertHost


class Walks:
    """Batches that walk through all blocks, forward and back, for ever: the trainers' share of the work."""

    def __init__(self, blocks: Sequence[Block], inputs: Tensor) -> None:
        self._blocks = blocks
        self._inputs = inputs
        self.passages = 0
        """Blocks passed, in either direction."""

    async def walk(self, start: int) -> None:
        """One batch after the other. The first begins at a block in the middle, as if this had gone on for long."""
        blocks, ways = self._blocks, 2 * len(self._blocks)
        tape = [self._inputs] * (len(blocks) + 1)
        gradient = self._inputs
        place = start % ways
        while True:
            if place < len(blocks):
                uid, host = blocks[place]
                (output,) = await host.forward([Call(uid, tape[place])], 0, math.inf)
                assert output is not None
                tape[place + 1] = gradient = output.rows  # the loss is half the outputs' square
            else:
                uid, host = blocks[ways - 1 - place]
                (by_inputs,) = await host.backward([Call(uid, tape[ways - 1 - place], gradient)], 0, math.inf)
                assert by_inputs is not None
                gradient = by_inputs
            self.passages += 1
            place = (place + 1) % ways


async def samples_per_s(setting: Setting, delay_ms: float, in_flight: int, window_s: float, seed: int) -> float:
    """Samples that went through all blocks and back in a second, with so many batches on the way."""
    model = Model("ffn_dmoe", BLOCKS, (1,), setting.width, setting.hidden, setting.expert, 1)
    kernel_gate = KernelGate()
    kernel_gate.open()
    uids = [Uid("blocks", number, (0,)) for number in range(BLOCKS)]
    servers = [
        Runtime({uid: ExpertBackend(uid, model, TRAINING) for uid in uids[number::SERVERS]}, kernel_gate)
        for number in range(SERVERS)
    ]
    hosts = [FarHost(server, delay_ms / 1000, seed=seed * SERVERS + n) for n, server in enumerate(servers)]
    blocks = [Block(uid, hosts[number % SERVERS]) for number, uid in enumerate(uids)]
    shape = (setting.batch, *EXPERTS[setting.expert].sample(model))
    walks = Walks(blocks, torch.randn(shape, generator=torch.Generator().manual_seed(seed)))
    now = asyncio.get_running_loop().time
    tasks = [asyncio.create_task(server.run()) for server in servers]
    tasks += [asyncio.create_task(walks.walk(number)) for number in range(in_flight)]
    try:
        await asyncio.sleep(WARM_UP_S + 3 * delay_ms / 1000)
        start, passages = now(), walks.passages
        await asyncio.sleep(window_s)
        rate = (walks.passages - passages) / (now() - start)
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        if not isinstance(error, asyncio.CancelledError):
            raise RuntimeError("A server or a trainer failed.") from error
    return rate / (2 * BLOCKS) * setting.batch


def _simulated(setting: Setting, delay_ms: float, in_flight: int, window_s: float, seed: int) -> float:
    work = samples_per_s(setting, delay_ms, in_flight, window_s, seed)
    return virtual_time.run(work, clock=time.process_time)


def measure(quick: bool, out: Path) -> dict[str, Any]:
    """All settings, in rounds, so that whatever else the machine does meets all of them."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    delays = (0, 200) if quick else DELAYS_MS
    ways = {"trainers": TRAINERS, "pipeline": SERVERS}
    rates: dict[tuple[str, str, int], list[float]] = {}
    try:
        for number in range(RUNS):
            for setting, delay, (way, in_flight) in itertools.product(SETTINGS, delays, ways.items()):
                rate = _simulated(setting, delay, in_flight, 1.0 if quick else 3.0, number)
                rates.setdefault((setting.name, way, delay), []).append(rate)
                progress(f"run {number + 1}, {setting.name}, {way}, {delay} ms: {rate:.1f} samples/s")
    finally:
        torch.set_num_threads(threads)
    results = {setting.name: _figures(setting, delays, rates) for setting in SETTINGS}
    plot.draw([_panel(name, figures, delays) for name, figures in results.items()], out / "latency_throughput.png")
    sizes = {s.name: {"width": s.width, "hidden": s.hidden, "batch": s.batch} for s in SETTINGS}
    return {
        "servers": SERVERS,
        "blocks": BLOCKS,
        "trainers": TRAINERS,
        "threads": 1,
        "sizes": sizes,
        "runs": RUNS,
        "samples_per_s": results,
    }


def _figures(setting: Setting, delays: Sequence[int], rates: dict[tuple[str, str, int], list[float]]) -> dict[str, Any]:
    """Mean and unbiased deviation by way and delay, and what is kept at the longest delay."""
    table: dict[str, Any] = {}
    for way in ("trainers", "pipeline"):
        spread = {delay: plot.mean_and_deviation(rates[setting.name, way, delay]) for delay in delays}
        table[way] = {f"{d} ms": {"mean": mean, "deviation": deviation} for d, (mean, deviation) in spread.items()}
        table[f"{way}_kept"] = spread[delays[-1]][0] / spread[0][0]
    table["upper_bound"] = table["pipeline"]["0 ms"]
    return table


def _panel(name: str, figures: dict[str, Any], delays: Sequence[int]) -> plot.Panel:
    def line(title: str, way: str) -> plot.Line:
        points = list(figures[way].values())
        return plot.Line(title, delays, [p["mean"] for p in points], [p["deviation"] for p in points])

    bound = plot.Line("no delay, pipelined", delays, [figures["upper_bound"]["mean"]] * len(delays), dashed=True)
    lines = [line(f"{TRAINERS} batches in flight", "trainers"), line("model parallel", "pipeline"), bound]
    return plot.Panel(f"{name} blocks", "mean delay of a block (ms)", "samples/s", lines, legend="middle")

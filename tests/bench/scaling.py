"""How throughput grows with the number of hosts, and what a trainer with many batches on the way keeps, in real time.

Trainer and DMoE layers are the shipped ones. The hosts' computation is modelled: a host is busy for a fixed time for
each row, one request after the other, without using this machine's processor. So this shows what one trainer can keep
busy, whatever the machine that it runs on.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import psutil
import torch
from torch import Tensor

from core.contracts import manifest as manifests
from core.contracts.manifest import Manifest
from core.experts.calls import Call, Output
from core.experts.directory import LocalDirectory
from core.experts.grid import Grid, Uid
from core.runtime.kernel_gate import KernelGate
from core.training import trainer as trainers
from core.training.trainer import Trainer
from tests.bench.machine import progress
from tests.bench.plot import mean_and_deviation

HOSTS = (1, 2, 4, 8)
FORWARD_S = 1e-3
"""For each row; a host of 1,000 rows a second is a slow one."""
BACKWARD_S = 3 * FORWARD_S
"""The pass is computed again, and its gradients."""
IN_FLIGHT = 32
MANY = 256
WARM_UP_S = 2.0


class ModelledHost:
    """An `ExpertHost` that takes its time and computes nothing."""

    standing = None

    def __init__(self, forward_s: float, backward_s: float) -> None:
        """A host of a certain speed.

        Args:
            forward_s: seconds for each row of a forward call.
            backward_s: seconds for each row of a backward call.
        """
        self._forward_s, self._backward_s = forward_s, backward_s
        self._busy_until = 0.0
        self._accepted = 0.0

    async def forward(
        self, calls: Sequence[Call], passage: int, deadline: float, inference: bool = False
    ) -> list[Output | None]:
        await self._work(calls, self._forward_s)
        return [Output(0.9 * call.inputs, 0) for call in calls]

    async def backward(self, calls: Sequence[Call], passage: int, deadline: float) -> list[Tensor | None]:
        await self._work(calls, self._backward_s)
        return [call.gradients for call in calls]

    async def _work(self, calls: Sequence[Call], row_s: float) -> None:
        now, seconds = asyncio.get_running_loop().time(), row_s * sum(len(call.inputs) for call in calls)
        self._busy_until = max(self._busy_until, now) + seconds
        self._accepted += seconds
        await asyncio.sleep(self._busy_until - now)

    def worked(self) -> float:
        """Seconds of work done until now."""
        return self._accepted - max(0.0, self._busy_until - asyncio.get_running_loop().time())


class SpreadDirectory(LocalDirectory):
    """All experts of a grid, dealt out to hosts in turn."""

    def __init__(self, uids: Sequence[Uid], hosts: Sequence[str]) -> None:
        super().__init__(uids)
        self._places = {uid: (hosts[number % len(hosts)],) for number, uid in enumerate(uids)}

    async def hosts(self, uids: Sequence[Uid]) -> Mapping[Uid, Sequence[str]]:
        return {uid: self._places[uid] for uid in uids}


def rules(in_flight: int) -> Manifest:
    """The run `digits` with patience for busy hosts."""
    digits = manifests.load("digits")
    training = msgspec.structs.replace(
        digits.training, in_flight=in_flight, k_min=digits.model.k, patience_s=60.0, audit=0.0, evaluate_every=1_000_000
    )
    return msgspec.structs.replace(digits, training=training)


async def _train(manifest: Manifest, hosts: Mapping[str, ModelledHost], seconds: float) -> tuple[float, Trainer]:
    """The work that all hosts did in a second, in seconds, and the trainer that gave it to them."""
    uids = list(Grid(manifest.run, manifest.model.layers, manifest.model.grid).uids())
    kernel_gate = KernelGate()
    trainer = Trainer(manifest, hosts, SpreadDirectory(uids, list(hosts)), kernel_gate)
    kernel_gate.open()
    task = asyncio.create_task(trainer.run())
    await asyncio.sleep(WARM_UP_S)
    start, worked = time.perf_counter(), sum(host.worked() for host in hosts.values())
    await asyncio.sleep(seconds)
    busy = (sum(host.worked() for host in hosts.values()) - worked) / (time.perf_counter() - start)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return busy, trainer


def throughput(count: int, seconds: float) -> float:
    """Samples/s that so many hosts reach."""
    hosts = {f"host {number}": ModelledHost(FORWARD_S, BACKWARD_S) for number in range(count)}
    manifest = rules(IN_FLIGHT)
    busy, _ = asyncio.run(_train(manifest, hosts, seconds))
    return busy / (manifest.model.layers * manifest.model.k * (FORWARD_S + BACKWARD_S))


def memory() -> dict[str, Any]:
    """What a trainer with `MANY` batches on the way keeps: by its own measure, and as its process grows."""
    process = psutil.Process()
    before = process.memory_info().rss
    _, trainer = asyncio.run(_train(rules(MANY), {"host": ModelledHost(FORWARD_S, BACKWARD_S)}, 3.0))
    return {
        "batches": MANY,
        "batch_mib": trainer.batch_bytes / 2**20,
        "all_mib": MANY * trainer.batch_bytes / 2**20,
        "process_grew_mib": (process.memory_info().rss - before) / 2**20,
        "bound_mib": trainers.MEMORY / 2**20,
    }


def measure(quick: bool) -> dict[str, Any]:
    """Throughput with 1 to 8 hosts, and memory."""
    torch.set_num_threads(1)
    asyncio.run(_train(rules(1), {"host": ModelledHost(0.0, 0.0)}, 0.1))  # loads what is loaded once
    kept = memory()
    progress(f"{MANY} batches on the way: {kept}")
    rates: dict[int, list[float]] = {count: [] for count in HOSTS}
    for _ in range(1 if quick else 5):
        for count in HOSTS:
            rates[count].append(throughput(count, 4.0 if quick else 6.0))
            progress(f"{count} hosts: {rates[count][-1]:.1f} samples/s")
    spread = {count: mean_and_deviation(values) for count, values in rates.items()}
    return {
        "in_flight": IN_FLIGHT,
        "host_row_ms": {"forward": FORWARD_S * 1000, "backward": BACKWARD_S * 1000},
        "samples_per_s": {str(count): {"mean": mean, "deviation": dev} for count, (mean, dev) in spread.items()},
        "times_one_host": {str(count): spread[count][0] / spread[1][0] for count in HOSTS},
        "memory": kept,
    }

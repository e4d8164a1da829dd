"""Hundreds of batches on the way: what they keep is bounded, and known."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
import psutil
import pytest
from torch import Tensor

from core.contracts import manifest as manifests
from core.contracts.status import CurvePoint
from core.experts.calls import Call, Output
from core.experts.directory import LOCAL, LocalDirectory
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.training import trainer as trainer_module
from core.training.trainer import Trainer
from tests.experts import all_experts
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture
from tests.unit.text_run import SMALL, Setup, text_run
from tests.workers import PATIENCE_S


class Far:
    """The Runtime, as if very far away: gradients do not come back until `near`."""

    standing = None

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.held = 0
        self.near = asyncio.Event()

    async def forward(
        self, calls: Sequence[Call], passage: int, deadline: float, inference: bool = False
    ) -> list[Output | None]:
        return await self.runtime.forward(calls, passage, deadline, inference)

    async def backward(self, calls: Sequence[Call], passage: int, deadline: float) -> list[Tensor | None]:
        self.held += 1
        await self.near.wait()
        self.held -= 1
        return await self.runtime.backward(calls, passage, deadline)


HostT = TypeVar("HostT", bound=Far)


class Busy(Far):
    """The Runtime, too busy for all but every fourth call."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self.near.set()
        self.refused = 0
        self._count = itertools.count()

    async def forward(
        self, calls: Sequence[Call], passage: int, deadline: float, inference: bool = False
    ) -> list[Output | None]:
        if next(self._count) % 4 < 3:
            self.refused += 1
            return [None] * len(calls)
        return await super().forward(calls, passage, deadline, inference)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  (the conditions are no events)
        await asyncio.sleep(0.01)


@asynccontextmanager
async def training(host: Callable[[Runtime], HostT], in_flight: int) -> AsyncIterator[tuple[Trainer, HostT]]:
    """The run `digits` with so many batches on the way, through a host around the Runtime; nothing is lost."""
    manifest = manifests.load("digits")
    rules = msgspec.structs.replace(manifest.training, in_flight=in_flight)
    manifest = msgspec.structs.replace(manifest, training=rules)
    experts = {backend.uid: backend for backend in all_experts(manifest)}
    kernel_gate = KernelGate()
    runtime = Runtime(experts, kernel_gate)
    around = host(runtime)
    trainer = Trainer(manifest, {LOCAL: around}, LocalDirectory(experts), kernel_gate)
    tasks = [asyncio.create_task(runtime.run()), asyncio.create_task(trainer.run())]
    kernel_gate.open()
    async with asyncio.timeout(PATIENCE_S):
        yield trainer, around
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert trainer.lost == 0


async def held(in_flight: int, expected: int) -> tuple[Trainer, int]:
    """Run until so many batches wait for their gradients; the trainer and the memory that was taken meanwhile."""
    async with training(Far, in_flight) as (trainer, far):
        before = psutil.Process().memory_info().rss
        await until(lambda: far.held >= expected)
        for _ in range(1000):  # whoever else wanted to start could have
            await asyncio.sleep(0)
        taken = psutil.Process().memory_info().rss - before
        assert trainer.window.in_flight == far.held == expected
        far.near.set()
        await until(lambda: trainer.step >= expected)
    assert trainer.timing.longest_s() != (None, None)
    return trainer, taken


async def test_a_batch_that_everybody_is_too_busy_for_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer_module, "LOST_DELAY_S", 0.001)
    async with training(Busy, in_flight=1) as (trainer, busy):
        await until(lambda: trainer.step >= 5 or trainer.lost > 0)
    assert busy.refused >= 30


async def test_an_evaluation_during_which_a_layers_experts_are_gone_costs_no_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trainer_module, "LOST_DELAY_S", 0.001)
    manifest = manifests.load("digits")
    rules = msgspec.structs.replace(manifest.training, in_flight=1)
    manifest = msgspec.structs.replace(manifest, training=rules)
    experts = {backend.uid: backend for backend in all_experts(manifest)}
    kernel_gate, directory, curve = KernelGate(), LocalDirectory(experts), list[CurvePoint]()
    runtime = Runtime(experts, kernel_gate)

    class Leaving(Far):
        """The Runtime, whose experts go with the last gradients of the first batch."""

        async def backward(self, calls: Sequence[Call], passage: int, deadline: float) -> list[Tensor | None]:
            answers = await self.runtime.backward(calls, passage, deadline)
            self.held += 1
            if self.held == manifest.model.layers:
                for uid in experts:
                    directory.remove(uid)
            return answers

    trainer = Trainer(manifest, {LOCAL: Leaving(runtime)}, directory, kernel_gate, on_evaluated=curve.append)
    tasks = [asyncio.create_task(runtime.run()), asyncio.create_task(trainer.run())]
    kernel_gate.open()
    async with asyncio.timeout(PATIENCE_S):
        await until(lambda: trainer.step == 1)
        for _ in range(100):  # it asks, and finds nobody
            await asyncio.sleep(0)
        assert not curve and not trainer.lost
        for uid in experts:
            directory.add(uid)
        await until(lambda: bool(curve))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert curve[0].step == 1 and trainer.lost == 0


async def test_256_batches_on_the_way_take_what_is_said_of_them() -> None:
    trainer, taken = await held(256, 256)
    stated = 256 * trainer.batch_bytes
    print(f"256 batches of 32 samples: {stated / 2**20:.0f} MiB stated, {taken / 2**20:.0f} MiB taken")
    assert stated < 64 << 20
    assert taken < 2 * stated + (64 << 20), "batches keep more than their tape"


async def test_no_more_batches_are_on_the_way_than_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, _ = await held(1, 1)
    monkeypatch.setattr(trainer_module, "MEMORY", 6 * trainer.batch_bytes + 5)
    await held(64, 6)


async def test_fewer_batches_are_on_the_way_while_the_peers_do_not_keep_up() -> None:
    """They say for how long calls wait there; here half a second for each batch beyond the fourth."""
    manifest = manifests.load("digits")
    training = msgspec.structs.replace(manifest.training, in_flight=64)
    manifest = msgspec.structs.replace(manifest, training=training)
    experts = {backend.uid: backend for backend in all_experts(manifest)}
    kernel_gate = KernelGate()
    runtime = Runtime(experts, kernel_gate)
    limit = [4]
    trainer = Trainer(
        manifest,
        {LOCAL: runtime},
        LocalDirectory(experts),
        kernel_gate,
        queue_s=lambda: max(0.0, 0.5 * (trainer.window.in_flight - limit[0])),
    )
    seen = list[int]()
    tasks = [asyncio.create_task(runtime.run()), asyncio.create_task(trainer.run())]
    kernel_gate.open()
    async with asyncio.timeout(PATIENCE_S):
        while trainer.step < 160:
            await asyncio.sleep(0)
            if trainer.step >= 60:
                seen.append(trainer.window.in_flight)
        assert 3 <= sum(seen) / len(seen) <= 5.5 and max(seen) <= 7
        limit[0] = 64
        await until(lambda: trainer.window.in_flight >= 16)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_pc_that_computes_all_of_it_in_large_calls_has_one_batch_on_the_way(tmp_path: Path) -> None:
    """A second one would save nothing, and have each gradient come a step late."""
    setup, seen = Setup(text_run({**SMALL, "sequence": 64}, batch=16, in_flight=4), tmp_path), set[int]()
    setup.kernel_gate.open()
    async with setup.running():
        await until(lambda: setup.trainer.step >= 8)  # those that began before this was known have ended
        while setup.trainer.step < 16:
            seen.add(setup.trainer.window.in_flight)
            await asyncio.sleep(0)
    assert max(seen) == 1

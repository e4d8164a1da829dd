"""Simulated time: an hour passes at once, in the right order, and a Runtime's timers follow it."""

import asyncio
import time
from collections.abc import Iterator

import msgspec
import pytest
import torch

from core.contracts import manifest as manifests
from core.contracts.manifest import Manifest
from core.experts.calls import Call
from core.experts.directory import LOCAL, LocalDirectory
from core.experts.grid import Uid
from core.runtime.backend import ExpertBackend
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.training.trainer import Trainer
from tests.bench import virtual_time
from tests.bench.far_host import FarHost
from tests.experts import all_experts


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_an_hour_passes_at_once_and_in_order() -> None:
    woken: list[tuple[float, str]] = []

    async def sleep(seconds: float, name: str) -> None:
        await asyncio.sleep(seconds)
        woken.append((asyncio.get_running_loop().time(), name))

    async def main() -> None:
        await asyncio.gather(sleep(3600, "last"), sleep(0.25, "first"), sleep(60, "second"))

    start = time.monotonic()
    virtual_time.run(main())
    assert time.monotonic() - start < 5
    assert [name for _, name in woken] == ["first", "second", "last"]
    assert [seconds for seconds, _ in woken] == pytest.approx([0.25, 60.0, 3600.0])


def test_deadlines_count_simulated_seconds() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(120):
                await asyncio.sleep(121)
        return asyncio.get_running_loop().time()

    assert virtual_time.run(main()) == pytest.approx(120)


def test_timers_of_one_tick_go_off_together() -> None:
    woken: list[float] = []

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds)
        woken.append(asyncio.get_running_loop().time())

    async def main() -> None:
        await asyncio.gather(*(sleep(seconds) for seconds in (1.0, 1.04, 1.2)))

    virtual_time.run(main(), tick=0.05)
    assert woken == pytest.approx([1.05, 1.05, 1.25])


def test_tasks_that_set_timers_shorter_than_a_tick_do_not_stop_the_clock() -> None:
    async def nap() -> None:
        for _ in range(100_000):
            await asyncio.sleep(0.02)

    async def main() -> None:
        naps = [asyncio.create_task(nap()) for _ in range(2)]
        await asyncio.sleep(0.01)
        naps.append(asyncio.create_task(nap()))  # out of step with the others
        await asyncio.sleep(60)
        for task in naps:
            task.cancel()

    virtual_time.run(main(), tick=0.05)


def test_the_clock_counts_computing_if_it_is_told_to_but_skips_waiting() -> None:
    async def main() -> float:
        await asyncio.sleep(3600)
        start = time.process_time()
        while time.process_time() - start < 0.05:
            pass
        return asyncio.get_running_loop().time()

    start = time.monotonic()
    assert virtual_time.run(main(), clock=time.process_time) == pytest.approx(3600.05, abs=0.04)
    assert time.monotonic() - start < 60


def test_waiting_for_nothing_is_an_error_not_a_standstill() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="no timer"):
        virtual_time.run(main())


def manifest(**training: float) -> Manifest:
    """The run `digits`, made tiny."""
    digits = manifests.load("digits")
    model = msgspec.structs.replace(digits.model, grid=(2, 2), width=8, hidden=8, k=4)
    rules = msgspec.structs.replace(digits.training, batch=4, **training)
    return msgspec.structs.replace(digits, model=model, training=rules)


def test_an_expert_steps_on_few_gradients_when_they_are_old_by_the_simulated_clock() -> None:
    rules = manifest(target_samples=1000, max_age_s=600.0)
    uid = Uid("digits", 0, (0, 0))

    async def main() -> list[int]:
        expert, kernel_gate = ExpertBackend(uid, rules.model, rules.training), KernelGate()
        runtime = Runtime({uid: expert}, kernel_gate)
        kernel_gate.open()
        serving = asyncio.create_task(runtime.run())
        x = torch.ones(2, rules.model.width)
        await runtime.backward([Call(uid, x, x)])
        versions = []
        for seconds in (599.0, 2.0):
            await asyncio.sleep(seconds)
            versions.append(expert.version)
        serving.cancel()
        return versions

    assert virtual_time.run(main()) == [0, 1]


def train(delay_s: float, failures: float, steps: int) -> tuple[Trainer, float]:
    """The run `digits` with its experts far away, until the trunk has taken so many steps."""

    async def main() -> tuple[Trainer, float]:
        rules = manifest(in_flight=8)
        experts = {backend.uid: backend for backend in all_experts(rules)}
        kernel_gate = KernelGate()
        runtime = Runtime(experts, kernel_gate)
        far = FarHost(runtime, delay_s, failures, seed=1)
        trainer = Trainer(rules, {LOCAL: far}, LocalDirectory(experts), kernel_gate)
        kernel_gate.open()
        tasks = [asyncio.create_task(runtime.run()), asyncio.create_task(trainer.run())]
        while trainer.step < steps:  # noqa: ASYNC110  (time is simulated)
            await asyncio.sleep(delay_s)
        seconds = asyncio.get_running_loop().time()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return trainer, seconds

    return virtual_time.run(main())


def test_batches_in_flight_hide_the_delay_and_a_failed_expert_costs_no_batch() -> None:
    trainer, seconds = train(delay_s=10.0, failures=0.1, steps=24)
    assert trainer.lost == 0
    # A batch asks two layers twice, 40 s in the mean: one after the other would take 960 s.
    assert 60 < seconds < 300


def test_equal_seeds_give_equal_runs() -> None:
    first, second = (train(delay_s=1.0, failures=0.1, steps=6)[0].state() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)

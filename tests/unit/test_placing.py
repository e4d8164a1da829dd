"""Compute follows the worker to a graphics processor and back, on the stand-in for a card."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import torch

from core.compute import device_placement as placing
from core.compute.device_placement import Placing
from core.compute.hosting import Residents
from core.contracts.pipe import Placed, SetDevice, Work
from core.runtime.device import CPU, Device
from core.store.checkpoints import CheckpointStore
from tests.unit import test_trainer
from tests.unit.fake_cuda import ID, FakeCuda
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCuda]:
    async def here(call: Callable[[], Device]) -> Device:
        return call()

    monkeypatch.setattr(placing, "_in_a_thread_of_its_own", here)  # the stand-in is of this thread
    with FakeCuda() as card:
        yield card


class Compute:
    """What `Session` puts together, as far as devices are concerned."""

    def __init__(self, folder: Path) -> None:
        manifest = test_trainer.digits(batch=8, in_flight=2, evaluate_every=1000)
        self.setup = test_trainer.Setup(manifest)
        residents = Residents(manifest, (), CheckpointStore(folder, manifest.run), self.setup.runtime)
        residents.backends.update(self.setup.backends)
        self.kernel_gate, self.trainer = self.setup.kernel_gate, self.setup.trainer
        self.changes = 0
        self.placing = Placing(self.kernel_gate, residents, self.trainer, self.count, self._changed)

    def count(self) -> Work:
        return Work(samples=self.trainer.trained, calls=self.setup.runtime.calls)

    def _changed(self) -> None:
        self.changes += 1

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self.setup.running():
            self.kernel_gate.open()
            yield
            self.kernel_gate.close()

    async def steps(self, count: int) -> None:
        end = self.trainer.step + count
        await self.setup.until(lambda: self.trainer.step >= end)


async def test_compute_goes_to_the_card_and_back_while_it_trains(card: FakeCuda, tmp_path: Path) -> None:
    compute = Compute(tmp_path)
    async with compute.running():
        await compute.steps(3)
        there = await compute.placing.go(SetDevice(ID, 0.5))
        assert (there.device, there.label, there.why) == (ID, "Fake RTX", None) and card.share == 0.5
        assert compute.changes == 1 and compute.kernel_gate.device.id == ID
        await compute.steps(3)
        assert card.used > 0 and compute.placing.left_behind == 0

        told = time.monotonic()
        compute.kernel_gate.leave("cpu")  # as soon as the message is read
        operations = card.operations
        back = await compute.placing.go(SetDevice("cpu"))
        assert back.device == "cpu" and back.last_kernel_end <= told
        assert card.operations == operations, "a kernel began on a card that had been given back"
        assert card.used == 0 and card.emptied > 0
        await compute.steps(3)
        work = compute.placing.work()
        assert work.keys() == {"cpu", ID} and all(done.samples >= 16 and done.calls > 0 for done in work.values())
        assert sum(done.samples for done in work.values()) == compute.trainer.trained


async def test_a_device_that_is_not_there_leaves_compute_on_the_processor(card: FakeCuda, tmp_path: Path) -> None:
    compute = Compute(tmp_path)
    async with compute.running():
        answer = await compute.placing.go(SetDevice("GPU-other", 0.5))
        assert answer.device == "cpu" and "GPU-other" in str(answer.why)
        await compute.steps(1)


async def test_a_smaller_share_of_its_memory_is_kept_at_once(card: FakeCuda, tmp_path: Path) -> None:
    compute = Compute(tmp_path)
    async with compute.running():
        await compute.placing.go(SetDevice(ID, 1.0))
        await compute.steps(6)
        card.total, half = 2 * card.used, card.used // 2
        assert (await compute.placing.go(SetDevice(ID, 0.25))).device == ID
        await compute.steps(3)
        assert 0 < card.used <= half and 0 < compute.placing.left_behind < 32
        assert any(backend.device is not CPU for backend in compute.setup.backends.values())


async def test_the_newest_order_counts(card: FakeCuda, tmp_path: Path) -> None:
    compute = Compute(tmp_path)
    async with compute.running():
        await compute.steps(2)
        going: list[asyncio.Task[Placed]] = []
        for number in range(1, 6):
            going.append(asyncio.create_task(compute.placing.go(SetDevice(ID if number % 2 else "cpu"))))
            await asyncio.sleep(0)
        assert (await going[-1]).device == ID and not any(one.done() and not one.cancelled() for one in going[:-1])
        await compute.steps(2)
        assert compute.placing.left_behind == 0 and compute.trainer.device.id == ID


async def test_a_driver_that_hangs_or_fails_does_not_hold_compute_up() -> None:
    def broken() -> Device:
        raise torch.AcceleratorError("CUDA error: no device")

    with pytest.raises(torch.AcceleratorError):
        await placing._in_a_thread_of_its_own(broken)
    assert await placing._in_a_thread_of_its_own(lambda: CPU) is CPU
    end = threading.Event()

    def hangs() -> Device:
        end.wait()
        return CPU

    waiting = asyncio.create_task(placing._in_a_thread_of_its_own(hangs))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    end.set()

"""Graphics processors, on a stand-in for a card beneath torch's interface: moves, results, full memory, faults."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from torch import Tensor

from core.contracts.errors import DeviceError
from core.experts.calls import Call
from core.runtime.backend import MAX_ROWS
from core.runtime.device import CPU, Device, fault_of, lacks_memory, open_device
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import PASS_S, Runtime
from tests.unit import test_trainer, text_run
from tests.unit.device_checks import UID, assert_same, check_moves, check_results, expert, samples, whole
from tests.unit.fake_cuda import CUDA, ID, FakeCuda
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture
from tests.unit.test_decoder import decoder_run
from tests.workers import PATIENCE_S

KINDS = ["ffn", "transformer_ffn"]


@pytest.fixture
def card() -> Iterator[FakeCuda]:
    with FakeCuda() as card:
        yield card


@pytest.fixture
def device(card: FakeCuda) -> Device:
    return open_device(ID)


def test_a_card_is_found_by_its_name_in_nvml_and_used_up_to_its_share(card: FakeCuda) -> None:
    device = open_device(ID)
    device.limit(0.4)
    assert (device.id, device.label, card.share) == (ID, "Fake RTX", 0.4)
    card.total = 1000
    assert device.put(torch.zeros(99)).device == CUDA
    with pytest.raises(RuntimeError) as error:
        device.put(torch.zeros(101))
    assert lacks_memory(error.value)


def test_what_cannot_compute_is_refused_with_a_sentence(card: FakeCuda) -> None:
    with pytest.raises(DeviceError, match="does not find the GPU GPU-other"):
        open_device("GPU-other")
    card.broken = True
    with pytest.raises(DeviceError, match=r"cannot be used: CUDA error: unspecified launch failure\.$"):
        open_device(ID)


def test_a_torch_without_graphics_processors_says_so() -> None:
    assert open_device("cpu") is CPU
    for name in (ID, "mps"):
        if not (torch.cuda.is_available() or torch.backends.mps.is_available()):
            with pytest.raises(DeviceError):
                open_device(name)


def test_errors_are_told_apart() -> None:
    full = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")
    blas = RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")
    apple = RuntimeError("MPS backend out of memory (MPS allocated: 1.00 GB)")
    assert all(map(lacks_memory, (full, blas, apple)))
    lost = torch.AcceleratorError("CUDA error: device-side assert triggered")
    missing = NotImplementedError("The operator 'aten::x' is not currently implemented for the MPS device.")
    assert fault_of(lost) and fault_of(missing) and fault_of(BaseExceptionGroup("", [lost]))
    assert not lacks_memory(lost)
    for other in (ValueError("x"), RuntimeError("The size of a (3) must match the ownership"), MemoryError()):
        assert not fault_of(other) and not lacks_memory(other)


@pytest.mark.parametrize("kind", KINDS)
def test_an_expert_moves_with_all_that_it_has_gathered(device: Device, kind: str) -> None:
    check_moves(device, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_card_computes_what_the_processor_computes(card: FakeCuda, device: Device, kind: str) -> None:
    check_results(device, kind, 1e-6)
    assert card.operations > 100


def test_memory_is_taken_by_what_is_used_and_given_back(card: FakeCuda, device: Device) -> None:
    backend = expert()
    backend.forward(samples(1, 1)[0])
    backend.go_to(device)
    x, gradient = samples(8, 1)
    backend.backward(x, gradient)
    assert device.used_bytes == pytest.approx(2 * 4 * backend.weights, rel=0.01)  # weights, gathered gradients
    backend.backward(x, gradient)
    assert device.used_bytes == pytest.approx(4 * 4 * backend.weights, rel=0.01)  # and two moments
    backend.go_to(CPU)
    assert device.used_bytes == 0


def test_a_checkpoint_knows_no_device(device: Device) -> None:
    backend, copy = expert(), expert()
    backend.go_to(device)
    for seed in range(3):
        backend.backward(*samples(16, seed))
    copy.go_to(device)
    copy.forward(samples(1, 1)[0])
    copy.load_state(backend.state())
    assert_same(copy.state(), backend.state())
    copy.backward(*samples(16, 9))
    backend.backward(*samples(16, 9))
    assert_same(copy.state(), backend.state())


# the Runtime


class Setup:
    def __init__(self, device: Device) -> None:
        self.expert = expert(target_samples=32)
        self.kernel_gate = KernelGate()
        self.kernel_gate.device = device
        self.kernel_gate.open()
        self.runtime = Runtime({UID: self.expert}, self.kernel_gate)

    async def serve(self, rows: int) -> None:
        """One forward and one backward pass of another's call."""
        x, gradient = samples(rows, rows)
        requests = [self.runtime.submit([Call(UID, x)], "forward")]
        requests.append(self.runtime.submit([Call(UID, x, gradient, self.expert.version)], "backward"))
        while self.runtime.serve_next():
            pass
        for request in requests:
            (answer,) = await request.answers
            assert answer is not None and answer.is_cpu


async def test_a_kernel_has_ended_when_the_card_has_done_all_of_it(card: FakeCuda, device: Device) -> None:
    setup = Setup(device)
    await setup.serve(8)
    assert setup.expert.device is device
    assert card.unfinished == 0 and card.synchronized > 0
    before, start = card.synchronized, time.monotonic()
    setup.kernel_gate.run_now(lambda: card.operations)
    assert card.synchronized == before + 1 and setup.kernel_gate.last_kernel_end >= start


async def test_passes_follow_the_pace_of_the_device_that_they_run_on(device: Device) -> None:
    setup = Setup(device)
    load = setup.kernel_gate.load
    work = 3 * setup.expert.weights
    load.paces[CPU.id], load.paces[device.id] = PASS_S / (16 * work), PASS_S / (128 * work)
    seen: list[tuple[str, int]] = []
    backward = setup.expert.backward

    def watched(inputs: Tensor, gradients: Tensor, *more: Any) -> Tensor:
        seen.append((setup.expert.device.id, len(inputs)))
        load.paces[CPU.id], load.paces[device.id] = PASS_S / (16 * work), PASS_S / (128 * work)
        return backward(inputs, gradients, *more)

    setup.expert.backward = watched  # type: ignore[method-assign, assignment]
    x, gradient = samples(256, 1)
    request = setup.runtime.submit([Call(UID, x, gradient)], "backward")
    while not seen:
        setup.runtime.serve_next()
    setup.kernel_gate.device = CPU  # in the middle of it: no pass is longer than the processor can bear
    while setup.runtime.serve_next():
        pass
    assert seen == [(ID, 128), *[("cpu", 16)] * 8]
    assert (await request.answers)[0] is not None


async def test_where_memory_is_short_passes_are_smaller_and_no_update_is_lost(
    card: FakeCuda, device: Device, caplog: pytest.LogCaptureFixture
) -> None:
    setup, here = Setup(device), expert(target_samples=256)
    setup.expert = there = expert(target_samples=256)
    setup.runtime = Runtime({UID: there}, setup.kernel_gate)
    await setup.serve(256)
    here.backward(*samples(256, 256))
    card.total = card.used + 3_000_000  # not enough for 256 samples at once
    requests = []
    for seed in range(2, 6):
        x, gradient = samples(64, seed)
        requests.append(setup.runtime.submit([Call(UID, x, gradient)], "backward"))
        here.backward(x, gradient)
    setup.kernel_gate.load.paces.clear()  # on a busy machine the first pass took so long that the next would be smaller
    while setup.runtime.serve_next():
        pass
    assert all(request.answers.result()[0] is not None for request in requests)
    assert there.device is device and there.rows_per_pass == 128
    assert (there.version, there.samples, there.pending) == (2, 512, 0) == (here.version, here.samples, here.pending)
    for name, tensor in here.state().items():
        torch.testing.assert_close(there.state()[name], tensor, rtol=1e-4, atol=1e-4)
    await setup.serve(300)  # one call that is too large
    assert there.device is CPU and there.version == 3
    assert [r.levelname for r in caplog.records] == ["WARNING"] and "Fake RTX" in caplog.text
    there.go_to(CPU)
    assert there.rows_per_pass == MAX_ROWS


@pytest.mark.parametrize("moment", ["entering", "gathering", "stepping"])
async def test_an_expert_that_does_not_fit_goes_on_on_the_processor(
    card: FakeCuda, device: Device, moment: str
) -> None:
    """Memory runs out when it comes, when gradients are first gathered, or at the first optimizer step."""
    setup, here = Setup(device), expert(target_samples=20)
    setup.expert = there = expert(target_samples=20)
    setup.runtime = Runtime({UID: there}, setup.kernel_gate)
    vectors = {"entering": 0.5, "gathering": 1.5, "stepping": 2.8}[moment]
    card.total = int(vectors * 4 * there.weights)
    for rows in (11, 12, 13):
        await setup.serve(rows)
        here.backward(*samples(rows, rows))
    assert there.device is CPU and device.used_bytes == 0
    assert (there.version, there.samples, there.pending) == (1, 23, 13) == (here.version, here.samples, here.pending)
    for name, tensor in whole(here).items():
        torch.testing.assert_close(whole(there)[name], tensor, rtol=1e-4, atol=1e-4)
    card.total = 1 << 30
    await setup.serve(1)
    assert there.device is CPU, "it was tried again at every pass"
    there.go_to(CPU)
    there.go_to(device)  # asked anew
    assert there.device is device


async def test_a_card_that_fails_ends_the_runtime(card: FakeCuda, device: Device) -> None:
    setup = Setup(device)
    await setup.serve(8)
    task = asyncio.create_task(setup.runtime.run())
    card.broken = True
    setup.runtime.submit([Call(UID, samples(4, 1)[0])], "forward")
    with pytest.raises(torch.AcceleratorError) as error:
        await asyncio.wait_for(task, PATIENCE_S)
    assert fault_of(error.value)
    assert not setup.runtime.failures, "an expert was blamed"


# the Trainer


Run = test_trainer.Setup | text_run.Setup


async def steps(setup: Run, count: int) -> None:
    """Train so many batches."""
    setup.kernel_gate.open()
    end = setup.trainer.step + count
    while setup.trainer.step < end:
        assert not any(task.done() for task in setup.watched), setup.watched
        await asyncio.sleep(0)
    setup.kernel_gate.close()


async def train(device: Device, setup: Run) -> list[float]:
    """The losses on the way: on the processor, on the device, on the processor."""
    losses = []
    async with setup.running():
        for place in (CPU, device, CPU):
            setup.kernel_gate.device = place
            await steps(setup, 3)
            assert setup.trainer.device is place
            losses.append(setup.trainer.loss or 0.0)
            state = setup.trainer.state()
            assert all(tensor.is_cpu for tensor in state.values())
            used = [backend for backend in setup.backends.values() if backend.is_used]
            assert used and any(backend.device is place for backend in used)
    return losses


@pytest.mark.parametrize("run", ["digits", "text"])
async def test_trunk_and_experts_train_on_a_card_as_on_the_processor(
    card: FakeCuda, device: Device, run: str, tmp_path: Path
) -> None:
    def made() -> Run:
        rules = {"in_flight": 1, "target_samples": 1, "evaluate_every": 5, "batch": 4}
        if run == "digits":
            return test_trainer.Setup(test_trainer.digits(**rules))
        return text_run.Setup(text_run.text_run(text_run.SMALL, **rules), tmp_path)

    expected = await train(CPU, made())
    operations = card.operations
    assert await train(device, made()) == pytest.approx(expected, rel=1e-3)
    assert card.operations > operations + 500


@pytest.mark.parametrize("run", ["digits", "tied embeddings"])
async def test_batches_on_the_way_go_on_while_everything_moves(device: Device, run: str, tmp_path: Path) -> None:
    setup: Run
    if run == "digits":
        setup = test_trainer.Setup(test_trainer.digits(in_flight=8, batch=8))
    else:
        decoder = decoder_run(tied=True)
        rules = msgspec.structs.replace(decoder.training, in_flight=8, batch=4)
        setup = text_run.Setup(msgspec.structs.replace(decoder, training=rules), tmp_path)
    async with setup.running():
        for turn in range(4):
            setup.kernel_gate.device = CPU if turn % 2 else device
            await steps(setup, 3)
        assert setup.trainer.lost == 0 and not setup.runtime.failures
        versions = [backend.version for backend in setup.backends.values()]
        assert sum(versions) > 0


async def test_a_trunk_that_does_not_fit_stays_on_the_processor(card: FakeCuda, device: Device) -> None:
    setup = test_trainer.Setup(test_trainer.digits(in_flight=1, batch=8))
    card.total = 8 << 10
    setup.kernel_gate.device = device
    async with setup.running():
        await steps(setup, 3)
        assert setup.trainer.device is CPU and setup.trainer.lost == 0

"""On a real graphics processor, where PyTorch can use one: moves, results, memory, yields, a whole compute process."""

import asyncio
import gc
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import torch

from core.contracts.model import Model
from core.contracts.pipe import DEVICE, TRAIN, Measured, Progress, SetDevice
from core.experts.calls import Call
from core.experts.grid import Uid
from core.policy.signals.nvml import Nvml
from core.runtime.backend import ExpertBackend
from core.runtime.device import CPU, CUDA_PREFIX, Device, can_use_gpus, lacks_memory, open_device
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.runtime.threads import team
from tests.scenarios.test_compute import started, train
from tests.unit import test_trainer
from tests.unit.device_checks import TRAINING, UID, check_moves, check_results

pytestmark = pytest.mark.skipif(
    not (torch.cuda.is_available() or torch.backends.mps.is_available()),
    reason="hardware: this machine has no graphics processor that PyTorch can use",
)

MIB = 1 << 20
LARGE = Model("ffn_dmoe", 1, (2, 2), 1024, 4096, "ffn", 2)
PROMISE_S = 0.25
STOPS = 20
KINDS = ["ffn", "transformer_ffn"]


def name() -> str:
    if not torch.cuda.is_available():
        return "mps"
    return f"{CUDA_PREFIX}{torch.cuda.get_device_properties(0).uuid}"


@pytest.fixture
def device() -> Iterator[Device]:
    threads = team.threads
    team.resize(1)
    device = open_device(name())
    device.limit(0.8)
    yield device
    device.limit(1.0)
    team.resize(threads)


def taken() -> int:
    """Bytes of all tensors there."""
    gc.collect()
    return torch.cuda.memory_allocated() if torch.cuda.is_available() else torch.mps.current_allocated_memory()


def test_it_is_the_card_that_nvml_lists(device: Device) -> None:
    assert can_use_gpus() and device.label
    if torch.cuda.is_available():
        assert device.id in [gpu.id for gpu in Nvml(lambda: ()).read()]


@pytest.mark.parametrize("kind", KINDS)
def test_an_expert_moves_with_all_that_it_has_gathered(device: Device, kind: str) -> None:
    check_moves(device, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_it_computes_what_the_processor_computes(device: Device, kind: str) -> None:
    check_results(device, kind, 1e-3)


def test_memory_is_given_back(device: Device) -> None:
    before, backend = taken(), ExpertBackend(UID, LARGE, TRAINING)
    backend.go_to(device)
    x = torch.randn(16, LARGE.width)
    backend.forward(x)  # the weights are built with the first use
    backend.go_to(CPU)
    backend.go_to(device)
    for _ in range(2):
        backend.backward(x, torch.randn_like(x))
    assert taken() - before == pytest.approx(4 * 4 * backend.weights, rel=0.05)
    backend.go_to(CPU)
    assert taken() <= before + MIB
    assert device.used_bytes <= before + 64 * MIB, "torch keeps it"


def test_the_limit_of_memory_is_kept_and_an_expert_that_does_not_fit_stays(device: Device) -> None:
    total = (
        torch.cuda.get_device_properties(0).total_memory
        if torch.cuda.is_available()
        else torch.mps.recommended_max_memory()
    )
    device.free()
    device.limit(max(0.001, (device.used_bytes + 32 * MIB) / total))
    with pytest.raises(RuntimeError) as error:
        device.put(torch.zeros(256 * MIB // 4))
    assert lacks_memory(error.value)
    backend = ExpertBackend(UID, LARGE, TRAINING)
    x = torch.randn(16, LARGE.width)
    backend.forward(x)
    backend.go_to(device)
    assert backend.device is CPU
    backend.backward(x, torch.randn_like(x))
    assert backend.version == 1


@pytest.mark.parametrize("order", ["stop", "leave"])
async def test_it_is_given_back_within_the_promise(device: Device, order: str) -> None:
    """At random moments of full load: from the order, given by another thread, to the end of the last kernel there."""
    uids = [Uid("test", 0, (0, n)) for n in range(4)]
    training = msgspec.structs.replace(TRAINING, target_samples=4096)
    backends = {uid: ExpertBackend(uid, LARGE, training) for uid in uids}
    for backend in backends.values():  # their weights are built with the first use
        backend.forward(torch.zeros(1, LARGE.width))
        backend.go_to(device)
    kernel_gate = KernelGate()
    runtime = Runtime(backends, kernel_gate)
    serving = asyncio.create_task(runtime.run())
    chance, late = random.Random(1), list[float]()

    async def load(uid: Uid) -> None:
        while True:
            x = torch.randn(512, LARGE.width)
            await runtime.backward([Call(uid, x, torch.randn_like(x), backends[uid].version)])

    callers = [asyncio.create_task(load(uid)) for uid in uids for _ in range(4)]
    loop, given_back = asyncio.get_running_loop(), asyncio.Event()
    asked = 0.0

    def give_back() -> None:
        nonlocal asked
        asked = time.monotonic()
        if order == "stop":
            kernel_gate.close()
        else:
            kernel_gate.leave("cpu")
        loop.call_soon_threadsafe(given_back.set)  # no kernel runs while the loop takes note

    for _ in range(STOPS):
        given_back.clear()
        kernel_gate.device = device
        kernel_gate.open()
        timer = threading.Timer(chance.uniform(0.3, 1.0), give_back)
        timer.start()
        await given_back.wait()
        timer.join()
        late.append(kernel_gate.ends[device.id] - asked)
    for task in (*callers, serving):
        task.cancel()
    await asyncio.gather(*callers, serving, return_exceptions=True)
    print(f"{order}: worst {1000 * max(late):.0f} ms of {STOPS}")
    assert max(late) < PROMISE_S


async def test_trunk_and_experts_learn_there(device: Device) -> None:
    setup = test_trainer.Setup(test_trainer.digits())
    setup.kernel_gate.device = device
    setup.kernel_gate.open()
    async with setup.running():
        await setup.until(lambda: bool(setup.curve) and setup.curve[-1].accuracy >= 0.9)
        setup.kernel_gate.close()
        assert setup.trainer.device is device and setup.trainer.lost == 0
        assert all(backend.device is device for backend in setup.backends.values() if backend.is_used)


async def test_a_whole_compute_process_goes_there_and_back(tmp_path: Path) -> None:
    async with started(tmp_path) as compute:
        await train(compute, 5)
        there = await compute.calls.call(DEVICE, SetDevice(name(), 0.5))
        assert (there.device, there.why) == (name(), None)
        measured = await compute.next(Measured)
        while name() not in measured.devices:  # the processor was measured before
            measured = await compute.next(Measured, 1 + compute.said.index(measured))
        progress = await compute.tell(TRAIN, None, Progress)
        while not (progress.device == name() and progress.work.get(name())):
            progress = await compute.next(Progress, len(compute.said))
        assert progress.device_bytes > 0 and progress.left_behind == 0
        told = time.monotonic()
        back = await compute.calls.call(DEVICE, SetDevice("cpu"))
        assert back.device == "cpu" and back.last_kernel_end - told < PROMISE_S
        progress = await compute.next(Progress, len(compute.said))
        assert progress.device == "cpu" and progress.left_behind == 0

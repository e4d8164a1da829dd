"""The Trainer: the run `digits` from its first batch to a model that reads, on one thread, with real experts."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import safetensors.torch
import torch
from torch import Tensor
from torch.nn import functional

from core.contracts import manifest as manifests
from core.contracts.errors import CheckpointError, ComputeError, ManifestError, PictureError
from core.contracts.manifest import Manifest
from core.contracts.pipe import Answered, Predict, Predicted
from core.contracts.status import CurvePoint
from core.experts.calls import Call, ExpertHost, Output
from core.experts.directory import LOCAL, LocalDirectory
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.training.asking import ask
from core.training.data import digits as handwritten
from core.training.trainer import Trainer
from tests.bench.throughput import PlainLoop
from tests.experts import all_experts
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture
from tests.workers import ROOT

SAMPLES = 30_000
"""Within which 0.95 must be reached: half a minute's work of one busy core."""


def digits(**training: float) -> Manifest:
    manifest = manifests.load("digits")
    return msgspec.structs.replace(manifest, training=msgspec.structs.replace(manifest.training, **training))


class Setup:
    """A run as the compute process holds it."""

    def __init__(self, manifest: Manifest) -> None:
        self.backends = {backend.uid: backend for backend in all_experts(manifest)}
        self.kernel_gate = KernelGate()
        self.runtime = Runtime(self.backends, self.kernel_gate)
        self.directory = LocalDirectory(self.backends)
        self.curve: list[CurvePoint] = []
        self.trainer = Trainer(
            manifest, {LOCAL: self.runtime}, self.directory, self.kernel_gate, on_evaluated=self.curve.append
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self.runtime.run()), asyncio.create_task(self.trainer.run())]
        self.watched = tasks
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def until(self, condition: Callable[[], bool], seconds: float = 240.0) -> None:
        async with asyncio.timeout(seconds):
            while not condition():
                for task in self.watched:
                    assert not task.done(), task.exception()
                await asyncio.sleep(0.01)


async def read(setup: Setup, image: Tensor) -> tuple[Predicted, Answered]:
    """What the network reads in a picture."""
    height, width = image.shape
    question = Predict(height, width, bytes(image.flatten().tolist()))
    [told] = [answer async for answer in ask(setup.trainer, question)]
    assert isinstance(told.answer, Predicted)
    return told.answer, told


def picture(digit: Tensor) -> Tensor:
    """A held-out digit as a user would hand it in: large, somewhere in a picture."""
    image = functional.interpolate(digit.view(1, 1, 8, 8), size=(120, 120))[0, 0]
    return (functional.pad(image, (10, 50, 30, 20)) * 255).round().to(torch.uint8)


async def test_digits_are_read_with_95_per_cent_and_pictures_of_them_nearly_so() -> None:
    """With another seed than the run's own, with which `tests/swarm/test_alone.py` gets there."""
    setup = Setup(digits(seed=1))
    setup.kernel_gate.open()
    async with setup.running():
        await setup.until(lambda: bool(setup.curve) and setup.curve[-1].accuracy >= 0.95)
        setup.kernel_gate.close()
        assert setup.curve[-1].samples <= SAMPLES
        assert setup.trainer.lost == 0
        assert setup.runtime.passes < setup.runtime.calls / 1.5, "batches in flight were not joined"

        held_out = handwritten.read()[1]
        right = 0
        for x, label in zip(held_out.inputs[:60], held_out.labels[:60].tolist(), strict=True):
            right += int(torch.tensor((await read(setup, picture(x)))[0].probabilities).argmax()) == label
        assert right >= 51


async def test_a_run_without_experts_learns_to_read_and_lets_others_of_its_process_have_their_turn() -> None:
    setup = Setup(manifests.load("digits-vc"))
    assert not setup.backends
    setup.kernel_gate.open()
    async with setup.running():  # looks in between, which takes turns
        await setup.until(lambda: bool(setup.curve) and setup.curve[-1].accuracy >= 0.9)
        setup.kernel_gate.close()
        trainer = setup.trainer
        assert trainer.lost == 0 and trainer.samples == trainer.trained == 32 * trainer.step
        held_out = handwritten.read()[1]
        outputs, passes = await trainer.infer(held_out.inputs)
        right = float((outputs.argmax(1) == held_out.labels).float().mean())
        assert passes == [] and (await measured(setup)).accuracy == pytest.approx(right)


async def measured(setup: Setup) -> CurvePoint:
    setup.kernel_gate.open()
    try:
        return await setup.trainer.evaluate()
    finally:
        setup.kernel_gate.close()


async def test_one_batch_at_a_time_is_the_plain_loop() -> None:
    manifest = digits(in_flight=1, target_samples=1, evaluate_every=1_000_000)
    setup, plain = Setup(manifest), PlainLoop(manifest)
    setup.kernel_gate.open()
    async with setup.running():
        await setup.until(lambda: setup.trainer.step >= 12)
        setup.kernel_gate.close()
    while plain.step < setup.trainer.step:
        plain.train_batch()
    state, expected = setup.trainer.state(), plain.trunk_adam.state()
    for name in expected:
        if name.startswith("weights."):
            torch.testing.assert_close(state[name], expected[name], rtol=0, atol=2e-3)
    flat = torch.cat([expected[name].flatten() - state[name].flatten() for name in expected if "weights." in name])
    assert float(flat.abs().mean()) < 1e-5


async def test_training_stops_with_the_switch_and_prediction_does_not() -> None:
    setup = Setup(digits())
    setup.kernel_gate.open()
    async with setup.running():
        await setup.until(lambda: setup.trainer.step >= 10)
        setup.kernel_gate.close()
        step, end = setup.trainer.step, setup.kernel_gate.last_kernel_end
        experts = [backend.version for backend in setup.backends.values()]
        seen_picture = picture(handwritten.read()[1].inputs[0])
        for _ in range(5):
            seen, told = await read(setup, seen_picture)
        assert setup.trainer.step == step
        assert [backend.version for backend in setup.backends.values()] == experts
        assert setup.kernel_gate.last_kernel_end == end
        setup.kernel_gate.open()
        await setup.until(lambda: setup.trainer.step > step + 10)

    answers = told.experts
    assert len(seen.probabilities) == 10
    assert sum(seen.probabilities) == pytest.approx(1.0, abs=1e-5)
    assert len(seen.seen) == 8 * 8
    assert [answer.layer for answer in answers] == [0] * 4 + [1] * 4
    assert len({answer.uid for answer in answers}) == 8
    assert all(answer.answered and answer.ms > 0 for answer in answers)
    for layer in (0, 1):
        weights = [answer.weight for answer in answers if answer.layer == layer]
        assert sum(weights) == pytest.approx(1.0, abs=1e-5)
        assert weights == sorted(weights, reverse=True)


async def test_an_empty_picture_is_refused() -> None:
    setup = Setup(digits())
    with pytest.raises(PictureError, match="empty"):
        await read(setup, torch.zeros(64, 64, dtype=torch.uint8))


async def test_without_experts_training_waits_and_begins_when_they_come() -> None:
    setup = Setup(digits(in_flight=3))
    experts = list(setup.backends)
    for uid in experts:
        setup.directory.remove(uid)
    setup.kernel_gate.open()
    async with setup.running():
        for _ in range(20):
            await asyncio.sleep(0)
        with pytest.raises(ComputeError, match="no active expert"):
            await read(setup, picture(torch.ones(64)))
        assert setup.trainer.window.in_flight == setup.trainer.lost == setup.trainer.step == 0
        for uid in experts:
            setup.directory.add(uid)
        await setup.until(lambda: setup.trainer.step >= 5)


async def test_training_goes_on_without_the_experts_that_vanish() -> None:
    setup = Setup(digits())
    setup.kernel_gate.open()
    async with setup.running():
        await setup.until(lambda: setup.trainer.step >= 5)
        gone = [uid for uid in setup.backends if uid.coords[0] > 0]
        for uid in gone:
            setup.directory.remove(uid)
        step = setup.trainer.step  # batches on their way may still reach those that have gone
        await setup.until(lambda: setup.trainer.step >= step + 10)
        gradients = [setup.backends[uid].samples + setup.backends[uid].pending for uid in gone]
        await setup.until(lambda: setup.trainer.step >= step + 20)
        assert [setup.backends[uid].samples + setup.backends[uid].pending for uid in gone] == gradients
        _, told = await read(setup, picture(handwritten.read()[1].inputs[0]))
    assert all(answer.uid.split(".")[2] == "0" for answer in told.experts)


class Few(ExpertHost):
    """Answers for one expert of a layer."""

    standing = None

    def __init__(self, host: ExpertHost) -> None:
        self._host = host

    async def forward(
        self, calls: Sequence[Call], passage: int, deadline: float, inference: bool = False
    ) -> list[Output | None]:
        answers = await self._host.forward(calls, passage, deadline, inference)
        return [answer if call.uid.coords == (2, 2) else None for call, answer in zip(calls, answers, strict=True)]

    async def backward(self, calls: Sequence[Call], passage: int, deadline: float) -> list[Tensor | None]:
        return await self._host.backward(calls, passage, deadline)


async def test_what_few_samples_were_answered_for_is_no_evaluation() -> None:
    setup = Setup(digits())
    setup.trainer = Trainer(digits(), {LOCAL: Few(setup.runtime)}, setup.directory, setup.kernel_gate)
    async with setup.running():
        with pytest.raises(ComputeError, match=r"answered for [1-9]\d* of 360 samples only"):
            await measured(setup)


async def test_a_run_goes_on_where_it_was() -> None:
    manifest = digits(evaluate_every=1_000_000)
    first = Setup(manifest)
    first.kernel_gate.open()
    async with first.running():
        await first.until(lambda: first.trainer.step >= 150)
        first.kernel_gate.close()
        documents = {uid: safetensors.torch.save(backend.state()) for uid, backend in first.backends.items()}
        trunk = safetensors.torch.save(first.trainer.state())
        step, samples = first.trainer.step, first.trainer.samples
        after_save = await evaluated(first)

    second = Setup(manifest)
    for uid, backend in second.backends.items():
        backend.load_state(safetensors.torch.load(documents[uid]))
    second.trainer.load_state(safetensors.torch.load(trunk))
    assert (second.trainer.step, second.trainer.samples) == (step, samples)
    async with second.running():
        point = await evaluated(second)
        assert point == after_save
        assert point.accuracy > 0.5
        second.kernel_gate.open()
        await second.until(lambda: second.trainer.step > step + 5)
        assert second.trainer.samples > samples


async def evaluated(setup: Setup) -> CurvePoint:
    """The state as it is: nothing is trained while the held-out part is read."""
    inputs, labels = handwritten.read()[1]
    logits, _ = await setup.trainer.infer(inputs)
    loss = float(functional.cross_entropy(logits, labels))
    accuracy = float((logits.argmax(1) == labels).float().mean())
    return CurvePoint(setup.trainer.step, setup.trainer.samples, loss, accuracy)


@pytest.mark.parametrize("run", ["digits", "text"])
def test_training_imports_no_compiler_and_no_scikit_learn(run: str, tmp_path: Path) -> None:
    """Each of them would take about a second before the first batch, and up to 80 MB."""
    program = """
import asyncio, sys
from pathlib import Path
import torch
from core.contracts import manifest as manifests
from core.experts.calls import Call, ExpertHost, Output
from core.experts.directory import LOCAL, LocalDirectory
from tests.experts import all_experts
from core.runtime.runtime import Runtime
from core.runtime.kernel_gate import KernelGate
from core.training.asking import ask
from core.training.data.stream import open_stream
from core.contracts.pipe import Generate
from core.training.trainer import Trainer
from tests.unit.text_run import text_run

async def main():
    torch.set_num_threads(1)
    manifest, kernel_gate = text_run({}) if sys.argv[1] == "text" else manifests.load("digits"), KernelGate()
    experts = {backend.uid: backend for backend in all_experts(manifest)}
    runtime = Runtime(experts, kernel_gate)
    data = open_stream(manifest, Path(sys.argv[2]))
    trainer = Trainer(manifest, {LOCAL: runtime}, LocalDirectory(experts), kernel_gate, data)
    kernel_gate.open()
    tasks = [asyncio.create_task(runtime.run()), asyncio.create_task(trainer.run())]
    async with asyncio.timeout(200):
        while trainer.step < 3:
            await asyncio.sleep(0.01)
    await trainer.evaluate()
    if sys.argv[1] == "text":
        assert len([step async for step in ask(trainer, Generate(b"x", 2, 0.7, 1))]) == 2
    for task in tasks:
        task.cancel()

asyncio.run(main())
heavy = {"sklearn", "sympy", "scipy", "torch._dynamo", "torch.fx.experimental.symbolic_shapes"}
print(sorted(heavy & set(sys.modules)))
"""
    command = [sys.executable, "-c", program, run, str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=240)
    assert result.stdout.strip() == "[]"


def test_a_trunk_that_does_not_fit_is_refused() -> None:
    trainer = Setup(digits()).trainer
    state = trainer.state()
    with pytest.raises(CheckpointError, match="another model"):
        trainer.load_state({name: tensor for name, tensor in state.items() if "gates.0" not in name})
    assert trainer.step == 0


def test_unknown_kinds_are_named() -> None:
    manifest = manifests.load("digits")
    model = msgspec.structs.replace(manifest.model, kind="rnn")
    with pytest.raises(ManifestError, match=r"'rnn'.*ffn_dmoe"):
        Setup(msgspec.structs.replace(manifest, model=model))

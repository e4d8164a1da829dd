"""What a liar among four trainers costs the others: their accuracy on `digits` after equally many steps, and in peace.

The shipped Trainers and Runtime, all in this process: four trainers, each with a trunk of its own, train the run's
experts; the Runtime knows none of them, nor has it a trainer of its own. The liar sends as many gradients as the others
do, of its own true ones' norm times `SIZE` where it can choose: more is scaled down anyway.
"""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import torch
from torch import Tensor

from core.contracts import manifest as manifests
from core.contracts.manifest import Manifest
from core.experts.calls import Call, Output
from core.experts.directory import LOCAL, LocalDirectory
from core.experts.grid import Uid
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.training.data import digits
from core.training.data.stream import open_stream
from core.training.trainer import Trainer
from tests.bench import virtual_time
from tests.bench.machine import progress
from tests.experts import all_experts

TRAINERS = 4
STEPS = 300
"""Of each honest trainer."""
QUICK = 2
SIZE = 5.0
TINY = 1e-6

Lie = Callable[[Uid, Tensor], Tensor]
"""What is sent in the place of an expert's true gradients [n, ...]."""


def noise(uid: Uid, true: Tensor) -> Tensor:
    """Gradients that lead nowhere."""
    made = torch.randn_like(true)
    return made.mul_(SIZE * true.norm() / made.norm())


def flip(uid: Uid, true: Tensor) -> Tensor:
    """Uphill."""
    return -SIZE * true


def drift(uid: Uid, true: Tensor) -> Tensor:
    """Always in one direction, another one for each expert."""
    made: Tensor = torch.randn(true.shape[1:], generator=torch.Generator().manual_seed(hash(uid) & 0xFFFF))
    lengths: Tensor = true.flatten(1).norm(dim=1).view(-1, *[1] * made.dim())
    return torch.mul(made, lengths * SIZE / made.norm())


def bias(uid: Uid, true: Tensor) -> Tensor:
    """True ones, with a little in that direction in each."""
    return true + drift(uid, true) / SIZE


def zeros(uid: Uid, true: Tensor) -> Tensor:
    """Samples that count, and teach nothing."""
    return torch.zeros_like(true)


def tiny(uid: Uid, true: Tensor) -> Tensor:
    """Such small ones that true ones beside them look huge."""
    return TINY * true


LIES: dict[str, Lie] = {lie.__name__: lie for lie in (noise, flip, drift, bias, zeros, tiny)}


class Caller:
    """An `ExpertHost`: the Runtime, called as a peer calls it."""

    standing = None

    def __init__(self, runtime: Runtime, name: str, lie: Lie | None = None) -> None:
        """A trainer's way to the experts.

        Args:
            runtime: holds them.
            name: of the trainer.
            lie: None: it is honest.
        """
        self._runtime, self._name, self._lie = runtime, name, lie

    async def forward(
        self, calls: Sequence[Call], passage: int, deadline: float, inference: bool = False
    ) -> list[Output | None]:
        request = self._runtime.submit(calls, "inference" if inference else "forward", self._name, deadline)
        rows = await request.answers
        return [None if r is None else Output(r, v) for r, v in zip(rows, request.versions, strict=True)]

    async def backward(self, calls: Sequence[Call], passage: int, deadline: float) -> list[Tensor | None]:
        if self._lie is None:
            return await self._runtime.submit(calls, "backward", self._name, deadline).answers
        lies = [call._replace(gradients=self._lie(call.uid, _true(call))) for call in calls]
        answers = await self._runtime.submit(lies, "backward", self._name, deadline).answers
        return [None if rows is None else torch.zeros_like(rows) for rows in answers]


def _true(call: Call) -> Tensor:
    assert call.gradients is not None
    return call.gradients


def measure(quick: bool, seeds: int, lies: Sequence[str]) -> dict[str, Any]:
    """By lie, and in peace: by seed the accuracy of each honest trainer."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    steps = STEPS // (QUICK if quick else 1)
    try:
        found: dict[str, Any] = {}
        for name in ("peace", *lies):
            for seed in range(1337, 1337 + seeds):
                run = manifests.load("digits")
                training = msgspec.structs.replace(run.training, seed=seed, evaluate_every=1_000_000)
                run = msgspec.structs.replace(run, training=training)
                one = virtual_time.run(_train(run, LIES.get(name), steps), clock=time.process_time)
                found.setdefault(name, []).append(one)
                progress(f"{name}, seed {seed}: {one}")
        return {"steps": steps, "trainers": TRAINERS, "accuracy_percent": found}
    finally:
        torch.set_num_threads(before)


async def _train(manifest: Manifest, lie: Lie | None, steps: int) -> dict[str, Any]:
    torch.manual_seed(manifest.training.seed)
    random.seed(manifest.training.seed)
    backends = {backend.uid: backend for backend in all_experts(manifest)}
    gate = KernelGate()
    runtime, directory = Runtime(backends, gate), LocalDirectory(backends)
    trainers = []
    for number in range(TRAINERS):
        last = number == TRAINERS - 1
        caller = Caller(runtime, f"trainer {number}", lie if last else None)
        stream = open_stream(manifest, shuffle=number)
        trainers.append(Trainer(manifest, {LOCAL: caller}, directory, gate, stream))
    honest = trainers if lie is None else trainers[:-1]
    tasks = [asyncio.create_task(runtime.run()), *(asyncio.create_task(one.run()) for one in trainers)]
    try:
        gate.open()
        while min(one.step for one in honest) < steps:
            assert not any(task.done() for task in tasks)
            await asyncio.sleep(0.02)
        gate.close()
        accuracy = [await _accuracy(one) for one in honest]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return {
        "accuracy": accuracy,
        "steps": [one.step for one in trainers],
        "clipped": dict(runtime.admission.clipped),
    }


async def _accuracy(trainer: Trainer) -> float:
    """Percent of the pictures held out."""
    _, held_out = digits.read()
    outputs, _ = await trainer.infer(held_out.inputs)
    return round(100 * float((outputs.argmax(1) == held_out.labels).float().mean()), 2)

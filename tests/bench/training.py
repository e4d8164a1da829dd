"""A whole run in this process: a trainer and all experts, without a swarm."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from core.contracts.manifest import Manifest
from core.contracts.status import CurvePoint
from core.experts.directory import LOCAL, LocalDirectory
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.training.data.stream import open_stream
from core.training.trainer import Trainer
from tests.experts import all_experts

LOOK_S = 0.02


async def trained(
    manifest: Manifest, folder: Path, samples: int, look: Callable[[int], None] = lambda so_far: None
) -> list[CurvePoint]:
    """Train a new model.

    Args:
        manifest: the run's.
        folder: where its shards are.
        samples: to train on, as the trainer counts them.
        look: called every 20 ms with how many there were.

    Returns:
        The held-out curve, with the end as its last point.
    """
    backends = {backend.uid: backend for backend in all_experts(manifest)}
    kernel_gate, curve = KernelGate(), list[CurvePoint]()
    runtime, directory = Runtime(backends, kernel_gate), LocalDirectory(backends)
    data = open_stream(manifest, folder)
    trainer = Trainer(manifest, {LOCAL: runtime}, directory, kernel_gate, data, curve.append)
    tasks = [asyncio.create_task(runtime.run()), asyncio.create_task(trainer.run())]
    try:
        kernel_gate.open()
        while trainer.samples < samples:
            assert not any(task.done() for task in tasks)
            look(trainer.samples)
            await asyncio.sleep(LOOK_S)
        curve.append(await trainer.evaluate())
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return curve

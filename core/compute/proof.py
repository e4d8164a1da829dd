"""Trains a little in one fixed order, and says what came of it: two Hearths that compute the same say the same.

A package is held against the sources by it. `hearth prove RUN STEPS` is no command for people: nothing is kept.
"""

import asyncio
import hashlib
import math
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import torch

from core.contracts.manifest import Manifest, load
from core.contracts.status import CurvePoint
from core.experts.directory import LOCAL, LocalDirectory
from core.experts.grid import Grid
from core.runtime.backend import ExpertBackend
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.runtime.threads import team
from core.training.data.stream import open_stream
from core.training.trainer import Trainer

UNTIMED = {"max_age_s": math.inf, "patience_s": math.inf}
"""No expert takes a step because its gradients are old, and none is given up because it is slow: nothing that is
computed may depend on how fast this PC is, or on what else it does."""


class Proof(msgspec.Struct, frozen=True):
    """What came of it."""

    trunk: str
    """SHA-256 over the trunk's parameters and optimizer state after the last step."""
    curve: list[CurvePoint]


def main() -> int:
    """Train as many steps of a run as the command line says, and print a `Proof` as JSON."""
    run, steps = sys.argv[-2:]
    sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(prove(load(run), int(steps)))))
    return 0


async def prove(manifest: Manifest, steps: int) -> Proof:
    """Train on one thread, one batch after the other.

    Args:
        manifest: of a run whose data come with Hearth.
        steps: after which it ends.
    """
    one_by_one = {"in_flight": 1, "evaluate_every": steps, **UNTIMED}
    manifest = msgspec.structs.replace(manifest, training=msgspec.structs.replace(manifest.training, **one_by_one))
    torch.set_num_threads(1)
    team.resize(1)
    grid = Grid(manifest.run, manifest.model.layers, manifest.model.grid)
    experts = {uid: ExpertBackend(uid, manifest.model, manifest.training) for uid in grid.uids()}
    kernel_gate, curve = KernelGate(), list[CurvePoint]()
    trunk: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def evaluated(point: CurvePoint) -> None:
        curve.append(point)
        if point.step >= steps and not trunk.done():
            whole = hashlib.sha256()
            for name, tensor in sorted(trainer.state().items()):
                whole.update(name.encode() + tensor.contiguous().numpy().tobytes())
            trunk.set_result(whole.hexdigest())

    runtime = Runtime(experts, kernel_gate, pass_s=math.inf)  # else a slow PC cuts calls into more passes
    with TemporaryDirectory() as folder:
        data = open_stream(manifest, Path(folder))
        trainer = Trainer(manifest, {LOCAL: runtime}, LocalDirectory(experts), kernel_gate, data, evaluated)
        kernel_gate.open()
        tasks = [asyncio.create_task(runtime.run()), asyncio.create_task(trainer.run())]
        try:
            return Proof(await trunk, curve)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

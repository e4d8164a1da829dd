"""The run `text` on the text of this Python, whichever it is, and small enough for a test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import torch

from core.contracts import manifest as manifests
from core.contracts.manifest import Manifest
from core.contracts.status import CurvePoint
from core.experts.directory import LOCAL, LocalDirectory
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.store import shards
from core.training.data.stream import open_stream
from core.training.trainer import Trainer
from tests.experts import all_experts
from tests.workers import PATIENCE_S

SMALL: dict[str, Any] = {"layers": 2, "grid": (2, 3), "width": 16, "hidden": 12, "heads": 2, "sequence": 16}


def text_run(model: dict[str, Any], **training: float) -> Manifest:
    """The manifest with another model and other rules."""
    run = manifests.load("text")
    return msgspec.structs.replace(
        run,
        model=msgspec.structs.replace(run.model, **model),
        training=msgspec.structs.replace(run.training, **training),
        shards=tuple(shards.cut(shards.local_text())),
    )


def texts(manifest: Manifest, folder: Path) -> tuple[bytes, bytes]:
    """The text to train on and the text that is held out."""
    train, held_out = shards.open_text(manifest, folder)
    return train.read(0, len(train)), held_out.read(0, len(held_out))


class Setup:
    """A text run as the compute process holds it."""

    def __init__(self, manifest: Manifest, folder: Path) -> None:
        self.backends = {backend.uid: backend for backend in all_experts(manifest)}
        self.kernel_gate = KernelGate()
        self.runtime = Runtime(self.backends, self.kernel_gate)
        self.directory = LocalDirectory(self.backends)
        self.data = open_stream(manifest, folder)
        self.curve: list[CurvePoint] = []
        self.trainer = Trainer(
            manifest, {LOCAL: self.runtime}, self.directory, self.kernel_gate, self.data, on_evaluated=self.curve.append
        )

    @asynccontextmanager
    async def running(self, seconds: float = PATIENCE_S) -> AsyncIterator[None]:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # several wait for each other on a busy machine
        async with asyncio.timeout(seconds):
            tasks = [asyncio.create_task(self.runtime.run()), asyncio.create_task(self.trainer.run())]
            self.watched = tasks
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                torch.set_num_threads(threads)

    async def trained(self, steps: int) -> None:
        self.kernel_gate.open()
        while self.trainer.step < steps:
            assert not any(task.done() for task in self.watched)
            await asyncio.sleep(0)
        self.kernel_gate.close()

"""The run `text` in one process: what it has learned after how many bytes, how fast, and how short its kernels are."""

import asyncio
import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from core.contracts import manifest as manifests
from core.contracts.pipe import Generate, Written
from core.contracts.status import CurvePoint
from core.experts.directory import LOCAL, LocalDirectory
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.training.asking import ask
from core.training.data.stream import open_stream
from core.training.trainer import Trainer
from tests.experts import all_experts

TRAINED, QUICK = 2_200_000, 200_000
"""Bytes."""
PROMPT = b"The for statement is used to "


class TimedKernelGate(KernelGate):
    """Notes how long each training kernel took, ms."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels: list[float] = []

    def run_now(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return super().run_now(kernel, *arguments)
        finally:
            self.kernels.append((time.perf_counter() - start) * 1000)


def measure(quick: bool, threads: int = 1) -> dict[str, object]:
    """Train, then write 200 bytes.

    Returns:
        The held-out curve in bits a byte; trained bytes/s, evaluations included, by the clock and by the processor's
        time; the longest kernels; bytes/s of the text, and the text.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with tempfile.TemporaryDirectory() as folder:
            return {"threads": threads, **asyncio.run(_measure(QUICK if quick else TRAINED, Path(folder)))}
    finally:
        torch.set_num_threads(before)


async def _measure(trained: int, folder: Path) -> dict[str, object]:
    manifest = manifests.load("text")
    backends = {backend.uid: backend for backend in all_experts(manifest)}
    kernel_gate, curve = TimedKernelGate(), []

    def evaluated(point: CurvePoint) -> None:
        curve.append({"bytes": point.samples, "bits": point.loss / math.log(2), "accuracy": point.accuracy})
        print(f"{point.samples:,} bytes: {curve[-1]['bits']:.3f} bits a byte", file=sys.stderr, flush=True)

    runtime, directory = Runtime(backends, kernel_gate), LocalDirectory(backends)
    data = open_stream(manifest, folder)
    trainer = Trainer(manifest, {LOCAL: runtime}, directory, kernel_gate, data, evaluated)
    tasks = [asyncio.create_task(runtime.run()), asyncio.create_task(trainer.run())]
    try:
        start, processor = time.perf_counter(), time.process_time()
        kernel_gate.open()
        while trainer.samples < trained:
            assert not any(task.done() for task in tasks)
            await asyncio.sleep(0.1)
        seconds, processor = time.perf_counter() - start, time.process_time() - processor
        samples = trainer.samples
        evaluated(await trainer.evaluate())
        kernel_gate.close()
        start = time.perf_counter()
        question = Generate(PROMPT, 200, 0.7, seed=1)
        pieces = [a.answer async for a in ask(trainer, question)]
        text = b"".join(piece.choice.text for piece in pieces if isinstance(piece, Written))
        writing = time.perf_counter() - start
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    kernels = sorted(kernel_gate.kernels)
    return {
        "run": manifest.run,
        "curve": curve,
        "trained_bytes_per_s": samples / seconds,
        "trained_bytes_per_processor_s": samples / processor,
        "longest_kernel_ms": kernels[-1],
        "p99_kernel_ms": kernels[int(0.99 * len(kernels))],
        "written_bytes_per_s": len(text) / writing,
        "text": (PROMPT + text).decode(errors="replace"),
    }

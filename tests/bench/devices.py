"""Samples/s of one expert, forward and backward, on each device: from which size a graphics processor pays."""

import statistics
import time
from typing import Any

import torch

from core.contracts.manifest import Training
from core.contracts.model import Model
from core.contracts.settings import cores
from core.experts.grid import Uid
from core.runtime.backend import ExpertBackend, useful_threads
from core.runtime.device import CPU, CUDA_PREFIX, Device, open_device
from core.runtime.threads import team
from tests.bench.machine import progress

TRAINING = Training(32, 1e-3, 1e-2, 5, 100, 1024, 60.0, 1.0, 0.0, 1, 1, 7)
SIZES = ((64, 128), (256, 1024), (1024, 4096))
"""Widths and hidden widths."""
ROWS = (32, 256, 2048)
SECONDS = 2.0
"""For each figure."""


def measure(quick: bool) -> dict[str, Any]:
    """By device, size of the expert, and rows of a pass."""
    names = [f"{CUDA_PREFIX}{torch.cuda.get_device_properties(n).uuid}" for n in range(torch.cuda.device_count())]
    names += ["mps"] * torch.backends.mps.is_available()
    found = {}
    for device in (CPU, *map(open_device, names)):
        found[device.label] = _device(device, SECONDS / 10 if quick else SECONDS)
        progress(f"{device.label}: {found[device.label]}")
    return {"samples_per_s": found, "gpus": len(names)}


def _device(device: Device, seconds: float) -> dict[str, dict[str, float]]:
    figures: dict[str, dict[str, float]] = {}
    for width, hidden in SIZES:
        model = Model("ffn_dmoe", 1, (2, 2), width, hidden, "ffn", 2)
        expert = ExpertBackend(Uid("bench", 0, (0, 0)), model, TRAINING)
        team.resize(useful_threads([expert], cores()) if device is CPU else 1)
        expert.forward(torch.randn(1, width))
        expert.go_to(device)
        figures[f"{width} x {hidden}"] = {f"{rows} rows": _rate(expert, rows, seconds) for rows in ROWS}
        expert.go_to(CPU)
    return figures


def _rate(expert: ExpertBackend, rows: int, seconds: float) -> float:
    """The median of the passes after the first two."""
    x, gradient = torch.randn(rows, *expert.input_shape), torch.randn(rows, *expert.input_shape)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        expert.forward(x)
        expert.backward(x, gradient)
        expert.device.synchronize()
        times.append(time.perf_counter() - start)
    return round(rows / statistics.median(times[2:]), 1)

"""Samples/s of one expert, forward and backward, on each device: from which size a graphics processor pays. And what a
whole worker does with each, and how fast it gives that back."""

import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import torch

from core.contracts import manifest as manifests
from core.contracts.manifest import Training
from core.contracts.model import Model
from core.contracts.settings import cores
from core.contracts.status import BenchmarkStatus, SpeedStatus
from core.experts.grid import Uid
from core.runtime.backend import ExpertBackend, useful_threads
from core.runtime.device import CPU, CUDA_PREFIX, Device, open_device
from core.runtime.threads import team
from tests.bench import pauses
from tests.bench.machine import progress
from tests.decoders import with_model
from tests.workers import RunningWorker, worker

TRAINING = Training(32, 1e-3, 1e-2, 5, 100, 1024, 60.0, 1.0, 0.0, 1, 1, 7)
SIZES = ((64, 128), (256, 1024), (1024, 4096))
"""Widths and hidden widths."""
ROWS = (32, 256, 2048)
SECONDS = 2.0
"""For each figure."""
RUNS: dict[str, dict[str, Any]] = {
    "digits": {},
    "text": {},
    "stories": {},
    "text, width 512": {"width": 512, "hidden": 2048, "heads": 8},
}
"""What workers train: runs, with another model."""
TRAINING_S, PAUSES = 20.0, 10


def measure(quick: bool) -> dict[str, Any]:
    """By device, size of the expert, and rows of a pass."""
    names = [f"{CUDA_PREFIX}{torch.cuda.get_device_properties(n).uuid}" for n in range(torch.cuda.device_count())]
    names += ["mps"] * torch.backends.mps.is_available()
    found = {}
    for device in (CPU, *map(open_device, names)):
        found[device.label] = _device(device, SECONDS / 10 if quick else SECONDS)
        progress(f"{device.label}: {found[device.label]}")
    gpus = [name for name in names if name.startswith(CUDA_PREFIX)]
    return {"samples_per_s": found, "gpus": len(names), "workers": {run: _workers(run, gpus, quick) for run in RUNS}}


def _workers(run: str, gpus: list[str], quick: bool) -> dict[str, Any]:
    """A lone worker's, without the GPUs and with them."""
    found = {}
    for kind in ("cpu", "gpu") if gpus else ("cpu",):
        found[kind] = _worker(run, kind, gpus if kind == "cpu" else [], quick)
        progress(f"{run}, {kind}: {found[kind]}")
    return found


def _worker(run: str, kind: str, off: list[str], quick: bool) -> dict[str, Any]:
    """
    Args:
        run: of `RUNS`.
        kind: of the device that may compute: the CPU alone, or a GPU as well where it is faster.
        off: GPUs that it may not use.
        quick: measure for a tenth of the time.

    Returns:
        Samples a second; experts and MB on its devices; milliseconds from a pause to the end of the last kernel; and
        the MB of GPUs that it holds when compute has ended.
    """
    manifest = with_model(manifests.load(run.partition(",")[0]), **RUNS[run])
    with tempfile.TemporaryDirectory() as name:
        file, folder = Path(name, "manifest.json"), Path(name, "data")
        file.write_bytes(msgspec.json.encode(manifest))
        folder.mkdir()
        (folder / "settings.json").write_text(json.dumps({"version": 2, "gpus_off": off, "gpu_in_use": True}))
        with worker(folder, "--run", str(file)) as running:
            running.until(lambda status: status.step and bool(_measured(running)) == (kind == "gpu"), "training")
            before, began = running.status(), time.monotonic()
            time.sleep(TRAINING_S / 10 if quick else TRAINING_S)
            after = running.status()
            rate = (after.samples - before.samples) / (time.monotonic() - began)
            stops = pauses.measure(running, 2 if quick else PAUSES)["worker"]
            running.call("pause")
            gone = running.until(lambda status: all(one.name != "compute" for one in status.processes), "no compute")
            return {
                "samples_per_s": round(rate, 1),
                "experts": {device.name: device.experts for device in after.devices},
                "taken_mb": {device.name: device.taken_bytes >> 20 for device in after.devices if device.taken_bytes},
                "pause_to_last_kernel_ms": stops,
                "taken_mb_once_paused": sum(device.taken_bytes for device in gone.devices) >> 20,
            }


def _measured(running: RunningWorker) -> list[SpeedStatus]:
    """What it found of its GPUs so far."""
    return [one for one in running.ask("benchmark", {}, BenchmarkStatus).speeds if one.gpu]


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

"""How evenly the experts of a layer are asked in training, and what that costs: with selection that evens the load out,
and by the scores and the joint loss alone. The runs `digits` and `text`, and a decoder of tokens; one process each."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any
from unittest import mock

import msgspec
import torch
from torch import Tensor

from core.contracts import manifest as manifests
from core.contracts.manifest import Manifest
from core.experts import balance, beam_search
from core.experts.balance import Balance
from core.experts.grid import Coords
from tests.bench.machine import progress
from tests.bench.training import trained
from tests.decoders import organised, with_model

SAMPLES = {"digits": 24_000, "text": 1_500_000, "decoder": 300_000}
"""Trained: pictures, bytes, tokens."""
QUICK = 4
"""Times fewer."""
DECODER: dict[str, Any] = {"layers": 2, "grid": (4, 4), "width": 64, "hidden": 64, "heads": 4, "sequence": 64}
FIRST = 5
"""The first of so many parts of a training is not counted."""
LAST = 4
"""The held-out loss is the mean of the last so many evaluations."""


class Watched(Balance):
    """Counts what it chose; one for each layer."""

    layers: "list[Watched]" = []
    counts = False

    def __init__(self) -> None:
        super().__init__()
        self.chosen = torch.zeros(0)
        self.layers.append(self)

    def choose(self, cells: Sequence[Coords], scores: Tensor, k: int) -> Tensor:
        chosen = super().choose(cells, scores, k)
        if Watched.counts:
            count = torch.bincount(chosen.flatten(), minlength=len(cells)).double()
            self.chosen = count if not len(self.chosen) else self.chosen + count
        return chosen


def measure(quick: bool, seeds: int) -> dict[str, object]:
    """Train each run both ways.

    Returns:
        By run and way: by seed, the coefficient of variation of the load of each layer's experts after the first fifth,
        the least load of an expert in shares of an even one, and the held-out loss and accuracy.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory() as name:
            return {run: _of_run(run, quick, seeds, Path(name)) for run in SAMPLES}
    finally:
        torch.set_num_threads(before)


def _of_run(run: str, quick: bool, seeds: int, folder: Path) -> dict[str, object]:
    if run == "decoder":
        manifest, data = organised(folder)
        manifest = with_model(manifest, **DECODER)
    else:
        manifest, data = manifests.load(run), folder
    samples = SAMPLES[run] // (QUICK if quick else 1)
    found: dict[str, list[dict[str, Any]]] = {"even": [], "plain": []}
    for seed in range(1337, 1337 + seeds):
        training = msgspec.structs.replace(manifest.training, seed=seed)
        for way, rate in {"even": balance.RATE, "plain": 0.0}.items():
            Watched.layers, Watched.counts = [], False
            with mock.patch.object(balance, "RATE", rate), mock.patch.object(beam_search, "Balance", Watched):
                one = asyncio.run(_train(msgspec.structs.replace(manifest, training=training), data, samples))
            found[way].append({"seed": seed, **one})
            progress(f"{run}, {way}: {found[way][-1]}")
    return {"samples": samples, **found}


async def _train(manifest: Manifest, folder: Path, samples: int) -> dict[str, Any]:
    def look(so_far: int) -> None:
        Watched.counts = so_far >= samples / FIRST

    curve = await trained(manifest, folder, samples, look)
    loads = [layer.chosen / layer.chosen.mean() for layer in Watched.layers]
    return {
        "variation": [round(float(load.std(correction=0)), 3) for load in loads],
        "least": [round(float(load.min()), 3) for load in loads],
        "loss": round(mean(point.loss for point in curve[-LAST:]), 4),
        "accuracy": round(mean(point.accuracy for point in curve[-LAST:]), 4),
    }

"""scikit-learn's handwritten digits."""

import gzip
import importlib.util
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from core.contracts.errors import ManifestError
from core.contracts.manifest import Manifest
from core.contracts.notices import notice
from core.contracts.pipe import Reading
from core.training.data.stream import Part, Table

HELD_OUT = 360
SPLIT_SEED = 0
SIDE = 8
"""Pixels along a side of a digit as the model sees it."""


def read() -> tuple[Part, Part]:
    """scikit-learn's `load_digits`: 1,797 handwritten digits of 8x8 pixels, scaled to 0..1, in a fixed order: those to
    train on and those held out, the same split on every machine.

    The file is read without importing scikit-learn, which would take a second before the first batch; it is the
    package's own, found without running any of its code.
    """
    path = _digits_file()
    with gzip.open(path, "rt", encoding="ascii") as file:
        table = torch.tensor([[float(value) for value in line.split(",")] for line in file])
    table = table[torch.randperm(len(table), generator=torch.Generator().manual_seed(SPLIT_SEED))]
    inputs, labels = table[:, :-1] / 16, table[:, -1].long()
    return Part(inputs[HELD_OUT:], labels[HELD_OUT:]), Part(inputs[:HELD_OUT], labels[:HELD_OUT])


def _digits_file() -> Path:
    spec = importlib.util.find_spec("sklearn")
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        path = Path(folder) / "datasets" / "data" / "digits.csv.gz"
        if path.is_file():
            return path
    raise ManifestError(notice("data.no_digits"))


def _distort(inputs: Tensor, generator: torch.Generator) -> Tensor:
    """Digits [n, 64] as other hands might have written them: a little turned, slanted, stretched, moved, fainter.

    Without this the model reads its own kind of digits and hardly any that somebody draws.
    """
    n = len(inputs)
    turn, slant, wide, high, right, down, strength = (torch.rand(7, n, generator=generator) * 2 - 1) * torch.tensor(
        [0.12, 0.15, 0.12, 0.12, 0.12, 0.12, 0.15]
    ).unsqueeze(1)
    affine = torch.stack([1 + wide, slant + turn, right, -turn, 1 + high, down], dim=1).view(n, 2, 3)
    grid = functional.affine_grid(affine, [n, 1, SIDE, SIDE], align_corners=False)
    moved = functional.grid_sample(inputs.view(n, 1, SIDE, SIDE), grid, align_corners=False).view(n, -1)
    return torch.clamp(moved * (1 + strength).unsqueeze(1), max=1.0)


def _stream(manifest: Manifest, folder: Path | None, shuffle: int, told: Callable[[Reading], None]) -> Table:
    train, held_out = read()
    classes, training = manifest.ends.classes, manifest.training
    return Table(train, held_out, classes, training.batch, training.seed + shuffle, _distort)


STREAM = _stream

"""Data of the built-in runs, and pictures turned into what their models see."""

import gzip
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from core.errors import ManifestError, PictureError

DIGITS_HELD_OUT = 360
DIGITS_SPLIT_SEED = 0
SIDE = 8
"""Pixels along a side of a digit as the model sees it."""


class Part(NamedTuple):
    inputs: Tensor
    """float32 [n, inputs]."""
    labels: Tensor
    """int64 [n]."""


class Dataset(NamedTuple):
    train: Part
    held_out: Part
    """Never trained on; the split is the same on every machine."""
    classes: int


def _digits() -> Dataset:
    """scikit-learn's `load_digits`: 1,797 handwritten digits of 8x8 pixels, scaled to 0..1, in a fixed order.

    The file is read without importing scikit-learn, which would take a second before the first batch; it is the
    package's own, found without running any of its code.
    """
    path = _digits_file()
    with gzip.open(path, "rt", encoding="ascii") as file:
        table = torch.tensor([[float(value) for value in line.split(",")] for line in file])
    table = table[torch.randperm(len(table), generator=torch.Generator().manual_seed(DIGITS_SPLIT_SEED))]
    inputs, labels = table[:, :-1] / 16, table[:, -1].long()
    train = Part(inputs[DIGITS_HELD_OUT:], labels[DIGITS_HELD_OUT:])
    return Dataset(train, Part(inputs[:DIGITS_HELD_OUT], labels[:DIGITS_HELD_OUT]), classes=10)


def _digits_file() -> Path:
    spec = importlib.util.find_spec("sklearn")
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        path = Path(folder) / "datasets" / "data" / "digits.csv.gz"
        if path.is_file():
            return path
    raise ManifestError("The data of the run 'digits' is missing: install the package scikit-learn again.")


DATASETS: dict[str, Callable[[], Dataset]] = {"digits": _digits}


def load(name: str) -> Dataset:
    """A built-in data set.

    Raises:
        ManifestError: there is none of that name, or its package is damaged.
    """
    if name not in DATASETS:
        raise ManifestError(f"There is no data set named {name!r}. Known data sets: {', '.join(sorted(DATASETS))}.")
    return DATASETS[name]()


def picture_to_input(picture: Tensor) -> Tensor:
    """A picture as the model of `digits` sees it, made as the UCI digits of `load_digits` were.

    The ink is cut out, brought to 32x32 with its proportions kept and in the middle, and reduced to the share of ink
    in each block of 4x4.

    Args:
        picture: uint8 [height, width], 0 = paper, 255 = ink.

    Returns:
        float32 [64], 0 to 1.

    Raises:
        PictureError: there is no ink, or nothing but ink.
    """
    ink = picture.to(torch.float32) / 255
    rows, columns = (ink > 0.2).any(1).nonzero(), (ink > 0.2).any(0).nonzero()
    if not len(rows):
        raise PictureError("The picture is empty. Draw one digit, dark on a light ground.")
    ink = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    height, width = ink.shape
    side = max(height, width)
    square = torch.zeros(side, side)
    top, left = (side - height) // 2, (side - width) // 2
    square[top : top + height, left : left + width] = ink
    blocks = functional.interpolate(square[None, None], size=(SIDE, SIDE), mode="area")
    return blocks.flatten()

"""Data of the built-in runs, and pictures turned into what their models see."""

import gzip
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from core.contracts.errors import DataError, ManifestError, PictureError
from core.contracts.manifest import Manifest
from core.store import shards

DIGITS_HELD_OUT = 360
DIGITS_SPLIT_SEED = 0
SIDE = 8
"""Pixels along a side of a digit as the model sees it."""
BOX = 32
"""Pixels along the side of the box in which a digit is prepared."""
WIDEST = 20
"""Pixels of the box that a digit may be wide."""
FAINTEST = 32
"""A picture whose darkest pixel is below this is empty (of 255)."""
PAPER = 0.25
"""What is fainter than this part of the darkest pixel counts as paper."""
THIN, USUAL, FAT = 0.25, 0.305, 0.36
"""Share of ink in the box: every class of `load_digits` has about the usual one, as its strokes were normalised."""


BYTES = 256
HELD_OUT_WINDOWS = 64
"""Of the held-out text, evenly spaced: an evaluation must take a second, not ten."""


class Part(NamedTuple):
    inputs: Tensor
    """[n, inputs]: float32, or int64 if the inputs are classes themselves."""
    labels: Tensor
    """int64 [n], or [n, inputs] where each input has its own."""


class Dataset(NamedTuple):
    train: Part
    held_out: Part
    """Never trained on; the split is the same on every machine."""
    classes: int
    distort: Callable[[Tensor, torch.Generator], Tensor]
    """Training inputs -> training inputs, varied at random."""


def digits() -> Dataset:
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
    return Dataset(train, Part(inputs[:DIGITS_HELD_OUT], labels[:DIGITS_HELD_OUT]), 10, _distort)


def _digits_file() -> Path:
    spec = importlib.util.find_spec("sklearn")
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        path = Path(folder) / "datasets" / "data" / "digits.csv.gz"
        if path.is_file():
            return path
    raise ManifestError("The data of the run 'digits' is missing: install the package scikit-learn again.")


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


def text(manifest: Manifest, folder: Path | None) -> Dataset:
    """A run's text in windows of the model's sequence: what is to be told is every byte's next one.

    Raises:
        ManifestError: the model has no sequence, or the text is too short for one.
        DataError: shards of the text are missing.
    """
    if folder is None:
        raise DataError("A run's text is in the run's folder, and none was named.")
    train, held_out = (torch.frombuffer(bytearray(part), dtype=torch.uint8) for part in shards.read(manifest, folder))
    window = (manifest.model.sequence or 0) + 1
    if window == 1 or min(len(train), len(held_out)) < window + HELD_OUT_WINDOWS:
        raise ManifestError(f"The run {manifest.run} has no sequence, or a text that is too short for it.")
    every = (len(held_out) - window) // (HELD_OUT_WINDOWS - 1)
    parts = [train.long().unfold(0, window, 1), held_out.long().unfold(0, window, every)[:HELD_OUT_WINDOWS]]
    trained, unseen = (Part(windows[:, :-1], windows[:, 1:]) for windows in parts)
    return Dataset(trained, unseen, BYTES, lambda inputs, generator: inputs)


DATASETS: dict[str, Callable[[Manifest, Path | None], Dataset]] = {
    "digits": lambda manifest, folder: digits(),
    "text": text,
}


def load(manifest: Manifest, folder: Path | None = None) -> Dataset:
    """The data of a run; `folder` is the run's, where data are that do not come with a package.

    Raises:
        ManifestError: there is no data set of that name, its package is damaged, or the manifest does not fit it.
        DataError: a part is missing.
    """
    name = manifest.data
    if name not in DATASETS:
        raise ManifestError(f"There is no data set named {name!r}. Known data sets: {', '.join(sorted(DATASETS))}.")
    return DATASETS[name](manifest, folder)


def picture_to_input(picture: Tensor) -> Tensor:
    """A picture as the model of `digits` sees it, prepared as the UCI digits of `load_digits` were, by NIST's rules.

    The ink is cut out, sheared upright, brought to a height of 32 and a width of at most 20 in the middle of 32x32,
    thin or fat strokes to the usual share of ink, and reduced to the share of ink in each block of 4x4.

    Args:
        picture: uint8 [height, width], 0 = paper, 255 = ink.

    Returns:
        float32 [64], 0 to 1.

    Raises:
        PictureError: there is no ink.
    """
    ink = picture.to(torch.float32)
    if ink.numel() == 0 or ink.max() < FAINTEST:
        raise PictureError("The picture is empty. Draw one digit, dark on a light ground.")
    digit = _upright(_cut_out(ink / ink.max()))
    if not THIN < float(digit.mean()) < FAT:
        digit = _usual_strokes(digit)
    return functional.avg_pool2d(digit, BOX // SIDE).flatten()


def _cut_out(ink: Tensor) -> Tensor:
    """The part of [height, width] that holds ink, its longer side brought to two pixels for each of the box."""
    rows, columns = (ink > PAPER).any(1).nonzero(), (ink > PAPER).any(0).nonzero()
    ink = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    scale = 2 * BOX / max(ink.shape)
    size = [max(1, round(side * scale)) for side in ink.shape]
    mode = "area" if scale < 1 else "bilinear"
    ink = functional.interpolate(ink[None, None], size=size, mode=mode)[0, 0]
    return ink / ink.max()  # fine ink is faint after that, and must not vanish


def _usual_strokes(digit: Tensor) -> Tensor:
    """Thicken or thin [1, 1, BOX, BOX]: blur until the usual share of ink can be told apart from the rest."""
    for _ in range(BOX // 4):
        digit = functional.avg_pool2d(digit, 3, stride=1, padding=1)
        threshold = digit.quantile(1 - USUAL)
        if 0 < threshold < digit.max():
            break
    return (digit >= threshold.clamp(min=1e-3)).to(torch.float32)


def _upright(ink: Tensor) -> Tensor:
    """Shear the digit upright and fit it into [1, 1, BOX, BOX]."""
    height, width = ink.shape
    ink = ink * (ink > PAPER)
    y, x = torch.arange(height) + 0.5, torch.arange(width) + 0.5
    total = ink.sum()
    middle = (ink.sum(1) @ y) / total
    dy = (y - middle)[:, None]
    dx = x - (ink.sum(0) @ x) / total
    slant = ((ink * dy * dx).sum() / (ink * dy * dy).sum().clamp(min=1e-6)).clamp(-1, 1)
    sheared = (x - slant * dy)[ink > 0]
    left, right = sheared.min() - 0.5, sheared.max() + 0.5
    fit = min(BOX / height, WIDEST / float(right - left))
    # For every half pixel of the box, where it lies in `ink`, in the units of grid_sample (-1 to 1).
    steps = (torch.arange(2 * BOX) + 0.5) / 2
    across, down = torch.meshgrid(steps, steps, indexing="xy")
    from_y = down * height / BOX
    from_x = (across - BOX / 2) / fit + (left + right) / 2 + slant * (from_y - middle)
    where = torch.stack([2 * from_x / width - 1, 2 * from_y / height - 1], dim=2)
    return functional.avg_pool2d(functional.grid_sample(ink[None, None], where[None], align_corners=False), 2)

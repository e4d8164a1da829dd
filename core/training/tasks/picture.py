"""Telling what a picture shows: pictures turned into what the model of `digits` sees."""

import torch
from torch import Tensor
from torch.nn import functional

from core.contracts.errors import PictureError
from core.contracts.kinds import Ends
from core.contracts.notices import notice
from core.contracts.pipe import Predict, Predicted
from core.training.data.digits import SIDE
from core.training.tasks.task import Exchange, Task

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


class Pictures(Task[Predict]):
    """A question is a picture; there is one answer."""

    def encode(self, question: Predict, ends: Ends) -> "Look":
        """As any task.

        Raises:
            PictureError: the picture holds no ink.
        """
        if not question.pixels:
            raise PictureError(notice("question.empty_picture"))
        pixels = torch.frombuffer(bytearray(question.pixels), dtype=torch.uint8)
        return Look(picture_to_input(pixels.view(question.height, question.width)))


class Look(Exchange):
    """One picture, read at once."""

    def __init__(self, seen: Tensor) -> None:
        """One picture.

        Args:
            seen: float32 [64], as the model sees it.
        """
        self._seen = seen
        self.inputs: Tensor | None = seen.unsqueeze(0)

    def decode(self, outputs: Tensor) -> Predicted:
        self.inputs = None
        return Predicted(outputs[0].softmax(0).tolist(), self._seen.tolist())


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
        raise PictureError(notice("question.empty_picture"))
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


TASK = Pictures()

"""What the network reads in a picture, and who took part."""

import asyncio

from torch import Tensor

from core.contracts.control import Answer
from core.contracts.errors import ComputeError
from core.experts.layer import Passed
from core.training import datasets
from core.training.trainer import Trainer

PATIENCE_S, RETRY_S = 5.0, 0.25


async def predict(trainer: Trainer, picture: Tensor) -> tuple[Tensor, Tensor, list[Answer]]:
    """What the network reads in a picture, also while the switch is off.

    Args:
        trainer: of a network that reads pictures.
        picture: uint8 [height, width], 0 = paper, 255 = ink.

    Returns:
        Probabilities [classes], what the network saw [8, 8] (0 to 1), and each expert's part.

    Raises:
        PictureError: the picture holds no ink.
        ComputeError: no expert answered.
    """
    seen = datasets.picture_to_input(picture)
    logits, experts = await asked(trainer, seen.unsqueeze(0))
    return logits[0].softmax(0), seen.view(datasets.SIDE, datasets.SIDE), experts


async def asked(trainer: Trainer, inputs: Tensor) -> tuple[Tensor, list[Answer]]:
    """The network's outputs for `inputs` [n, ...], and the experts' part in the last row.

    A peer that was late is not asked for a moment, and may be the only one with experts of a layer: that is waited for.

    Raises:
        ComputeError: no expert answered in all that time.
    """
    clock = asyncio.get_running_loop()
    end = clock.time() + PATIENCE_S
    while True:
        try:
            outputs, passes = await trainer.infer(inputs)
            return outputs, _experts(passes)
        except ComputeError:
            if clock.time() >= end:
                raise
        await asyncio.sleep(RETRY_S)


def _experts(passes: list[Passed]) -> list[Answer]:
    """Of the last row of a pass, by layer, best first.

    Raises:
        ComputeError: no expert answered for it.
    """
    if not all(bool(passed.alive[-1]) for passed in passes):
        raise ComputeError("No expert answered. Try again in a moment.")
    return [answer for layer, passed in enumerate(passes) for answer in _answers(layer, passed)]


def _answers(layer: int, passed: Passed) -> list[Answer]:
    by_cell = {call.uid.coords: i for i, call in enumerate(passed.calls)}
    found = []
    for index, weight in zip(passed.mixed[-1].tolist(), passed.weights[-1].tolist(), strict=True):
        i = by_cell[passed.beam.cells[index]]
        host = passed.hosts[i]
        found.append(
            Answer(layer, str(passed.calls[i].uid), weight, passed.seconds[i] * 1000, host is not None, host or "")
        )
    return found

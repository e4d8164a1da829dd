"""How the network goes on with a text, byte by byte, and who took part in each."""

import time
from collections.abc import AsyncGenerator
from typing import NamedTuple

import torch

from core.contracts.control import Answer
from core.training.predict import asked
from core.training.trainer import Trainer

BLANK = b"\n"
"""What comes before a text that begins with nothing."""


class Next(NamedTuple):
    """One byte of a text."""

    byte: int
    experts: list[Answer]
    ms: float


async def generate(
    trainer: Trainer, prompt: bytes, length: int, temperature: float, seed: int
) -> AsyncGenerator[Next, None]:
    """Go on with `prompt`, also while the switch is off; others get their turn between any two kernels.

    The network sees the last bytes of the text, as many as its sequence has.

    Args:
        trainer: of a network that continues text.
        prompt: how the text begins.
        length: bytes to add.
        temperature: by which the scores are divided before the draw; 0 takes the likeliest byte.
        seed: of the draws; the same one gives the same text while the network stays as it is.

    Raises:
        ComputeError: no expert answered.
    """
    random = torch.Generator().manual_seed(seed)
    text = list(prompt or BLANK)
    for _ in range(length):
        start = time.monotonic()
        text = text[-trainer.inputs :]
        outputs, experts = await asked(trainer, torch.tensor([text]))
        scores = outputs[0, -1]
        if temperature:
            byte = int(torch.multinomial((scores.double() / temperature).softmax(0), 1, generator=random))
        else:
            byte = int(scores.argmax())
        text.append(byte)
        yield Next(byte, experts, (time.monotonic() - start) * 1000)

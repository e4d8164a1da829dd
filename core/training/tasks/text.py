"""Going on with a text, byte by byte."""

from typing import NamedTuple

import torch
from torch import Tensor

from core.contracts.kinds import Ends
from core.training.tasks.task import Exchange, Task

BLANK = b"\n"
"""What comes before a text that begins with nothing."""


class Prompt(NamedTuple):
    """A text to go on with."""

    text: bytes
    """How it begins."""
    length: int
    """Bytes to add."""
    temperature: float
    """By which the scores are divided before the draw; 0 takes the likeliest byte."""
    seed: int
    """Of the draws; the same one gives the same text while the network stays as it is."""


class Writing(Exchange[int]):
    """A text that grows by a byte a pass."""

    def __init__(self, prompt: Prompt, window: int) -> None:
        """Begin with the prompt.

        Args:
            prompt: what to go on with.
            window: bytes that the network sees at once, the last ones of the text.
        """
        self._prompt, self._window = prompt, window
        self._random = torch.Generator().manual_seed(prompt.seed)
        self._text = list(prompt.text or BLANK)
        self._left = prompt.length
        self._show()

    def _show(self) -> None:
        self._text = self._text[-self._window :]
        self.inputs = torch.tensor([self._text]) if self._left > 0 else None

    def decode(self, outputs: Tensor) -> int:
        scores, temperature = outputs[0, -1], self._prompt.temperature
        if temperature:
            byte = int(torch.multinomial((scores.double() / temperature).softmax(0), 1, generator=self._random))
        else:
            byte = int(scores.argmax())
        self._text.append(byte)
        self._left -= 1
        self._show()
        return byte


class Texts(Task[Prompt, int]):
    """A question is the beginning of a text; the answers are the bytes that follow, one by one."""

    def encode(self, question: Prompt, ends: Ends) -> Writing:
        return Writing(question, ends.inputs)


TASK = Texts()

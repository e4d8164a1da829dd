"""Going on with a text, byte by byte."""

import torch
from torch import Tensor

from core.contracts.kinds import Ends
from core.contracts.pipe import Generate, Written
from core.training.tasks.task import Exchange, Task, written

BLANK = b"\n"
"""What comes before a text that begins with nothing."""
PIECES = [bytes([byte]) for byte in range(256)]


class Writing(Exchange):
    """A text that grows by a byte a pass."""

    def __init__(self, prompt: Generate, window: int) -> None:
        """Begin with the prompt.

        Args:
            prompt: what to go on with.
            window: bytes that the network sees at once, the last ones of the text.
        """
        self._prompt, self._window = prompt, window
        self._random = torch.Generator().manual_seed(prompt.seed)
        self._text = list(prompt.prompt or BLANK)
        self._left = prompt.length
        self._show()

    def _show(self) -> None:
        self._text = self._text[-self._window :]
        self.inputs = torch.tensor([self._text]) if self._left > 0 else None

    def decode(self, outputs: Tensor) -> Written:
        """As any exchange.

        Raises:
            ComputeError: what the network gave is not finite.
        """
        byte, told = written(outputs[0, -1], PIECES, self._prompt, self._random)
        self._text.append(byte)
        self._left -= 1
        self._show()
        return told


class Texts(Task[Generate]):
    """A question is the beginning of a text; the answers are the bytes that follow, one by one."""

    def encode(self, question: Generate, ends: Ends) -> Writing:
        return Writing(question, ends.inputs)

    def sizes(self, labels: Tensor) -> Tensor:
        return torch.ones_like(labels.flatten())


TASK = Texts()

"""Going on with a text, byte by byte."""

import torch
from torch import Tensor

from core.contracts.control import CHOICES, Choice
from core.contracts.kinds import Ends
from core.contracts.pipe import Generate, Written
from core.training.tasks.task import Exchange, Task, drawn

BLANK = b"\n"
"""What comes before a text that begins with nothing."""


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
        scores = outputs[0, -1]
        byte = drawn(scores, self._prompt.temperature, self._random)
        self._text.append(byte)
        self._left -= 1
        self._show()
        shares = scores.double().softmax(0)
        best = shares.topk(min(CHOICES, len(shares)))
        likeliest = [
            Choice(each, share) for each, share in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]
        return Written(Choice(byte, float(shares[byte])), likeliest)


class Texts(Task[Generate]):
    """A question is the beginning of a text; the answers are the bytes that follow, one by one."""

    def encode(self, question: Generate, ends: Ends) -> Writing:
        return Writing(question, ends.inputs)

    def sizes(self, labels: Tensor) -> Tensor:
        return torch.ones_like(labels.flatten())


TASK = Texts()

"""A network of one layer that tells digits from each other, for tests of how trainers learn together."""

import functools
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from core.averaging.codecs import Numbers
from core.training.data.digits import read

PIXELS, KINDS, BATCH = 65, 10, 256


class Digits(NamedTuple):
    """The pictures, each with a last pixel that is always 1, and what they show."""

    pictures: Numbers
    kinds: NDArray[np.int64]

    def begun(self) -> Numbers:
        """Weights that know nothing."""
        return np.zeros(PIXELS * KINDS, np.float32)

    def gradient(self, weights: Numbers, dice: np.random.Generator) -> Numbers:
        """Of a batch."""
        rows = dice.choice(len(self.kinds), BATCH)
        error = np.exp(_logs(self.pictures[rows] @ weights.reshape(PIXELS, KINDS)))
        error[np.arange(BATCH), self.kinds[rows]] -= 1
        gradient: Numbers = (self.pictures[rows].T @ error / BATCH).astype(np.float32).ravel()
        return gradient

    def loss(self, weights: Numbers) -> float:
        """Of all."""
        logs = _logs(self.pictures @ weights.reshape(PIXELS, KINDS))
        return -float(logs[np.arange(len(self.kinds)), self.kinds].mean())


def _logs(scores: Numbers) -> Numbers:
    scores = scores - scores.max(axis=1, keepdims=True)
    logs: Numbers = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return logs


@functools.cache
def digits() -> Digits:
    """All there are."""
    pictures, kinds = (torch.cat(parts).numpy() for parts in zip(*read(), strict=True))
    return Digits(np.c_[pictures, np.ones(len(kinds))].astype(np.float32), kinds)

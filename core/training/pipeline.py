"""The order of the training data: a pure function of the batch's number, so that a restart goes on where it was."""

import hashlib

import torch
from torch import Tensor

from core.training.datasets import Dataset, Part


class Batches:
    """Batches of the training part, shuffled and varied anew in every pass over it."""

    def __init__(self, data: Dataset, batch: int, seed: int) -> None:
        self._part, self._distort = data.train, data.distort
        self._batch = min(batch, len(self._part.labels))
        self._seed = seed
        self._per_epoch = len(self._part.labels) // self._batch
        self._epoch = -1
        self._order = torch.empty(0, dtype=torch.int64)

    def __getitem__(self, number: int) -> Part:
        """Batch `number`, counted from 0 without end: inputs [batch, ...] and labels [batch]."""
        epoch, place = divmod(number, self._per_epoch)
        if epoch != self._epoch:
            self._epoch, self._order = epoch, self._shuffled(epoch)
        rows = self._order[place * self._batch : (place + 1) * self._batch]
        return Part(self._distort(self._part.inputs[rows], self._random("batch", number)), self._part.labels[rows])

    def _shuffled(self, epoch: int) -> Tensor:
        return torch.randperm(len(self._part.labels), generator=self._random("epoch", epoch))

    def _random(self, what: str, number: int) -> torch.Generator:
        """A generator of its own for everything that is drawn; torch uses 32 bits of a seed."""
        digest = hashlib.sha256(f"{self._seed}:{what}:{number}".encode()).digest()
        return torch.Generator().manual_seed(int.from_bytes(digest[:4], "big"))

"""The order of the training data: a pure function of the batch's number, so that a restart goes on where it was."""

import torch
from torch import Tensor

from core.training.datasets import Part


class Batches:
    """Batches of a training set, shuffled anew in every pass over it."""

    def __init__(self, part: Part, batch: int, seed: int) -> None:
        self._part = part
        self._batch = min(batch, len(part.labels))
        self._seed = seed
        self._per_epoch = len(part.labels) // self._batch
        self._epoch = -1
        self._order = torch.empty(0, dtype=torch.int64)

    def __getitem__(self, number: int) -> Part:
        """Batch `number`, counted from 0 without end: inputs [batch, ...] and labels [batch]."""
        epoch, place = divmod(number, self._per_epoch)
        if epoch != self._epoch:
            self._epoch, self._order = epoch, self._shuffled(epoch)
        rows = self._order[place * self._batch : (place + 1) * self._batch]
        return Part(self._part.inputs[rows], self._part.labels[rows])

    def _shuffled(self, epoch: int) -> Tensor:
        generator = torch.Generator().manual_seed((self._seed << 32) + epoch)
        return torch.randperm(len(self._part.labels), generator=generator)

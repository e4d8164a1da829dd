"""The order of the training data: a pure function of the batch's number, so that a restart goes on where it was."""

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
        generator = torch.Generator().manual_seed((self._seed << 32) + number)
        return Part(self._distort(self._part.inputs[rows], generator), self._part.labels[rows])

    def _shuffled(self, epoch: int) -> Tensor:
        generator = torch.Generator().manual_seed((self._seed << 32) + epoch)
        return torch.randperm(len(self._part.labels), generator=generator)

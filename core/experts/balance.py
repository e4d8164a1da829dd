"""Load balancing without a loss: in training, experts that are asked too seldom are asked sooner.

Each trainer adds a number by expert to the scores that choose, not to those that weigh, and moves it against what its
own choices were of late (after Wang et al., 2024, arXiv 2408.15664, who move it by the sign alone). Experts that are
asked nearly alike are left alone: to even them out would cost more than it gives. If no trainer's choices are far from
even, nor is the load of any expert; nothing has to be published or believed. Inference and exported models choose by
the scores alone.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from core.experts.grid import Coords

RATE = 0.02
"""By which a batch moves the number of an expert that nobody asks, in units of the scores."""
LEFT_ALONE = 0.5
"""By how much of an even load that of an expert may be off."""
REMEMBERED = 0.9
"""Of the load, from batch to batch."""


class Balance:
    """Of one layer."""

    def __init__(self) -> None:
        self._cells: Sequence[Coords] = ()
        self._added = self._load = torch.empty(0)
        """[A], added to the scores; the share of the choices that fell on each expert of late, times A."""

    def choose(self, cells: Sequence[Coords], scores: Tensor, k: int) -> Tensor:
        """The k experts of every sample of a batch, best first: [batch, k], indices into `cells`.

        Args:
            cells: the active ones, A; the same object until they change.
            scores: [batch, A].
            k: at most A.
        """
        if cells is not self._cells:
            self._take_over(cells)
        chosen = (scores + self._added).topk(k).indices
        counts = torch.bincount(chosen.flatten(), minlength=len(cells))
        self._load.lerp_(counts * (len(cells) / chosen.numel()), 1 - REMEMBERED)
        missing = 1 - self._load
        beyond = missing - missing.clamp(-LEFT_ALONE, LEFT_ALONE)
        self._added += RATE * (beyond / (1 - LEFT_ALONE)).clamp(-1, 1)
        self._added -= self._added.mean()  # else all would rise, and a new one begin far below them
        return chosen

    def _take_over(self, cells: Sequence[Coords]) -> None:
        """What is known of the cells that stay; new ones begin as if their load were even."""
        old = dict(zip(self._cells, zip(self._added.tolist(), self._load.tolist(), strict=True), strict=True))
        known = torch.tensor([old.get(cell, (0.0, 1.0)) for cell in cells])
        self._cells, (self._added, self._load) = cells, known.unbind(1)

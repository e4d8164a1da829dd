"""The next best experts of samples whose chosen ones are late or have failed."""

from collections.abc import Container

import torch
from torch import Tensor

from core.experts.beam_search import Beam

CANDIDATES = 8
"""Experts looked at for a sample beside those it misses: some live on the host that is late."""


class Spares:
    """For one batch; no sample gets the same expert twice."""

    def __init__(self, beam: Beam) -> None:
        self._beam = beam
        self._free = torch.ones_like(beam.scores, dtype=torch.bool).scatter_(1, beam.chosen, False)
        self._best: dict[int, list[int]] = {}

    def candidates(self, pairs: Tensor) -> list[int]:
        """The cells that may stand in for these (sample, choice) pairs.

        Args:
            pairs: [n], indices into batch * k.
        """
        scores = self._beam.scores
        samples = torch.tensor(sorted(set((pairs // self._beam.chosen.shape[1]).tolist())))
        width = min(scores.shape[1], self._beam.chosen.shape[1] + CANDIDATES)
        best = scores[samples].masked_fill(~self._free[samples], -torch.inf).topk(width).indices
        self._best = dict(zip(samples.tolist(), best.tolist(), strict=True))
        return sorted(set(best.flatten().tolist()))

    def assign(self, pairs: Tensor, cells: Container[int]) -> dict[int, list[int]]:
        """A spare for each pair, as far as there are any: the pairs by cell.

        Args:
            pairs: as given to `candidates`.
            cells: those that can be asked.
        """
        found: dict[int, list[int]] = {}
        for pair in pairs.tolist():
            sample = pair // self._beam.chosen.shape[1]
            for cell in self._best[sample]:
                if cell in cells and self._free[sample, cell]:
                    self._free[sample, cell] = False
                    found.setdefault(cell, []).append(pair)
                    break
        return found

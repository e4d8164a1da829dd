"""The k best active experts of every sample, exactly (paper, Algorithm 1).

The paper's beam of width k is not exact on a sparse grid: a prefix that scores well may lead to few or bad experts.
Where the whole active set is known, all additive scores are computed and the top k taken. Elsewhere a best-first
search expands prefixes by the bound "score so far + best possible rest", and stops when k experts beat every open
prefix. Look-ups are shared by the samples of the batch and asked for together.
"""

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from core.contracts.errors import ComputeError
from core.contracts.notices import notice
from core.experts.balance import Balance
from core.experts.directory import Directory
from core.experts.gating import Gate, add_up
from core.experts.grid import Coords


class Beam(NamedTuple):
    """What was chosen for a batch."""

    cells: Sequence[Coords]
    """The active set as far as it is known, A cells."""
    columns: Tensor
    """[A, d], where the gate's heads hold each cell's scores (`Gate.columns`)."""
    scores: Tensor
    """[batch, A], additive."""
    chosen: Tensor
    """[batch, min(k, A)], indices into `cells`, best first."""


class BeamSearch:
    """Chooses experts of one layer."""

    def __init__(self, gate: Gate, directory: Directory, layer: int, k: int) -> None:
        self._gate = gate
        self._directory = directory
        self._layer = layer
        self._k = k
        self._cells: Sequence[Coords] = ()
        self._columns = torch.empty(0, len(gate.shape), dtype=torch.int64)
        self._balance = Balance()

    async def choose(self, heads: Tensor, even: bool = False) -> Beam:
        """The k experts with the highest scores, or all if fewer are active.

        Args:
            heads: [batch, sum of M], the gate's output without gradient.
            even: spread the load, as in training.

        Raises:
            ComputeError: the layer has no active expert.
        """
        cells = self._directory.mirror(self._layer)
        if cells is None:
            cells = await self._search(heads)
        if not cells:
            raise ComputeError(notice("network.no_expert", layer=self._layer))
        if cells is not self._cells:
            self._cells, self._columns = cells, self._gate.columns(torch.tensor(cells))
        scores = add_up(heads, self._columns)
        k = min(self._k, len(cells))
        chosen = self._balance.choose(cells, scores, k) if even else scores.topk(k).indices
        return Beam(cells, self._columns, scores, chosen)

    async def _search(self, heads: Tensor) -> list[Coords]:
        """The union of all samples' k best cells, found without knowing the active set."""
        rows = heads.split_with_sizes(self._gate.shape, 1)
        searches = [_Search(list(scores), self._k) for scores in zip(*(row.tolist() for row in rows), strict=True)]
        suffixes: dict[Coords, Sequence[int]] = {}
        while True:
            wanted: dict[Coords, None] = {}
            for search in searches:
                wanted.update(dict.fromkeys(search.advance(suffixes)))
            if not wanted:
                return sorted({cell for search in searches for cell in search.found})
            prefixes = list(wanted)
            answers = await self._directory.active_suffixes(self._layer, prefixes)
            suffixes.update(zip(prefixes, answers, strict=True))


class _Search:
    def __init__(self, scores: list[list[float]], k: int) -> None:
        self._scores = scores
        self._k = k
        self._rest = [sum(max(head) for head in scores[i:]) for i in range(len(scores) + 1)]
        self._open: list[tuple[float, Coords, float]] = [(-self._rest[0], (), 0.0)]
        self.found: list[Coords] = []

    def advance(self, suffixes: dict[Coords, Sequence[int]]) -> list[Coords]:
        """Search as far as the known suffixes allow; the prefixes to look up next, none when done.

        It asks for its k best open prefixes at once, as many as a beam would: usually d rounds are enough.
        """
        while self._open and len(self.found) < self._k:
            _, prefix, score = self._open[0]
            if len(prefix) == len(self._scores):
                self.found.append(prefix)
            elif prefix not in suffixes:
                best = heapq.nsmallest(self._k, self._open)
                return [p for _, p, _ in best if len(p) < len(self._scores) and p not in suffixes]
            heapq.heappop(self._open)
            if len(prefix) < len(self._scores):
                self._expand(prefix, score, suffixes[prefix])
        return []

    def _expand(self, prefix: Coords, score: float, suffixes: Sequence[int]) -> None:
        head, rest = self._scores[len(prefix)], self._rest[len(prefix) + 1]
        if len(prefix) + 1 == len(self._scores) and len(suffixes) > self._k:
            suffixes = heapq.nlargest(self._k, suffixes, head.__getitem__)  # these are experts, of which k are wanted
        for u in suffixes:
            total = score + head[u]
            heapq.heappush(self._open, (-(total + rest), (*prefix, u), total))

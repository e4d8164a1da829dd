"""The gate: d linear heads whose scores add up (paper, section 3.2), and what keeps it from a few favourites."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional


class Gate(nn.Module):
    """g(x, f) = sum_i g_i(x)[u_i]: d linear heads, kept as one linear map with all heads' outputs side by side."""

    def __init__(self, width: int, shape: Sequence[int], bias: bool = True) -> None:
        """A gate as PyTorch's linear maps begin.

        Args:
            width: of the input.
            shape: cells M_0 .. M_{d-1} of the grid.
            bias: whether each head's score has a part of its own.
        """
        super().__init__()
        self.shape = tuple(shape)
        self.heads = nn.Linear(width, sum(self.shape), bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """All heads' scores: [batch, width] -> [batch, M_0 + .. + M_{d-1}]."""
        scores: Tensor = self.heads(x)
        return scores

    def columns(self, cells: Tensor) -> Tensor:
        """Where the heads' scores of each cell stand: [cells, d] coordinates -> [cells, d] columns of `forward`."""
        starts = torch.tensor((0, *self.shape[:-1])).cumsum(0)
        return cells + starts


def add_up(heads: Tensor, columns: Tensor) -> Tensor:
    """Additive scores: heads [batch, sum of M], columns [cells, d] -> [batch, cells]."""
    first, *rest = columns.unbind(1)
    scores = heads.index_select(1, first)
    for column in rest:
        scores = scores + heads.index_select(1, column)
    return scores


def balance_loss(scores: Tensor, chosen: Tensor) -> Tensor:
    """The joint load-balancing loss on the active set A: |A| * sum over u in A of f_u * P_u.

    f_u is the share of the batch's choices that fell on expert u, without gradient; P_u is the softmax of the
    additive scores over A, averaged over the batch. It is 1 for an even load. Balanced marginals would not do: a
    diagonal of the grid has uniform ones (after Shazeer et al., 2017, for a product of heads).

    Args:
        scores: [batch, A].
        chosen: [batch, k], indices into A.
    """
    active = scores.shape[1]
    load = torch.bincount(chosen.flatten(), minlength=active).to(scores.dtype) / chosen.numel()
    return active * torch.dot(load, functional.softmax(scores, dim=1).mean(0))

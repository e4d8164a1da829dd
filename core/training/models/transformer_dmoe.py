"""A causal Transformer over classes (bytes) whose feed-forward layers are DMoE (paper, section 4.1).

x -> x + attention(norm(x)) -> DMoE -> x + attention(norm(x)) -> DMoE .. -> norm -> classes. The DMoE layer has no
residual of its own: its experts add their input to what they give, and the weights of a mixture add up to 1.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.contracts.kinds import Ends
from core.contracts.manifest import Manifest
from core.experts.gating import Gate
from core.training.models.network import Network

DEVIATION = 0.5
"""Of the first embeddings."""
LONGEST_TURN = 10_000.0
"""By which a token's place turns the slowest pair of its numbers; the fastest turns by 1 radian a place."""


class Attention(nn.Module):
    """Causal self-attention with a norm before and a residual around it: [batch, length, width] -> the same.

    Queries and keys are turned by their places (RoPE; Su et al., 2021), so that what counts is how far apart two tokens
    are. With a learned vector for each place instead, 300 batches went by before tokens attended to their neighbours.
    """

    turns: Tensor
    """Complex [sequence, width of a head / 2], of length 1."""

    def __init__(self, width: int, heads: int, sequence: int) -> None:
        """Attention as PyTorch's layers begin.

        Args:
            width: of a token, a multiple of twice the heads.
            heads: that attend.
            sequence: tokens at most.
        """
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.enter = nn.Linear(width, 3 * width)
        self.leave = nn.Linear(width, width)
        pairs = width // heads // 2
        speeds = LONGEST_TURN ** (-torch.arange(pairs) / pairs)
        angles = torch.outer(torch.arange(sequence).to(speeds.dtype), speeds)
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.enter(self.norm(x)).view(batch, length, 3, self.heads, width // self.heads)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(self._turn(queries), self._turn(keys), values, is_causal=True)
        return torch.add(x, self.leave(y.transpose(1, 2).reshape(batch, length, width)))

    def _turn(self, x: Tensor) -> Tensor:
        """[.., length, width of a head]: each two numbers are a complex one, turned by their token's place."""
        pairs = torch.view_as_complex(x.view(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.turns[: x.shape[-2]]).flatten(-2)


def _build(manifest: Manifest, ends: Ends) -> Network:
    model = manifest.model
    assert model.heads and model.sequence  # a manifest of this kind without them is refused
    embedding = nn.Embedding(ends.classes, model.width)
    nn.init.normal_(embedding.weight, std=DEVIATION)
    attention = [Attention(model.width, model.heads, model.sequence) for _ in range(model.layers)]
    last = nn.Sequential(nn.LayerNorm(model.width), nn.Linear(model.width, ends.classes))
    segments = [nn.Sequential(embedding, attention[0]), *attention[1:], last]
    return Network(segments, [Gate(model.width, model.grid) for _ in range(model.layers)])


KIND = _build

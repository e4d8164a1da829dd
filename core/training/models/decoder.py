"""A decoder as people host them today: Qwen3-MoE tensor for tensor, once its gates are written out.

x -> x + attention(norm(x)) -> x + DMoE(norm(x)) -> .. -> norm -> tokens. No map has a bias. The norms and the residual
of a DMoE layer are the trunk's; its experts are `swiglu`, and its gate sees what they see. A gate's row of cell (i, j)
is A_i + B_j; the softmax over the k chosen scores is what others call normalised top-k probabilities.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.contracts.kinds import Ends, inner
from core.contracts.manifest import Manifest
from core.contracts.model import Model
from core.experts.gating import Gate
from core.training.models.memory import current
from core.training.models.network import Network

DEVIATION = 0.02
"""Of the first embeddings and of the head's first rows."""
LONGEST_TURN = 10_000.0
"""By which a token's place turns the slowest pair of its numbers; the fastest turns by 1 radian a place."""
EPSILON = 1e-6
"""Of the norms."""


class Attention(nn.Module):
    """Causal attention within a document, with norm and residual: [batch, length, width] -> the same.

    Groups of heads share keys and values (Ainslie et al., 2023). Each head's queries and keys have a norm of their own
    and are turned by their places, the first half of their numbers with the second (RoPE; Su et al., 2021).
    """

    cosines: Tensor
    """[sequence, width of a head / 2], of the turns."""
    sines: Tensor

    def __init__(self, model: Model) -> None:
        """Attention as PyTorch's layers begin.

        Args:
            model: its sizes.
        """
        super().__init__()
        assert model.heads and model.sequence  # a manifest of this kind without them is refused
        self.width, self.kv_heads = model.width // model.heads, model.kv_heads or model.heads
        self.heads = model.heads
        shared = self.kv_heads * self.width
        self.norm = nn.RMSNorm(model.width, EPSILON)
        self.query = nn.Linear(model.width, model.width, bias=False)
        self.key = nn.Linear(model.width, shared, bias=False)
        self.value = nn.Linear(model.width, shared, bias=False)
        self.query_norm = nn.RMSNorm(self.width, EPSILON)
        self.key_norm = nn.RMSNorm(self.width, EPSILON)
        self.leave = nn.Linear(model.width, model.width, bias=False)
        speeds = LONGEST_TURN ** (-torch.arange(self.width // 2) * 2 / self.width)
        angles = torch.outer(torch.arange(model.sequence).to(speeds.dtype), speeds)
        self.register_buffer("cosines", angles.cos(), persistent=False)
        self.register_buffer("sines", angles.sin(), persistent=False)

    def forward(self, x: Tensor, documents: Tensor) -> Tensor:
        """Attend.

        Args:
            x: [batch, length, width].
            documents: [batch, all tokens], the number of the document that each token is in; the last ones are those of
                `x`, and what came before is in the pass's memory.
        """
        y, memory, start = self.norm(x), current(), documents.shape[1] - x.shape[1]
        queries = self._turn(self.query_norm(self._by_head(self.query(y))), start)
        keys = self._turn(self.key_norm(self._by_head(self.key(y))), start)
        values = self._by_head(self.value(y))
        if memory:
            keys, values = memory.extended(self, keys, values)
        seen = documents[:, start:].unsqueeze(2) == documents.unsqueeze(1)
        seen = seen.tril(start).unsqueeze(1)
        z = functional.scaled_dot_product_attention(queries, keys, values, seen, enable_gqa=self.kv_heads < self.heads)
        return torch.add(x, self.leave(z.transpose(1, 2).flatten(-2)))

    def _by_head(self, x: Tensor) -> Tensor:
        """[batch, length, heads * width of one] -> [batch, heads, length, width of one]."""
        return x.view(*x.shape[:-1], -1, self.width).transpose(1, 2)

    def _turn(self, x: Tensor, start: int = 0) -> Tensor:
        places = slice(start, start + x.shape[-2])
        cosines, sines = self.cosines[places], self.sines[places]
        first, second = x.chunk(2, -1)
        return torch.cat((first * cosines - second * sines, second * cosines + first * sines), -1)


class Dense(nn.Module):
    """A layer's feed-forward part where it has no experts, with norm and residual."""

    def __init__(self, model: Model) -> None:
        """As PyTorch's layers begin.

        Args:
            model: its sizes.
        """
        super().__init__()
        self.norm = nn.RMSNorm(model.width, EPSILON)
        self.gate = nn.Linear(model.width, inner(model), bias=False)
        self.up = nn.Linear(model.width, inner(model), bias=False)
        self.down = nn.Linear(inner(model), model.width, bias=False)

    def forward(self, x: Tensor, documents: Tensor) -> Tensor:
        """[batch, length, width] -> the same."""
        y = self.norm(x)
        return torch.add(x, self.down(functional.silu(self.gate(y)) * self.up(y)))


class Segment(nn.Module):
    """What is between two DMoE layers."""

    def __init__(self, *parts: nn.Module, first: nn.Embedding | None = None, norm: nn.RMSNorm | None = None) -> None:
        """
        Args:
            parts: one after the other.
            first: reads the tokens, in the first segment.
            norm: before the layer that follows, if one does.
        """
        super().__init__()
        self.first, self.norm = first, norm
        self.parts = nn.ModuleList(parts)

    def forward(self, x: Tensor, documents: Tensor) -> Tensor:
        """Tokens [batch, length] or [batch, length, width] -> [2, batch, length, width], past the layer and into it."""
        x = x if self.first is None else self.first(x)
        for part in self.parts:
            x = part(x, documents)
        return x if self.norm is None else torch.stack((x, self.norm(x)))


class Head(nn.Module):
    """The scores of all tokens, after the dense layers of a model that has no others."""

    def __init__(self, model: Model, words: nn.Embedding, before: Segment | None) -> None:
        """
        Args:
            model: its sizes.
            words: the embedding, whose numbers are the head's as well if they are tied.
            before: what comes first, if there is no other segment.
        """
        super().__init__()
        self.before = before
        self.norm = nn.RMSNorm(model.width, EPSILON)
        self.words = nn.Linear(model.width, words.num_embeddings, bias=False)
        if model.tied:
            self.words.weight = words.weight
        else:
            nn.init.normal_(self.words.weight, std=DEVIATION)

    def forward(self, x: Tensor, documents: Tensor) -> Tensor:
        """[batch, length, width], or tokens if nothing comes before -> [batch, length, tokens]."""
        x = x if self.before is None else self.before(x, documents)
        scores: Tensor = self.words(self.norm(x))
        return scores


def _build(manifest: Manifest, ends: Ends) -> Network:
    model = manifest.model
    words = nn.Embedding(ends.classes, model.width)
    nn.init.normal_(words.weight, std=DEVIATION)
    dense = [part for _ in range(model.dense) for part in (Attention(model), Dense(model))]
    segments: list[nn.Module] = []
    for layer in range(model.layers):
        parts = [*(dense if layer == 0 else ()), Attention(model)]
        norm = nn.RMSNorm(model.width, EPSILON)
        segments.append(Segment(*parts, first=words if layer == 0 else None, norm=norm))
    head = Head(model, words, None if segments else Segment(*dense, first=words))
    gates = [Gate(model.width, model.grid, bias=False) for _ in range(model.layers)]
    end = manifest.tokenizer.end if manifest.tokenizer else -1
    return Network(
        [*segments, head],
        gates,
        residual=True,
        remembers=True,
        beside=lambda tokens: ((tokens == end).cumsum(1, dtype=torch.int32),),
    )


KIND = _build

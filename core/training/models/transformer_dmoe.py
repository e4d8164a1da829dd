"""A causal Transformer over classes (bytes) whose feed-forward layers are DMoE (paper, section 4.1).

x -> x + attention(norm(x)) -> DMoE -> x + attention(norm(x)) -> DMoE .. -> norm -> classes. The DMoE layer has no
residual of its own: its experts add their input to what they give, and the weights of a mixture add up to 1.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.errors import ManifestError
from core.experts.gating import Gate
from core.manifest import Manifest
from core.training.models.kind import Kind, Network

DEVIATION = 0.5
"""Of the first embeddings."""


class Attention(nn.Module):
    """Causal self-attention with a norm before and a residual around it: [batch, length, width] -> the same."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.enter = nn.Linear(width, 3 * width)
        self.leave = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.enter(self.norm(x)).view(batch, length, 3, self.heads, width // self.heads)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return torch.add(x, self.leave(y.transpose(1, 2).reshape(batch, length, width)))


class Embedding(nn.Module):
    """What a class and its place mean: int64 [batch, length] -> [batch, length, width]."""

    def __init__(self, classes: int, sequence: int, width: int) -> None:
        super().__init__()
        self.classes = nn.Embedding(classes, width)
        self.places = nn.Embedding(sequence, width)
        for table in (self.classes, self.places):
            nn.init.normal_(table.weight, std=DEVIATION)

    def forward(self, classes: Tensor) -> Tensor:
        return torch.add(self.classes(classes), self.places.weight[: classes.shape[1]])


def _build(manifest: Manifest, inputs: int, classes: int) -> Network:
    model = manifest.model
    if model.heads is None or model.sequence is None or model.width % model.heads:
        raise ManifestError(
            f"The run {manifest.run} cannot be built: a {model.kind} needs `sequence`, and `heads` that divide `width`."
        )
    if inputs != model.sequence:
        raise ManifestError(f"The data {manifest.data} come in samples of {inputs}, not of {model.sequence}.")
    first = nn.Sequential(Embedding(classes, model.sequence, model.width), Attention(model.width, model.heads))
    between = [Attention(model.width, model.heads) for _ in range(model.layers - 1)]
    last = nn.Sequential(nn.LayerNorm(model.width), nn.Linear(model.width, classes))
    return Network([first, *between, last], [Gate(model.width, model.grid) for _ in range(model.layers)])


KIND = Kind(_build)

"""A BERT-like Transformer block as a kind of expert (paper, section 4.1)."""

from torch import Tensor, nn
from torch.nn import functional

from core.contracts.kinds import EXPERTS, ExpertKind
from core.contracts.model import Model
from core.experts.kinds.expert import ADDED, Expert

TRANSFORMER = "transformer"
SEQUENCE = 64
"""Tokens of a sample; the paper has 512."""
HEAD = 32
"""Width of an attention head."""


def _matrices(model: Model) -> int:
    return 4 * model.width**2 + 2 * model.width * model.hidden


def _numbers(model: Model) -> int:
    biases, norms = 5 * model.width + model.hidden, 4 * model.width
    return _matrices(model) + biases + norms


def _multiplications(model: Model) -> int:
    return SEQUENCE * (_matrices(model) + 2 * SEQUENCE * model.width)


class TransformerBlock(Expert):
    """Self-attention and a feed-forward part with GELU, each with a residual and a layer norm (Devlin et al., 2019)."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        width, hidden = model.width, model.hidden
        self.heads = width // HEAD
        self.enter = nn.Linear(width, 3 * width)
        self.leave = nn.Linear(width, width)
        self.attended_norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, hidden)
        self.narrow = nn.Linear(hidden, width)
        self.out_norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        """[n, sequence, width] -> the same; every sequence by itself, so several requests can share a pass."""
        n, sequence, width = x.shape
        parts = self.enter(x).view(n, sequence, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(*parts.unbind(0))
        x = self.attended_norm(x + self.leave(y.transpose(1, 2).reshape(n, sequence, width)))
        normed: Tensor = self.out_norm(x + self.narrow(functional.gelu(self.widen(x))))
        return normed


EXPERTS[TRANSFORMER] = ExpertKind(_numbers, _multiplications, lambda model: (SEQUENCE, model.width))
ADDED[TRANSFORMER] = TransformerBlock

"""The feed-forward block of a Transformer (Vaswani et al., 2017, section 3.3, with GELU)."""

from typing import cast

from torch import Tensor, nn
from torch.nn import functional

from core.contracts.model import Model
from core.experts.kinds.expert import Expert
from core.experts.products import Linear


class TransformerFeedForward(Expert):
    """width -> hidden -> width; the normalisation comes last, after the residual."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.enter = Linear(model.width, model.hidden)
        self.leave = Linear(model.hidden, model.width)
        self.norm = nn.LayerNorm(model.width)

    def forward(self, x: Tensor) -> Tensor:
        """[n, width] -> [n, width]; every row by itself."""
        y = self.leave(functional.gelu(self.enter(x), approximate="tanh"))
        return cast(Tensor, self.norm(x + y))


KIND = TransformerFeedForward

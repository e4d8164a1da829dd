"""The gated feed-forward block of today's language models (SwiGLU; Shazeer, 2020), as Qwen3-MoE has it."""

from torch import Tensor
from torch.nn import functional

from core.contracts.model import Model
from core.experts.kinds.expert import Expert
from core.experts.products import Linear


class SwiGlu(Expert):
    """width -> hidden -> width without bias, norm or residual: those are in the trunk."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.gate = Linear(model.width, model.hidden, bias=False)
        self.up = Linear(model.width, model.hidden, bias=False)
        self.down = Linear(model.hidden, model.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """[n, width] -> [n, width]; every row by itself."""
        y: Tensor = self.down(functional.silu(self.gate(x)) * self.up(x))
        return y


KIND = SwiGlu

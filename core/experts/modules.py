"""Kinds of experts. A manifest names one; every host builds the same module from (kind, sizes, seed, uid)."""

import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.errors import ManifestError
from core.experts.grid import Uid


class FeedForward(nn.Module):
    """The paper's feed-forward block with a residual connection (section 4.1).

    width -> hidden -> hidden -> width, layer normalisation and ReLU in between.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.enter = nn.Linear(width, hidden)
        self.enter_norm = nn.LayerNorm(hidden)
        self.middle = nn.Linear(hidden, hidden)
        self.middle_norm = nn.LayerNorm(hidden)
        self.leave = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        """[n, width] -> [n, width]; every row by itself, so rows of several requests can share a pass."""
        y = functional.relu(self.enter_norm(self.enter(x)))
        y = functional.relu(self.middle_norm(self.middle(y)))
        return torch.add(x, self.leave(y))


class TransformerBlock(nn.Module):
    """The feed-forward block of a Transformer (Vaswani et al., 2017, section 3.3, with GELU): width -> hidden -> width.

    The normalisation comes last, after the residual.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.enter = nn.Linear(width, hidden)
        self.leave = nn.Linear(hidden, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        """[n, width] -> [n, width]; every row by itself."""
        y = self.leave(functional.gelu(self.enter(x), approximate="tanh"))
        return cast(Tensor, self.norm(x + y))


def product(
    module: nn.Module, parameters: Sequence[Tensor], inputs: Tensor, gradient: Tensor
) -> tuple[Tensor, list[Tensor]]:
    """The vector-Jacobian product of a module, recomputed (gradient checkpointing).

    Args:
        module: any that takes one tensor.
        parameters: its parameters, in their order.
        inputs: [n, ...].
        gradient: by the module's outputs, of their shape.

    Returns:
        The gradients by the inputs (zeros if those are whole numbers, such as classes) and by each parameter.
    """
    with torch.enable_grad():
        inputs = inputs.detach().requires_grad_(inputs.is_floating_point())
        # A scalar, as autograd imports the compiler's symbolic shapes (1 s, 60 MB) to check other gradients' shapes.
        scalar = torch.dot(module(inputs).flatten(), gradient.flatten())
    if not inputs.requires_grad:
        return torch.zeros_like(inputs), list(torch.autograd.grad(scalar, parameters))
    by_inputs, *by_parameters = torch.autograd.grad(scalar, [inputs, *parameters])
    return by_inputs, by_parameters


class Kind(NamedTuple):
    """What a host must know of a kind before it accepts a request."""

    build: Callable[[int, int], nn.Module]
    """(width, hidden) -> module."""
    input_shape: Callable[[int], tuple[int, ...]]
    """width -> shape of one sample; outputs have the same."""


KINDS = {
    "ffn": Kind(FeedForward, lambda width: (width,)),
    "transformer_ffn": Kind(TransformerBlock, lambda width: (width,)),
}


def kind_of(name: str) -> Kind:
    """The registered kind.

    Raises:
        ManifestError: there is none of that name.
    """
    if name not in KINDS:
        raise ManifestError(f"There is no kind of expert named {name!r}. Known kinds: {', '.join(sorted(KINDS))}.")
    return KINDS[name]


def build(name: str, width: int, hidden: int, seed: int, uid: Uid) -> nn.Module:
    """A new expert; the same arguments give the same weights on every machine.

    Raises:
        ManifestError: unknown kind.
    """
    digest = hashlib.sha256(f"{seed}:{uid}".encode()).digest()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int.from_bytes(digest[:4], "big"))
        return kind_of(name).build(width, hidden)

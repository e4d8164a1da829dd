"""Kinds of experts. A manifest names one; every host builds the same module from (kind, sizes, seed, uid)."""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.contracts.errors import ManifestError
from core.experts.grid import Uid

_by_relu = torch.ops.aten.threshold_backward
_by_norm = torch.ops.aten.native_layer_norm_backward

FACTORED = 100_000
"""Numbers in a weight from which its gradient stays two factors: to write it out, and to add that, takes longer than
the call of Python that this saves."""


class Factors(NamedTuple):
    """The gradient of a linear map's weight, left.T @ right."""

    left: Tensor
    """[n, outputs]: the gradients by its outputs."""
    right: Tensor
    """[n, inputs]: its inputs."""

    def add_to(self, total: Tensor, outputs: slice) -> None:
        """Args: total [outputs, inputs], which of its rows are to be added to in place."""
        total[outputs].addmm_(self.left[:, outputs].T, self.right)

    def bound(self) -> float:
        """No number of the product is larger (Cauchy-Schwarz)."""
        return float(self.left.norm() * self.right.norm())


_factors: ContextVar[list[tuple[Tensor, Factors]] | None] = ContextVar("factors", default=None)
"""Where the maps of the product that is being computed leave theirs."""


class Linear(nn.Linear):
    """A linear map whose weight's gradient `factored_product` leaves as factors, if it is large."""

    def forward(self, x: Tensor) -> Tensor:
        found = _factors.get()
        if found is None or self.weight.numel() < FACTORED:
            return functional.linear(x, self.weight, self.bias)
        return cast(Tensor, _Factored.apply(x, self.weight, self.bias, found))  # type: ignore[no-untyped-call]


class _Factored(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, found: list[tuple[Tensor, Factors]]) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.found = found
        return functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        left = gradients[0].flatten(0, -2)
        ctx.found.append((weight, Factors(left, x.detach().flatten(0, -2))))
        return gradients[0] @ weight, None, left.sum(0), None


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

    @torch.no_grad()
    def product(
        self, parameters: Sequence[Tensor], inputs: Tensor, gradient: Tensor
    ) -> tuple[Tensor, list[Tensor | Factors]]:
        """As the function `product`, step by step, without a graph: half the time, if the expert is small.

        Args: its parameters, in their order; inputs and gradient by its outputs, [n, width].
        """
        w1, b1, scale1, shift1, w2, b2, scale2, shift2, w3, _ = parameters
        a1 = functional.linear(inputs, w1, b1)
        n1, *moments1 = torch.native_layer_norm(a1, scale1.shape, scale1, shift1, self.enter_norm.eps)
        y1 = torch.relu(n1)
        a2 = functional.linear(y1, w2, b2)
        n2, *moments2 = torch.native_layer_norm(a2, scale2.shape, scale2, shift2, self.middle_norm.eps)
        y2 = torch.relu(n2)
        by_n2 = _by_relu(gradient @ w3, y2, 0)
        by_a2, *by_norm2 = _by_norm(by_n2, a2, scale2.shape, *moments2, scale2, shift2, (True, True, True))
        by_n1 = _by_relu(by_a2 @ w2, y1, 0)
        by_a1, *by_norm1 = _by_norm(by_n1, a1, scale1.shape, *moments1, scale1, shift1, (True, True, True))
        first = [Factors(by_a1, inputs), by_a1.sum(0), *by_norm1]
        middle = [Factors(by_a2, y1), by_a2.sum(0), *by_norm2]
        last = [Factors(gradient, y2), gradient.sum(0)]
        return torch.addmm(gradient, by_a1, w1), [*first, *middle, *last]


class TransformerBlock(nn.Module):
    """The feed-forward block of a Transformer (Vaswani et al., 2017, section 3.3, with GELU): width -> hidden -> width.

    The normalisation comes last, after the residual.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.enter = Linear(width, hidden)
        self.leave = Linear(hidden, width)
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
    if isinstance(module, FeedForward):
        by_inputs, found = module.product(parameters, inputs, gradient)
        return by_inputs, [by.left.T @ by.right if isinstance(by, Factors) else by for by in found]
    with torch.enable_grad():
        inputs = inputs.detach().requires_grad_(inputs.is_floating_point())
        # A scalar, as autograd imports the compiler's symbolic shapes (1 s, 60 MB) to check other gradients' shapes.
        scalar = torch.dot(module(inputs).flatten(), gradient.flatten())
    if not inputs.requires_grad:
        return torch.zeros_like(inputs), list(torch.autograd.grad(scalar, parameters))
    by_inputs, *by_parameters = torch.autograd.grad(scalar, [inputs, *parameters])
    return by_inputs, by_parameters


def factored_product(
    module: nn.Module, parameters: Sequence[Tensor], inputs: Tensor, gradient: Tensor
) -> tuple[Tensor, list[tuple[int, Tensor]], list[tuple[int, Factors]]]:
    """As `product`, for inputs that are no whole numbers, with the gradients of large weights as factors.

    Returns:
        The gradients by the inputs; and those by the parameters, each with its parameter's number: tensors, and
        factors. Where a number is there more than once, the sum counts.
    """
    if isinstance(module, FeedForward):
        return _sorted_by_size(*module.product(parameters, inputs, gradient))
    found: list[tuple[Tensor, Factors]] = []
    token = _factors.set(found)
    try:
        with torch.enable_grad():
            inputs = inputs.detach().requires_grad_()
            scalar = torch.dot(module(inputs).flatten(), gradient.flatten())
        by_inputs, *others = torch.autograd.grad(scalar, [inputs, *parameters], allow_unused=True)
    finally:
        _factors.reset(token)
    numbers = {id(parameter): number for number, parameter in enumerate(parameters)} if found else {}
    factors = [(numbers[id(weight)], factors) for weight, factors in found]
    return by_inputs, [(number, g) for number, g in enumerate(others) if g is not None], factors


def _sorted_by_size(
    by_inputs: Tensor, found: Sequence[Tensor | Factors]
) -> tuple[Tensor, list[tuple[int, Tensor]], list[tuple[int, Factors]]]:
    """The products of small factors are written out."""
    small: list[tuple[int, Tensor]] = []
    large: list[tuple[int, Factors]] = []
    for number, by in enumerate(found):
        if not isinstance(by, Factors):
            small.append((number, by))
        elif by.left.shape[1] * by.right.shape[1] < FACTORED:
            small.append((number, by.left.T @ by.right))
        else:
            large.append((number, by))
    return by_inputs, small, large


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


class Blank(NamedTuple):
    """An expert that has no values yet."""

    module: nn.Module
    vector: Tensor
    """[all parameters], flat: they are views of it, in their order. No page of it has been touched."""


def blank(name: str, width: int, hidden: int) -> Blank:
    """An expert to be filled, by `fill` or from a checkpoint.

    Raises:
        ManifestError: unknown kind.
    """
    with torch.device("meta"):
        module = kind_of(name).build(width, hidden)
    shapes = {key: parameter.shape for key, parameter in module.named_parameters()}
    vector = torch.empty(sum(map(math.prod, shapes.values())), dtype=next(module.parameters()).dtype)
    parts = vector.split_with_sizes(list(map(math.prod, shapes.values())))
    views = {key: part.view(shape) for (key, shape), part in zip(shapes.items(), parts, strict=True)}
    module.load_state_dict(views, assign=True)
    return Blank(module, vector)


@torch.no_grad()
def fill(module: nn.Module, seed: int, uid: Uid, each: int) -> Iterator[None]:
    """Give a module the values of a new expert, `each` numbers at a time: those that PyTorch's layers begin with. The
    same arguments give the same weights on every machine."""
    digest = hashlib.sha256(f"{seed}:{uid}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:4], "big"))
    for part in module.modules():
        if isinstance(part, nn.Linear):
            fan = math.sqrt(part.in_features)
            bounds = {part.weight: math.sqrt(3.0) * (nn.init.calculate_gain("leaky_relu", math.sqrt(5)) / fan)}
            bounds |= {part.bias: 1 / fan} if part.bias is not None else {}
            for parameter, bound in bounds.items():
                for piece in torch.split(parameter.view(-1), each):
                    piece.uniform_(-bound, bound, generator=generator)
                    yield
        elif isinstance(part, nn.LayerNorm):
            part.reset_parameters()
        elif next(part.parameters(recurse=False), None) is not None:
            raise TypeError(f"It is not known how a {type(part).__name__} begins.")


def build(name: str, width: int, hidden: int, seed: int, uid: Uid) -> nn.Module:
    """A new expert, with its values.

    Raises:
        ManifestError: unknown kind.
    """
    module, vector = blank(name, width, hidden)
    for _ in fill(module, seed, uid, len(vector)):
        pass
    return module

"""Explicit vector-Jacobian products of a module that is run again, with the gradients of large weights as factors."""

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

T = TypeVar("T")
Numbered = list[tuple[int, T]]
"""Gradients with their parameters' numbers."""
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
        """Add the gradient, or a part of it, in place.

        Args:
            total: [outputs, inputs], to which it is added.
            outputs: which of the rows.
        """
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
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, found: list[tuple[Tensor, Factors]]
    ) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.found, ctx.has_bias = found, bias is not None
        return functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        left = gradients[0].flatten(0, -2)
        ctx.found.append((weight, Factors(left, x.detach().flatten(0, -2))))
        return gradients[0] @ weight, None, left.sum(0) if ctx.has_bias else None, None


class Gradients(NamedTuple):
    """What an expert's backward pass gives. Where a parameter is there more than once, the sum counts."""

    by_inputs: Tensor
    """[n, ...]."""
    small: Numbered[Tensor]
    """By parameters, of their shapes."""
    large: Numbered[Factors]
    """By large weights."""


def product(
    module: nn.Module, parameters: Sequence[Tensor], inputs: Tensor, gradient: Tensor, *beside: Tensor
) -> tuple[Tensor, list[Tensor]]:
    """The vector-Jacobian product of a module, recomputed (gradient checkpointing).

    Args:
        module: any that takes one tensor, and `beside`.
        parameters: its parameters, in their order.
        inputs: [n, ...].
        gradient: by the module's outputs, of their shape.
        beside: what it takes besides, without a gradient.

    Returns:
        The gradients by the inputs (zeros if those are whole numbers, such as classes) and by each parameter.
    """
    with torch.enable_grad():
        inputs = inputs.detach().requires_grad_(inputs.is_floating_point())
        # A scalar, as autograd imports the compiler's symbolic shapes (1 s, 60 MB) to check other gradients' shapes.
        scalar = torch.dot(module(inputs, *beside).flatten(), gradient.flatten())
    if not inputs.requires_grad:
        return torch.zeros_like(inputs), list(torch.autograd.grad(scalar, parameters))
    by_inputs, *by_parameters = torch.autograd.grad(scalar, [inputs, *parameters])
    return by_inputs, by_parameters


def factored_product(module: nn.Module, parameters: Sequence[Tensor], inputs: Tensor, gradient: Tensor) -> Gradients:
    """As `product`, for inputs that are no whole numbers, with the gradients of large weights as factors.

    Args:
        module: any that takes one tensor; those of its linear maps that are a `Linear` leave factors.
        parameters: its parameters, in their order.
        inputs: [n, ...].
        gradient: by the module's outputs, of their shape.
    """
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
    return Gradients(by_inputs, [(number, g) for number, g in enumerate(others) if g is not None], factors)


def by_size(by_inputs: Tensor, found: Sequence[Tensor | Factors]) -> Gradients:
    """Gradients whose small factors are written out.

    Args:
        by_inputs: [n, ...].
        found: by each parameter, in their order.
    """
    small: Numbered[Tensor] = []
    large: Numbered[Factors] = []
    for number, by in enumerate(found):
        if not isinstance(by, Factors):
            small.append((number, by))
        elif by.left.shape[1] * by.right.shape[1] < FACTORED:
            small.append((number, by.left.T @ by.right))
        else:
            large.append((number, by))
    return Gradients(by_inputs, small, large)

"""What a kind of expert is: one file of this package whose `KIND` is an `Expert`, found by the file's name.

Every host builds the same expert from (model, seed, uid). What a kind costs is declared without torch, by the same name
in `core.contracts.kinds`.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from core.contracts.kinds import EXPERTS
from core.contracts.model import Model
from core.experts.grid import Uid
from core.experts.products import Gradients, factored_product

ADDED: dict[str, type["Expert"]] = {}
"""Kinds that only a benchmark declares."""


class Expert(nn.Module):
    """An expert's network. What it gives has the shape of what it takes, and each sample goes through it by itself, so
    that samples of several requests can share a pass and threads can share one's samples."""

    def __init__(self, model: Model) -> None:
        """A new expert; what it is made of, of which sizes, is its kind's.

        Args:
            model: its sizes.
        """
        super().__init__()

    @torch.no_grad()
    def fill(self, generator: torch.Generator, each: int) -> Iterator[None]:
        """Give it the values of a new expert, those that PyTorch's layers begin with.

        A kind made of other parts than linear maps and layer norms has its own way.

        Args:
            generator: where all that is random comes from.
            each: numbers to fill at a time; between two such pieces the user may come back.
        """
        for part in self.modules():
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

    def gradients(self, parameters: Sequence[Tensor], inputs: Tensor, gradient: Tensor) -> Gradients:
        """The vector-Jacobian product, recomputed (gradient checkpointing).

        Args:
            parameters: its own, in their order; asking for them anew takes as long as a small pass.
            inputs: [n, ...], those of the forward pass.
            gradient: [n, ...], by its outputs.
        """
        return factored_product(self, parameters, inputs, gradient)


def kind_of(model: Model) -> type[Expert]:
    """The class of a model's experts.

    Raises:
        ManifestError: there is none of that name.
    """
    assert model.expert  # a manifest whose model has layers without one is refused
    if model.expert in ADDED:
        return ADDED[model.expert]
    kind: type[Expert] = EXPERTS.module(__package__, model.expert).KIND
    return kind


class Blank(NamedTuple):
    """An expert that has no values yet."""

    module: Expert
    vector: Tensor
    """[all parameters], flat: they are views of it, in their order. No page of it has been touched."""


def outline(model: Model) -> Expert:
    """An expert without memory, for the names and shapes of its parameters.

    Raises:
        ManifestError: unknown kind.
    """
    with torch.device("meta"):
        return kind_of(model)(model)


def blank(model: Model) -> Blank:
    """An expert to be filled, by `filling` or from a checkpoint.

    Raises:
        ManifestError: unknown kind.
    """
    module = outline(model)
    shapes = {key: parameter.shape for key, parameter in module.named_parameters()}
    vector = torch.empty(sum(map(math.prod, shapes.values())), dtype=next(module.parameters()).dtype)
    parts = vector.split_with_sizes(list(map(math.prod, shapes.values())))
    views = {key: part.view(shape) for (key, shape), part in zip(shapes.items(), parts, strict=True)}
    module.load_state_dict(views, assign=True)
    return Blank(module, vector)


def filling(module: Expert, seed: int, uid: Uid, each: int) -> Iterator[None]:
    """Give a new expert its values; the same arguments give the same ones on every machine.

    Args:
        module: the expert, blank.
        seed: the run's.
        uid: the expert's name.
        each: numbers to fill at a time.
    """
    digest = hashlib.sha256(f"{seed}:{uid}".encode()).digest()
    yield from module.fill(torch.Generator().manual_seed(int.from_bytes(digest[:4], "big")), each)

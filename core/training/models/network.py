"""What a kind of model is: a trunk that is cut into segments at its DMoE layers.

A kind is one file of this package whose `KIND` builds a `Network`; the file's name is what manifests call it. What a
kind costs, and which sizes fit it, is declared without torch, by the same name in `core.contracts.kinds`.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from core.contracts.kinds import MODELS, Ends
from core.contracts.manifest import Manifest
from core.experts.gating import Gate


class Network(nn.Module):
    """The dense part of a model: segment 0, DMoE layer 0, segment 1, .. DMoE layer n-1, segment n; and the gates.

    A segment between two layers takes and gives [batch, ..., width]. The layer sees [rows, width]: each row is a sample
    of its own to the gate and the experts, such as one token of a sequence.
    """

    def __init__(
        self,
        segments: list[nn.Module],
        gates: list[Gate],
        *,
        residual: bool = False,
        remembers: bool = False,
        beside: Callable[[Tensor], tuple[Tensor, ...]] = lambda inputs: (),
    ) -> None:
        """Put a network together.

        Args:
            segments: one more than there are gates.
            gates: of the DMoE layers, in their order.
            residual: whether a segment before a layer gives two tensors, stacked: what is added to what the layer
                gives, and what goes into it.
            remembers: whether it uses a pass's memory (`core.training.models.memory`).
            beside: what each segment gets besides what comes from the layer before it, from the inputs of a batch.
        """
        super().__init__()
        self.segments = nn.ModuleList(segments)
        self.gates = nn.ModuleList(gates)
        self.residual, self.remembers, self.beside = residual, remembers, beside

    def into_layer(self, given: Tensor) -> Tensor:
        """What goes into a DMoE layer, of what the segment before it gave."""
        return given[1] if self.residual else given

    def after_layer(self, given: Tensor, y: Tensor) -> Tensor:
        """What the next segment gets.

        Args:
            given: by the segment before the layer.
            y: [rows, width], by the layer.
        """
        return given[0] + y.view_as(given[0]) if self.residual else y.view_as(given)

    def by_given(self, by_after: Tensor, by_into: Tensor) -> Tensor:
        """The gradient by what a segment gave.

        Args:
            by_after: the gradient by `after_layer`.
            by_into: [rows, width], that by `into_layer` through the layer alone.
        """
        return torch.stack((by_after, by_into.view_as(by_after))) if self.residual else by_into


def build(manifest: Manifest, ends: Ends) -> Network:
    """A new trunk, the same on every machine.

    Args:
        manifest: the run's.
        ends: what the data put in and want out.

    Raises:
        ManifestError: unknown kind of model.
    """
    kind = MODELS.module(__package__, manifest.model.kind).KIND
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(manifest.training.seed)
        network: Network = kind(manifest, ends)
        return network

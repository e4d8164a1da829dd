"""What a kind of model is: a trunk that is cut into segments at its DMoE layers.

A kind is one file of this package whose `KIND` builds a `Network`; the file's name is what manifests call it. What a
kind costs, and which sizes fit it, is declared without torch, by the same name in `core.contracts.kinds`.
"""

import torch
from torch import nn

from core.contracts.kinds import MODELS, Ends
from core.contracts.manifest import Manifest
from core.experts.gating import Gate


class Network(nn.Module):
    """The dense part of a model: segment 0, DMoE layer 0, segment 1, .. DMoE layer n-1, segment n; and the gates.

    A segment between two layers takes and gives [batch, ..., width]. The layer sees [rows, width]: each row is a sample
    of its own to the gate and the experts, such as one token of a sequence.
    """

    def __init__(self, segments: list[nn.Module], gates: list[Gate]) -> None:
        """Put a network together.

        Args:
            segments: one more than there are gates.
            gates: of the DMoE layers, in their order.
        """
        super().__init__()
        self.segments = nn.ModuleList(segments)
        self.gates = nn.ModuleList(gates)


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

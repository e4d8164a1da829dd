"""What a kind of model declares: a trunk that is cut into segments at its DMoE layers, and how its outputs are judged.

A kind is one file of this package; its `KIND` is found under the file's name, which is what manifests call it
and `core.contracts.manifest.MODELS` lists.
"""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional

from core.contracts.manifest import Manifest
from core.experts.gating import Gate


class Network(nn.Module):
    """The dense part of a model: segment 0, DMoE layer 0, segment 1, .. DMoE layer n-1, segment n; and the gates.

    A segment between two layers takes and gives [batch, ..., width]. The layer sees [rows, width]: each row is a sample
    of its own to the gate and the experts, such as one token of a sequence.
    """

    def __init__(self, segments: list[nn.Module], gates: list[Gate]) -> None:
        super().__init__()
        self.segments = nn.ModuleList(segments)
        self.gates = nn.ModuleList(gates)


def cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """Loss of each row, nats: outputs [batch, ..., classes], labels [batch, ...] -> [rows]."""
    return functional.cross_entropy(outputs.flatten(0, -2), labels.flatten(), reduction="none")


def best_is_right(outputs: Tensor, labels: Tensor) -> Tensor:
    """Whether the class with the greatest output is that of the row: [batch, ..., classes], [batch, ...] -> [rows]."""
    return outputs.argmax(-1).flatten() == labels.flatten()


class Kind(NamedTuple):
    """What the Trainer must know of a kind of model."""

    build: Callable[[Manifest, int, int], Network]
    """Manifest, numbers of a sample, classes of the data -> a new trunk. Raises ManifestError if they do not fit."""
    losses: Callable[[Tensor, Tensor], Tensor] = cross_entropy
    """The head's outputs, labels -> loss of each row; training sums those of the rows that an expert answered."""
    right: Callable[[Tensor, Tensor], Tensor] = best_is_right
    """The head's outputs, labels -> bool of each row; their share is the accuracy."""

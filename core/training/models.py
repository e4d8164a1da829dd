"""Kinds of models: the trunk of a network that is cut into segments at its DMoE layers."""

from collections.abc import Callable

import torch
from torch import nn

from core.errors import ManifestError
from core.experts.gating import Gate
from core.manifest import Manifest


class Network(nn.Module):
    """The dense part of a model: segment 0, DMoE layer 0, segment 1, .. DMoE layer n-1, segment n; and the gates."""

    def __init__(self, segments: list[nn.Module], gates: list[Gate]) -> None:
        super().__init__()
        self.segments = nn.ModuleList(segments)
        self.gates = nn.ModuleList(gates)


def _ffn_dmoe(manifest: Manifest, inputs: int, classes: int) -> Network:
    """The paper's classifier (section 4.2): DMoE layers of feed-forward experts, each with its own residual."""
    model = manifest.model
    first = nn.Linear(inputs, model.width)
    between = [nn.LayerNorm(model.width) for _ in range(model.layers - 1)]
    last = nn.Sequential(nn.LayerNorm(model.width), nn.Linear(model.width, classes))
    return Network([first, *between, last], [Gate(model.width, model.grid) for _ in range(model.layers)])


MODELS: dict[str, Callable[[Manifest, int, int], Network]] = {"ffn_dmoe": _ffn_dmoe}


def build(manifest: Manifest, inputs: int, classes: int) -> Network:
    """A new trunk, the same on every machine.

    Args: the manifest, numbers of a sample, classes of the data.

    Raises:
        ManifestError: unknown kind of model.
    """
    kind = manifest.model.kind
    if kind not in MODELS:
        raise ManifestError(f"There is no kind of model named {kind!r}. Known kinds: {', '.join(sorted(MODELS))}.")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(manifest.training.seed)
        return MODELS[kind](manifest, inputs, classes)

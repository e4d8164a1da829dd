"""A small classifier without experts, whole on every PC that trains it."""

from itertools import pairwise

from torch import nn

from core.contracts.kinds import Ends
from core.contracts.manifest import Manifest
from core.training.models.network import Network


def _build(manifest: Manifest, ends: Ends) -> Network:
    model = manifest.model
    sizes = (ends.inputs, model.width, model.hidden, ends.classes)
    enter, middle, leave = (nn.Linear(inputs, outputs) for inputs, outputs in pairwise(sizes))
    return Network([nn.Sequential(enter, nn.ReLU(), middle, nn.ReLU(), leave)], [])


KIND = _build

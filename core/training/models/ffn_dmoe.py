"""The paper's classifier (section 4.2): DMoE layers of feed-forward experts, each with its own residual."""

from torch import nn

from core.contracts.kinds import Ends
from core.contracts.manifest import Manifest
from core.experts.gating import Gate
from core.training.models.network import Network


def _build(manifest: Manifest, ends: Ends) -> Network:
    model = manifest.model
    first = nn.Linear(ends.inputs, model.width)
    between = [nn.LayerNorm(model.width) for _ in range(model.layers - 1)]
    last = nn.Sequential(nn.LayerNorm(model.width), nn.Linear(model.width, ends.classes))
    return Network([first, *between, last], [Gate(model.width, model.grid) for _ in range(model.layers)])


KIND = _build

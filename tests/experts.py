"""All experts of a run at once, as tests and benchmarks that need no worker have them."""

from collections.abc import Iterator

from core.contracts.manifest import Manifest
from core.experts.grid import Grid
from core.runtime.backend import ExpertBackend


def all_experts(manifest: Manifest) -> Iterator[ExpertBackend]:
    """A new expert for every cell of a run's grid."""
    grid = Grid(manifest.run, manifest.model.layers, manifest.model.grid)
    return (ExpertBackend(uid, manifest.model, manifest.training) for uid in grid.uids())

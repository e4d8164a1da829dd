"""All experts of a run at once, or one of them, as tests and benchmarks that need no worker have them; and a part's
file in one piece."""

from collections.abc import Iterator

from core.contracts.manifest import Manifest
from core.contracts.model import Model
from core.experts.grid import Grid, Uid
from core.experts.kinds.expert import Expert, blank, filling
from core.runtime.backend import ExpertBackend
from core.runtime.part_files import Part


def all_experts(manifest: Manifest) -> Iterator[ExpertBackend]:
    """A new expert for every cell of a run's grid."""
    grid = Grid(manifest.run, manifest.model.layers, manifest.model.grid)
    return (ExpertBackend(uid, manifest.model, manifest.training) for uid in grid.uids())


def build(model: Model, seed: int, uid: Uid) -> Expert:
    """A new expert, with its values."""
    module, vector = blank(model)
    for _ in filling(module, seed, uid, len(vector)):
        pass
    return module


def pack(run: str, name: str, part: Part) -> bytes:
    """The file of a part in one piece."""
    return b"".join(part.pieces(run, name))

"""All experts of a run at once, or one of them, as tests and benchmarks that need no worker have them; and a part's
file in one piece."""

from collections.abc import Callable, Iterator

import msgspec
import safetensors.torch
import torch
from torch import Tensor

from core.contracts.manifest import Manifest
from core.contracts.model import Model
from core.experts.grid import Grid, Uid
from core.experts.kinds.expert import Expert, blank, filling
from core.runtime.backend import ExpertBackend
from core.runtime.part_files import Part
from core.store.part_header import Metadata


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


MALFORMED: dict[str, Callable[[dict[str, Tensor]], dict[str, Tensor]]] = {
    "whole numbers for weights": lambda state: _changed(state, "weights.", lambda x: x.long()),
    "squares of another shape": lambda state: _changed(state, "square.", lambda x: x[..., :1]),
    "a version of another type": lambda state: _changed(state, "version", lambda x: x.to(torch.uint8)),
    "two versions": lambda state: _changed(state, "version", lambda x: x.repeat(2)),
    "no version": lambda state: {name: tensor for name, tensor in state.items() if name != "version"},
}
"""What a peer may make of a state: each file is whole, and is what its header says."""


def pack_malformed(run: str, name: str, tensors: dict[str, Tensor], version: int) -> bytes:
    """The file of a state that Hearth itself would not write.

    Args:
        run, name, version: of the part, as its header says.
        tensors: of the state, as `MALFORMED` makes them.
    """
    metadata = msgspec.json.encode(Metadata(run, name, version, 8 * version)).decode()
    whole = {key: tensor.contiguous() for key, tensor in tensors.items()}
    return safetensors.torch.save(whole, {"hearth": metadata})


def _changed(state: dict[str, Tensor], start: str, change: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    return {name: change(tensor) if name.startswith(start) else tensor for name, tensor in state.items()}

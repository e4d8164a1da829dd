"""A part of a checkpoint as one safetensors file: an expert or the trunk, with its optimizer's state."""

from pathlib import Path
from typing import NamedTuple

import msgspec
import safetensors
import safetensors.torch
import torch

from core.errors import CheckpointError
from core.runtime.part_header import MAX_PART, Metadata, read_metadata


class Part(NamedTuple):
    """An expert or the trunk: its weights, its optimizer's state, and what it counted."""

    tensors: dict[str, torch.Tensor]
    version: int = 0
    samples: int = 0


def pack(run: str, name: str, part: Part) -> bytes:
    """The file of a part; the same part always gives the same bytes."""
    # One metadata key only: safetensors writes several in random order, which would change the hash.
    metadata = msgspec.json.encode(Metadata(run, name, part.version, part.samples)).decode()
    tensors = {key: tensor.detach().contiguous() for key, tensor in part.tensors.items()}
    return safetensors.torch.save(tensors, {"hearth": metadata})


def unpack(run: str, name: str, data: bytes) -> Part:
    """Read a part's file; its limits are checked before anything is allocated.

    Raises:
        CheckpointError: it is damaged, or of another part.
    """
    metadata = read_metadata(data, len(data))
    try:
        tensors = safetensors.torch.load(data)
    except safetensors.SafetensorError as error:
        raise CheckpointError(f"it is no checkpoint of Hearth ({error})") from error
    if (metadata.run, metadata.part) != (run, name):
        raise CheckpointError(f"it belongs to {metadata.part} of the run {metadata.run}")
    return Part(tensors, metadata.version, metadata.samples)


def read(run: str, name: str, path: Path) -> Part:
    """A part's file, whose content has been checked against its name.

    Raises:
        CheckpointError: it cannot be read, is damaged, or of another part.
    """
    try:
        if path.stat().st_size > MAX_PART:
            raise CheckpointError("it is too large")
        data = path.read_bytes()
    except OSError as error:
        raise CheckpointError(error.strerror or str(error)) from error
    return unpack(run, name, data)

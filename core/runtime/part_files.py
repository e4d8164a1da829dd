"""A part of a checkpoint as one safetensors file: an expert or the trunk, with its optimizer's state."""

from pathlib import Path
from typing import NamedTuple

import msgspec
import safetensors
import safetensors.torch
import torch

from core.contracts.errors import CheckpointError
from core.store.part_header import MAX_PART, Metadata, read_metadata

DTYPES = {torch.float32: "F32", torch.float64: "F64", torch.float16: "F16", torch.int64: "I64"}
"""As safetensors names them."""


class Part(NamedTuple):
    """An expert or the trunk: its weights, its optimizer's state, and what it counted."""

    tensors: dict[str, torch.Tensor]
    version: int = 0
    samples: int = 0


def pieces(run: str, name: str, part: Part) -> list[bytes | memoryview]:
    """The file of a part, piece by piece: a header, and the tensors' own memory. The same part always gives the same
    bytes, and nothing of its size is copied."""
    metadata = msgspec.json.encode(Metadata(run, name, part.version, part.samples)).decode()
    tensors = sorted(part.tensors.items(), key=lambda item: (-item[1].element_size(), item[0]))  # so all are aligned
    header: dict[str, object] = {"__metadata__": {"hearth": metadata}}
    data, end = [], 0
    for key, tensor in tensors:
        start, end = end, end + tensor.nbytes
        header[key] = {"dtype": DTYPES[tensor.dtype], "shape": tensor.shape, "data_offsets": (start, end)}
        data.append(tensor.detach().reshape(-1).numpy().data.cast("B") if tensor.nbytes else b"")
    text = msgspec.json.encode(header)
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little"), text, *data]


def pack(run: str, name: str, part: Part) -> bytes:
    """The file of a part in one piece."""
    return b"".join(pieces(run, name, part))


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

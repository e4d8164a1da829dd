"""A part of a checkpoint as one safetensors file: an expert or the trunk, with its optimizer's state."""

import struct
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import safetensors
import safetensors.torch
import torch

from core.errors import CheckpointError

MAX_PART = 4 << 30
"""Bytes of one expert or trunk with its optimizer state."""
MAX_HEADER = 1 << 20
"""Bytes of a safetensors header; 1,000 tensors take 100 KB."""
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are not what they should be."""

Natural = Annotated[int, msgspec.Meta(ge=0)]


class Part(NamedTuple):
    """An expert or the trunk: its weights, its optimizer's state, and what it counted."""

    tensors: dict[str, torch.Tensor]
    version: int = 0
    samples: int = 0


class _Metadata(msgspec.Struct, frozen=True):
    run: str
    part: str
    version: Natural
    samples: Natural


class _Wrapped(msgspec.Struct, frozen=True):
    hearth: str


class _Header(msgspec.Struct, frozen=True):
    metadata: _Wrapped = msgspec.field(name="__metadata__")


def pack(run: str, name: str, part: Part) -> bytes:
    """The file of a part; the same part always gives the same bytes."""
    # One metadata key only: safetensors writes several in random order, which would change the hash.
    metadata = msgspec.json.encode(_Metadata(run, name, part.version, part.samples)).decode()
    tensors = {key: tensor.detach().contiguous() for key, tensor in part.tensors.items()}
    return safetensors.torch.save(tensors, {"hearth": metadata})


def unpack(run: str, name: str, data: bytes) -> Part:
    """Read a part's file; its limits are checked before anything is allocated.

    Raises:
        CheckpointError: it is damaged, or of another part.
    """
    (length,) = struct.unpack_from("<Q", data)
    if length > min(MAX_HEADER, len(data) - 8):
        raise CheckpointError("its header is too large")
    try:
        header = msgspec.json.decode(memoryview(data)[8 : 8 + length], type=_Header)
        metadata = msgspec.json.decode(header.metadata.hearth, type=_Metadata)
        tensors = safetensors.torch.load(data)
    except (*UNREADABLE, safetensors.SafetensorError) as error:
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
    if len(data) < 8:
        raise CheckpointError("it is too short")
    return unpack(run, name, data)

"""What a part's file says of itself: read without torch, so that the worker can tell one file from another."""

import struct
from typing import Annotated

import msgspec

from core.contracts.errors import CheckpointError

MAX_PART = 4 << 30
"""Bytes of one expert or trunk with its optimizer state."""
MAX_HEADER = 1 << 20
"""Bytes of a safetensors header; 1,000 tensors take 100 KB."""
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are not what they should be."""

Natural = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]


class Metadata(msgspec.Struct, frozen=True):
    """Whose state it is, and how far that is trained."""

    run: str
    part: str
    """A uid, or "trunk"."""
    version: Natural
    samples: Natural


class _Wrapped(msgspec.Struct, frozen=True):
    hearth: str


class _Header(msgspec.Struct, frozen=True):
    metadata: _Wrapped = msgspec.field(name="__metadata__")


def read_metadata(start: bytes | memoryview, size: int) -> Metadata:
    """The metadata of a safetensors file of `size` bytes, from its first bytes (8 + `MAX_HEADER` are always enough).

    Raises:
        CheckpointError: it is no file of Hearth.
    """
    if len(start) < 8:
        raise CheckpointError("it is too short")
    (length,) = struct.unpack_from("<Q", start)
    if length > min(MAX_HEADER, size - 8):
        raise CheckpointError("its header is too large")
    try:
        header = msgspec.json.decode(memoryview(start)[8 : 8 + length], type=_Header)
        return msgspec.json.decode(header.metadata.hearth, type=Metadata)
    except UNREADABLE as error:
        raise CheckpointError(f"it is no checkpoint of Hearth ({error})") from error

"""What a part's file says of itself: read without torch, so that the worker can tell one file from another."""

import os
import struct
from pathlib import Path

import msgspec

from core.contracts.errors import UNREADABLE, CheckpointError
from core.contracts.files import Natural, PartFile
from core.contracts.notices import notice
from core.regular_files import open_regular

MAX_HEADER = 1 << 20
"""Bytes of a safetensors header; 1,000 tensors take 100 KB."""


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
    """The metadata of a safetensors file.

    Args:
        start: The file's first bytes; 8 + `MAX_HEADER` are always enough.
        size: Bytes of the whole file.

    Raises:
        CheckpointError: It is no file of Hearth.
    """
    if len(start) < 8:
        raise CheckpointError(notice("checkpoint.too_short"))
    (length,) = struct.unpack_from("<Q", start)
    if length > min(MAX_HEADER, size - 8):
        raise CheckpointError(notice("checkpoint.large_header"))
    try:
        header = msgspec.json.decode(memoryview(start)[8 : 8 + length], type=_Header)
        return msgspec.json.decode(header.metadata.hearth, type=Metadata)
    except UNREADABLE as error:
        raise CheckpointError(notice("checkpoint.not_ours", why=str(error))) from error


def check_owner(run: str, part: str, data: bytes | memoryview) -> None:
    """See to it that a part's file is what it is taken for.

    Args:
        run: The run that it shall belong to.
        part: The part whose state it shall be.
        data: The whole file.

    Raises:
        CheckpointError: It is another part's, or no file of Hearth.
    """
    found = read_metadata(data, len(data))
    if (found.run, found.part) != (run, part):
        raise CheckpointError(notice("checkpoint.of_another_part", part=found.part, run=found.run))


def describe(run: str | None, path: Path, sha256: str) -> PartFile:
    """What a part's file holds, by its own word.

    Args:
        run: The run that it shall belong to; None: any.
        path: Where it is.
        sha256: Its hash, which is not checked here.

    Raises:
        CheckpointError: It is of another run, or no file of Hearth.
        OSError: It cannot be read.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        about = read_metadata(file.read(8 + MAX_HEADER), size)
    if run is not None and about.run != run:
        raise CheckpointError(notice("checkpoint.of_another_part", part=about.part, run=about.run))
    return PartFile(about.part, about.version, about.samples, sha256, size)

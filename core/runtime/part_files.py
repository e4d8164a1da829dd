"""A part of a checkpoint as one safetensors file: an expert or the trunk, with its optimizer's state."""

from pathlib import Path
from typing import NamedTuple

import msgspec
import safetensors
import safetensors.torch
import torch

from core.contracts.errors import CheckpointError
from core.contracts.files import MAX_PART
from core.contracts.notices import notice
from core.regular_files import open_regular
from core.store.part_header import Metadata, check_owner, read_metadata

DTYPES = {torch.float32: "F32", torch.float64: "F64", torch.float16: "F16", torch.int64: "I64"}
"""As safetensors names them."""


class Part(NamedTuple):
    """An expert or the trunk: its weights, its optimizer's state, and what it counted."""

    tensors: dict[str, torch.Tensor]
    version: int = 0
    samples: int = 0

    def pieces(self, run: str, name: str) -> list[bytes | memoryview]:
        """The part's file, piece by piece: a header, and the tensors' own memory. The same part always gives the same
        bytes, and nothing of its size is copied.

        Args:
            run: The run, as the file names it.
            name: A uid, or "trunk".

        Raises:
            CheckpointError: There is a number in it that is not finite.
        """
        if not all(bool(tensor.isfinite().all()) for tensor in self.tensors.values()):
            raise CheckpointError(notice("checkpoint.not_finite", name=name))
        metadata = msgspec.json.encode(Metadata(run, name, self.version, self.samples)).decode()
        tensors = sorted(
            self.tensors.items(), key=lambda item: (-item[1].element_size(), item[0])
        )  # so all are aligned
        header: dict[str, object] = {"__metadata__": {"hearth": metadata}}
        data, end = [], 0
        for key, tensor in tensors:
            start, end = end, end + tensor.nbytes
            header[key] = {"dtype": DTYPES[tensor.dtype], "shape": tensor.shape, "data_offsets": (start, end)}
            data.append(tensor.detach().reshape(-1).numpy().data.cast("B") if tensor.nbytes else b"")
        text = msgspec.json.encode(header)
        text += b" " * (-len(text) % 8)
        return [len(text).to_bytes(8, "little"), text, *data]


def unpack(data: bytes) -> Part:
    """Read a part's file, whose owner was checked (`core.store.part_header`).

    Args:
        data: The whole file.

    Raises:
        CheckpointError: It is damaged.
    """
    metadata = read_metadata(data, len(data))
    try:
        tensors = safetensors.torch.load(data)
    except (safetensors.SafetensorError, KeyError) as error:  # KeyError: of a type that torch does not have
        raise CheckpointError(notice("checkpoint.not_ours", why=str(error))) from error
    return Part(tensors, metadata.version, metadata.samples)


def read(run: str, name: str, path: Path) -> Part:
    """A part from its file, whose content was checked against the hash that is its name.

    Args:
        run: The run that it shall belong to.
        name: The part that it shall be.
        path: The file.

    Raises:
        CheckpointError: It cannot be read, is damaged, or of another part.
    """
    try:
        with open_regular(path) as file:
            if path.stat().st_size > MAX_PART:
                raise CheckpointError(notice("checkpoint.too_large"))
            data = file.read()
    except OSError as error:
        raise CheckpointError(error.strerror or str(error)) from error
    check_owner(run, name, data)
    return unpack(data)

"""Files of a run that are named by their hash, as the processes of a PC and its peers tell each other of them."""

from typing import Annotated

import msgspec

TRUNK = "trunk"
"""The part that is no expert."""
MAX_PART = 4 << 30
"""Bytes of one expert or trunk with its optimizer's state."""

Natural = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Size = Annotated[int, msgspec.Meta(ge=8, le=MAX_PART)]
PartName = Annotated[str, msgspec.Meta(max_length=64)]
"""A uid, or `TRUNK`."""


class PartFile(msgspec.Struct, frozen=True, array_like=True):
    """A file with the state of an expert or of a trunk, `<sha256>.safetensors`."""

    part: PartName
    version: Natural
    """Steps that the part has taken."""
    samples: Natural
    """Samples that it was trained on."""
    sha256: Sha256
    size: Size
    """Bytes."""

"""Files of a run that are named by their hash, as the processes of a PC and its peers tell each other of them."""

from typing import Annotated, Self

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


class SignedFile(PartFile, frozen=True, array_like=True):
    """The same, and who answers for it (`core.swarm.signatures`)."""

    trainer: Annotated[bytes, msgspec.Meta(max_length=32)] = b""
    """Who trained it; empty: who tells of it."""
    signature: Annotated[bytes, msgspec.Meta(max_length=64)] = b""
    """That one's."""

    @classmethod
    def of(cls, file: PartFile, trainer: bytes, signature: bytes) -> Self:
        """With a trainer's signature, or none."""
        return cls(file.part, file.version, file.samples, file.sha256, file.size, trainer, signature)

    @property
    def file(self) -> PartFile:
        """What is signed."""
        return PartFile(self.part, self.version, self.samples, self.sha256, self.size)

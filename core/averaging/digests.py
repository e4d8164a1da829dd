"""By what trainers know that they have the same trunk."""

import hashlib

DIGEST = 16
"""Bytes."""


class TrunkDigest:
    """Over a version, its samples and the bytes of all its vectors, which may come in any pieces."""

    def __init__(self, version: int, samples: int) -> None:
        """
        Args:
            version: of the trunk.
            samples: in it.
        """
        self._hash = hashlib.sha256(f"{version}.{samples}.".encode())

    def add(self, piece: bytes | bytearray | memoryview) -> None:
        """The bytes that follow: float32 of the parameters, then of both moments of the optimizer."""
        self._hash.update(piece)

    @property
    def value(self) -> bytes:
        """Of what has been added."""
        return self._hash.digest()[:DIGEST]

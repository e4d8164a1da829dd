"""Parameters in fewer bytes, and none of them changed: signs and exponents are much alike, the rest is noise."""

import zlib

import numpy as np

from core.averaging.codecs import Numbers
from core.contracts.errors import ProtocolError

LEVEL = 1
"""Of compression; higher ones take longer and gain nothing here."""
NOISE = 3
"""Bytes of a number that do not get smaller."""


def pack(vector: Numbers) -> bytes:
    """A vector's bytes, the like ones together and compressed.

    Args:
        vector: float32.
    """
    columns = vector.astype("<f4", copy=False).view(np.uint8).reshape(-1, 4)
    noise = np.ascontiguousarray(columns[:, :NOISE])
    return noise.tobytes() + zlib.compress(columns[:, NOISE].tobytes(), LEVEL)


def unpack(data: bytes | memoryview, numbers: int) -> Numbers:
    """The vector, in memory of its own.

    Args:
        data: as `pack` gave it.
        numbers: there are.

    Raises:
        ProtocolError: it holds another number of them, or one that is not finite.
    """
    raw = NOISE * numbers
    inflater = zlib.decompressobj()
    try:
        alike = inflater.decompress(data[raw:], numbers + 1)
    except zlib.error as error:
        raise ProtocolError(f"Parameters came that cannot be unpacked: {error}.") from error
    if len(data) < raw or len(alike) != numbers or not inflater.eof or inflater.unused_data:
        raise ProtocolError(f"Other parameters came than the {numbers} that there are.")
    columns = np.empty((numbers, 4), np.uint8)
    columns[:, :NOISE] = np.frombuffer(data, np.uint8, raw).reshape(numbers, NOISE)
    columns[:, NOISE] = np.frombuffer(alike, np.uint8)
    vector = columns.reshape(-1).view("<f4")
    if not np.isfinite(vector).all():
        raise ProtocolError("Parameters came that are not finite.")
    return vector

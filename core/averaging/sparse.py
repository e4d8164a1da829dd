"""Differences in 2 bits for one number of 64, for slow links (SparseLoCo, arXiv 2508.15706).

Of each 4,096 numbers the 64 greatest travel: their places in 12 bits each, and of each value its sign and one of two
magnitudes, which the block names as fp16. That is 116 bytes for 16 KiB. What was not sent is not lost:
`core.averaging.fragment.Encoder` adds it to what is sent next.

A block on the wire: the smaller and the greater magnitude (fp16, little endian), then its entries in the order of their
places, 14 bits each: place, sign, which magnitude. The last block is as long as what is left and has its share of them.
"""

import math

import numpy as np
from numpy.typing import NDArray

from core.averaging.codecs import LARGEST_HALF, Numbers
from core.contracts.errors import ProtocolError

BLOCK = 4096
TOP = 64
"""Entries of a block."""
BITS = 14
"""Of an entry."""
KEPT = 0.95
"""Of what was not sent, at the next time: what is older than some rounds was measured elsewhere."""


def encoded_size(count: int) -> int:
    """Bytes of so many numbers."""
    whole, rest = divmod(count, BLOCK)
    return whole * _row_bytes(TOP) + (_row_bytes(_entries(rest)) if rest else 0)


def encode(numbers: Numbers) -> bytes:
    """What travels of finite numbers [count]."""
    whole = len(numbers) - len(numbers) % BLOCK
    rows = _encode(numbers[:whole].reshape(-1, BLOCK), TOP)
    if rest := len(numbers) - whole:
        rows += _encode(numbers[whole:].reshape(1, rest), _entries(rest))
    return rows


def decode(data: bytes | memoryview, count: int) -> Numbers:
    """The numbers [count], of which most are 0.

    Raises:
        ProtocolError: the bytes are not such numbers.
    """
    if len(data) != encoded_size(count):
        raise ProtocolError(f"{len(data)} bytes are no {count} sparse numbers.")
    numbers = np.zeros(count, np.float32)
    whole = count - count % BLOCK
    cut = whole // BLOCK * _row_bytes(TOP)
    _decode(data[:cut], TOP, numbers[:whole].reshape(-1, BLOCK))
    if whole < count:
        _decode(data[cut:], _entries(count - whole), numbers[whole:].reshape(1, -1))
    return numbers


def _entries(length: int) -> int:
    return min(length, math.ceil(length * TOP / BLOCK))


def _row_bytes(entries: int) -> int:
    return 4 + math.ceil(entries * BITS / 8)


def _encode(rows: Numbers, entries: int) -> bytes:
    if not len(rows):
        return b""
    chosen = np.argpartition(np.abs(rows), -entries, axis=1)[:, -entries:]
    chosen.sort(axis=1)
    values = np.take_along_axis(rows, chosen, axis=1)
    sizes = np.minimum(np.abs(values), LARGEST_HALF)
    great = sizes > sizes.mean(axis=1, keepdims=True)
    magnitudes = np.stack([_mean(sizes, ~great), _mean(sizes, great)], axis=1)
    words = (chosen.astype(np.uint16) << 2) | ((values < 0).astype(np.uint16) << 1) | great.astype(np.uint16)
    bits = np.unpackbits(words.astype(">u2").view(np.uint8).reshape(len(rows), entries, 2), axis=2)[:, :, 16 - BITS :]
    packed = np.packbits(bits.reshape(len(rows), -1), axis=1)
    return np.concatenate([magnitudes.astype("<f2").view(np.uint8), packed], axis=1).tobytes()


def _mean(sizes: Numbers, which: NDArray[np.bool_]) -> Numbers:
    """Of those chosen in each row; of none, that of all."""
    count = which.sum(axis=1)
    mean: Numbers = np.where(count > 0, (sizes * which).sum(axis=1) / np.maximum(count, 1), sizes.mean(axis=1))
    return mean


def _decode(data: bytes | memoryview, entries: int, into: Numbers) -> None:
    packed = np.frombuffer(data, np.uint8).reshape(len(into), _row_bytes(entries))
    magnitudes = packed[:, :4].copy().view("<f2").astype(np.float32)
    if not np.isfinite(magnitudes).all() or (magnitudes < 0).any():
        raise ProtocolError("Sparse numbers have a magnitude that is none.")
    bits = np.unpackbits(packed[:, 4:], axis=1)[:, : entries * BITS].reshape(len(into), entries, BITS)
    wide = np.zeros((len(into), entries, 16), np.uint8)
    wide[:, :, 16 - BITS :] = bits
    words = np.packbits(wide, axis=2).view(">u2")[:, :, 0].astype(np.int64)
    places = words >> 2
    if (places >= into.shape[1]).any() or (np.diff(places, axis=1) <= 0).any():
        raise ProtocolError("Sparse numbers lie in places that are not there, or not in their order.")
    values = np.take_along_axis(magnitudes, words & 1, axis=1) * np.where(words & 2, np.float32(-1), np.float32(1))
    np.put_along_axis(into, places, values, axis=1)

"""Numbers on the wire as fp16, or as int8 with one float32 scale for each block of 1,024. Sizes follow from counts."""

import math

import numpy as np
from numpy.typing import NDArray

from core.contracts.errors import ProtocolError
from core.contracts.expert_calls import BLOCK, Codec, encoded_size

Numbers = NDArray[np.float32]
LARGEST_HALF = np.float32(65504)


def encode(numbers: Numbers, codec: Codec) -> bytes:
    """What travels of finite numbers [count]. Beyond the range of fp16 they are clamped."""
    if codec == "fp32":
        return numbers.astype("<f4").tobytes()
    if codec == "fp16":
        return np.clip(numbers, -LARGEST_HALF, LARGEST_HALF).astype("<f2").tobytes()
    blocks = _blocks(numbers)
    scales = np.abs(blocks).max(axis=1) / np.float32(127)
    rounded = np.rint(blocks / np.where(scales > 0, scales, np.float32(1))[:, None]).astype(np.int8)
    data: bytes = scales.astype("<f4").tobytes() + rounded.reshape(-1)[: len(numbers)].tobytes()
    return data


def decode(data: bytes | bytearray | memoryview, codec: Codec, count: int) -> Numbers:
    """The numbers [count], in memory of their own.

    Raises:
        ProtocolError: the size does not fit, or one of them is not finite.
    """
    if len(data) != encoded_size(codec, count):
        raise ProtocolError(f"{len(data)} bytes do not hold {count} numbers in {codec}.")
    if codec != "int8":
        numbers = np.frombuffer(data, "<f4" if codec == "fp32" else "<f2").astype(np.float32)
    else:
        cut = 4 * math.ceil(count / BLOCK)
        blocks = _blocks(np.frombuffer(data[cut:], np.int8).astype(np.float32))
        with np.errstate(all="ignore"):
            blocks *= np.frombuffer(data[:cut], "<f4")[:, None]
        numbers = blocks.reshape(-1)[:count]
    if not np.isfinite(numbers).all():
        raise ProtocolError("Numbers came that are not finite.")
    return numbers


def _blocks(numbers: Numbers) -> Numbers:
    """[blocks, BLOCK], the last one filled up with 0."""
    return np.pad(numbers, (0, -len(numbers) % BLOCK)).reshape(-1, BLOCK)

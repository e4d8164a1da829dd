"""Numbers on the wire as fp16, or as int8 with one float32 scale for each block of 1,024. Sizes follow from counts."""

import math

import numpy as np
from numpy.typing import NDArray

from core.contracts.errors import ProtocolError
from core.contracts.expert_calls import BLOCK, Codec, encoded_size

Numbers = NDArray[np.float32]
LARGEST_HALF = np.float32(65504)
HALF_BIAS = np.float32(2.0**-112)
"""By it the exponent of a number of fp32 has the bits that it has in fp16; they, and those of the fraction, are ..."""
HALF_BITS = np.int32(13)
"""... so many bits further up. numpy converts numbers one by one, those below 6e-5 some 60 times as slowly as this."""
SIGN_GAP = np.int32(3)
"""So far apart are the sign and the rest then."""


def encode(numbers: Numbers, codec: Codec) -> bytes:
    """What travels of finite numbers [count]. Beyond the range of fp16 they are clamped."""
    if codec == "fp32":
        return numbers.astype("<f4", copy=False).tobytes()
    if codec == "fp16":
        return _halves(numbers)
    scales, multiples = in_multiples(numbers, BLOCK, 127)
    return scales.astype("<f4").tobytes() + multiples.reshape(-1)[: len(numbers)].tobytes()


def decode(data: bytes | bytearray | memoryview, codec: Codec, count: int) -> Numbers:
    """The numbers [count], in memory of their own.

    Raises:
        ProtocolError: the size does not fit, or one of them is not finite.
    """
    if len(data) != encoded_size(codec, count):
        raise ProtocolError(f"{len(data)} bytes do not hold {count} numbers in {codec}.")
    if codec == "fp32":
        numbers = np.frombuffer(data, "<f4").astype(np.float32)
    elif codec == "fp16":
        numbers = _of_halves(np.frombuffer(data, "<i2"))
    else:
        cut = 4 * math.ceil(count / BLOCK)
        blocks = _blocks(np.frombuffer(data[cut:], np.int8).astype(np.float32), BLOCK)
        with np.errstate(all="ignore"):
            blocks *= np.frombuffer(data[:cut], "<f4")[:, None]
        numbers = blocks.reshape(-1)[:count]
    largest = LARGEST_HALF if codec == "fp16" else np.finfo(np.float32).max
    if not -largest <= numbers.min(initial=0) <= numbers.max(initial=0) <= largest:  # NaN is in no order
        raise ProtocolError("Numbers came that are not finite.")
    return numbers


def in_multiples(numbers: Numbers, block: int, greatest: int) -> tuple[Numbers, NDArray[np.int8]]:
    """What is nearest to finite numbers [count] among the multiples of one scale for each block of them.

    Args:
        numbers: to be rounded.
        block: how many have the same scale.
        greatest: multiple, up to 127; that of the greatest number in a block.

    Returns:
        The scales [blocks], and the multiples [blocks, block], the last block filled up with 0.
    """
    blocks = _blocks(numbers, block)
    scales = np.maximum(blocks.max(axis=1), -blocks.min(axis=1)) / np.float32(greatest)
    scales[scales < np.finfo(np.float32).tiny] = 0  # too coarse themselves
    scaled = blocks / np.where(scales > 0, scales, np.float32(1))[:, None]
    return scales, np.rint(scaled, out=scaled).astype(np.int8)


def _halves(numbers: Numbers) -> bytes:
    """In fp16, rounded to the nearest; of two as near the larger."""
    with np.errstate(under="ignore"):
        biased = numbers * HALF_BIAS
    bits = np.clip(biased, -LARGEST_HALF * HALF_BIAS, LARGEST_HALF * HALF_BIAS, out=biased).view(np.int32)
    bits += np.int32(1 << HALF_BITS - 1)
    signs = bits >> SIGN_GAP
    signs &= np.int32(1 << 31 - SIGN_GAP)
    bits |= signs
    bits >>= HALF_BITS
    return bits.astype("<i2").tobytes()


def _of_halves(halves: NDArray[np.int16]) -> Numbers:
    """The numbers of bits in fp16; those that are infinite or none become numbers beyond the largest."""
    bits = halves.astype(np.int32)
    bits <<= HALF_BITS
    bits &= np.int32(~(7 << 31 - SIGN_GAP))
    numbers = bits.view(np.float32)
    numbers *= 1 / HALF_BIAS
    return numbers


def _blocks(numbers: Numbers, block: int) -> Numbers:
    """[blocks, block], the last one filled up with 0."""
    missing = -len(numbers) % block
    return (np.pad(numbers, (0, missing)) if missing else numbers).reshape(-1, block)

"""Differences in 4 bits a number, for fast links (as in Streaming DiLoCo, arXiv 2501.18512).

Each block of 128 numbers has one float32 scale: a number is one of 15 whole multiples of it. On the wire come the
scales, then for each block 64 bytes: in each the low half is a multiple of the block's first half, the high half one of
its second, in two's complement. The last block is filled up with 0. What was rounded away is not lost:
`core.averaging.fragment.Encoder` adds it to what is sent next.
"""

import math

import numpy as np

from core.averaging import codecs
from core.averaging.codecs import Numbers
from core.contracts.errors import ProtocolError

BLOCK = 128
HALF = BLOCK // 2
GREATEST = 7
"""Multiple of a block's scale."""
KEPT = 1.0
"""Of what was not sent, at the next time: it is less than a step of the rounding."""


def encoded_size(count: int) -> int:
    """Bytes of so many numbers."""
    return math.ceil(count / BLOCK) * (4 + HALF)


def encode(numbers: Numbers) -> bytes:
    """What travels of finite numbers [count]."""
    scales, multiples = codecs.in_multiples(numbers, BLOCK, GREATEST)
    whole = multiples.view(np.uint8) & 15
    data: bytes = scales.astype("<f4").tobytes() + (whole[:, :HALF] | whole[:, HALF:] << 4).tobytes()
    return data


def decode(data: bytes | memoryview, count: int) -> Numbers:
    """The numbers [count].

    Raises:
        ProtocolError: the bytes are not such numbers.
    """
    if len(data) != encoded_size(count):
        raise ProtocolError(f"{len(data)} bytes are no {count} numbers in 4 bits.")
    cut = 4 * math.ceil(count / BLOCK)
    scales = np.frombuffer(data[:cut], "<f4")
    if not 0 <= scales.min(initial=0) <= scales.max(initial=0) < np.inf:  # NaN is in no order
        raise ProtocolError("Numbers in 4 bits have a scale that is none.")
    pairs = np.frombuffer(data[cut:], np.int8).reshape(-1, HALF)
    multiples = np.concatenate([pairs << 4 >> 4, pairs >> 4], axis=1)  # with their signs
    with np.errstate(over="ignore"):  # what is too far is refused with the difference
        numbers: Numbers = multiples * scales[:, None]
    return numbers.reshape(-1)[:count]

"""The work that a new key costs: a puzzle that takes a second or two of one core, and is checked in microseconds.

It is solved once for each key, whatever it takes part in. For each of several parts a number is to be found with which
the hash of key, part and number begins with so many zero bits; several parts make the time more even than one long
one would.
"""

import hashlib

from core.identity import PeerId

CONTEXT = b"hearth puzzle 1\0"
PARTS, BITS = 8, 18
"""2^21 hashes on average: 1.1 s of a core at 1.9 million a second, in nine of ten cases at most 1.7 s."""
NUMBER = 8
"""Bytes of each part's answer."""
SIZE = PARTS * NUMBER
"""Bytes of the whole answer."""


def solve(peer: PeerId) -> bytes:
    """The answer for a key; to be called in a thread.

    Args:
        peer: the key.
    """
    return b"".join(_number(_start(peer, part)) for part in range(PARTS))


def solves(peer: PeerId, answer: bytes) -> bool:
    """Whether the work for a key was done.

    Args:
        peer: the key.
        answer: of any length.
    """
    if len(answer) != SIZE:
        return False
    numbers = (answer[at : at + NUMBER] for at in range(0, SIZE, NUMBER))
    return all(_fits(_start(peer, part) + number) for part, number in enumerate(numbers))


def _start(peer: PeerId, part: int) -> bytes:
    return CONTEXT + peer + bytes([part])


def _number(start: bytes) -> bytes:
    sha256, number = hashlib.sha256, 0
    while True:  # the first bytes alone decide nearly always
        guess = number.to_bytes(NUMBER, "big")
        if sha256(start + guess).digest()[:2] == b"\0\0" and _fits(start + guess):
            return guess
        number += 1


def _fits(content: bytes) -> bool:
    return int.from_bytes(hashlib.sha256(content).digest()) >> 256 - BITS == 0

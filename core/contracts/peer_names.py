"""What peers are called: words that can be spoken, made from the key, beside its first digits."""

import hashlib

CONSONANTS, VOWELS = "bdfghjklmnprstvz", "aiou"
SHOWN = 8
"""Hexadecimal digits of a key that stand beside a name, as anybody may choose anybody's name."""


def word(value: int) -> str:
    """12 bits as consonant, vowel, consonant, vowel."""
    return CONSONANTS[value >> 8] + VOWELS[value >> 6 & 3] + CONSONANTS[value >> 2 & 15] + VOWELS[value & 3]


def two_words(peer: str) -> str:
    """ "Bado Fimu": the same for a key on every PC. Of 16 million, made of the digest, so that keys alike sound unlike.

    Args:
        peer: the key, as hexadecimal digits.
    """
    bits = int.from_bytes(hashlib.sha256(b"hearth peer name 1" + peer.encode()).digest()[:3])
    return f"{word(bits >> 12)} {word(bits & 0xFFF)}".title()


def called(peer: str, chosen: str = "") -> str:
    """ "Bado Fimu (3fa1b27c)".

    Args:
        peer: the key, as hexadecimal digits.
        chosen: the name by which its user wishes to be shown, if the peer's signature says so.
    """
    return f"{chosen or two_words(peer)} ({peer[:SHOWN]})"

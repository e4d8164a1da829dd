"""Who this data folder is: one Ed25519 key, its file, and its recovery words."""

import hashlib
import logging
import os
import time
from pathlib import Path
from typing import NewType

import iroh

from core.contracts.errors import DataFolderError, IdentityError
from core.contracts.notices import notice
from core.contracts.peer_names import CONSONANTS, VOWELS, word
from core.key_file import FILE, ensure, partial_file, write_new
from core.regular_files import read_regular

os.environ["RUST_LIB_BACKTRACE"] = "0"  # where backtraces are on, an IrohError, as of a forged signature, takes 50 ms
log = logging.getLogger(__name__)

PeerId = NewType("PeerId", bytes)
"""32 bytes: the Ed25519 public key of a peer."""

_CHECK_BYTES = 4
WORD_COUNT = 24
"""(32 bytes of seed + 4 of checksum) * 8 bits / 12 bits a word."""


def peer_text(peer: PeerId) -> str:
    """A peer's name as text: 64 lower-case hexadecimal digits."""
    return peer.hex()


def parse_peer(text: str) -> PeerId:
    """The peer named by `text`.

    Raises:
        IdentityError: it is not the text of a public key.
    """
    try:
        peer = bytes.fromhex(text)
        iroh.EndpointId.from_bytes(peer)
    except (ValueError, iroh.IrohError) as error:
        raise IdentityError(notice("identity.no_peer_name", text=repr(text[:80]))) from error
    return PeerId(peer)


def verify(peer: PeerId, message: bytes, signature: bytes) -> bool:
    """Whether `signature` (64 bytes) is the peer's over `message`. Never raises."""
    try:
        iroh.EndpointId.from_bytes(peer).verify(message, iroh.Signature.from_bytes(signature))
    except (iroh.IrohError, TypeError):
        return False
    return True


class Identity:
    """An Ed25519 key pair: it names the peer, signs its records and secures its connections.

    Attributes:
        peer: the public key.
        seed: the secret key's 32 bytes.
    """

    def __init__(self, seed: bytes) -> None:
        if len(seed) != 32:
            raise IdentityError(notice("identity.wrong_length", length=len(seed)))
        self.seed = seed
        self._key = iroh.SecretKey.from_bytes(seed)
        self.peer = PeerId(self._key.public().to_bytes())

    @classmethod
    def generate(cls) -> "Identity":
        """A new identity that is in no file."""
        return cls(os.urandom(32))

    @classmethod
    def load_or_create(cls, folder: Path) -> "Identity":
        """The identity of a data folder, made at the first start. An existing file is never overwritten.

        Raises:
            IdentityError: the file is there but cannot be used.
            DataFolderError: the file is missing and cannot be written.
        """
        ensure(folder)
        return cls.load(folder)

    @classmethod
    def load(cls, folder: Path) -> "Identity":
        """The identity in a data folder.

        Raises:
            IdentityError: the file is missing, unreadable or damaged.
        """
        path = folder / FILE
        try:
            text = read_regular(path)[:200]
            _tighten(path)
            return cls(bytes.fromhex(text.decode("ascii").strip()))
        except FileNotFoundError:
            raise IdentityError(notice("identity.no_key", folder=str(folder))) from None
        except (OSError, ValueError, IdentityError) as error:
            reason = str(error.strerror) if isinstance(error, OSError) else notice("identity.not_64_digits")
            raise IdentityError(notice("identity.bad_key_file", path=str(path), reason=reason)) from error

    def sign(self, message: bytes) -> bytes:
        """The 64-byte Ed25519 signature of `message`."""
        return self._key.sign(message).to_bytes()

    def words(self) -> str:
        """The recovery words: 24 pronounceable words of four letters that hold the seed and a checksum."""
        number = int.from_bytes(self.seed + _checksum(self.seed))
        return " ".join(word((number >> 12 * index) & 0xFFF) for index in reversed(range(WORD_COUNT)))

    @classmethod
    def from_words(cls, words: str) -> "Identity":
        """The identity that `words` were made from; case and spacing do not matter.

        Raises:
            IdentityError: a word is missing, misspelt or out of place.
        """
        found = words.lower().split()
        if len(found) != WORD_COUNT:
            raise IdentityError(notice("identity.word_count", needed=WORD_COUNT, found=len(found)))
        number = 0
        for place, one in enumerate(found, 1):
            number = number << 12 | _word_value(one, place)
        data = number.to_bytes(32 + _CHECK_BYTES)
        seed, check = data[:32], data[32:]
        if _checksum(seed) != check:
            raise IdentityError(notice("identity.words_do_not_fit"))
        return cls(seed)

    def replace_in(self, folder: Path) -> Path | None:
        """Make this the identity of a data folder; a key already there is kept beside it.

        Returns:
            Where the old key is now, or None if there was none or it was the same.

        Raises:
            DataFolderError: the folder cannot be written; the old key stays.
        """
        path, kept = folder / FILE, None
        try:
            if path.exists():
                if read_regular(path).strip() == self.seed.hex().encode():
                    return None
                kept = path.with_name(f"{FILE}.old-{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(2).hex()}")
                partial = partial_file(path, self.seed)
                os.link(path, kept)
                partial.replace(path)
            elif not write_new(path, self.seed):
                raise DataFolderError(notice("identity.just_made", path=str(path)))
        except OSError as error:
            raise DataFolderError(notice("identity.not_replaced", path=str(path), why=str(error.strerror))) from error
        return kept


def _checksum(seed: bytes) -> bytes:
    return hashlib.sha256(b"hearth recovery words 1" + seed).digest()[:_CHECK_BYTES]


def _word_value(word: str, place: int) -> int:
    if (
        len(word) != 4
        or word[0] not in CONSONANTS
        or word[1] not in VOWELS
        or word[2] not in CONSONANTS
        or word[3] not in VOWELS
    ):
        raise IdentityError(notice("identity.no_word", place=place, word=repr(word[:20])))
    first = CONSONANTS.index(word[0]) << 2 | VOWELS.index(word[1])
    return first << 6 | CONSONANTS.index(word[2]) << 2 | VOWELS.index(word[3])


def _tighten(path: Path) -> None:
    if os.name == "posix" and path.stat().st_mode & 0o077:
        log.warning("%s was readable by other users; it is now only by its owner", path)
        path.chmod(0o600)

"""A secure channel between two peers over bytes that somebody in between passes on (a relay that neither trusts).

Both know whom they mean. Each makes a fresh X25519 key; each signs, with its Ed25519 identity, the digest of all that
was agreed: both identities and both fresh keys. The signatures travel sealed under the agreed keys, which proves that
their sender has those. This is SIGMA (Krawczyk, "SIGMA: the SIGn-and-MAc approach", 2003) with known identities:

    caller -> called   caller's fresh key
    called -> caller   called's fresh key, sealed signature
    caller -> called   sealed signature

After that every message is sealed by ChaCha20-Poly1305 under a key for its direction and a nonce that counts, so that
changing, repeating, leaving out, reordering or reflecting one is noticed. Old traffic stays secret when an identity key
is stolen later.
"""

import asyncio
import struct
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.contracts.errors import ProtocolError
from core.identity import Identity, PeerId, verify
from core.net import limits

LABEL = b"hearth channel 1"
"""In everything hashed and signed, so that no signature made elsewhere fits here, nor one of here elsewhere."""
KEY_BYTES, SIGNATURE_BYTES, TAG_BYTES = 32, 64, 16
HANDSHAKE_S = 10.0
_LENGTH = struct.Struct(">I")
_NONCE = struct.Struct(">4xQ")


class Stream(Protocol):
    """Bytes both ways, in order. Reading and `ready` raise a HearthError once the stream has ended."""

    async def read_exact(self, size: int) -> bytes: ...

    async def ready(self) -> None:
        """Returns when one `write` may follow."""

    def write(self, data: bytes) -> None:
        """Send. Not a coroutine: a cancelled caller must not leave a sealed message unsent, for all count them."""

    async def close(self) -> None: ...


class Seal:
    """One direction: a key and the number of the next message."""

    def __init__(self, cipher: ChaCha20Poly1305 | AESGCM) -> None:
        self._cipher, self._number = cipher, 0

    def _next(self) -> bytes:
        self._number += 1
        return _NONCE.pack(self._number)

    def close(self, data: bytes | memoryview) -> bytes:
        return self._cipher.encrypt(self._next(), data, None)

    def open(self, data: bytes | bytearray) -> bytes:
        try:
            return self._cipher.decrypt(self._next(), data, None)
        except InvalidTag:
            raise ProtocolError("A message was changed on its way. The connection is closed.") from None


def record_seal(key: bytes) -> Seal:
    """For many bytes, of a key that no other direction has: most processors have instructions for AES."""
    return Seal(AESGCM(key))


class SecureStream:
    """Bytes both ways over a `Stream`, sealed; made by `secure`."""

    def __init__(self, stream: Stream, sending: Seal, receiving: Seal) -> None:
        self._stream, self._sending, self._receiving = stream, sending, receiving
        self._plain = bytearray()
        self._write_lock = asyncio.Lock()

    async def read_exact(self, size: int) -> bytes:
        while len(self._plain) < size:
            (length,) = _LENGTH.unpack(await self._stream.read_exact(_LENGTH.size))
            if not TAG_BYTES < length <= limits.SEALED + TAG_BYTES:
                raise ProtocolError(f"A relayed message claims {length} bytes. The connection is closed.")
            self._plain += self._receiving.open(await self._stream.read_exact(length))
        data = bytes(memoryview(self._plain)[:size])
        del self._plain[:size]
        return data

    async def write(self, data: bytes | memoryview) -> None:
        view = memoryview(data).cast("B")
        for start in range(0, len(view), limits.SEALED):
            async with self._write_lock:  # in the order of the callers
                await self._stream.ready()
                sealed = self._sending.close(view[start : start + limits.SEALED])
                self._stream.write(_LENGTH.pack(len(sealed)) + sealed)

    async def close(self) -> None:
        await self._stream.close()


async def secure(stream: Stream, identity: Identity, other: PeerId, *, caller: bool) -> SecureStream:
    """Agree on keys with `other` and prove to each other who we are.

    Raises:
        ProtocolError: it is not `other`, or somebody changed what was said; the stream is closed.
    """
    try:
        async with asyncio.timeout(HANDSHAKE_S):
            return await _shake_hands(stream, identity, other, caller)
    except TimeoutError:
        await stream.close()
        raise ProtocolError("The other peer did not finish the relayed handshake in time.") from None
    except BaseException:
        await stream.close()
        raise


async def _shake_hands(stream: Stream, identity: Identity, other: PeerId, caller: bool) -> SecureStream:
    fresh = X25519PrivateKey.generate()
    own_key = fresh.public_key().public_bytes_raw()
    if caller:
        await stream.ready()
        stream.write(own_key)
    other_key = await stream.read_exact(KEY_BYTES)
    pairs = [identity.peer + own_key, other + other_key]
    agreed = _digest(*(pairs if caller else reversed(pairs)))
    try:
        shared = fresh.exchange(X25519PublicKey.from_public_bytes(other_key))
    except ValueError:  # a key of low order: the result would not be secret
        raise ProtocolError("The relayed handshake holds an unusable key.") from None
    keys = HKDF(algorithm=hashes.SHA256(), length=2 * KEY_BYTES, salt=agreed, info=LABEL).derive(shared)
    seals = [Seal(ChaCha20Poly1305(key)) for key in (keys[:KEY_BYTES], keys[KEY_BYTES:])]
    sending, receiving = seals if caller else reversed(seals)
    proof = sending.close(identity.sign(_statement(agreed, caller)))
    if not caller:
        await stream.ready()
        stream.write(own_key + proof)
    signature = receiving.open(await stream.read_exact(SIGNATURE_BYTES + TAG_BYTES))
    if not verify(other, _statement(agreed, not caller), signature):
        raise ProtocolError("The peer behind the relay could not prove who it is. The connection is closed.")
    if caller:
        await stream.ready()
        stream.write(proof)
    return SecureStream(stream, sending, receiving)


def _digest(*parts: bytes) -> bytes:
    digest = hashes.Hash(hashes.SHA256())
    digest.update(LABEL + b"".join(parts))  # every part has a fixed length
    return digest.finalize()


def _statement(agreed: bytes, caller: bool) -> bytes:
    return LABEL + (b" caller " if caller else b" called ") + agreed

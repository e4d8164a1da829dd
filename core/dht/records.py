"""A signed, expiring record: its canonical bytes, its checks, and the digests that place it in the key space.

The bytes are the msgpack of [version, realm, key, subkey, value, sequence, expires, public key] and the Ed25519
signature of exactly these. Because key and expiry are signed, a record cannot be replayed under another key or after
its time.
"""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Annotated, TypeVar

import msgspec

from core.contracts.dht import DIGEST, MAX_KEY, MAX_RECORD, MAX_VALUE
from core.contracts.errors import UNREADABLE, RecordError
from core.identity import Identity, PeerId, peer_text, verify

VERSION = 1
REALM = "hearth"
"""Records of other networks are refused."""
MAX_LIFE_S = 3600.0
"""The longest expiry: its owner publishes again long before, and what nobody publishes goes away."""
SKEW_S = 60.0
"""How far another peer's clock may be ahead."""
SIGNATURE = 64
T = TypeVar("T")


class Verdict(IntEnum):
    """What became of a record that was offered."""

    STORED = 0
    SAME = 1
    OLDER = 2
    EXPIRED = 3
    AHEAD = 4
    FORGED = 5
    MALFORMED = 6
    NOT_OWNER = 7
    KEY_FULL = 8
    PUBLISHER_FULL = 9
    FULL = 10
    STRANGER = 11
    """Who brings it may not take part in the run that it is about."""


class _Body(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    version: int
    realm: Annotated[str, msgspec.Meta(max_length=MAX_KEY)]
    key: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_KEY)]
    subkey: Annotated[str, msgspec.Meta(max_length=MAX_KEY)]
    value: Annotated[bytes, msgspec.Meta(max_length=MAX_VALUE)] | None
    sequence: Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
    expires: float
    peer: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]


class Record(msgspec.Struct, frozen=True, gc=False):
    """A parsed record; whether its signature is good is asked with `genuine`."""

    key: str
    subkey: str
    value: bytes
    """Empty if dead."""
    sequence: int
    """Unix milliseconds at which it was made; a newer record of the same peer replaces it."""
    expires: float
    """Unix seconds."""
    peer: PeerId
    dead: bool
    """A tombstone: the subkey is gone, and older records of it must not come back."""
    raw: bytes

    @property
    def signature(self) -> bytes:
        return self.raw[-SIGNATURE:]

    @property
    def order(self) -> tuple[int, float, bytes]:
        """The record with the greatest order wins; the bytes settle a tie the same way everywhere."""
        return (self.sequence, self.expires, self.raw)


_decoder = msgspec.msgpack.Decoder(_Body)
_encoder = msgspec.msgpack.Encoder()


def node_id(peer: bytes) -> bytes:
    """The place of a peer in the key space: 20 bytes that nobody can choose freely."""
    return hashlib.blake2b(peer, digest_size=DIGEST, person=b"hearth-node").digest()


def key_digest(key: str) -> bytes:
    """The place of a key in the key space, 20 bytes."""
    return hashlib.blake2b(key.encode(), digest_size=DIGEST, person=b"hearth-key").digest()


def make(
    identity: Identity, key: str, subkey: str, value: bytes | None, sequence: int, expires: float, realm: str = REALM
) -> Record:
    """Sign a record; `None` as the value makes a tombstone.

    Raises:
        RecordError: key, subkey or value are beyond the limits.
    """
    body = _encoder.encode(_Body(VERSION, realm, key, subkey, value, sequence, expires, identity.peer))
    return parse(body + identity.sign(body), realm)


def parse(raw: bytes, realm: str = REALM) -> Record:
    """The record in `raw`, with its form checked, not yet its signature.

    Raises:
        RecordError: it is no record of this network, with the verdict as its reason.
    """
    if not SIGNATURE < len(raw) <= MAX_RECORD:
        raise RecordError(Verdict.MALFORMED, f"A record has at most {MAX_RECORD} bytes, not {len(raw)}.")
    body = raw[:-SIGNATURE]
    try:
        found = _decoder.decode(body)
    except UNREADABLE as error:
        raise RecordError(Verdict.MALFORMED, f"This is no record: {error}.") from error
    if found.version != VERSION or found.realm != realm or _encoder.encode(found) != body:
        raise RecordError(Verdict.MALFORMED, "The record is of another network or version, or not in canonical form.")
    if _names_peer(found.subkey) and found.subkey != found.peer.hex():
        raise RecordError(Verdict.NOT_OWNER, "A subkey that names a peer belongs to that peer alone.")
    value, peer = found.value or b"", PeerId(found.peer)
    return Record(found.key, found.subkey, value, found.sequence, found.expires, peer, found.value is None, raw)


def timely(record: Record, now: float) -> Verdict:
    """STORED if the record is of this time, else EXPIRED or AHEAD.

    Neither an expiry nor a sequence number may lie further in the future than an honest clock could put them:
    otherwise a lying clock would make a record that nobody can replace.
    """
    if not record.expires > now:  # also refuses a number that is none
        return Verdict.EXPIRED
    if record.expires > now + MAX_LIFE_S + SKEW_S or record.sequence > (now + SKEW_S) * 1000:
        return Verdict.AHEAD
    return Verdict.STORED


def genuine(record: Record) -> bool:
    """Whether its publisher signed it."""
    return verify(record.peer, record.raw[:-SIGNATURE], record.signature)


def own_subkey(peer: PeerId) -> str:
    """The subkey that only this peer may write: used where several hosts publish under one key."""
    return peer_text(peer)


def told(records: Mapping[str, Record], kind: type[T]) -> Iterator[tuple[Record, T]]:
    """What living peers tell of themselves, each under its own subkey; what is not of the kind is passed over."""
    for record in records.values():
        if record.subkey == own_subkey(record.peer) and not record.dead:
            with contextlib.suppress(*UNREADABLE):
                yield record, msgspec.msgpack.decode(record.value, type=kind)


def _names_peer(subkey: str) -> bool:
    return len(subkey) == 64 and all(digit in "0123456789abcdef" for digit in subkey)

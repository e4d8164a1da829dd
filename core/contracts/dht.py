"""The contract of the DHT's four methods. A leaf; every count is bounded where it is decoded."""

from typing import Annotated

import msgspec

from core.contracts.net import PeerAddress

DIGEST = 20
"""Bytes of a node id or key digest: the 160 bits of Kademlia."""
MAX_KEY = 128
"""Characters of a key or subkey: a uid has 64, a checkpoint's hash 64."""
MAX_VALUE = 2048
"""Bytes of a value: a host with eight addresses needs 700; of what is larger only the hash is here."""
MAX_RECORD = 3584
"""Bytes of a record: value, key and subkey of at most four bytes a character, and 120 for the rest."""
BATCH = 256
"""Keys or targets of one call."""
NAMED = 256
"""Peers named in one answer: 140 KB if each had eight long addresses."""
REPLY_BYTES = 64 * 1024
"""Records in one answer; the rest is asked for page by page. With the peers named it fits a frame's header."""
PAGE_SUFFIXES = 2048
"""Suffixes of one key in one answer, of which all together have `REPLY_BYTES`."""
MAX_FOUND = 1024
"""Records of one key from one peer: each costs the reader a check of its signature."""
STORE_BYTES = 128 * 1024
"""Records in one call, about 500."""
STORE_RECORDS = 1024

Digest = Annotated[bytes, msgspec.Meta(min_length=DIGEST, max_length=DIGEST)]
Raw = Annotated[bytes, msgspec.Meta(max_length=MAX_RECORD)]
Subkey = Annotated[str, msgspec.Meta(max_length=MAX_KEY)]
Index = Annotated[int, msgspec.Meta(ge=0, lt=NAMED)]


class Ping(msgspec.Struct, array_like=True, frozen=True):
    """Are you there? `serving` tells whether the sender can be dialled, and wants to be in routing tables."""

    serving: bool


class Pong(msgspec.Struct, array_like=True, frozen=True):
    address: PeerAddress
    clock: float
    """Unix seconds."""
    serving: bool


class FindNode(msgspec.Struct, array_like=True, frozen=True):
    targets: Annotated[list[Digest], msgspec.Meta(max_length=BATCH)]
    serving: bool


class Nodes(msgspec.Struct, array_like=True, frozen=True):
    """Peers near each target, as indices into `contacts`."""

    contacts: Annotated[list[PeerAddress], msgspec.Meta(max_length=NAMED)]
    nearest: Annotated[list[Annotated[list[Index], msgspec.Meta(max_length=32)]], msgspec.Meta(max_length=BATCH)]


class FindValue(msgspec.Struct, array_like=True, frozen=True):
    keys: Annotated[list[Digest], msgspec.Meta(max_length=BATCH)]
    compact: bool
    """Suffixes and expiries instead of records."""
    after: Subkey
    """Where the page begins; for all keys."""
    serving: bool


class Found(msgspec.Struct, array_like=True, frozen=True):
    """A page of one key."""

    records: Annotated[list[Raw], msgspec.Meta(max_length=STORE_RECORDS)]
    suffixes: Annotated[dict[Subkey, float], msgspec.Meta(max_length=PAGE_SUFFIXES)]
    after: Subkey | None
    """Where the next page begins; None: this was the last."""


class Values(msgspec.Struct, array_like=True, frozen=True):
    """A page for each key, and peers nearer to those that have none here."""

    found: Annotated[list[Found], msgspec.Meta(max_length=BATCH)]
    nodes: Nodes


class Store(msgspec.Struct, array_like=True, frozen=True):
    records: Annotated[list[Raw], msgspec.Meta(max_length=STORE_RECORDS)]
    serving: bool


class Stored(msgspec.Struct, array_like=True, frozen=True):
    verdicts: Annotated[list[int], msgspec.Meta(max_length=STORE_RECORDS)]

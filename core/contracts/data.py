"""The list of a run's shards, where there are too many for its manifest: one more file that is named by its hash."""

from typing import Annotated, Literal

import msgspec

from core.contracts.errors import UNREADABLE, DataError
from core.contracts.kinds import DATA
from core.contracts.manifest import Manifest, Shard
from core.contracts.model import LABEL
from core.contracts.notices import notice

MOST_LISTED = 32_768
"""Shards of a run, of 1 MiB at most: 32 GiB."""


class Listed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    version: Literal[1]
    shards: Annotated[tuple[Shard, ...], msgspec.Meta(min_length=1, max_length=MOST_LISTED)]


def encode(shards: tuple[Shard, ...]) -> bytes:
    """The file that lists these shards."""
    return msgspec.json.encode(Listed(1, shards))


def decode(document: bytes) -> tuple[Shard, ...]:
    """The shards of a list.

    Args:
        document: the file, no longer than a `ShardList` allows.

    Raises:
        DataError: it is no list.
    """
    try:
        return msgspec.json.decode(document, type=Listed).shards
    except UNREADABLE as error:
        raise DataError(notice("data.bad_list", why=str(error))) from error


def samples_in(manifest: Manifest, size: int) -> int:
    """How many samples so much of a run's data holds: bytes or tokens of text, or pictures.

    Args:
        manifest: the run's.
        size: bytes of shards.
    """
    return size // (LABEL + manifest.pictures.pixels if manifest.pictures else DATA[manifest.data].token_bytes)

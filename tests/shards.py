"""Texts cut into shards as an organiser does it, for tests."""

import hashlib
import random
from collections.abc import Sequence
from pathlib import Path

import msgspec

from core.contracts import data, manifest
from core.contracts.manifest import Manifest, Shard, ShardList
from core.store import shards


def listed_run(parts: Sequence[Shard], folder: Path, *, at: str = shards.OWN, base: str = "text") -> Manifest:
    """A run of these shards, whose list is put into a run's folder or beside it.

    Args:
        parts: of the run.
        folder: the run's.
        at: `shards.OWN` or `shards.FOLDER`.
        base: the run whose model it has.
    """
    document = data.encode(tuple(parts))
    named = ShardList(hashlib.sha256(document).hexdigest(), len(document))
    _put(folder, at, document)
    return msgspec.structs.replace(manifest.load(base), shards=(), shard_list=named)


def put(folder: Path, contents: Sequence[bytes], held_out: int = 1, at: str = shards.OWN) -> list[Shard]:
    """Shards with these contents in a run's folder or beside it; the last ones are held out."""
    kept = len(contents) - held_out
    return [Shard(_put(folder, at, one), len(one), number >= kept) for number, one in enumerate(contents)]


def _put(folder: Path, at: str, content: bytes) -> str:
    place = shards.own_folder(folder) if at == shards.OWN else folder / at
    place.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(content).hexdigest()
    (place / name).write_bytes(content)
    return name


def texts(count: int, size: int) -> list[bytes]:
    """Different ones, of letters: each begins with its number."""
    chance = random.Random(count)
    return [b"%06d" % number + bytes(chance.choices(b"abcdefgh ", k=size - 6)) for number in range(count)]

"""A run's text as tokens, in windows of the model's sequence: what is to be told is every token's next one.

Shards hold two bytes a token, and documents one after the other, each with the token behind it that ends a text.
"""

from collections.abc import Callable
from pathlib import Path

from core.contracts.manifest import Manifest
from core.contracts.pipe import Reading
from core.store import shards
from core.store.tokens import ITEM, opened
from core.training.data.stream import Stream
from core.training.data.text import stream_of


def _stream(manifest: Manifest, folder: Path | None, shuffle: int, told: Callable[[Reading], None]) -> Stream:
    stream = stream_of(manifest, folder, shuffle, told, ITEM)
    assert folder is not None and manifest.tokenizer is not None  # else there is no stream, and no such manifest
    stream.tokens = opened(manifest, shards.read(folder, manifest.tokenizer))
    return stream


STREAM = _stream

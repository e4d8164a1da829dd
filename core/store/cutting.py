"""An organiser's documents, texts or pictures, cut into shards, of which some are held out.

They are read twice, and are never in memory as a whole: first it is found out which are there for the first time, and
which are held out; then those are written. Documents that are the same byte for byte are kept once, and one that is
held out is in no training shard. A shard of text may end within a document, and all of it is of the same part.
"""

import contextlib
import hashlib
import itertools
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from core.contracts.data import MOST_LISTED
from core.contracts.errors import DataError, DataFolderError
from core.contracts.manifest import Shard
from core.contracts.notices import notice
from core.store.documents import documents
from core.store.tokens import ITEM, Tokens, train

HELD_OUT_BYTES = 4 << 20
"""At most: every trainer needs all of it before it begins."""
LEAST, MOST = 16 << 10, 1 << 20
"""Bytes of a shard, ..."""
WANTED = 64
"""... of which there are so many if that fits: a trainer mixes those that it has."""
BYTES_OF_A_TOKEN = 1000
"""Of text there must be for each token of a vocabulary; it is the next smaller power of two."""
LEAST_VOCABULARY, MOST_VOCABULARY = 512, 32 << 10
READ_BYTES = 256 << 20
"""From which a vocabulary is learnt, about: of more, every second document, or every third, and so on."""
CACHE_KB = 64 << 10
"""Of the table of documents."""


class Source(NamedTuple):
    """Documents that can be read again and again."""

    read: Callable[[], Iterator[bytes]]
    between: bytes
    """What stands after each in a shard."""
    held_out: float
    """Their share."""
    sample: int = 1
    """Bytes of each, if all have the same: shards end between them."""
    label: int = 0
    """First bytes that do not make another document of it."""


def texts(files: Sequence[Path], column: str | None = None) -> Source:
    """The documents of files of text.

    Args:
        files: in their order.
        column: see `core.store.documents.documents`.
    """
    return Source(lambda: itertools.chain.from_iterable(documents(file, column) for file in files), b"\n\n", 0.05)


def as_tokens(source: Source, tokens: Tokens) -> Source:
    """The same documents as tokens.

    Args:
        source: of texts.
        tokens: the tokenizer.
    """
    return Source(lambda: tokens.documents(source.read()), b"", source.held_out, ITEM)


class Survey(NamedTuple):
    """What the documents are."""

    documents: int
    """Those that differ."""
    duplicates: int
    train_bytes: int
    held_out_bytes: int
    held_out: int
    """Documents."""
    first: bytes
    """Of every document in the order in which they are read, whether it is kept: 0 no, 1 to train on, 2 held out."""


def survey(source: Source) -> Survey:
    """Find out which documents are kept, and which of them are held out: those with the smallest hashes, wherever they
    stand, until there are enough.

    Raises:
        DataError: a file cannot be used, or there are fewer than two documents.
    """
    kinds = bytearray()
    with contextlib.closing(sqlite3.connect("")) as table:  # in a file of its own while it is large
        table.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        table.execute("CREATE TABLE documents (digest BLOB PRIMARY KEY, number INTEGER, size INTEGER) WITHOUT ROWID")
        add = "INSERT OR IGNORE INTO documents VALUES (?, ?, ?)"
        for document in source.read():
            digest = hashlib.sha256(document[source.label :]).digest()[:16]
            kinds.append(table.execute(add, (digest, len(kinds), len(document) + len(source.between))).rowcount)
        count, total, least = table.execute("SELECT count(*), sum(size), min(size) FROM documents").fetchone()
        if count < 2:
            raise DataError(notice("data.one_document"))
        target = min(int(total * source.held_out), HELD_OUT_BYTES)
        held_bytes = held = 0
        small = "SELECT number, size FROM documents WHERE size <= ? ORDER BY digest"
        for number, size in table.execute(small, (max(target, least),)):
            if (held_bytes and held_bytes + size > target) or held + 1 == count:
                break
            kinds[number] = 2
            held, held_bytes = held + 1, held_bytes + size
    return Survey(count, len(kinds) - count, total - held_bytes, held_bytes, held, bytes(kinds))


def tokenizer_for(source: Source, found: Survey) -> Tokens:
    """A tokenizer trained on a part of these documents.

    Args:
        source: of texts.
        found: what they are.
    """
    size = found.train_bytes + found.held_out_bytes
    vocabulary = min(MOST_VOCABULARY, max(LEAST_VOCABULARY, 1 << (size // BYTES_OF_A_TOKEN).bit_length() - 1))
    return train(itertools.islice(source.read(), None, None, 1 + size // READ_BYTES), vocabulary)


def shard_bytes(total: int) -> int:
    """How large the shards of so much text are.

    Raises:
        DataError: there would be too many.
    """
    size = min(MOST, max(LEAST, total // WANTED))
    if -(-total // size) > MOST_LISTED // 2:
        raise DataError(notice("data.too_large", size=total, most=size * MOST_LISTED // 2))
    return size


def write(source: Source, found: Survey, folder: Path) -> list[Shard]:
    """Write the shards, each with its hash for a name.

    Args:
        source: as it was surveyed.
        found: what came of that.
        folder: where to.

    Returns:
        Those to train on in the order of the text, and those that are held out.

    Raises:
        DataError: a file has changed meanwhile, or cannot be used.
        DataFolderError: the disk is full, or the folder cannot be written.
    """
    parts = {
        1: _Cutter(folder, source, found.train_bytes, held_out=False),
        2: _Cutter(folder, source, found.held_out_bytes, held_out=True),
    }
    number = 0
    try:
        for number, document in enumerate(source.read(), 1):
            kind = found.first[number - 1] if number <= len(found.first) else 0
            if kind:
                parts[kind].add(document)
        written = [part.end() for part in parts.values()]
    except OSError as error:
        raise DataFolderError(notice("data.not_written", path=str(folder), why=str(error.strerror))) from error
    sizes = [sum(shard.size for shard in shards) for shards in written]
    if number != len(found.first) or sizes != [found.train_bytes, found.held_out_bytes]:
        raise DataError(notice("data.changed"))
    return [shard for shards in written for shard in shards]


class _Cutter:
    """One part of the documents, cut into shards of about the same size."""

    def __init__(self, folder: Path, source: Source, total: int, *, held_out: bool) -> None:
        size = max(shard_bytes(total) // source.sample, 1) * source.sample
        self._size = -(-total // -(-total // size) // source.sample) * source.sample
        self._between = source.between
        self._folder, self._held_out = folder, held_out
        self._left = bytearray()
        self._shards: list[Shard] = []

    def add(self, document: bytes) -> None:
        self._left += document + self._between
        while len(self._left) > self._size:
            end = self._size
            while self._between and end > self._size - 4 and self._left[end] & 0xC0 == 0x80:  # within a character
                end -= 1
            self._write(end)

    def end(self) -> list[Shard]:
        if self._left:
            self._write(len(self._left))
        return self._shards

    def _write(self, size: int) -> None:
        data = bytes(self._left[:size])
        del self._left[:size]
        digest = hashlib.sha256(data).hexdigest()
        (self._folder / digest).write_bytes(data)
        self._shards.append(Shard(digest, size, self._held_out))

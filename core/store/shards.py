"""A run's text as shards: files that are named by their hash, so that peers can give them to each other.

The text is that of `pydoc_data.topics`, Python's language reference, which differs by Python's version: the manifest
lists the shards of one version, in their order. `python -m core.store.shards` prints the list for this Python.
"""

import bisect
import functools
import hashlib
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from core.contracts.errors import DataError, DataFolderError
from core.contracts.manifest import Manifest, Shard
from core.contracts.notices import notice
from core.regular_files import read_regular
from core.store.writing import write_whole

FOLDER = "data"
"""Inside the run's folder."""
CACHE = 16
"""Shards of a text that are kept in memory, at most 16 MB."""
SHARDS = 8
"""Into which a new list cuts the text; the last one is held out."""


def missing(manifest: Manifest, folder: Path) -> list[Shard]:
    """The shards that are not in the run's folder, or are damaged there."""
    return [shard for shard in dict.fromkeys(manifest.shards) if _read(folder, shard) is None]


def accept(folder: Path, shard: Shard, data: bytes) -> None:
    """Keep a shard that came from elsewhere.

    Raises:
        DataError: the data are not those of the shard; nothing is kept.
        DataFolderError: they cannot be written.
    """
    if not _is(shard, data):
        raise DataError(f"{len(data)} bytes that came for a part of the run's text are not what its hash says.")
    path = path_of(folder, shard)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, [data])
    except OSError as error:
        raise DataFolderError(notice("data.not_written", path=str(path), why=str(error.strerror))) from error


def place(folder: Path, shard: Shard, partial: Path) -> None:
    """Keep a shard that came as a file, whose hash was checked.

    Args:
        folder: The run's own.
        shard: What it is.
        partial: Where it is.

    Raises:
        OSError: It cannot be put in place.
    """
    path = path_of(folder, shard)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial.replace(path)


def path_of(folder: Path, shard: Shard) -> Path:
    """Where a shard is, in the folder of its run."""
    return folder / FOLDER / shard.sha256


def prepare(manifest: Manifest, folder: Path) -> list[Shard]:
    """Make what this Python's own text can give; returns what is still missing.

    Raises:
        DataFolderError: a shard cannot be written.
    """
    wanted = missing(manifest, folder)
    if wanted:
        text, start = local_text(), 0
        for shard in manifest.shards:
            data = text[start : start + shard.size]
            start += shard.size
            if shard in wanted and _is(shard, data):
                accept(folder, shard, data)
                wanted.remove(shard)
    return wanted


class Text:
    """Shards one after the other, read when they are needed; the last few are kept."""

    def __init__(self, parts: Sequence[Shard], folder: Path) -> None:
        """Nothing is read yet.

        Args:
            parts: the shards in the order of the text.
            folder: the run's.
        """
        self._parts = parts
        self.starts = list(itertools.accumulate((part.size for part in parts), initial=0))
        """Where each shard begins in the text, and where the last one ends."""
        self._shard = functools.lru_cache(CACHE)(functools.partial(_whole, folder))

    def __len__(self) -> int:
        return self.starts[-1]

    def read(self, start: int, length: int) -> bytes:
        """Some bytes of the text.

        Args:
            start: the first one's place.
            length: how many; fewer at the end of the text.

        Raises:
            DataError: a shard has gone or was changed.
        """
        found = b""
        for number in range(bisect.bisect_right(self.starts, start) - 1, len(self._parts)):
            if self.starts[number] >= start + length:
                break
            begin = max(0, start - self.starts[number])
            found += self._shard(self._parts[number])[begin : start + length - self.starts[number]]
        return found


def open_text(manifest: Manifest, folder: Path) -> tuple[Text, Text]:
    """The text to train on and the text that is held out.

    Args:
        manifest: the run's.
        folder: the run's.

    Raises:
        DataError: shards are missing and this Python's text does not have them.
        DataFolderError: a shard cannot be written.
    """
    if wanted := prepare(manifest, folder):
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise DataError(
            notice("data.parts_missing", n=len(wanted), all=len(manifest.shards), run=manifest.run, python=python)
        )
    train, held_out = ([part for part in manifest.shards if part.held_out is out] for out in (False, True))
    return Text(train, folder), Text(held_out, folder)


def _whole(folder: Path, shard: Shard) -> bytes:
    if (data := _read(folder, shard)) is None:
        raise DataError(notice("data.part_gone", part=shard.sha256[:8]))
    return data


def local_text() -> bytes:
    """The text of this Python; nothing if it comes without."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        return b""
    return "\n".join(topics.values()).encode()


def _is(shard: Shard, data: bytes) -> bool:
    return len(data) == shard.size and hashlib.sha256(data).hexdigest() == shard.sha256


def _read(folder: Path, shard: Shard) -> bytes | None:
    """A shard's bytes, if they are there and right."""
    path = path_of(folder, shard)
    try:
        if path.stat().st_size != shard.size:
            return None
        data = read_regular(path, shard.size)
    except OSError:
        return None
    return data if _is(shard, data) else None


def cut(text: bytes) -> list[Shard]:
    """The list of a text's shards, for a manifest."""
    size = -(-len(text) // SHARDS)
    parts = [text[start : start + size] for start in range(0, len(text), size)]
    digests = [hashlib.sha256(part).hexdigest() for part in parts]
    return [
        Shard(digest, len(part), held_out=index == len(parts) - 1)
        for index, (digest, part) in enumerate(zip(digests, parts, strict=True))
    ]


if __name__ == "__main__":
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(cut(local_text()))).decode() + "\n")

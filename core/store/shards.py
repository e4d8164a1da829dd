"""A run's data as shards: files that are named by their hash, so that peers can give them to each other.

What an organiser has cut (`core.store.cutting`) lies in the data folder, for whichever run names it: it is given to
others, never removed, and no part of what Hearth may take of the disk. What came from others is in the run's folder.

The text of the run `text` is that of `pydoc_data.topics`, Python's language reference, which differs by Python's
version: the manifest lists the shards of one version, in their order. `python -m core.store.shards` prints the list for
this Python.
"""

import bisect
import contextlib
import functools
import hashlib
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from core.contracts import data
from core.contracts.errors import DataError, DataFolderError
from core.contracts.manifest import Manifest, Shard, ShardList
from core.contracts.model import TokenizerFile
from core.contracts.notices import notice
from core.contracts.trunk import VcAsgd
from core.regular_files import read_regular
from core.store.writing import remove, write_whole

FOLDER, OWN = "data", "own-data"
"""Inside the run's folder what came from others, inside the data folder what an organiser has put there."""
TOGETHER = 10
"""Shards whose samples are mixed: of a text that has more, a trainer needs no more of them at once."""
HELD_OUT_SHARDS = 8
"""Of what is held out by which trainers are judged, where a text has more."""
CACHE = 16
"""Shards of a text that are kept in memory, at most 16 MB."""
Named = Shard | ShardList | TokenizerFile
"""What travels by its hash."""
SHARDS = 8
"""Into which a new list cuts the text; the last one is held out."""


def listed(manifest: Manifest, folder: Path) -> tuple[Shard, ...]:
    """All shards of a run, in their order.

    Raises:
        DataError: their list is not in the run's folder, or is none.
    """
    if (named := manifest.shard_list) is None:
        return manifest.shards
    if (document := _read(folder, named)) is None:
        raise DataError(notice("data.coming", run=manifest.run))
    return data.decode(document)


def known_shards(manifest: Manifest, folder: Path) -> tuple[Shard, ...]:
    """All shards of a run; none if their list has not come.

    Args:
        manifest: the run's.
        folder: the run's.
    """
    try:
        return listed(manifest, folder)
    except DataError:
        return ()


def streams(manifest: Manifest, parts: Sequence[Shard]) -> bool:
    """Whether training begins with the first shard that is here, and needs few of them at once. Servers of VC-ASGD deal
    batches out by their number, which must be the same for everybody.

    Args:
        manifest: the run's.
        parts: all of its shards.
    """
    return not isinstance(manifest.trunk, VcAsgd) and sum(not part.held_out for part in parts) > TOGETHER


def here(folder: Path) -> set[str]:
    """Hashes of the files that a run can use, right or damaged."""
    found: set[str] = set()
    for place in (folder / FOLDER, own_folder(folder)):
        with contextlib.suppress(OSError):  # there is none
            found.update(path.name for path in place.iterdir() if len(path.name) == 64)
    return found


def own_folder(folder: Path) -> Path:
    """Where an organiser's shards are, for a run's folder."""
    return folder.parent.parent / OWN


def missing(manifest: Manifest, folder: Path) -> list[Shard]:
    """The shards that are not in the run's folder, or are damaged there.

    Raises:
        DataError: their list is.
    """
    return [shard for shard in dict.fromkeys(listed(manifest, folder)) if _read(folder, shard) is None]


def accept(folder: Path, shard: Named, content: bytes) -> None:
    """Keep a file that came from elsewhere.

    Raises:
        DataError: the content is not those of the shard; nothing is kept.
        DataFolderError: they cannot be written.
    """
    if not _is(shard, content):
        raise DataError(f"{len(content)} bytes that came for a part of the run's text are not what its hash says.")
    path = folder / FOLDER / shard.sha256
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, [content])
    except OSError as error:
        raise DataFolderError(notice("data.not_written", path=str(path), why=str(error.strerror))) from error


def place(folder: Path, sha256: str, partial: Path) -> None:
    """Keep a file that came from others, whose hash was checked.

    Args:
        folder: The run's own.
        sha256: Its hash.
        partial: Where it is.

    Raises:
        OSError: It cannot be put in place.
    """
    path = folder / FOLDER / sha256
    path.parent.mkdir(parents=True, exist_ok=True)
    partial.replace(path)


def path_of(folder: Path, sha256: str) -> Path:
    """Where a shard or their list is, if it is there.

    Args:
        folder: the run's.
        sha256: the file's hash.
    """
    own = own_folder(folder) / sha256
    return own if own.exists() else folder / FOLDER / sha256


def read(folder: Path, shard: Named) -> bytes | None:
    """A file's bytes, if they are there and right. A damaged one that came from others is removed, to come anew."""
    found = _read(folder, shard)
    if found is None:
        remove(folder / FOLDER / shard.sha256)
    return found


def prepare(manifest: Manifest, folder: Path) -> list[Shard]:
    """Make what Hearth or this Python can give by itself; returns what is still missing.

    Raises:
        DataError: their list is.
        DataFolderError: a shard cannot be written.
    """
    wanted = missing(manifest, folder)
    if wanted and manifest.shards:
        text, start = _text_of(manifest, folder), 0
        for shard in manifest.shards:
            content = text[start : start + shard.size]
            start += shard.size
            if shard in wanted and _is(shard, content):
                accept(folder, shard, content)
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
    wanted, parts = prepare(manifest, folder), listed(manifest, folder)
    if wanted and manifest.shard_list:
        raise DataError(notice("data.coming", run=manifest.run))
    if wanted:
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise DataError(notice("data.parts_missing", n=len(wanted), all=len(parts), run=manifest.run, python=python))
    train, held_out = ([part for part in parts if part.held_out is out] for out in (False, True))
    return Text(train, folder), Text(held_out, folder)


def _whole(folder: Path, shard: Shard) -> bytes:
    if (content := _read(folder, shard)) is None:
        raise DataError(notice("data.part_gone", part=shard.sha256[:8]))
    return content


def local_text() -> bytes:
    """The text of this Python; nothing if it comes without."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        return b""
    return "\n".join(topics.values()).encode()


def _text_of(manifest: Manifest, folder: Path) -> bytes:
    """The text that Hearth or this Python has for a run; a tokenizer that Hearth has is put in the run's folder."""
    if (named := manifest.tokenizer) is not None:
        from core.store import stories  # the library of tokenizers takes 10 MB, and is needed once

        if _is(named, tokenizer := stories.tokenizer()):
            accept(folder, named, tokenizer)
            return stories.text()
    return local_text()


def _is(named: Named, content: bytes) -> bool:
    return len(content) == named.size and hashlib.sha256(content).hexdigest() == named.sha256


def _read(folder: Path, named: Named) -> bytes | None:
    path = path_of(folder, named.sha256)
    try:
        if path.stat().st_size != named.size:
            return None
        content = read_regular(path, named.size)
    except OSError:
        return None
    return content if _is(named, content) else None


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

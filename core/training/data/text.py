"""A run's text in windows of the model's sequence: what is to be told is every byte's next one, or every token's.

However long the text, little of it is in memory. One of many shards is read as they come (see `ShuffleBuffer`). Of
others, and where servers deal out batches by their number, every shard must be here; a pass takes them in an order of
its own, some at a time, and shuffles the windows of those.
"""

import itertools
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from core.contracts.errors import DataError, ManifestError
from core.contracts.manifest import Manifest, Shard
from core.contracts.notices import notice
from core.contracts.pipe import Reading
from core.store import shards
from core.store.shards import HELD_OUT_SHARDS, TOGETHER, Text
from core.training.data.shuffle_buffer import Shelf, ShuffleBuffer
from core.training.data.stream import Part, Stream

NUMBERS = {1: torch.uint8, 2: torch.uint16}
"""What a byte and a token are in a shard, by their bytes."""
HELD_OUT_WINDOWS = 64
"""Of the held-out text, evenly spaced: an evaluation must take a second, not ten."""


class Windows:
    """How a text becomes samples.

    A window that would begin within a document begins with the next one if that begins within it: what a document
    tells later may depend on how it began. Of a long one, all is told.
    """

    def __init__(self, manifest: Manifest, item: int) -> None:
        """Know the sizes.

        Args:
            manifest: the run's.
            item: bytes of what is told, a byte or a token.
        """
        self.ends, self.item = manifest.ends, item
        self.length = manifest.ends.inputs + 1
        """Items of a window, and the one that is told last."""
        self._end = manifest.tokenizer.end if manifest.tokenizer else None

    def fit(self, held_out: int) -> bool:
        """Whether a model has windows, and so many bytes of held-out text enough of them."""
        return self.ends.inputs > 0 and held_out >= (self.length + HELD_OUT_WINDOWS) * self.item

    def read(self, text: Text, starts: Sequence[int]) -> Part:
        """The samples that start there.

        Raises:
            DataError: as `as_part`, or the text cannot be read.
        """
        most = self.length if self._end is None else 2 * self.length
        return self.as_part(b"".join(self._first(text.read(at * self.item, most * self.item)) for at in starts))

    def _first(self, content: bytes) -> bytes:
        numbers = torch.frombuffer(bytearray(content), dtype=NUMBERS[self.item])
        start = self._document(numbers, 0)
        return content[start * self.item : (start + self.length) * self.item]

    def _document(self, numbers: Tensor, start: int) -> int:
        """Where a window begins that would begin at `start`."""
        ends = (numbers[start : start + self.length - 1] == self._end).nonzero() if self._end is not None else None
        later = start if ends is None or not len(ends) else start + int(ends[0]) + 1
        return later if later + self.length <= len(numbers) else start

    def held_out(self, text: Text) -> Part:
        """Windows of the held-out text, evenly spaced."""
        every = (len(text) // self.item - self.length) // (HELD_OUT_WINDOWS - 1)
        return self.read(text, [every * number for number in range(HELD_OUT_WINDOWS)])

    def cut(self, content: bytes, generator: torch.Generator) -> Tensor:
        """The windows of a shard, uint8 [n, their bytes], one behind the other from a start that is drawn: hardly
        anything is told twice a use."""
        start = int(torch.randint(self.length - 1, (), generator=generator))
        numbers = torch.frombuffer(bytearray(content), dtype=NUMBERS[self.item])
        starts = range(start, len(numbers) - self.length + 1, self.length - 1)
        begins = [self._document(numbers, start) for start in starts]
        return torch.cat([numbers[at : at + self.length] for at in begins]).view(len(begins), -1).view(torch.uint8)

    def as_part(self, windows: Tensor | bytes) -> Part:
        """Samples of windows.

        Args:
            windows: one behind the other, uint8.

        Raises:
            DataError: they hold what the model cannot tell.
        """
        data = torch.frombuffer(bytearray(windows), dtype=torch.uint8) if isinstance(windows, bytes) else windows
        numbers = data.view(NUMBERS[self.item]).view(-1, self.length).long()
        if int(numbers.max()) >= self.ends.classes:
            raise DataError(notice("data.foreign_token", token=int(numbers.max()), vocabulary=self.ends.classes))
        return Part(numbers[:, :-1], numbers[:, 1:])


class TextStream(Stream):
    """Windows that start anywhere in the text, each once a pass."""

    def __init__(self, manifest: Manifest, folder: Path, shuffle: int, item: int) -> None:
        """Prepare the text.

        Args:
            manifest: the run's.
            folder: the run's, where its shards are.
            shuffle: added to the run's seed for the order.
            item: bytes of what is told, a byte or a token.

        Raises:
            ManifestError: the model has no sequence, or the text is too short for one.
            DataError: shards of the text are missing.
        """
        self._text, held_out = shards.open_text(manifest, folder)
        self._windows = Windows(manifest, item)
        if not self._windows.fit(min(len(self._text), len(held_out))):
            raise ManifestError(notice("data.text_too_short", run=manifest.run))
        unseen, training = self._windows.held_out(held_out), manifest.training
        windows = len(self._text) // item - self._windows.length + 1
        super().__init__(manifest.ends, unseen, training.batch, training.seed + shuffle, windows)
        self._pass = _Pass(-1, [], [0])
        self._group, self._order = (-1, -1), torch.empty(0, dtype=torch.int32)

    def _batch(self, number: int, epoch: int, first: int) -> Part:
        if epoch != self._pass.epoch:
            self._pass = self._begin(epoch)
        starts: list[int] = []
        while len(starts) < self.batch:
            group = bisect_right(self._pass.begins, first + len(starts)) - 1
            place = first + len(starts) - self._pass.begins[group]
            starts += self._starts(epoch, group, place, self.batch - len(starts))
        return self._windows.read(self._text, starts)

    def _begin(self, epoch: int) -> "_Pass":
        """Which windows are shuffled together, and in which order they come."""
        bounds = [min(start // self._windows.item, self.samples) for start in self._text.starts]
        spans = list(itertools.pairwise(bounds))
        if len(spans) > TOGETHER:
            order = torch.randperm(len(spans), generator=self._random("shards", epoch)).tolist()
            spans = [spans[number] for number in order]
        groups = [spans[start : start + TOGETHER] for start in range(0, len(spans), TOGETHER)]
        sizes = [sum(stop - start for start, stop in group) for group in groups]
        return _Pass(epoch, groups, list(itertools.accumulate(sizes, initial=0)))

    def _starts(self, epoch: int, group: int, place: int, most: int) -> list[int]:
        """Where the next windows of a group start in the text; fewer than `most` at the group's end."""
        spans = self._pass.groups[group]
        if (epoch, group) != self._group:
            seed = epoch if len(self._pass.groups) == 1 else epoch * len(self._pass.groups) + group
            size = self._pass.begins[group + 1] - self._pass.begins[group]
            self._order = _shuffled(size, self._random("epoch", seed))
            self._group = epoch, group
        ends = list(itertools.accumulate(stop - start for start, stop in spans))
        found = []
        for offset in self._order[place : place + most].tolist():
            span = bisect_right(ends, offset)
            found.append(spans[span][1] - (ends[span] - offset))
        return found


class _Pass(NamedTuple):
    """One pass over the text."""

    epoch: int
    groups: list[list[tuple[int, int]]]
    """The windows that are shuffled together: from which start in the text up to which."""
    begins: list[int]
    """How many windows come before each group, and how many there are."""


def _shuffled(count: int, generator: torch.Generator) -> Tensor:
    """The numbers below `count` in random order, in half the memory that int64 takes; the order is the same."""
    return torch.randperm(count, generator=generator, dtype=torch.int32)


def _streamed(
    manifest: Manifest, parts: Sequence[Shard], folder: Path, shuffle: int, told: Callable[[Reading], None], item: int
) -> ShuffleBuffer:
    """A text that comes shard by shard.

    Raises:
        ManifestError: the model has no sequence, or the text is too short for one.
        DataError: what is held out is missing, or no other shard is here yet.
    """
    windows, training = Windows(manifest, item), manifest.training
    held_out = [part for part in parts if part.held_out][:HELD_OUT_SHARDS]
    shelf = Shelf(parts, folder, windows.length * item)
    if not windows.fit(sum(part.size for part in held_out)) or not shelf.usable:
        raise ManifestError(notice("data.text_too_short", run=manifest.run))
    if any(shards.read(folder, part) is None for part in held_out):
        raise DataError(notice("data.coming", run=manifest.run))
    return ShuffleBuffer(
        manifest.ends,
        windows.held_out(Text(held_out, folder)),
        training.batch,
        training.seed + shuffle,
        shelf,
        windows.cut,
        windows.as_part,
        told,
    )


def stream_of(
    manifest: Manifest, folder: Path | None, shuffle: int, told: Callable[[Reading], None], item: int = 1
) -> Stream:
    """A run's text.

    Args:
        manifest: the run's.
        folder: as in `open_stream`.
        shuffle: as in `open_stream`.
        told: as in `open_stream`.
        item: bytes of what is told, a byte or a token.

    Raises:
        DataError: as `open_stream`, or a shard ends within a token.
        ManifestError: as `open_stream`.
    """
    if folder is None:
        raise DataError("A run's text is in the run's folder, and none was named.")
    parts = shards.listed(manifest, folder)
    if any(part.size % item for part in parts):
        raise DataError(notice("data.half_token"))
    if shards.streams(manifest, parts):
        return _streamed(manifest, parts, folder, shuffle, told, item)
    return TextStream(manifest, folder, shuffle, item)


STREAM = stream_of

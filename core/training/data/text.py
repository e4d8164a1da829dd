"""A run's text in windows of the model's sequence: what is to be told is every byte's next one, or every token's.

However long the text, little of it is in memory. One of many shards is read as they come (see `ShuffleBuffer`). Of
others, and where servers deal out batches by their number, every shard must be here; a pass takes them in an order of
its own, some at a time, and shuffles the windows of those.
"""

import itertools
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from core.contracts.errors import DataError, ManifestError
from core.contracts.kinds import Ends
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
        ends = manifest.ends
        self._window, self._item = ends.inputs + 1, item
        if ends.inputs == 0 or min(len(self._text), len(held_out)) < (self._window + HELD_OUT_WINDOWS) * item:
            raise ManifestError(notice("data.text_too_short", run=manifest.run))
        unseen = _held_out(held_out, ends, item)
        training = manifest.training
        windows = len(self._text) // item - self._window + 1
        super().__init__(ends, unseen, training.batch, training.seed + shuffle, windows)
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
        return _part(self.ends, self._item, _windows(self._text, starts, self._window, self._item))

    def _begin(self, epoch: int) -> "_Pass":
        """Which windows are shuffled together, and in which order they come."""
        bounds = [min(start // self._item, self.samples) for start in self._text.starts]
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


def _windows(text: Text, starts: Sequence[int], window: int, item: int) -> Tensor:
    """The windows that start there, uint8 [n, their bytes]."""
    data = bytearray().join(text.read(start * item, window * item) for start in starts)
    return torch.frombuffer(data, dtype=torch.uint8).view(len(starts), window * item)


def _part(ends: Ends, item: int, windows: Tensor) -> Part:
    """Samples of windows.

    Raises:
        DataError: they hold what the model cannot tell.
    """
    numbers = windows.view(NUMBERS[item]).long()
    if int(numbers.max()) >= ends.classes:
        raise DataError(notice("data.foreign_token", token=int(numbers.max()), vocabulary=ends.classes))
    return Part(numbers[:, :-1], numbers[:, 1:])


def _held_out(text: Text, ends: Ends, item: int) -> Part:
    window = ends.inputs + 1
    every = (len(text) // item - window) // (HELD_OUT_WINDOWS - 1)
    starts = [every * number for number in range(HELD_OUT_WINDOWS)]
    return _part(ends, item, _windows(text, starts, window, item))


def _cut(window: int, item: int, content: bytes, generator: torch.Generator) -> Tensor:
    """The windows of a shard, one behind the other, from a start that is drawn: each byte is told once a use."""
    start = int(torch.randint(window - 1, (), generator=generator))
    numbers = torch.frombuffer(bytearray(content), dtype=NUMBERS[item])[start:]
    return numbers.unfold(0, window, window - 1).contiguous().view(torch.uint8)


def _streamed(
    manifest: Manifest, parts: Sequence[Shard], folder: Path, shuffle: int, told: Callable[[Reading], None], item: int
) -> ShuffleBuffer:
    """A text that comes shard by shard.

    Raises:
        ManifestError: the model has no sequence, or the text is too short for one.
        DataError: what is held out is missing, or no other shard is here yet.
    """
    ends, training = manifest.ends, manifest.training
    window = ends.inputs + 1
    held_out = [part for part in parts if part.held_out][:HELD_OUT_SHARDS]
    enough = sum(part.size for part in held_out) >= (window + HELD_OUT_WINDOWS) * item
    shelf = Shelf(parts, folder, window * item)
    if window == 1 or not enough or not shelf.usable:
        raise ManifestError(notice("data.text_too_short", run=manifest.run))
    if any(shards.read(folder, part) is None for part in held_out):
        raise DataError(notice("data.coming", run=manifest.run))
    return ShuffleBuffer(
        ends,
        _held_out(Text(held_out, folder), ends, item),
        training.batch,
        training.seed + shuffle,
        shelf,
        partial(_cut, window, item),
        partial(_part, ends, item),
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

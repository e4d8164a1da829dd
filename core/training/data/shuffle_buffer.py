"""Samples of data that come shard by shard: drawn at random from a buffer, which is filled from several shards at once.

As in DeDLOC (section 3.3, appendices H and I.4): training begins with the first shard that is here, each peer takes
shards in an order of its own, and a sample that is drawn is replaced by the next one. What order the shards come in is
known only as they come; so a checkpoint keeps which samples are in the buffer, and how far each open shard was read.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from core.contracts.errors import DataError
from core.contracts.kinds import Ends
from core.contracts.manifest import Shard
from core.contracts.notices import notice
from core.contracts.pipe import Reading
from core.runtime.adam import check_state
from core.store import shards
from core.store.shards import TOGETHER
from core.training.data.stream import Part, Stream

CAPACITY = 10_000
"""Samples in the buffer. Of 4,096 bytes each they take 41 MB, and the open shards 10."""
SHARE = CAPACITY // TOGETHER
"""Until so many shards have come: there is room for the later ones' samples."""
LOOK_S = 1.0
"""Between two looks which shards are here, while there are too few."""
STATE = "data."
"""Begins the names, in a checkpoint, of where the stream is."""
BITS = 20
"""Of a row's number in a shard of 1 MiB."""
LOW = (1 << BITS) - 1

Cut = Callable[[bytes, torch.Generator], Tensor]
"""The samples of a shard, uint8 [n, bytes of a sample]; where they begin may be drawn at random."""


class Shelf:
    """The shards that are on the disk, of those to train on."""

    def __init__(self, parts: Sequence[Shard], folder: Path, sample: int) -> None:
        """
        Args:
            parts: all of the run's, in their order.
            folder: the run's.
            sample: bytes of one.
        """
        self.parts, self.sample, self._folder = parts, sample, folder
        self.usable = [n for n, part in enumerate(parts) if not part.held_out and part.size >= 2 * sample]
        """Those with at least one sample, wherever it begins."""
        self._looked = -LOOK_S
        self._here: list[int] = []

    def here(self) -> list[int]:
        """Their numbers, as of a second ago."""
        if (now := time.monotonic()) - self._looked >= LOOK_S:
            names = shards.here(self._folder)
            self._here = [n for n in self.usable if self.parts[n].sha256 in names]
            self._looked = now
        return self._here

    def read(self, number: int) -> bytes | None:
        """A shard; None: it is not here any more, or damaged."""
        content = shards.read(self._folder, self.parts[number])
        if content is None:
            self._looked = -LOOK_S
            self._here = [n for n in self._here if n != number]
        return content

    def leave_out(self, number: int) -> None:
        """Read a shard no more."""
        self.usable.remove(number)
        self._here = [n for n in self._here if n != number]


class _Samples(NamedTuple):
    content: Tensor
    """uint8 [n, bytes of a sample]."""
    refs: Tensor
    """What they are, int64 [n]: shard, use and row, of 20 bits each from the last one up."""

    def at(self, places: Tensor | slice) -> "_Samples":
        return _Samples(self.content[places], self.refs[places])

    def shards(self) -> list[int]:
        numbers: list[int] = (self.refs >> 2 * BITS).tolist()
        return numbers

    def and_(self, *more: "_Samples") -> "_Samples":
        contents, refs = zip(self, *more, strict=True)
        return _Samples(torch.cat(contents), torch.cat(refs))


class _Open:
    """A shard that is read."""

    def __init__(self, number: int, use: int, rows: Tensor, order: Tensor) -> None:
        self.number, self.use, self._rows, self._order = number, use, rows, order
        self.next = 0

    def take(self, count: int) -> _Samples:
        """The next samples; fewer at the end."""
        rows = self._order[self.next : self.next + count]
        self.next += len(rows)
        return self.of(rows)

    def of(self, rows: Tensor) -> _Samples:
        """Samples by their row."""
        return _Samples(self._rows[rows], (self.number << 2 * BITS | self.use << BITS) + rows)

    @property
    def is_read(self) -> bool:
        return self.next == len(self._order)


class ShuffleBuffer(Stream):
    """A stream whose batches are drawn one after the other, whatever numbers they are asked by.

    Shards that were used least come first, and of these each peer draws one. One is used again only when all have been,
    or nothing else is left to train on.
    """

    def __init__(
        self,
        ends: Ends,
        held_out: Part,
        batch: int,
        seed: int,
        shelf: Shelf,
        cut: Cut,
        as_part: Callable[[Tensor], Part],
        told: Callable[[Reading], None],
    ) -> None:
        """Begin with what is here.

        Args:
            ends: as in `Stream`.
            held_out: as in `Stream`.
            batch: as in `Stream`.
            seed: as in `Stream`, the peer's own.
            shelf: the shards.
            cut: makes samples of a shard.
            as_part: makes a batch of samples.
            told: hears which shards were opened, and which are needed no more.

        Raises:
            DataError: no shard is here yet.
        """
        total = sum(shelf.parts[number].size for number in shelf.usable)
        super().__init__(ends, held_out, batch, seed, total // shelf.sample)
        self._shelf, self._cut, self._as_part, self._told = shelf, cut, as_part, told
        self._uses = torch.zeros(len(shelf.parts), dtype=torch.int64)
        self._open: list[_Open] = []
        self._none = _Samples(torch.empty((0, shelf.sample), dtype=torch.uint8), torch.empty(0, dtype=torch.int64))
        self._buffer = self._none
        self._drawn = self._entered = 0
        """Batches and samples since the beginning."""
        self._out: dict[int, _Samples] = {}
        """The batches on the way: they are not lost if they fail, or this process ends."""
        self._left = Counter[int]()
        """Samples of each shard in the buffer and on the way."""
        if not shelf.here():
            raise DataError(notice("data.none_yet"))

    def __getitem__(self, number: int) -> Part:
        """The next batch.

        Args:
            number: by which it is called until it is done.

        Raises:
            DataError: all shards have gone.
        """
        self._fill()
        order = torch.randperm(len(self._buffer.refs), generator=self._random("draw", self._drawn))
        drawn = self._buffer.at(order[: self.batch])
        self._buffer = self._buffer.at(order[self.batch :])
        self._drawn += 1
        self._out[number] = self._out.get(number, self._none).and_(drawn)
        return self._as_part(drawn.content)

    def _batch(self, number: int, epoch: int, first: int) -> Part:
        raise NotImplementedError("It has no passes: shards come when they come.")

    def done(self, number: int) -> None:
        """As in `Stream`."""
        gone = Counter(self._out.pop(number, self._none).shards())
        self._left.subtract(gone)
        opened = {one.number for one in self._open}
        if finished := [shard for shard in gone if not self._left[shard] and shard not in opened]:
            self._told(Reading({}, finished))

    def drop(self, number: int) -> None:
        """As in `Stream`."""
        self._buffer = self._buffer.and_(self._out.pop(number, self._none))

    # filling

    def _fill(self) -> None:
        """Open shards that have not been used as often as others, and take samples of all that are open by chance.

        Raises:
            DataError: there are none.
        """
        self._open_more()
        self._take_samples()
        while len(self._buffer.refs) < self.batch:  # the network is too slow: what was used already is used again
            self._open_more(again=True)
            if not self._open:
                raise DataError(notice("data.none_yet"))
            self._take_samples()

    def _take_samples(self) -> None:
        while self._open and (room := self._room() - len(self._buffer.refs)) > 0:
            chance = torch.randint(len(self._open), (room,), generator=self._random("turns", self._entered))
            counts = torch.bincount(chance, minlength=len(self._open)).tolist()
            taken = [one.take(count) for one, count in zip(self._open, counts, strict=True)]
            self._buffer = self._buffer.and_(*taken)
            for one, samples in zip([*self._open], taken, strict=True):
                self._entered += len(samples.refs)
                self._left[one.number] += len(samples.refs)
                if one.is_read:
                    self._close(one)
            self._open_more()

    def _room(self) -> int:
        return max(self.batch, min(CAPACITY, SHARE * int(self._uses.sum())))

    def _open_more(self, again: bool = False) -> None:
        """Open what is here until enough are.

        Args:
            again: whether also those that were used as often as any.
        """
        if len(self._open) >= TOGETHER or not self._shelf.usable:
            return
        least = int(self._uses[self._shelf.usable].min())
        opened = {one.number for one in self._open}
        fit = [number for number in self._shelf.here() if number not in opened]
        if not again:  # of few data the buffer holds one pass
            fit = [number for number in fit if self._uses[number] == least and not self._left[number]]
        chance = torch.rand(len(self._uses), generator=self._random("shards", int(self._uses.sum()))).tolist()
        for number in sorted(fit, key=lambda n: (int(self._uses[n]), chance[n])):
            if len(self._open) >= TOGETHER or (again and self._open):
                return
            self._begin(number, int(self._uses[number]))

    def _begin(self, number: int, use: int) -> None:
        one = self._cut_out(number, use)
        if one is not None and one.is_read:  # a stranger's file, with nothing in it
            self._shelf.leave_out(number)
        elif one is not None:
            self._uses[number] += 1
            self._open.append(one)
            self._told(Reading({number: use + 1}, []))

    def _cut_out(self, number: int, use: int) -> _Open | None:
        """A shard's samples and their order for this use; None: it is not here."""
        if (content := self._shelf.read(number)) is None:
            return None
        generator = self._random(f"shard {number}", use)
        rows = self._cut(content, generator)
        return _Open(number, use, rows, torch.randperm(len(rows), generator=generator))

    def _close(self, one: _Open) -> None:
        self._open.remove(one)
        if not self._left[one.number]:
            self._told(Reading({}, [one.number]))

    # going on after a restart

    def state(self) -> dict[str, Tensor]:
        """As in `Stream`: what is on the way is in the buffer again."""
        opened = torch.tensor([(one.number, one.use, one.next) for one in self._open], dtype=torch.int64)
        return {
            f"{STATE}counts": torch.tensor([self._drawn, self._entered]),
            f"{STATE}uses": self._uses.clone(),
            f"{STATE}open": opened.view(-1, 3),
            f"{STATE}buffer": self._buffer.and_(*self._out.values()).refs.clone(),
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        """As in `Stream`. Samples of shards that are not here any more are left out."""
        if f"{STATE}uses" not in state:
            return
        check_state({"uses": state[f"{STATE}uses"]}, {"uses": self._uses})
        self._drawn, self._entered = state[f"{STATE}counts"].tolist()
        self._uses, self._buffer, self._open = state[f"{STATE}uses"].clone(), self._none, []
        self._out.clear()
        for number, use, place in state[f"{STATE}open"].tolist():
            if (one := self._cut_out(number, use)) is not None:
                one.next = place
                self._open.append(one)
        self._buffer = self._read_again(state[f"{STATE}buffer"])
        self._left = Counter(self._buffer.shards())
        uses = {n: count for n, count in enumerate(self._uses.tolist()) if count}
        needed = {one.number for one in self._open} | self._left.keys()
        self._told(Reading(uses, [n for n in uses if n not in needed]))

    def _read_again(self, refs: Tensor) -> _Samples:
        """Samples from the disk, in their order."""
        found, places = [self._none], [torch.empty(0, dtype=torch.int64)]
        for which in torch.unique(refs >> BITS).tolist():
            if (one := self._cut_out(which >> BITS, which & LOW)) is not None:
                these = (refs >> BITS == which).nonzero().flatten()
                found.append(one.of(refs[these] & LOW))
                places.append(these)
        return self._none.and_(*found).at(torch.cat(places).argsort())


def without_place(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """A state without where the stream is."""
    return {name: tensor for name, tensor in state.items() if not name.startswith(STATE)}

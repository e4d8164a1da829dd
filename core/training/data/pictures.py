"""An organiser's labelled pictures: shards of samples, each a class and its pixels."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from core.contracts.errors import DataError, ManifestError
from core.contracts.manifest import Manifest, Shard
from core.contracts.model import LABEL, Pictures
from core.contracts.notices import notice
from core.contracts.pipe import Reading
from core.store import shards
from core.training.data.shuffle_buffer import Shelf, ShuffleBuffer
from core.training.data.stream import Part, Stream, Table

JUDGED, JUDGED_NUMBERS = 1000, 16_000_000
"""Pictures by which a model is judged, and at most so many pixels."""
WHOLE = 256 << 20
"""Bytes of what may be in memory as a whole."""


class _Form:
    """How a run's samples are laid out."""

    def __init__(self, pictures: Pictures) -> None:
        self._classes, self._pixels = len(pictures.classes), pictures.pixels
        self.size = LABEL + pictures.pixels

    def rows(self, content: bytes, generator: torch.Generator | None = None) -> Tensor:
        """The samples of a shard, uint8 [n, size]; none of a class that there is not, as a stranger's file may have."""
        count = len(content) // self.size
        rows = torch.frombuffer(bytearray(content), dtype=torch.uint8)[: count * self.size].view(count, self.size)
        return rows[_labels(rows) < self._classes]

    def judged(self, rows: Tensor) -> Part:
        """Some of what is held out, evenly spaced."""
        count = max(1, min(len(rows), JUDGED, JUDGED_NUMBERS // self._pixels))
        return _part(rows[torch.linspace(0, len(rows) - 1, count).long()])


def _labels(rows: Tensor) -> Tensor:
    return rows[:, 0].long() * 256 + rows[:, 1]


def _seen(pixels: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Pixels as a network sees them, 0 to 1."""
    return pixels.float() / 255


def _part(rows: Tensor) -> Part:
    return Part(_seen(rows[:, LABEL:]), _labels(rows))


def _stream(manifest: Manifest, folder: Path | None, shuffle: int, told: Callable[[Reading], None]) -> Stream:
    if folder is None or manifest.pictures is None:
        raise DataError("A run's pictures are in the run's folder, and none was named.")
    parts, form, training = shards.listed(manifest, folder), _Form(manifest.pictures), manifest.training
    held_out = [part for part in parts if part.held_out][: shards.HELD_OUT_SHARDS]
    train = [part for part in parts if not part.held_out]
    shelf = Shelf(parts, folder, form.size)
    if not shelf.usable or sum(part.size for part in held_out) < form.size:
        raise ManifestError(notice("data.too_few_pictures", run=manifest.run))
    judged = form.judged(_whole(manifest.run, folder, held_out, form))
    seed = training.seed + shuffle
    if shards.streams(manifest, parts):
        return ShuffleBuffer(manifest.ends, judged, training.batch, seed, shelf, form.rows, _part, told)
    if sum(part.size for part in train) > WHOLE:
        raise DataError(notice("data.too_much_at_once", most=WHOLE))
    rows = _whole(manifest.run, folder, train, form)
    return Table(Part(rows[:, LABEL:], _labels(rows)), judged, manifest.ends.classes, training.batch, seed, _seen)


def _whole(run: str, folder: Path, parts: Sequence[Shard], form: _Form) -> Tensor:
    """All samples of some shards.

    Raises:
        DataError: one is not here.
        ManifestError: there are none in them.
    """
    contents = [shards.read(folder, part) for part in parts]
    found = [form.rows(content) for content in contents if content is not None]
    if len(found) < len(parts):
        raise DataError(notice("data.coming", run=run))
    if not sum(map(len, found)):
        raise ManifestError(notice("data.too_few_pictures", run=run))
    return torch.cat(found)


STREAM = _stream

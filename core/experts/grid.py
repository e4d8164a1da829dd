"""Names and places of experts: the uid and the grid (paper, section 3.2)."""

import functools
import itertools
import math
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from core.contracts.errors import ProtocolError

MAX_UID = 64
"""Characters of a uid: a run's name of 32, then a layer and four coordinates."""
MAX_LAYERS = 256
MAX_SIDE = 4096
"""Cells along one dimension of a grid."""

KNOWN_UIDS = 8192
"""Of those met last that are not parsed again."""

Coords = tuple[int, ...]
"""u_0 .. u_{d-1}; a shorter tuple is a prefix."""

_UID = re.compile(r"([a-z][a-z0-9_-]{0,31})\.(0|[1-9][0-9]{0,3})((?:\.(?:0|[1-9][0-9]{0,3})){1,4})", re.ASCII)


class Uid(NamedTuple):
    """Name of an expert, `text.0.3.14` = run.layer.u_0.u_1; sorts by run, layer, coordinates."""

    run: str
    layer: int
    coords: Coords

    def __str__(self) -> str:
        return ".".join((self.run, str(self.layer), *map(str, self.coords)))

    @classmethod
    @functools.lru_cache(KNOWN_UIDS)
    def parse(cls, text: str) -> "Uid":
        """The uid written as `text`; there is exactly one way to write each.

        Raises:
            ProtocolError: no uid, or one beyond the limits of a grid.
        """
        match = _UID.fullmatch(text) if len(text) <= MAX_UID else None
        if match is None:
            raise ProtocolError(f"{text[:MAX_UID]!r} is no uid; one looks like 'digits.0.3.1' (run.layer.u0.u1).")
        uid = cls(match[1], int(match[2]), tuple(map(int, match[3][1:].split("."))))
        if uid.layer >= MAX_LAYERS or max(uid.coords) >= MAX_SIDE:
            raise ProtocolError(
                f"The uid {text!r} is beyond the limits: layers below {MAX_LAYERS}, coordinates below {MAX_SIDE}."
            )
        return uid


@dataclass(frozen=True)
class Grid:
    """All cells in which a run's experts may live; most of a large grid stays empty."""

    run: str
    layers: int
    shape: Coords
    """M_0 .. M_{d-1}."""

    def __contains__(self, uid: Uid) -> bool:
        return (
            uid.run == self.run
            and 0 <= uid.layer < self.layers
            and len(uid.coords) == len(self.shape)
            and all(0 <= u < size for u, size in zip(uid.coords, self.shape, strict=True))
        )

    @property
    def cells(self) -> int:
        """Cells of one layer."""
        return math.prod(self.shape)

    def uid(self, layer: int, coords: Coords) -> Uid:
        return Uid(self.run, layer, coords)

    def random_uid(self, chance: random.Random) -> Uid:
        """Any cell, all alike."""
        return self.uid(chance.randrange(self.layers), tuple(map(chance.randrange, self.shape)))

    def uids(self) -> Iterator[Uid]:
        """Every cell of every layer, in order."""
        cells = itertools.product(*map(range, self.shape))
        return (Uid(self.run, layer, coords) for layer, coords in itertools.product(range(self.layers), cells))


def names(uids: Iterable[Uid]) -> str:
    """The uids, or their number if they are many."""
    texts = sorted(map(str, uids))
    return ", ".join(texts) if len(texts) <= 4 else f"{len(texts)} experts ({texts[0]} to {texts[-1]})"

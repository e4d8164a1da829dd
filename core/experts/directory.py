"""Who hosts what. The gate asks a directory, and does not care whether a DHT stands behind it (paper, supplement C)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from core.experts.grid import Coords, Uid

LOCAL = "local"
"""The host's name for experts in this process."""
MIRROR_LIMIT = 4096
"""Experts of a layer up to which the whole active set is kept: one product of [batch, experts] scores is then cheaper
than any search, and it is exact."""


class HostState(NamedTuple):
    """What a host says of one of its experts."""

    load: float = 0.0
    """0 idle, 1 busy without pause."""
    version: int = 0
    """Steps its weights have taken."""


class Directory(Protocol):
    """Active experts and their hosts. Every answer may be out of date by the time it is used."""

    def mirror(self, layer: int) -> Sequence[Coords] | None:
        """All active cells of a layer, or None if they are too many to be known.

        The same object is returned until the set changes, so that callers can keep what they derived from it.
        """

    async def active_suffixes(self, layer: int, prefixes: Sequence[Coords]) -> list[Sequence[int]]:
        """For each prefix the next coordinates under which an active expert lives; () asks for the first ones."""

    async def hosts(self, uids: Sequence[Uid]) -> Mapping[Uid, Sequence[str]]:
        """The hosts of each uid, best first; a uid without a host is absent."""


class LocalDirectory:
    """The experts that the Runtime of this process hosts."""

    def __init__(self, uids: Iterable[Uid], mirror_limit: int = MIRROR_LIMIT) -> None:
        self._uids = set(uids)
        self._mirror_limit = mirror_limit
        self._mirrors: dict[int, tuple[Coords, ...]] = {}
        self._suffixes: dict[tuple[int, Coords], Sequence[int]] = {}

    def add(self, uid: Uid) -> None:
        """An expert has appeared."""
        self._uids.add(uid)
        self._forget()

    def remove(self, uid: Uid) -> None:
        """An expert has gone; its cell is not chosen any more."""
        self._uids.discard(uid)
        self._forget()

    def _forget(self) -> None:
        self._mirrors.clear()
        self._suffixes.clear()

    def mirror(self, layer: int) -> Sequence[Coords] | None:
        if layer not in self._mirrors:
            self._mirrors[layer] = tuple(sorted(uid.coords for uid in self._uids if uid.layer == layer))
        cells = self._mirrors[layer]
        return cells if len(cells) <= self._mirror_limit else None

    async def active_suffixes(self, layer: int, prefixes: Sequence[Coords]) -> list[Sequence[int]]:
        if not self._suffixes:
            self._index()
        return [self._suffixes.get((layer, prefix), ()) for prefix in prefixes]

    def _index(self) -> None:
        found: dict[tuple[int, Coords], set[int]] = {}
        for uid in self._uids:
            for end, u in enumerate(uid.coords):
                found.setdefault((uid.layer, uid.coords[:end]), set()).add(u)
        self._suffixes = {key: sorted(suffixes) for key, suffixes in found.items()}

    async def hosts(self, uids: Sequence[Uid]) -> Mapping[Uid, Sequence[str]]:
        return {uid: (LOCAL,) for uid in uids if uid in self._uids}

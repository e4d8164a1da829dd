"""What a server remembers of its callers for a short time: inputs of forward passes, and the backward passes it did."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

MIB = 1 << 20
KEPT_S = 30.0
"""How long anything is remembered: longer than a batch is on its way."""
KEPT_BYTES, KEPT_BYTES_PEER = 64 * MIB, 16 * MIB
"""Of inputs, as they travelled: a peer's last 256 batches of 64 KB."""
DONE_BYTES, DONE_BYTES_PEER = 32 * MIB, 8 * MIB
"""Of answers to backward passes."""
DONE_S = 300.0
"""How long it is known that a backward pass was applied, longer than its answer is held."""
DONE, DONE_PEER = 1 << 20, 8192
"""Backward passes that are known, in all and of one peer: beyond what it can have asked for within its deadlines."""

K = TypeVar("K")
V = TypeVar("V")


class _Item(NamedTuple, Generic[V]):
    value: V
    size: int
    expires: float


class Memory(Generic[K, V]):
    """Values by peer and key, bounded in seconds, in bytes for each peer, and in bytes for all: a peer that fills it
    pushes out its own values first."""

    def __init__(
        self, all_bytes: int, peer_bytes: int, kept_s: float = KEPT_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._all_bytes, self._peer_bytes, self._kept_s, self._clock = all_bytes, peer_bytes, kept_s, clock
        self._peers: dict[str, OrderedDict[K, _Item[V]]] = {}
        self._sizes: dict[str, int] = {}
        self.bytes = 0

    def put(self, peer: str, key: K, value: V, size: int) -> None:
        """Remember a value of so many bytes, unless it is larger than a peer's share."""
        if size > self._peer_bytes:
            return
        self.pop(peer, key)
        self._peers.setdefault(peer, OrderedDict())[key] = _Item(value, size, self._clock() + self._kept_s)
        self._sizes[peer] = self._sizes.get(peer, 0) + size
        self.bytes += size
        while self._sizes[peer] > self._peer_bytes:
            self._forget(peer)
        while self.bytes > self._all_bytes:
            self._forget(max(self._sizes, key=self._sizes.__getitem__))

    def get(self, peer: str, key: K) -> V | None:
        """The value, if it is still known."""
        items = self._peers.get(peer)
        item = items.get(key) if items else None
        return None if item is None or item.expires < self._clock() else item.value

    def pop(self, peer: str, key: K) -> None:
        """Forget a value."""
        items = self._peers.get(peer)
        if items is not None and (item := items.pop(key, None)) is not None:
            self._shrink(peer, item.size)

    def tidy(self) -> None:
        """Forget what is too old."""
        now = self._clock()
        for peer, items in list(self._peers.items()):
            while items and next(iter(items.values())).expires < now:
                self._forget(peer)

    def _forget(self, peer: str) -> None:
        _, item = self._peers[peer].popitem(last=False)
        self._shrink(peer, item.size)

    def _shrink(self, peer: str, size: int) -> None:
        self.bytes -= size
        self._sizes[peer] -= size
        if not self._peers[peer]:
            del self._peers[peer], self._sizes[peer]

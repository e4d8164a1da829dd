"""A budget of bytes for payloads under way; who asks for too much waits for others to finish."""

import asyncio
from collections import deque
from collections.abc import Callable


class Memory:
    """At most `total` bytes at once, and `by_peer` for each peer. First come, first served within these."""

    def __init__(self, total: int, by_peer: int) -> None:
        self.total = total
        self.by_peer = by_peer
        self.used = 0
        self._peers: dict[bytes, int] = {}
        self._queue: deque[tuple[bytes, int, asyncio.Future[None]]] = deque()

    async def reserve(self, peer: bytes, size: int) -> Callable[[], None]:
        """Wait for room, then take `size` bytes of it. The result gives them back; calling it again does nothing."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (peer, size, future)
        self._queue.append(entry)
        self._settle()
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self._give_back(peer, size)
            else:
                self._queue.remove(entry)
            raise
        released = False

        def release() -> None:
            nonlocal released
            if not released:
                released = True
                self._give_back(peer, size)

        return release

    def _fits(self, peer: bytes, size: int) -> bool:
        return self.used + size <= self.total and self._peers.get(peer, 0) + size <= self.by_peer

    def _give_back(self, peer: bytes, size: int) -> None:
        self.used -= size
        self._peers[peer] -= size
        if not self._peers[peer]:
            del self._peers[peer]
        self._settle()

    def _settle(self) -> None:
        """Give those who wait what fits; a peer over its own share does not hold up the others."""
        for entry in list(self._queue):
            peer, size, future = entry
            if self._fits(peer, size):
                self._queue.remove(entry)
                if not future.done():
                    self.used += size
                    self._peers[peer] = self._peers.get(peer, 0) + size
                    future.set_result(None)

"""A newcomer is handed the records that it should hold, by the two nearest of those that hold them."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

from kademlia.node import Node

from core.dht.clock import NetworkClock
from core.dht.crawl import REPLICAS
from core.dht.routing import Contact, NearestRoutingTable
from core.dht.store import RecordStore

HAND_OVER = 4096
"""Records handed to one newcomer: 1 MB."""
HAND_OVERS, WAITING = 4, 64
"""Newcomers that are handed records at once, and those beside them that wait for it: many, where many have died and
others were slow. Further ones get them from their owners' next announcement."""
TRIES = 3
"""Times that a newcomer is sent what it did not answer to."""
CHECKED = 48
"""Peers pinged for one hand-over at most."""
SLICE = 64
"""Keys looked at between two turns of the event loop."""


class HandOver:
    """Uses the protocol's table, store and calls."""

    def __init__(
        self,
        own: Contact,
        router: NearestRoutingTable,
        storage: RecordStore,
        clock: NetworkClock,
        ping: Callable[[Contact], Awaitable[Contact | None]],
        store: Callable[[Contact, bytes], Awaitable[object]],
        start: Callable[[Coroutine[Any, Any, None], str], object],
    ) -> None:
        self._own, self._router, self._storage, self._clock = own, router, storage, clock
        self._ping, self._store, self._start = ping, store, start
        self._newcomers, self._slots = 0, asyncio.Semaphore(HAND_OVERS)

    def begin(self, newcomer: Contact) -> None:
        """Hand over in the background, unless there is nothing to, or too much is going on."""
        if len(self._storage) and self._newcomers < HAND_OVERS + WAITING and newcomer in self._router:
            self._newcomers += 1
            self._start(self._offer(newcomer), "dht hand-over")

    async def _offer(self, newcomer: Contact) -> None:
        """Store at a newcomer what belongs there now; only the two nearest of the others do so (paper, section 2.5)."""
        try:
            async with self._slots:
                candidates = await self._candidates(newcomer)
                for _ in range(TRIES):
                    if None not in await asyncio.gather(*self._hand(newcomer, candidates)):
                        break
        finally:
            self._newcomers -= 1

    async def _candidates(self, newcomer: Contact) -> list[bytes]:
        """What may belong there. Those that seem to stand nearer are pinged: where many have died at once, nobody else
        would do it."""
        candidates: list[bytes] = []
        nearer: dict[bytes, Contact] = {}
        for place, digest in enumerate(self._storage.digests()):
            if place % SLICE == SLICE - 1:
                await asyncio.sleep(0)
            holders = self._holders(digest, 3 * REPLICAS)
            if newcomer in holders[: 2 * REPLICAS] and self._own in holders:
                candidates.append(digest)
                until = max(holders.index(newcomer), holders.index(self._own))
                nearer.update((c.id, c) for c in holders[:until] if c not in (newcomer, self._own))
        await asyncio.gather(*map(self._ping, list(nearer.values())[:CHECKED]))
        return candidates

    def _hand(self, newcomer: Contact, candidates: list[bytes]) -> Iterator[Awaitable[object]]:
        """The newcomer's answers; None: it gave none in time."""
        left = HAND_OVER
        for digest in candidates:
            holders = self._holders(digest, REPLICAS + 1)
            if newcomer in holders[:REPLICAS]:
                holders.remove(newcomer)
                if self._own in holders[:2]:
                    records = self._storage.of(digest, self._clock.now())[:left]
                    left -= len(records)
                    for record in records:
                        yield self._store(newcomer, record.raw)

    def _holders(self, digest: bytes, count: int) -> list[Contact]:
        """The peers nearest to a key, this one counted in, nearest first."""
        key = Node(digest)
        around = [*self._router.find_neighbors(key, count), self._own]
        return sorted(around, key=key.distance_to)[:count]

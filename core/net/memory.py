"""A budget of bytes for payloads under way; who asks for too much waits for others to finish."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from core.net.shares import Branch, Shares

PATIENCE_S = 1.0
"""Who has waited for room for so long has those make some that send too slowly."""
SLOW_S = 60.0
"""A payload that would take longer yet to come, at the pace it has come so far, makes room for what waits."""


class Reservation:
    """Room for one payload that is still to come, or is here and of use."""

    def __init__(self, memory: "Memory", branch: Branch, size: int, drop: Callable[[], None]) -> None:
        """See `Memory.reserve`."""
        self.branch, self.size, self.drop = branch, size, drop
        self.arrived = 0
        """Bytes of it."""
        self.is_lost = False
        self._memory, self._began = memory, math.inf

    def begin(self) -> None:
        """It is there from now on."""
        self._began = time.monotonic()

    def release(self) -> None:
        """Give it back; once more does nothing."""
        self._memory.give_back(self)

    def seconds_left(self, now: float) -> float:
        """Until all of it will have come, at its pace up to now."""
        return (now - self._began) * (self.size - self.arrived) / max(1, self.arrived)


class _Waiting(NamedTuple):
    reservation: Reservation
    settled: asyncio.Future[None]


class Memory:
    """At most `total` bytes at once, `by_peer` for each peer, and three quarters of all for peers of one block of
    addresses. First come, first served within these."""

    def __init__(self, total: int, by_peer: int) -> None:
        """All of it is free.

        Args:
            total: bytes.
            by_peer: bytes.
        """
        self.total = total
        self.by_peer = by_peer
        self._shares = Shares()
        self._held: dict[Reservation, None] = {}
        self._queue: deque[_Waiting] = deque()

    @property
    def used(self) -> int:
        """Bytes."""
        return self._shares.of(())

    async def reserve(self, branch: Branch, size: int, drop: Callable[[], None] = lambda: None) -> Reservation:
        """Wait for room, then take it.

        Args:
            branch: of whom the payload comes.
            size: its bytes.
            drop: called if it comes too slowly, and others wait: they get its room, and nobody is to keep any of it.
        """
        settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(Reservation(self, branch, size, drop), settled)
        self._queue.append(waiting)
        self._settle()
        try:
            while not settled.done():
                await asyncio.wait([settled], timeout=PATIENCE_S)
                if not settled.done():
                    self._drop_slowest()
        except asyncio.CancelledError:
            if settled.done():
                waiting.reservation.release()
            else:
                self._queue.remove(waiting)
            raise
        return waiting.reservation

    def give_back(self, reservation: Reservation) -> None:
        """See `Reservation.release`."""
        if reservation in self._held:
            del self._held[reservation]
            self._shares.change(reservation.branch, -reservation.size)
            self._settle()

    def _fits(self, branch: Branch, size: int) -> bool:
        limits = ((), self.total), (branch[:1], self.total * 3 // 4), (branch, self.by_peer)
        return all(self._shares.of(whose) + size <= most for whose, most in limits)

    def _drop_slowest(self) -> None:
        """Of those that would hold up the others the one that holds most for nothing."""
        now = time.monotonic()
        slow = [held for held in self._held if not held.is_lost and held.seconds_left(now) > SLOW_S]
        if slow:
            slowest = max(slow, key=lambda held: held.size - held.arrived)
            slowest.is_lost = True
            slowest.drop()
            self.give_back(slowest)

    def _settle(self) -> None:
        """Give those who wait what fits; a peer over its own share does not hold up the others."""
        for waiting in list(self._queue):
            reservation, settled = waiting
            if self._fits(reservation.branch, reservation.size):
                self._queue.remove(waiting)
                if not settled.done():
                    self._held[reservation] = None
                    self._shares.change(reservation.branch, reservation.size)
                    reservation.begin()
                    settled.set_result(None)

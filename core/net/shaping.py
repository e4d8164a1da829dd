"""How fast this PC sends and receives, over all peers together: the user's limits, and what was seen.

Large frames take their turn peer by peer; small ones, of which signs of life are the smallest, go ahead and make a debt
that large ones pay. Copies of files give way to all of them. Receiving is slowed by not reading: the transport's window
then holds the sender back. Peers beyond the local network may have a limit of their own, within that of all peers.
"""

import asyncio
import contextlib
import math
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable

from core.contracts.net import Kind
from core.identity import PeerId
from core.net import limits
from core.net.limits import KIB, TokenBucket

OVERHEAD = 1.07
"""Bytes on the wire for each byte of a frame: headers of the packets, and answers to them."""
BURST_S = 0.25
"""What may be sent at once after a silence, in seconds of the rate."""
CHUNK_S = 0.05
"""Peers take turns so often."""
DEBT_S = 1.0
"""Small frames wait as well when so much is owed."""
LEAST_CHUNK = 4 * KIB
TURN_RATE = 2 * limits.FRAME_BYTES_PER_S
"""Large frames under way share the rate, and each must be faster than receivers demand."""
GIVE_WAY_S = 3.0
"""A large frame of a copy gives way to calls for so long in all: its receiver gives it up after `limits.FRAME_S`."""
WINDOW_S = 1.0
"""Over which a rate is seen."""
LEAST_SEEN = 4 * limits.FRAME_BYTES_PER_S
"""The upload of a slow line: if less was seen, there was less to send."""


class Bucket:
    """One direction.

    Args:
        clock: seconds that only grow.
        within: another one, which all bytes of this one count in as well.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, within: "Bucket | None" = None) -> None:
        self.own = 0.0
        """Its own limit, bytes a second; 0: none."""
        self._clock, self._within = clock, within
        self._bytes = TokenBucket(0.0, 0.0, math.inf)

    def set(self, rate: float) -> None:
        if rate != self.own:
            self._spend(0)
            debt = min(0.0, self._bytes.tokens) if self.own and rate else 0.0
            self.own, self._bytes = rate, TokenBucket(rate, rate * BURST_S, math.inf, debt, self._clock())

    @property
    def rate(self) -> float:
        """Bytes a second that hold; 0: no limit."""
        return min(filter(None, (self.own, self._within.rate if self._within else 0.0)), default=0.0)

    @property
    def chunk(self) -> int:
        """Bytes to move at once."""
        return min(limits.CHUNK, max(LEAST_CHUNK, int(self.rate * CHUNK_S))) if self.rate else limits.CHUNK

    def spend(self, size: int) -> float:
        """Account for bytes that move now; seconds until the debt is paid."""
        return max(self._spend(size), self._within.spend(size) if self._within else 0.0)

    def _spend(self, size: int) -> float:
        return self._bytes.spend(size * OVERHEAD, self._clock()) if self.own else 0.0

    def until_saved(self) -> float:
        """Seconds until all but a chunk is saved up of what may be sent at once: so much is there for a call."""
        outer = self._within.until_saved() if self._within else 0.0
        if not self.own:
            return outer
        self._spend(0)
        wanted = self._bytes.burst - min(self.chunk * OVERHEAD, self._bytes.burst)
        return max(outer, (wanted - self._bytes.tokens) / self.own)


class Turns:
    """Some hold a turn at once; the others wait, and the peer that had one last is last again."""

    def __init__(self) -> None:
        self.most, self.spare = 1, 0
        """Turns at once, and those kept for peers that hold none."""
        self._held: Counter[PeerId] = Counter()
        self._waiting: dict[PeerId, deque[asyncio.Future[None]]] = {}

    @contextlib.asynccontextmanager
    async def turn(self, peer: PeerId) -> AsyncIterator[None]:
        """Within it the peer has a turn."""
        if peer in self._waiting or not self._may_begin(peer):
            await self._wait(peer)
        else:
            self._held[peer] += 1
        try:
            yield
        finally:
            self._end(peer)

    async def _wait(self, peer: PeerId) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(peer, deque()).append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():  # it was given the turn at the same moment
                self._end(peer)
            raise

    def _may_begin(self, peer: PeerId) -> bool:
        return self._held.total() < self.most + (0 if peer in self._held else self.spare)

    def _end(self, peer: PeerId) -> None:
        self._held[peer] -= 1
        if not self._held[peer]:
            del self._held[peer]
        while (following := next(filter(self._may_begin, self._waiting), None)) is not None:
            futures = self._waiting.pop(following)
            future = futures.popleft()
            if futures:
                self._waiting[following] = futures  # behind all others
            if not future.done():
                self._held[following] += 1
                future.set_result(None)


class Seen:
    """The best rates so far: this PC's line is as fast at least. A test would cost other peers as much as this PC."""

    def __init__(self) -> None:
        self.upload = self.download = 0.0
        """Bytes a second."""
        self._window: tuple[float, tuple[int, int]] | None = None

    def note(self, moved: tuple[int, int], now: float) -> None:
        """Look at what is moved; about once in `WINDOW_S`.

        Args:
            moved: bytes received and sent since the start.
            now: seconds of a clock that only grows.
        """
        if self._window is not None:
            began, (received, sent) = self._window
            if (seconds := now - began) < WINDOW_S:
                return
            self.download = max(self.download, (moved[0] - received) / seconds)
            self.upload = max(self.upload, (moved[1] - sent) / seconds)
        self._window = now, moved


class Shaper:
    """Both directions of one node, or its part beyond the local network.

    Args:
        clock: seconds that only grow.
        within: of all peers, if this is of some.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, within: "Shaper | None" = None) -> None:
        self.upload: Bucket = Bucket(clock, within.upload if within else None)
        self.download: Bucket = Bucket(clock, within.download if within else None)
        self.seen = Seen()
        self._clock, self._within = clock, within
        self._frames, self._chunks, self._copies = Turns(), Turns(), Turns()
        self._calls = 0
        """Large frames of calls that are being sent or wait for it."""
        self._quiet = asyncio.Event()
        self._quiet.set()

    def set(self, upload: float, download: float) -> None:
        """Bytes a second; 0: no limit."""
        self.upload.set(upload)
        self.download.set(download)
        self._frames.most = self._frames.spare = max(1, min(64, int(self.upload.rate / TURN_RATE)))

    @property
    def _turns(self) -> "Shaper":
        """Whose turns are taken: those of all peers where they share one limit."""
        return self if self._within is None or self.upload.own else self._within

    def speeds(self) -> tuple[int, int]:
        """Bytes a second that this PC can send, and receive: what was seen, and no more than the user allows. While too
        little was moved to tell, what the user allows is taken for it; 0: nothing is known."""
        return _speed(self.seen.upload, self.upload.rate), _speed(self.seen.download, self.download.rate)

    @contextlib.asynccontextmanager
    async def large(self, peer: PeerId, kind: Kind = "call") -> AsyncIterator[bool]:
        """Within it a large frame may be sent, `chunk` by `chunk`, each `sent` before it goes. Whether it has a turn
        for which others may be waiting."""
        if kind == "call":
            self._calls += 1
            self._quiet.clear()
        try:
            if not self.upload.rate or kind == "test":
                yield False
                return
            turns = self._turns
            async with (turns._copies if kind == "copy" else turns._frames).turn(peer):  # one copy at a time
                yield True
        finally:
            if kind == "call":
                self._calls -= 1
                if not self._calls:
                    self._quiet.set()

    def too_slow(self, size: int) -> float | None:
        """Seconds that a frame takes at least, if its receiver would give it up before; None: it may be sent."""
        rate = self.upload.rate
        if not rate or size <= limits.SMALL:
            return None
        seconds = size * OVERHEAD / rate
        return seconds if seconds > 0.8 * limits.FRAME_S + size / limits.FRAME_BYTES_PER_S else None

    async def sent(self, peer: PeerId, size: int, kind: Kind = "call", part: float = 1.0) -> None:
        """Wait until bytes of a large frame may go.

        Args:
            peer: whom they go to.
            size: bytes.
            kind: of the frame.
            part: how much of the frame they are.
        """
        if kind == "copy":
            await self._give_way(part * GIVE_WAY_S)
        if not self.upload.rate or kind == "test":
            return
        async with self._turns._chunks.turn(peer):
            if wait := self.upload.spend(size):
                await asyncio.sleep(wait)

    async def _give_way(self, most_s: float) -> None:
        """Wait until no call is being sent and what one may send at once is saved up, but no longer than that."""
        until = self._clock() + most_s
        while (left := until - self._clock()) > 0:
            if self._calls:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await self._quiet.wait()
            elif (wait := self.upload.until_saved()) > 0:
                await asyncio.sleep(min(left, wait))
            else:
                return

    async def sent_small(self, size: int) -> None:
        """Account for small frames; waits only if far too much was sent."""
        if (wait := self.upload.spend(size)) > DEBT_S:
            await asyncio.sleep(wait - DEBT_S)

    async def received(self, size: int, large: bool) -> None:
        """Account for bytes that came, and wait before more are read."""
        if (wait := self.download.spend(size) - (0.0 if large else DEBT_S)) > 0:
            await asyncio.sleep(wait)

    @property
    def window(self) -> int:
        """Bytes that a peer may send before they are read."""
        rate = self.download.rate
        return int(min(limits.RECEIVE_WINDOW, max(64 * KIB, rate * BURST_S))) if rate else limits.RECEIVE_WINDOW


def _speed(seen: float, allowed: float) -> int:
    return int(min(seen if seen >= LEAST_SEEN else allowed, allowed or math.inf))

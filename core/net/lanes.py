"""The lanes of one link by which this peer sends large frames: over TCP where there are any, otherwise over QUIC."""

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from core.contracts.errors import CallRefused, NetworkError
from core.contracts.net import Kind
from core.net import limits
from core.net.addresses import host_of
from core.net.endpoint import Connection, SendStream
from core.net.metrics import Moved
from core.net.shaping import Shaper

log = logging.getLogger(__name__)

AGAIN_S = 300.0
"""After one over TCP could not be opened another is tried."""

T = TypeVar("T")
OpenFaster = Callable[[], Coroutine[Any, Any, SendStream]]
Start = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]


class _Patience:
    """How long a frame waits for its receiver to read: without end, unless others wait for the turn that it has."""

    def __init__(self, has_turn: bool) -> None:
        self._has_turn, self._left_s = has_turn, limits.FRAME_S

    async def wait(self, work: Awaitable[T], size: int = 0) -> T:
        """Have so many bytes taken.

        Args:
            work: does it.
            size: bytes.

        Raises:
            CallRefused: the receiver reads too slowly.
        """
        if not self._has_turn:
            return await work
        began = time.monotonic()
        self._left_s = min(self._left_s, limits.FRAME_S) + size / limits.READ_BYTES_PER_S
        try:
            async with asyncio.timeout(self._left_s):
                return await work
        except TimeoutError:
            raise CallRefused("The peer reads too slowly, and others wait for their turn.") from None
        finally:
            self._left_s -= time.monotonic() - began


class Lanes:
    """Each frame has one to itself; `LANES` frames are under way at once."""

    def __init__(self, connection: Connection, shaper: Shaper, open_faster: OpenFaster, start: Start) -> None:
        """None is open yet.

        Args:
            connection: whose lanes they are.
            shaper: with the user's limits.
            open_faster: opens one over TCP. Raises NetworkError: there is no way.
            start: runs in the background.
        """
        self._connection, self.shaper, self._open_faster, self._start = connection, shaper, open_faster, start
        self._free, self._copying = asyncio.Semaphore(limits.LANES), asyncio.Semaphore(1)
        self.over_tcp = Moved()
        """Also by those over TCP that the peer has opened."""
        self._slow, self._fast = list[SendStream](), list[SendStream]()
        """All over QUIC, and all over TCP."""
        self._idle, self._idle_fast = list[SendStream](), list[SendStream]()
        """Those of them by which nothing is sent now."""
        self._host: str | None = None
        """Where the peer was seen when those over TCP were opened."""
        self._opening = self._closed = False
        self._slow_until = math.inf if connection.relay else 0.0

    async def send(self, head: bytes, parts: Sequence[bytes | bytearray | memoryview], kind: Kind) -> None:
        """Send a frame. Copies are sent one at a time, and leave the other lanes to calls.

        Args:
            head: its first bytes; they go with the first of the payload.
            parts: of its payload.
            kind: what it is.

        Raises:
            PeerUnreachable: the connection broke, or the peer does not want this frame.
            CallRefused: the peer reads it too slowly.
        """
        peer, shaper, whole = self._connection.peer, self.shaper, len(head) + sum(map(len, parts))
        async with (
            self._copying if kind == "copy" else contextlib.nullcontext(),
            self._free,
            shaper.large(peer, kind) as has_turn,
        ):
            patience = _Patience(has_turn)
            lane = await patience.wait(self._take())
            try:
                chunk = limits.CHUNK if kind == "test" else shaper.upload.chunk
                for part in parts:
                    view = memoryview(part).cast("B")
                    for start in range(0, len(view), chunk):
                        piece = view[start : start + chunk]
                        size = len(head) + len(piece)
                        await shaper.sent(peer, size, kind, size / whole)
                        await patience.wait(lane.write_frame(head, piece) if head else lane.write(piece), size)
                        head = b""
                if head:
                    await patience.wait(lane.write(head), len(head))
            except BaseException as error:
                if lane in self._slow:
                    self._slow.remove(lane)
                if isinstance(error, asyncio.CancelledError | CallRefused):
                    self._start(lane.reset(), "lane reset")
                raise
            if lane in self._fast:
                self._idle_fast.append(lane)
            elif lane in self._slow:
                self._idle.append(lane)
            else:
                lane.end()

    async def _take(self) -> SendStream:
        """An idle lane, or a new one. The first frames do not wait until one over TCP is open."""
        fast = not self.shaper.upload.rate and time.monotonic() >= self._slow_until
        while fast and self._idle_fast:
            if not (lane := self._idle_fast.pop()).ended:
                return lane
        if fast and not self._opening:
            self._fast = [lane for lane in self._fast if not lane.ended]
            if len(self._fast) < limits.LANES:
                self._opening = True
                self._start(self._open(), "lane over TCP")
        if not self._idle:
            self._slow.append(await self._connection.open())
            return self._slow[-1]
        return self._idle.pop()

    def tend(self) -> None:
        """Once a second: TCP does not follow a peer that moves to another address, as QUIC does."""
        if self._fast and self._seen() != self._host:
            self.renew()

    def renew(self) -> None:
        """Use none of those over TCP again: this PC or the peer has moved."""
        for lane in self._idle_fast:
            lane.end()
        self._fast, self._idle_fast = [], []

    def _seen(self) -> str:
        return host_of(self._connection.path().address or "")

    async def _open(self) -> None:
        try:
            lane = await self._open_faster()
        except NetworkError as error:
            self._slow_until = time.monotonic() + AGAIN_S
            log.debug("large frames go over QUIC: %s", error)
            return
        finally:
            self._opening = False
        self._host = self._seen()
        self._fast.append(lane)
        self._idle_fast.append(lane)
        if self._closed:
            lane.end()

    def close(self) -> None:
        """The connection has ended: whoever is sending over TCP fails."""
        self._closed = True
        for lane in self._fast:
            lane.end()

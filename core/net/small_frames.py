"""Small frames to one peer: they share a stream, and all that are queued go by one write."""

import asyncio
import contextlib
import time
from collections.abc import Callable

from core.contracts.errors import PeerUnreachable
from core.net import limits
from core.net.endpoint import BLOCK, Connection, SendStream
from core.net.shaping import Shaper


class SmallFrames:
    """The queue of one link, and its writer."""

    def __init__(self, connection: Connection, shaper: Callable[[], Shaper]) -> None:
        """Nothing is queued.

        Args:
            connection: by which they go.
            shaper: gives the user's limits that hold for it now.
        """
        self._connection, self._shaper = connection, shaper
        self._queue, self._first = list[bytes](), list[bytes]()
        """Signs of life and cancellations: they go before what is queued."""
        self._queued = 0
        self._idle: SendStream | None = None
        """What the writer would send by, while it has nothing to send."""
        self._wake, self.room = asyncio.Event(), asyncio.Event()
        """`room`: whether a frame can be queued without waiting; also set when the link ends."""
        self.room.set()
        self.writing_since: float | None = None

    @property
    def roomy(self) -> bool:
        """Whether a frame can be queued without waiting."""
        return self._queued <= limits.OUTGOING

    def put(self, frame: bytes, first: bool, alone: bool) -> None:
        """Queue a frame.

        Args:
            frame: its bytes.
            first: whether it goes before all others.
            alone: whether none is likely to follow at once: it need not wait for the writer.
        """
        if self._idle and alone and not self._shaper().upload.rate:
            with contextlib.suppress(PeerUnreachable):  # the writer meets it too
                if not self._idle.begin(frame):
                    self._idle = None
                    self._wake.set()
                return
        (self._first if first else self._queue).append(frame)
        self._queued += len(frame)
        if not self.roomy:
            self.room.clear()
        self._wake.set()

    async def write(self) -> None:
        """Send what is queued until the connection ends.

        Raises:
            PeerUnreachable: it has.
        """
        stream = await self._connection.open()
        await stream.first()
        while True:
            self._idle = None if self._connection.relay else stream
            await self._wake.wait()
            self._wake.clear()
            self._idle, self.writing_since = None, time.monotonic()
            await stream.rest()
            self.writing_since = None
            while self._first or self._queue:
                data = self._take()
                if self._shaper().upload.rate:
                    await self._shaper().sent_small(len(data))
                self.writing_since = time.monotonic()
                await stream.write(data)
                self.writing_since = None
                self._queued -= len(data)
                if self.roomy:
                    self.room.set()

    def _take(self) -> bytes:
        """As many of the queued frames as are sent by one write."""
        if self._first:
            frames, self._first = self._first, []
        else:
            count = size = 0
            most = min(BLOCK, self._shaper().upload.chunk)
            while count < len(self._queue) and size < most:
                size += len(self._queue[count])
                count += 1
            frames = self._queue[:count]
            del self._queue[:count]
        return frames[0] if len(frames) == 1 else b"".join(frames)

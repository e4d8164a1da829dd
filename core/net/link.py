"""Frames over one connection: small ones together on one stream, large ones on lanes of their own."""

import asyncio
import itertools
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from typing import Any

import msgspec

from core.contracts.errors import UNREADABLE, CallRefused, PeerUnreachable
from core.contracts.net import (
    PREFIX,
    Answer,
    Call,
    Cancel,
    Fault,
    Header,
    Kind,
    Parts,
    Payload,
    Ping,
    Pong,
    kind_of,
    parts_of,
    size_of,
)
from core.contracts.notices import notice
from core.contracts.peer_names import called
from core.net import limits
from core.net.addresses import host_of, in_local_network, of_interfaces
from core.net.endpoint import Connection, ReceiveStream
from core.net.lanes import Lanes
from core.net.limits import BlockTime, TokenBucket
from core.net.link_owner import Owner, nothing
from core.net.shaping import Shaper
from core.net.shares import Branch
from core.net.small_frames import SmallFrames

log = logging.getLogger(__name__)

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Header).decode


class Violation(Exception):
    """The peer broke the rules of the wire; the connection is closed and the peer gets strikes."""


class Refusal(Exception):
    """A call is declined before its payload is read."""


class Link:
    """A connection with its streams, the calls under way in both directions, and its signs of life.

    Attributes:
        waiting: our calls, by id; each future gets the answer's header and payload.
        serving: the peer's calls, by id.
        heard: when bytes last came from the peer (time.monotonic).
        used: when a call last began or ended.
        network: where the peer is, and `branch` where it so stands among the users of what is scarce (see crowds.py).
        crowd: what all strangers who dialled from there may call.
        time: what all of its block of addresses may take of this process's time.
    """

    network: str = ""
    branch: Branch = ("",)
    crowd: TokenBucket | None = None

    def __init__(self, connection: Connection, owner: "Owner[Link]", address: str | None) -> None:
        self.connection = connection
        self.peer, self.outgoing = connection.peer, connection.outgoing
        self.address = address
        self.since = self.heard = self.used = time.monotonic()
        self.since_unix = time.time()
        self.time = BlockTime()
        self.waiting: dict[int, asyncio.Future[tuple[Answer, Parts]]] = {}
        self.serving: dict[int, asyncio.Future[Any]] = {}
        self.cancelled: set[int] = set()
        """Calls cancelled before they arrived: a Cancel may overtake a large Call."""
        self.slots = asyncio.Semaphore(limits.CALLS_BY_PEER)
        """Our calls at once; an honest peer is never refused for too many."""
        self.closed_because: str | None = None
        self.ended_by_peer = False
        self._owner = owner
        self.near = self._is_near()
        self._shaper = self._shaper_now()
        self.new_id = itertools.count(1).__next__
        """The number of our next call on this link."""
        self._asked_at, self._rounds = 0.0, 0
        self._small = SmallFrames(connection, lambda: self._shaper)
        self.lanes = Lanes(connection, self._shaper, partial(owner.open_faster, self), owner.start)
        self._readers = set[ReceiveStream]()
        self._frame_deadlines: dict[ReceiveStream, float] = {}
        self._arriving = 0
        """Payloads."""
        self.shape()
        self._tasks = [
            owner.start(self._guard(self._small.write), "link writer"),
            owner.start(self._guard(self._accept), "link streams"),
        ]

    def _is_near(self) -> bool:
        return in_local_network(host_of(self.seen_at() or ""), of_interfaces)

    def _shaper_now(self) -> Shaper:
        if self.connection.relay:  # what goes through a relay is sent by the link with the relay
            return Shaper()
        return self._owner.shaper if self.near else self._owner.far

    def shape(self) -> None:
        """The limits of bandwidth have changed."""
        self.connection.hold(self._shaper.window)
        for stream in self._readers:
            stream.hold(self._shaper.window)

    # --- sending

    @property
    def roomy(self) -> bool:
        """Whether a small frame can be queued without waiting."""
        return self._small.roomy

    def post(self, header: Header, payload: Payload | Parts = b"") -> None:
        """Queue a small frame; the writer sends all that are queued at once. One that is alone need not wait for it."""
        data = _encode(header)
        frame = b"".join((PREFIX.pack(len(data), size_of(payload)), data, *parts_of(payload)))
        alone = len(self.waiting) + len(self.serving) <= 1
        self._small.put(frame, isinstance(header, Ping | Pong | Cancel), alone)

    async def send(self, header: Header, payload: Payload | Parts = b"", kind: Kind = "call") -> None:
        """Send a frame, small or large; waits while the peer reads too slowly, or the user's limit holds it back.

        Args:
            header: its head.
            payload: what follows.
            kind: what it is, if it is an answer.

        Raises:
            PeerUnreachable: the link broke.
            CallRefused: at the user's limit it would take longer than the peer waits, or the peer reads too slowly.
        """
        if self.closed_because is not None:
            raise PeerUnreachable(self.closed_because)
        body = len(header.body) if isinstance(header, Call | Answer) else 0
        if body + size_of(payload) > limits.SMALL:
            await self._send_large(header, payload, kind_of(header.method) if isinstance(header, Call) else kind)
            return
        while not self.roomy:
            await self._small.room.wait()
            if self.closed_because is not None:
                raise PeerUnreachable(self.closed_because)
        self.post(header, payload)

    async def _send_large(self, header: Header, payload: Payload | Parts, kind: Kind) -> None:
        data, size = _encode(header), size_of(payload)
        if kind != "test" and (seconds := self._shaper.too_slow(size)) is not None:
            raise CallRefused(notice("call.upload_limit", size=size, seconds=seconds))
        try:
            await self.lanes.send(PREFIX.pack(len(data), size) + data, parts_of(payload), kind)
        except PeerUnreachable:
            if self.closed_because is not None or self.connection.closed:
                raise
            # The peer stopped this stream only: it refused the call, and its Fault is on its way.

    # --- receiving

    async def _accept(self) -> None:
        while True:
            if not self.take(await self.connection.accept()):
                raise Violation("too many streams")

    def take(self, stream: ReceiveStream) -> bool:
        """Read what the peer sends by a further stream, too; False: it has too many, or the link is closed."""
        self._tasks = [task for task in self._tasks if not task.done()]
        if len(self._tasks) > limits.STREAMS or self.closed_because is not None:
            return False
        self._tasks.append(self._owner.start(self._guard(partial(self._read, stream)), "link reader"))
        self._tasks[-1].add_done_callback(lambda _: self._let_go(stream))
        self._readers.add(stream)
        return True

    def _let_go(self, stream: ReceiveStream) -> None:
        stream.close()
        self._readers.discard(stream)
        self._frame_deadlines.pop(stream, None)

    async def _read(self, stream: ReceiveStream) -> None:
        """Read frames until the stream ends. Only what a frame announced is read of it."""
        try:
            while True:
                data = await stream.read(stream.block)
                if not data:
                    return
                self.heard = time.monotonic()
                if self._shaper.download.rate:
                    await self._shaper.received(len(data), large=False)
                while data:
                    data = await self._frame(stream, data)
        except Refusal:
            await stream.stop()
        except PeerUnreachable:
            if self.connection.closed or stream.broken:
                raise  # otherwise the peer reset this stream only: it cancelled a large frame

    async def _frame(self, stream: ReceiveStream, data: bytes) -> bytes:
        """Take one frame that begins with `data`; returns what follows it."""
        if len(data) < PREFIX.size:
            data += await self._rest(stream, PREFIX.size - len(data), 0)
            self._frame_deadlines.pop(stream, None)
        header_size, size = PREFIX.unpack_from(data)
        if not 0 < header_size <= limits.MAX_HEADER or size > limits.MAX_PAYLOAD:
            raise Violation(f"a frame of {header_size} + {size} bytes")
        begin = PREFIX.size + header_size
        if len(data) < begin:
            data += await self._rest(stream, begin - len(data), header_size)
        self._frame_deadlines.pop(stream, None)
        try:
            header = _decode(data[PREFIX.size : begin])
        except UNREADABLE as error:
            raise Violation(f"a header that is not in the contract: {error}") from error
        rest, here = data[begin + size :], len(data) >= begin + size
        try:
            self._owner.admit(self, header, 0 if here else size)
        except Refusal:
            if len(data) + stream.ahead < begin + size:
                raise  # the peer is still sending it, and notices
            # It may have sent all of it, and would send its next frame by this stream.
            async for _ in self._chunks(stream, memoryview(data)[begin : begin + size], size, held=True):
                pass
            await self._pause(self._owner.charge(self, size))
            return rest
        parts: Parts = (data[begin : begin + size],)
        if here and size <= limits.SMALL:
            await self._pause(self._owner.deliver(self, header, parts, nothing))
            return rest
        begun = parts[0] if here else memoryview(data)[begin:]
        self._arriving += 1
        try:
            parts, release = await self._payload(stream, header, begun, size)
        except Refusal:
            if stream.ahead < math.inf:
                raise
            await self._pause(self._owner.charge(self, size))
            return rest
        finally:
            self._arriving -= 1
        await self._pause(self._owner.deliver(self, header, parts, release))
        return rest

    async def _payload(
        self, stream: ReceiveStream, header: Header, begun: Payload, size: int
    ) -> tuple[Parts, Callable[[], None]]:
        """A payload, once there is room for it, and what gives that back.

        Raises:
            Refusal: it came so slowly that others needed the room. A stream that cannot be stopped is read to its end.
        """
        held, parts = not isinstance(header, Call) or kind_of(header.method) != "test", list[Payload]()
        drop: Callable[[], None] = parts.clear
        try:
            async with asyncio.timeout(None) as patience:
                if can_stop := stream.ahead < math.inf:
                    drop = partial(patience.reschedule, asyncio.get_running_loop().time())
                room = await self._owner.reserve(self, header, size, drop)
                try:
                    async for part in self._chunks(stream, begun, size, held):
                        if can_stop or not room.is_lost:
                            parts.append(part)
                        room.arrived += len(part)
                        self.used = self.heard
                    if room.is_lost and not can_stop:
                        raise TimeoutError
                except BaseException:
                    room.release()
                    raise
        except TimeoutError:
            self._frame_deadlines.pop(stream, None)
            if isinstance(header, Call):
                self.post(Fault(header.id, "busy", "Your payload came too slowly, and others need the memory for it."))
            elif isinstance(header, Answer) and (future := self.waiting.get(header.id)) and not future.done():
                future.set_exception(PeerUnreachable("The answer came too slowly, and others needed the memory."))
            raise Refusal("busy", "too slow") from None
        return parts, room.release

    async def _pause(self, seconds: float) -> None:
        if seconds > 0:
            await asyncio.sleep(min(seconds, limits.THROTTLE_S))

    async def _chunks(self, stream: ReceiveStream, begun: Payload, size: int, held: bool) -> AsyncIterator[Payload]:
        """A payload of which some is here, as it comes; `held` back by the user's limit, or not."""
        if begun:
            yield begun
        missing = size - len(begun)
        while missing:
            chunk = await self._rest(stream, min(self._shaper.download.chunk, missing), size)
            missing -= len(chunk)
            if held and self._shaper.download.rate:
                await self._keep_to_limit(stream, len(chunk))
            yield chunk
        self._frame_deadlines.pop(stream, None)

    async def _keep_to_limit(self, stream: ReceiveStream, size: int) -> None:
        """Wait as long as the user's limit demands after so many bytes; the peer has that time longer for its frame."""
        deadline, began = self._frame_deadlines.pop(stream), time.monotonic()
        await self._shaper.received(size, large=True)
        self._frame_deadlines[stream] = deadline + time.monotonic() - began

    async def _rest(self, stream: ReceiveStream, size: int, frame_size: int) -> bytes:
        """The next `size` bytes of a frame that has begun; `tend` sees to it that they come in time."""
        now = time.monotonic()
        self._frame_deadlines.setdefault(stream, now + limits.FRAME_S + frame_size / limits.FRAME_BYTES_PER_S)
        data = await stream.read_exactly(size)
        self.heard = time.monotonic()
        return data

    # --- life

    @property
    def path(self) -> str:
        """ "direct", or "relayed via" and the relay."""
        relay = self.connection.relay
        return f"relayed via {called(relay.hex())}" if relay else "direct"

    def seen_at(self) -> str | None:
        """Where the peer is seen now, or was at first."""
        return self.connection.path().address or self.address

    @property
    def busy(self) -> bool:
        return bool(self.waiting or self.serving or self._arriving)

    def tend(self, now: float, kept: bool) -> None:
        """Once a second: ask a silent peer for a sign of life, give up a dead one, end frames that take too long."""
        self.lanes.tend()
        if self.near != self._is_near():  # the peer has moved, or this PC
            self.near = not self.near
            self._shaper = self.lanes.shaper = self._shaper_now()
            self.shape()
        if any(now > deadline for deadline in self._frame_deadlines.values()):
            self._owner.violated(self, "a frame that did not arrive in time")
            self.close("frame too slow")
        elif self._small.writing_since is not None and now - self._small.writing_since > limits.FRAME_S:
            self.close("the peer does not read")
        elif kept or self.waiting:
            self._check_life(now)

    def _check_life(self, now: float) -> None:
        """Rounds are counted, not seconds, so that a PC that slept or stalled does not blame its peers."""
        if self._asked_at < self.heard:
            self._rounds = 0
            if now - self.heard < limits.PING_S:
                return
            self._asked_at = now
        elif self._rounds >= limits.DEAD_ROUNDS:
            self.close("the peer is silent")
            return
        if self._rounds % limits.PING_ROUNDS == 0:
            self.post(Ping())
        self._rounds += 1

    async def _guard(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """A link's work ends with the link, and a fault of the peer's ends only the link."""
        try:
            await work()
        except PeerUnreachable as error:
            self.ended_by_peer = True
            self.close(str(error))
        except Violation as error:
            self._owner.violated(self, str(error))
            self.close(f"protocol: {error}")
        except Exception:
            log.exception("a connection to peer %s failed here", self.peer.hex()[:8])
            self.close("a fault of this PC")

    def close(self, reason: str) -> None:
        """End the link: our calls fail, the peer's are cancelled."""
        if self.closed_because is not None:
            return
        self.closed_because = f"The connection to peer {self.peer.hex()[:8]} ended: {reason}."
        self.connection.close(reason)
        for future in self.waiting.values():
            if not future.done():
                future.set_exception(PeerUnreachable(self.closed_because))
        for task in self.serving.values():
            task.cancel()
        current = asyncio.current_task()
        for task in self._tasks:
            if task is not current:
                task.cancel()
        self._small.room.set()
        self.lanes.close()
        self._owner.lost(self)

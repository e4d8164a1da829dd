"""The ends of relayed connections: a pipe of numbered pieces, and on its secure channel streams as on a direct one."""

import asyncio
import logging
import math
import os
import struct
import time
from typing import TYPE_CHECKING

from core.contracts.errors import CallRefused, HearthError, PeerUnreachable, ProtocolError
from core.contracts.net import Payload
from core.identity import Identity, PeerId
from core.net import heap, limits
from core.net.background import Background
from core.net.endpoint import Connection, PathInfo, ReceiveStream, SendStream
from core.net.link import Link
from core.net.method import Context
from core.net.relay import PASS_S, PIECE, PIPES, WINDOW, Closed, Done, Offer, Open, Piece, PipeId
from core.net.rpc import RpcNode
from core.net.shares import Branch, Shares

if TYPE_CHECKING:
    from core.net.secure import SecureStream

log = logging.getLogger(__name__)

_HEADER = struct.Struct(">II")
"""Number of the stream, and bytes of it that follow; or `_RESET`."""
_RESET = 0xFFFFFFFF
_PART = limits.SEALED - _HEADER.size
UNREAD = 1024 * 1024
"""Bytes kept for a reader that is behind; beyond it the other side waits."""
OPEN_S = 8.0


class Pipe:
    """One end of a pipe through a relay: a `Stream`."""

    def __init__(self, ends: "RelayEnds", relay: PeerId, name: PipeId, branch: Branch = Link.branch) -> None:
        self.relay, self.name, self.branch = relay, name, branch
        self.peer: PeerId | None = None
        """At the other end; None: nobody has proved to be there."""
        self.rtt_ms = 0.0
        self.bytes_in = self.bytes_out = 0
        self.closed_because: str | None = None
        self._ends = ends
        self._sent, self._window = 0, asyncio.Semaphore(WINDOW)
        self._next, self._early = 0, dict[int, bytes]()
        self._unread = bytearray()
        self._changed = asyncio.Condition()

    async def ready(self) -> None:
        """Wait until fewer than `WINDOW` pieces are under way."""
        await self._window.acquire()
        if self.closed_because is not None:
            self._window.release()
            self._check()

    def write(self, data: bytes) -> None:
        """Send at most `PIECE` bytes, after `ready`."""
        number, self._sent = self._sent, self._sent + 1
        self.bytes_out += len(data)
        self._ends.start(self._pass(number, data), "relay piece")

    async def _pass(self, number: int, data: bytes) -> None:
        began = time.monotonic()
        try:
            await self._ends.node.call(
                self.relay, "relay.pass", Piece(self.name, number), Done, data, deadline_s=PASS_S
            )
            if len(data) < limits.SMALL:
                self.rtt_ms = (time.monotonic() - began) * 1000
        except HearthError as error:
            await self.close(f"the relay failed: {error}")
        finally:
            self._window.release()

    async def take(self, number: int, data: bytes) -> None:
        """A piece came; returns when all before it have come too and there is room for another.

        So an answered piece has none missing before it, and the sender's `WINDOW` of unanswered ones is a range.
        """
        if not self._next <= number < self._next + WINDOW or number in self._early:
            raise ProtocolError(f"Piece {number} of a pipe came out of turn.")
        self._early[number] = data
        self.bytes_in += len(data)
        async with self._changed:
            while self._next in self._early:
                self._unread += self._early.pop(self._next)
                self._next += 1
            self._changed.notify_all()
            await self._changed.wait_for(
                lambda: (number < self._next and len(self._unread) < UNREAD) or self.closed_because
            )

    async def read_exact(self, size: int) -> bytes:
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._unread) >= size or self.closed_because)
            if len(self._unread) < size:
                self._check()
            data = bytes(memoryview(self._unread)[:size])
            del self._unread[:size]
            self._changed.notify_all()
            return data

    def _check(self) -> None:
        if self.closed_because is not None:
            raise PeerUnreachable(f"The relayed connection ended: {self.closed_because}.")

    async def end(self, reason: str) -> None:
        """Nothing more comes or goes."""
        self.closed_because = self.closed_because or reason
        self._ends.pipes.pop(self.name, None)
        async with self._changed:
            self._changed.notify_all()

    async def close(self, reason: str = "closed on this side") -> None:
        """End the pipe and tell the relay."""
        if self.closed_because is None:
            await self.end(reason)
            try:
                await self._ends.node.call(self.relay, "relay.close", Closed(self.name), Done, deadline_s=5.0)
            except HearthError as error:
                log.debug("the relay was not told of a closed pipe: %s", error)


class _SendStream(SendStream):
    """Takes its number with its first byte, so that the other side sees rising numbers."""

    def __init__(self, connection: "RelayedConnection") -> None:
        self._connection = connection
        self._number: int | None = None

    async def write(self, data: bytes | memoryview) -> None:
        if self._number is None:
            self._number = self._connection.next_number()
        for start in range(0, len(data), _PART):
            await self._connection.send(self._number, data[start : start + _PART])

    async def first(self) -> None:
        """All streams take turns here."""

    async def reset(self) -> None:
        if self._number is not None:
            try:
                await self._connection.send(self._number, None)
            except HearthError:  # it is closed already
                return


class _ReceiveStream(ReceiveStream):
    ahead = math.inf
    """The peer is not told that a stream is stopped."""

    def __init__(self) -> None:
        self._unread = bytearray()
        self._ended: str | None = None
        self._changed = asyncio.Condition()

    async def feed(self, data: bytes) -> None:
        async with self._changed:
            self._unread += data
            self._changed.notify_all()
            await self._changed.wait_for(lambda: len(self._unread) < UNREAD or self._ended)

    async def end(self, reason: str) -> None:
        async with self._changed:
            self._ended = reason
            self._changed.notify_all()

    async def read(self, most: int) -> bytes:
        return await self._read(1, most)

    async def read_exactly(self, size: int) -> bytes:
        return await self._read(size, size)

    async def _read(self, least: int, most: int) -> bytes:
        """Between `least` and `most` bytes; a long read makes room as it goes."""
        data = bytearray()
        async with self._changed:
            while len(data) < least:
                await self._changed.wait_for(lambda: self._unread or self._ended)
                if not self._unread:
                    raise PeerUnreachable(f"The stream ended: {self._ended}.")
                part = self._unread[: most - len(data)]
                del self._unread[: len(part)]
                data += part
                self._changed.notify_all()
        return bytes(data)


class RelayedConnection(Connection):
    """What `endpoint.Connection` is, over a secure channel through a relay."""

    def __init__(self, ends: "RelayEnds", pipe: Pipe, channel: "SecureStream", peer: PeerId, outgoing: bool) -> None:
        self.peer, self.outgoing, self.relay = peer, outgoing, pipe.relay
        self._ends, self._pipe, self._channel = ends, pipe, channel
        self._opened = 0
        self._incoming: dict[int, _ReceiveStream] = {}
        self._newest = 0
        self._accepted: asyncio.Queue[_ReceiveStream | None] = asyncio.Queue()
        self._closed_because: str | None = None
        self._reader = ends.start(self._receive(), "relayed connection")

    def hold(self, window: int) -> None:
        """The link with the relay does that."""

    async def open(self) -> _SendStream:
        return _SendStream(self)

    def next_number(self) -> int:
        """The number of a stream whose first bytes are sent next."""
        self._opened += 1
        return self._opened

    async def send(self, number: int, data: bytes | memoryview | None) -> None:
        """Send a part of a stream; None resets it."""
        if data is None:
            await self._channel.write(_HEADER.pack(number, _RESET))
        else:
            await self._channel.write(_HEADER.pack(number, len(data)) + data)

    async def accept(self) -> _ReceiveStream:
        stream = await self._accepted.get()
        if stream is None:
            raise PeerUnreachable(f"The relayed connection ended: {self._closed_because}.")
        return stream

    async def _receive(self) -> None:
        try:
            while True:
                number, size = _HEADER.unpack(await self._channel.read_exact(_HEADER.size))
                if size == _RESET:
                    if (stream := self._incoming.pop(number, None)) is not None:
                        await stream.end("reset by the peer")
                elif size > _PART:
                    raise ProtocolError(f"A relayed stream announces {size} bytes.")
                else:
                    await self._stream(number).feed(await self._channel.read_exact(size))
        except HearthError as error:
            await self._end(str(error))

    def _stream(self, number: int) -> _ReceiveStream:
        stream = self._incoming.get(number)
        if stream is None:
            if number <= self._newest or len(self._incoming) > limits.LANES:
                raise ProtocolError("A relayed connection has more streams than agreed.")
            self._newest = number
            stream = self._incoming[number] = _ReceiveStream()
            self._accepted.put_nowait(stream)
        return stream

    def path(self) -> PathInfo:
        return PathInfo(None, self._pipe.rtt_ms, self._pipe.bytes_in, self._pipe.bytes_out)

    @property
    def closed(self) -> bool:
        return self._closed_because is not None

    def close(self, reason: str) -> None:
        if self._closed_because is None:
            self._closed_because = reason
            self._reader.cancel()
            self._ends.start(self._end(reason), "relayed connection closes")

    async def _end(self, reason: str) -> None:
        self._closed_because = self._closed_because or reason
        for stream in self._incoming.values():
            await stream.end(self._closed_because)
        self._accepted.put_nowait(None)
        await self._channel.close()


class RelayEnds:
    """Makes and accepts relayed connections for this peer."""

    def __init__(self, node: RpcNode, identity: Identity) -> None:
        self.node = node
        self.pipes: dict[PipeId, Pipe] = {}
        self._identity = identity
        self._background = Background()
        self.start = self._background.start
        self.close = self._background.close
        node.register("relay.offer", Offer, self._offer)
        node.register("relay.take", Piece, self._take, max_payload=PIECE)
        node.register("relay.closed", Closed, self._closed)
        node.on_disconnected.append(self._gone)

    async def connect(self, peer: PeerId, relay: PeerId) -> None:
        """Connect to `peer` through `relay`.

        Raises:
            HearthError: the relay is not willing or not connected to the peer, or the peer is not who it should be.
        """
        link = self.node.pool.links.get(relay)
        pipe = self._new(relay, os.urandom(32), link.branch if link else Link.branch)
        try:
            await self.node.call(relay, "relay.open", Open(peer, pipe.name), Done, deadline_s=OPEN_S)
        except BaseException:
            await pipe.end("not opened")
            raise
        await self._settle(pipe, peer, caller=True)

    async def _settle(self, pipe: Pipe, peer: PeerId, *, caller: bool) -> None:
        channel: SecureStream = await heap.ciphers().secure(pipe, self._identity, peer, caller=caller)
        pipe.peer = peer
        self.node.pool.adopt(RelayedConnection(self, pipe, channel, peer, caller))

    def _new(self, relay: PeerId, name: PipeId, branch: Branch) -> Pipe:
        if name in self.pipes or (len(self.pipes) >= PIPES and not self._make_room(branch)):
            raise CallRefused("Too many relayed connections here. Try again later.")
        pipe = self.pipes[name] = Pipe(self, relay, name, branch)
        return pipe

    def _make_room(self, asker: Branch) -> bool:
        """Whether a pipe to nobody, or a stranger, made room for one by another relay: anybody can offer some."""
        loose = [pipe for pipe in self.pipes.values() if pipe.peer is None or self.node.pool.is_stranger(pipe.peer)]
        shares = Shares(pipe.branch for pipe in loose)
        if not loose or not shares.gives_way(most := shares.greatest(pipe.branch for pipe in loose), asker):
            return False
        gone = next(pipe for pipe in loose if pipe.branch == most)
        del self.pipes[gone.name]
        self.start(gone.close("room for others"), "pipe ends")
        return True

    async def _offer(self, request: Offer, payload: Payload, context: Context) -> Done:
        pipe = self._new(context.peer, request.pipe, context.branch)
        self.start(self._answer(pipe, PeerId(request.source)), "relayed handshake")
        return Done()

    async def _answer(self, pipe: Pipe, source: PeerId) -> None:
        try:
            await self._settle(pipe, source, caller=False)
        except HearthError as error:
            log.info("a relayed connection from %s came to nothing: %s", source.hex()[:8], error)

    async def _take(self, request: Piece, payload: Payload, context: Context) -> Done:
        pipe = self.pipes.get(request.pipe)
        if pipe is None or pipe.relay != context.peer:
            raise CallRefused("There is no such pipe here.")
        await pipe.take(request.number, bytes(payload))
        return Done()

    async def _closed(self, request: Closed, payload: Payload, context: Context) -> Done:
        pipe = self.pipes.get(request.pipe)
        if pipe is not None and pipe.relay == context.peer:
            await pipe.end("closed by the other side")
        return Done()

    def _gone(self, peer: PeerId) -> None:
        for pipe in [pipe for pipe in self.pipes.values() if pipe.relay == peer]:
            self.start(pipe.end("the relay is gone"), "pipe ends")

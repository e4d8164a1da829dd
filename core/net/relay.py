"""Relaying: a willing peer passes sealed bytes between two peers that cannot reach each other.

The caller asks a relay to open a pipe to a peer that the relay is connected to; the relay offers it there. Both ends
run a secure channel through it (`secure.py`), so that the relay sees lengths and times only, and on that the same
frames as on a direct connection (`relayed.py`). Pieces travel as calls, so that one port, one connection a pair and
one set of limits serve this too: the answer to a piece is the permission to send a further one.
"""

import asyncio
import logging
import math
import time
from dataclasses import dataclass, field

import msgspec

from core.contracts.errors import CallRefused, HearthError
from core.contracts.net import Payload, Peer
from core.identity import PeerId
from core.net import limits
from core.net.background import Background
from core.net.limits import TokenBucket
from core.net.method import Context
from core.net.rpc import RpcNode
from core.net.shares import Branch, Shares

log = logging.getLogger(__name__)

PIECE = limits.SEALED + 64
"""Bytes passed by one call: one sealed message."""
WINDOW = 8
"""Pieces under way in one direction of a pipe: half a megabyte fills 1 MiB/s at half a second's round trip."""
PIPES = 32
"""Pipes through one relay: their windows full hold 33 MB."""
PIPES_BY_PEER = 4
"""Pipes that one peer may have opened, so that a few cannot take all."""
CLIENT_BYTES_PER_S = 1024 * 1024.0
"""What a relay gives to one client, both ways together: ten tensors of 100 KB a second."""
RELAY_BYTES_PER_S = 4 * CLIENT_BYTES_PER_S
"""What it gives in all: a third of a 100 Mbit/s line."""
PIPE_IDLE_S = 120.0
"""A pipe through which nothing passed for so long is closed; connections in use are pinged far more often."""
PASS_S = 30.0
"""Time for one piece, with its wait at the relay and for a slow reader."""

PipeId = bytes


class Open(msgspec.Struct, frozen=True):
    """To the relay: make a pipe to `target`, under a name that the caller chose at random."""

    target: Peer
    pipe: Peer


class Offer(msgspec.Struct, frozen=True):
    """From the relay: `source` asks for a pipe to you."""

    source: Peer
    pipe: Peer


class Piece(msgspec.Struct, frozen=True):
    """The `number`th piece (from 0) of one direction of a pipe; the bytes are the payload."""

    pipe: Peer
    number: int


class Closed(msgspec.Struct, frozen=True):
    """The pipe is of no more use."""

    pipe: Peer


class Done(msgspec.Struct, frozen=True):
    """Yes."""


def pace(rate: float) -> TokenBucket:
    """Spreads bytes evenly over time; a second's worth may go at once after a pause."""
    return TokenBucket(rate, rate, math.inf)


@dataclass
class _Pipe:
    opener: PeerId
    target: PeerId
    used: float
    branch: Branch
    """Of who opened it."""
    passing: int = 0
    """Pieces under way."""


@dataclass
class _Client:
    pace: TokenBucket
    pipes: set[PipeId] = field(default_factory=set)


class Relay:
    """Passes bytes for others if `willing`."""

    def __init__(self, node: RpcNode, *, willing: bool, bytes_per_s: float = RELAY_BYTES_PER_S) -> None:
        self.willing = willing
        self._node = node
        self.pipes: dict[PipeId, _Pipe] = {}
        self._clients: dict[PeerId, _Client] = {}
        self._all = pace(bytes_per_s)
        self.bytes = 0
        """Passed on so far."""
        self._background = Background()
        node.register("relay.open", Open, self._open)
        node.register("relay.pass", Piece, self._pass, max_payload=PIECE)
        node.register("relay.close", Closed, self._close)
        node.on_disconnected.append(self._gone)

    async def _open(self, request: Open, payload: Payload, context: Context) -> Done:
        target, now = PeerId(request.target), time.monotonic()
        self._drop_idle(now)
        client = self._clients.get(context.peer)
        if not self.willing:
            raise CallRefused("This peer does not relay for others. Ask another.")
        if client is not None and len(client.pipes) >= PIPES_BY_PEER:
            raise CallRefused("This relay has no pipe left for you. Ask another, or try again later.")
        if request.pipe in self.pipes or target not in self._node.pool.links or target == context.peer:
            raise CallRefused("This relay is not connected to that peer. Ask another.")
        if len(self.pipes) >= PIPES and not self._make_room(context.branch):
            raise CallRefused("This relay has no pipe left. Ask another, or try again later.")
        client = self._clients.setdefault(context.peer, _Client(pace(CLIENT_BYTES_PER_S)))
        self.pipes[request.pipe] = _Pipe(context.peer, target, now, context.branch)  # counted before the first wait
        client.pipes.add(request.pipe)
        try:
            await self._node.call(target, "relay.offer", Offer(context.peer, request.pipe), Done, deadline_s=5.0)
        except BaseException:
            self._drop(request.pipe)
            raise
        return Done()

    async def _pass(self, request: Piece, payload: Payload, context: Context) -> Done:
        pipe = self._pipe(request.pipe, context.peer)
        if pipe.passing >= 2 * WINDOW:
            raise CallRefused("More pieces are under way than the windows of both ends have room for.")
        now = pipe.used = time.monotonic()
        self.bytes += len(payload)
        waits = [bucket.spend(len(payload), now) for bucket in (self._clients[pipe.opener].pace, self._all)]
        other = pipe.target if context.peer == pipe.opener else pipe.opener
        pipe.passing += 1
        try:
            await asyncio.sleep(max(waits))
            await self._node.call(other, "relay.take", request, Done, payload, deadline_s=PASS_S)
        except HearthError:
            self._drop(request.pipe)
            self._tell(other, request.pipe)
            raise
        finally:
            pipe.passing -= 1
        return Done()

    async def _close(self, request: Closed, payload: Payload, context: Context) -> Done:
        pipe = self._pipe(request.pipe, context.peer)
        self._drop(request.pipe)
        self._tell(pipe.target if context.peer == pipe.opener else pipe.opener, request.pipe)
        return Done()

    def _pipe(self, name: PipeId, peer: PeerId) -> _Pipe:
        pipe = self.pipes.get(name)
        if pipe is None or peer not in (pipe.opener, pipe.target):
            raise CallRefused("There is no such pipe here. Open a new one.")
        return pipe

    def _gone(self, peer: PeerId) -> None:
        for name, pipe in [*self.pipes.items()]:
            if peer in (pipe.opener, pipe.target):
                self._drop(name)
                self._tell(pipe.target if peer == pipe.opener else pipe.opener, name)

    def _make_room(self, asker: Branch) -> bool:
        """Whether a pipe, the longest unused, of those who opened most made room for who has fewer."""
        shares = Shares(pipe.branch for pipe in self.pipes.values())
        most = shares.greatest(pipe.branch for pipe in self.pipes.values())
        if not shares.gives_way(most, asker):
            return False
        theirs = (name for name, pipe in self.pipes.items() if pipe.branch == most)
        self._end(min(theirs, key=lambda name: self.pipes[name].used))
        return True

    def _end(self, name: PipeId) -> None:
        pipe = self.pipes[name]
        self._drop(name)
        self._tell(pipe.opener, name)
        self._tell(pipe.target, name)

    def _drop_idle(self, now: float) -> None:
        for name, pipe in [*self.pipes.items()]:
            if now - pipe.used > PIPE_IDLE_S:
                self._end(name)

    def _drop(self, name: PipeId) -> None:
        pipe = self.pipes.pop(name, None)
        if pipe is not None:
            client = self._clients[pipe.opener]
            client.pipes.discard(name)
            if not client.pipes:
                del self._clients[pipe.opener]

    def _tell(self, peer: PeerId, name: PipeId) -> None:
        if peer in self._node.pool.links:
            self._background.start(self._say(peer, name), "relay closes")

    async def _say(self, peer: PeerId, name: PipeId) -> None:
        try:
            await self._node.call(peer, "relay.closed", Closed(name), Done, deadline_s=5.0)
        except HearthError as error:
            log.debug("a pipe's end was not told: %s", error)

    async def close(self) -> None:
        """Stop the background work."""
        await self._background.close()

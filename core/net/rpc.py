"""Remote calls: methods with typed requests and replies, over one connection a peer."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from core.contracts.errors import UNREADABLE, CallRefused, CallTimeout, HearthError, NetworkError, RemoteFault
from core.contracts.net import (
    ANYWHERE,
    NO_ACCESS,
    Answer,
    AskTicket,
    Call,
    Cancel,
    Fault,
    Header,
    Parts,
    Payload,
    PeerAddress,
    Ping,
    Pong,
    Ticket,
    joined,
    size_of,
)
from core.contracts.notices import notice
from core.identity import Identity, PeerId
from core.net import limits
from core.net.admission import Admission
from core.net.background import logged
from core.net.endpoint import Endpoint, SendStream
from core.net.limits import Bans
from core.net.link import Link, Refusal
from core.net.memory import Reservation
from core.net.method import Context, Cost, Result
from core.net.metrics import Meter
from core.net.pool import Connector, Pool
from core.net.service import Service
from core.net.shaping import Shaper
from core.net.tcp import TICKET_S, TcpLanes

log = logging.getLogger(__name__)

RequestT = TypeVar("RequestT", bound=msgspec.Struct | bytes)
ReplyT = TypeVar("ReplyT", bound=msgspec.Struct)
_encode = msgspec.msgpack.Encoder().encode
TICKET_COST = 10.0
"""Calls: it may take a socket and a task."""


class RpcNode:
    """One peer of the network: serves its methods to others and calls theirs.

    Use as `async with RpcNode(identity) as node`; methods may be registered before and after entering.

    Attributes:
        external: outside addresses of this PC, as learned by reach.py; they come first in `address()`.
        relays: connected peers through which others meet this one or are relayed to it (set by reach.py).
        dial_only: client mode: nobody can dial this PC, so it announces no address (set by reach.py).
        connectors: ways to reach a peer that are tried in turn when dialling fails.
        on_connected, on_disconnected: called with each peer that comes and goes.
        on_banned: called with each peer that is banned, and for how many seconds.
        lets: by method what is asked before the payload of a call is read.
    """

    def __init__(self, identity: Identity, *, listen: Sequence[str] = ANYWHERE) -> None:
        self.identity = identity
        self.peer = identity.peer
        self.external: list[str] = []
        self.relays: tuple[bytes, ...] = ()
        self.dial_only = False
        self.connectors: list[Connector] = []
        self.on_connected: list[Callable[[PeerId], None]] = []
        self.on_disconnected: list[Callable[[PeerId], None]] = []
        self.on_banned: list[Callable[[PeerId, float], None]] = []
        self.bans = Bans()
        self.shaper = Shaper()
        self.far = Shaper(within=self.shaper)
        self._moved, self._limit = (0, 0), (0.0, 0.0, (0.0, 0.0))
        self.endpoint: Endpoint
        self.pool: Pool
        self._listen = listen
        self._service = Service(self, lambda peer: self.admission.is_stranger(peer))
        self.lets = self._service.lets
        self.metrics: dict[str, Meter] = {}
        """Figures by method, since the start."""
        self._decoders: dict[type, Callable[[bytes], Any]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._tcp = TcpLanes(self)
        self.admission = Admission(self, lambda: self.pool.links.values() if self._group is not None else ())
        self.register("net.ticket", AskTicket, self._on_ask_ticket, cost=TICKET_COST)

    async def __aenter__(self) -> "RpcNode":
        self.endpoint = await Endpoint.bind(self.identity.seed, self._listen)
        self.pool = Pool(self.endpoint, self.peer, self, self.bans)
        self.pool.connectors, self.pool.is_stranger = self.connectors, self.admission.is_stranger
        self.pool.on_connected = self.on_connected
        self.pool.on_disconnected = self.on_disconnected
        self._group = await asyncio.TaskGroup().__aenter__()
        for loop in (self.pool.accept(), self.pool.tend()):
            self._tracked(self._group.create_task(loop))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        group, self._group = self._group, None  # nothing new starts from here on
        self.pool.close("the peer leaves")
        for task in self._tasks:
            task.cancel()
        try:
            if group is not None:
                # An error of the body goes on as it is; a cancellation may be the group's own, after a loop failed.
                mine = (kind, error, trace) if kind is asyncio.CancelledError else (None, None, None)
                await group.__aexit__(*mine)
        finally:
            self._moved = self.moved()
            self._tcp.close()
            await self.endpoint.close()

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run in the background until the node leaves at most.

        Raises:
            NetworkError: the node is not running.
        """
        if self._group is None:
            work.close()
            raise NetworkError(notice("network.not_running"))
        task = self._tracked(self._group.create_task(logged(work, name), name=name))
        task.add_done_callback(lambda _: work.close())  # a task cancelled before it began never touched it
        return task

    def _tracked(self, task: asyncio.Task[None]) -> asyncio.Task[None]:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def register(
        self,
        name: str,
        request: type[RequestT],
        handler: Callable[[RequestT, Any, Context], Awaitable[Result] | Result],
        *,
        max_payload: int = 0,
        cost: Cost = 1.0,
        held: int = 0,
    ) -> None:
        """Serve a method.

        Args:
            name: what callers name it, as "dht.find".
            request: the type of its request; others are refused before the handler sees them. `bytes`: the handler
                passes on what it is given, undecoded, and the payload in parts (`Parts`) as they came.
            handler: see `Handler`. A HearthError it raises travels to the caller as RemoteFault with its code.
            max_payload: the largest payload it takes, in bytes.
            cost: how many calls one of these counts for in the caller's quota, or a function of the request.
            held: bytes of memory of its own for payloads that are held until those of other peers are here. 0: none.
        """
        decode = None if request is bytes else msgspec.msgpack.Decoder(request).decode
        self._service.register(name, decode, handler, max_payload, cost, self._meter(name), held)

    def unregister(self, run_id: str) -> None:
        """Serve none of a run's methods any more."""
        self._service.unregister(f"@{run_id}")

    # --- calling others

    async def call(
        self,
        peer: PeerId,
        name: str,
        request: msgspec.Struct,
        reply: type[ReplyT],
        payload: Payload = b"",
        *,
        deadline_s: float,
    ) -> tuple[ReplyT, bytes]:
        """Call a method of a peer, connecting first if need be. Cancelling this cancels the call there.

        Returns:
            The reply and its payload (empty if it has none).

        Raises:
            PeerUnreachable: no connection, or it broke during the call.
            CallTimeout: no answer within `deadline_s` seconds.
            CallRefused: the peer declined: too busy, over a limit, unknown method, wrong types.
            RemoteFault: the peer's handler failed; `fault` says how.
        """
        body, parts = await self.call_undecoded(peer, name, _encode(request), payload, deadline_s=deadline_s)
        try:
            return self._decoder(reply)(body), joined(parts)
        except UNREADABLE as error:
            self._meter(name).errors += 1
            self.strike(peer, 2.0)
            text = f"Peer {peer.hex()[:8]} answered {name} with wrong types: {error}. Its version may differ."
            raise RemoteFault("bad_reply", text) from error

    async def call_undecoded(
        self, peer: PeerId, name: str, request: bytes, payload: Payload | Parts, *, deadline_s: float
    ) -> tuple[bytes, Parts]:
        """As `call`, for who passes on what is asked and answered: neither is decoded here, and no payload joined."""
        meter, began = self._meter(name), time.monotonic()
        try:
            async with asyncio.timeout(deadline_s):
                link = self.pool.links.get(peer) or await self.pool.link(peer)
                await self.admission.before_call(link, name)
                answer, data, sent = await self._ask(link, name, request, payload, began + deadline_s)
        except TimeoutError as error:
            meter.errors += 1
            raise CallTimeout(notice("peer.no_answer", peer=peer.hex(), method=name, within=deadline_s)) from error
        except HearthError:
            meter.errors += 1
            raise
        meter.calls += 1
        meter.moved(len(answer.body) + size_of(data), sent)
        return bytes(answer.body), data

    async def _ask(
        self, link: Link, name: str, body: bytes, payload: Payload | Parts, deadline: float
    ) -> tuple[Answer, Parts, int]:
        """The answer, its payload, and how many bytes were sent."""
        size = size_of(payload)
        if len(body) > limits.MAX_BODY or size > limits.MAX_PAYLOAD:
            raise CallRefused(notice("call.too_large", method=name, size=len(body) + size))
        async with link.slots:
            number = link.new_id()
            future: asyncio.Future[tuple[Answer, Parts]] = asyncio.get_running_loop().create_future()
            link.waiting[number] = future
            link.used = now = time.monotonic()
            try:
                await link.send(Call(number, name, max(1, int((deadline - now) * 1000)), msgspec.Raw(body)), payload)
                return *await future, len(body) + size
            except asyncio.CancelledError:
                if link.closed_because is None:
                    link.post(Cancel(number))
                raise
            finally:
                del link.waiting[number]
                link.used = time.monotonic()
                if future.done() and not future.cancelled():
                    future.exception()  # retrieved, also if sending failed first

    # --- addresses and peers

    def learn(self, address: PeerAddress) -> None:
        """Note where a peer may be dialled."""
        self.pool.learn(address)

    def address(self) -> PeerAddress:
        """Where this peer may be dialled, best first."""
        if self.dial_only:
            return PeerAddress(self.peer)
        found = dict.fromkeys([*self.external, *self.endpoint.addresses()])
        return PeerAddress(self.peer, tuple(found)[: limits.ADDRESSES], self.relays)

    def limit(self, upload: float, download: float, far: tuple[float, float] = (0.0, 0.0)) -> None:
        """Send and receive no faster than so many bytes a second, over all peers and over `far` ones; 0: no limit."""
        if self._limit != (limit := (upload, download, far)):
            self._limit = limit
            self.shaper.set(upload, download)
            self.far.set(*far)
            for link in self.pool.links.values() if self._group is not None else ():
                link.shape()

    def hush(self, why: str) -> None:
        """Leave all peers: until `speak` nobody is called, and nobody who dials is let in.

        Args:
            why: what callers are told, a sentence.
        """
        self.pool.closed_because = why
        self.pool.close("the peer leaves")

    def speak(self) -> None:
        """Call and serve again."""
        self.pool.closed_because = ""

    @property
    def hushed(self) -> bool:
        return bool(self.pool.closed_because)

    def moved(self) -> tuple[int, int]:
        """Bytes received and sent since the start, as the network counts them."""
        if self._group is None:
            return self._moved
        (received, sent), (also_received, also_sent) = self.endpoint.moved(), self._tcp.moved()
        return received + also_received, sent + also_sent

    def moved_by_method(self) -> dict[str, tuple[int, int]]:
        """Bytes received and sent of that, in the calls that have ended; without headers."""
        return {name: (meter.bytes_in, meter.bytes_out) for name, meter in self.metrics.items()}

    def keep(self, peer: PeerId, kept: bool = True) -> None:
        """Hold on to a peer's connection: never idle, and a cut is noticed also between calls."""
        (self.pool.kept.add if kept else self.pool.kept.discard)(peer)

    def strike(self, peer: PeerId, points: float) -> None:
        """Note a fault of a peer (a bad signature, a lie): at 10 points it is banned for a time."""
        if self._struck(peer, points) and (link := self.pool.links.get(peer)) is not None:
            link.close("banned")

    def _struck(self, peer: PeerId, points: float) -> bool:
        """Whether a fault got a peer banned, of which those who want to know are told."""
        now = time.monotonic()
        if not self.bans.strike(peer, points, now):
            return False
        for callback in list(self.on_banned):
            callback(peer, self.bans.banned(peer, now))
        return True

    def distrusts(self, peer: PeerId) -> bool:
        """Whether a peer was banned within the last hour or, if that was not the first time, some hours."""
        return self.bans.distrusts(peer, time.monotonic())

    # --- what links ask of their owner

    def admits(self, peer: PeerId, name: str) -> bool:
        """See service.Node."""
        return self.admission.admits_call(peer, name)

    def admit(self, link: Link, header: Header, size: int) -> None:
        """See link.Owner."""
        if isinstance(header, Call):
            self._service.admit(link, header, size)
        elif size and (not isinstance(header, Answer) or header.id not in link.waiting):
            raise Refusal("unknown", "nobody waits for this payload")  # its call was cancelled meanwhile

    def charge(self, link: Link, size: int) -> float:
        """See link.Owner."""
        return self._service.spend(link, limits.FRAME_COST, size)

    async def reserve(self, link: Link, header: Header, size: int, drop: Callable[[], None]) -> Reservation:
        """See link.Owner."""
        return await self._service.memory_for(header).reserve(link.branch, size, drop)

    def deliver(self, link: Link, header: Header, payload: Parts, release: Callable[[], None]) -> float:
        """See link.Owner."""
        if isinstance(header, Call):
            return self._service.serve(link, header, payload, release)
        release()  # an answer's payload belongs to our own caller from here on
        if isinstance(header, Answer | Fault):
            if (future := link.waiting.get(header.id)) is not None and not future.done():
                if isinstance(header, Answer):
                    future.set_result((header, payload))
                else:
                    future.set_exception(header.error())
                    if header.code == NO_ACCESS:
                        self.admission.forget(link)
        elif isinstance(header, Cancel):
            if (task := link.serving.get(header.id)) is not None:
                task.cancel()
            elif len(link.cancelled) < limits.CALLS_BY_PEER:
                link.cancelled.add(header.id)
        elif isinstance(header, Ping) and link.roomy:
            link.post(Pong())
        return self._service.spend(link, limits.FRAME_COST, size_of(payload))

    async def open_faster(self, link: Link) -> SendStream:
        """See link.Owner."""
        return await self._tcp.open(link)

    async def ask_ticket(self, link: Link) -> Ticket:
        """See tcp.Node. By this link: another one to the same peer has calls of its own."""
        async with asyncio.timeout(TICKET_S):
            answer, *_ = await self._ask(link, "net.ticket", _encode(AskTicket()), b"", time.monotonic() + TICKET_S)
        return self._decoder(Ticket)(answer.body)

    def _on_ask_ticket(self, request: AskTicket, payload: Payload, context: Context) -> Ticket:
        if context.link is None or self.shaper.download.rate:
            raise CallRefused("You can open no lane now: the user limits what is received.")
        return self._tcp.give_ticket(context.link)

    @property
    def sockets(self) -> list[str]:
        """See tcp.Node."""
        return self.endpoint.sockets

    def lost(self, link: Link) -> None:
        """See link.Owner."""
        self.pool.lost(link)

    def violated(self, link: Link, reason: str) -> None:
        """See link.Owner."""
        log.warning("peer %s broke the protocol: %s", link.peer.hex()[:8], reason)
        self._struck(link.peer, limits.VIOLATION_POINTS)  # the link closes itself, and says why

    def _meter(self, name: str) -> Meter:
        return self.metrics.get(name) or self.metrics.setdefault(name, Meter())

    def _decoder(self, reply: type[ReplyT]) -> Callable[[bytes], ReplyT]:
        if (decode := self._decoders.get(reply)) is None:
            decode = self._decoders[reply] = msgspec.msgpack.Decoder(reply).decode
        return decode

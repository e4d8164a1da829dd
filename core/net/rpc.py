"""Remote calls: methods with typed requests and replies, over one connection a peer."""

import asyncio
import contextlib
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

import msgspec

from core.errors import CallRefused, CallTimeout, HearthError, NetworkError, PeerUnreachable, RemoteFault
from core.identity import Identity, PeerId
from core.net import limits
from core.net.endpoint import ANYWHERE, Endpoint
from core.net.limits import Bans, TokenBucket
from core.net.link import Link, Payload, Refusal, Violation, nothing
from core.net.memory import Memory
from core.net.messages import INTERNAL, REFUSALS, TIMED_OUT, Answer, Call, Cancel, Fault, Header, PeerAddress, Ping, Pong
from core.net.metrics import Meter, MethodMetrics
from core.net.pool import Connector, Pool

log = logging.getLogger(__name__)

RequestT = TypeVar("RequestT", bound=msgspec.Struct)
ReplyT = TypeVar("ReplyT", bound=msgspec.Struct)
_encode = msgspec.msgpack.Encoder().encode


class Context(NamedTuple):
    """Who calls, from where, and until when the answer is of use."""

    peer: PeerId
    address: str | None
    """The peer's outside address as seen here."""
    deadline: float
    """time.monotonic() of this process."""


Result = msgspec.Struct | tuple[msgspec.Struct, Payload]
Handler = Callable[[Any, Payload, Context], Awaitable[Result] | Result]
"""Takes request, payload and context; gives the reply, or the reply and its payload.

A plain function is run at once, without a task: best for what neither waits nor computes for long.
"""


class PeerInfo(NamedTuple):
    """A connected peer, for the user."""

    peer: PeerId
    path: str
    """"direct" or "relayed"."""
    address: str | None
    rtt_ms: float
    bytes_in: int
    bytes_out: int
    since: float
    """Unix time of the connection."""
    faults: float
    """Strikes, decayed; at 10 the peer is banned for a time."""


class _Method(NamedTuple):
    name: str
    decode: Callable[[msgspec.Raw], Any]
    handler: Handler
    waits: bool
    max_payload: int
    cost: float
    meter: Meter


class _Quota:
    """What one peer may still ask for."""

    def __init__(self) -> None:
        self.calls = TokenBucket(limits.CALLS_PER_S, limits.CALL_BURST)
        self.bytes = TokenBucket(limits.BYTES_PER_S, limits.BYTE_BURST)


class RpcNode:
    """One peer of the network: serves its methods to others and calls theirs.

    Use as `async with RpcNode(identity) as node`; register methods before or after entering.
    """

    def __init__(self, identity: Identity, *, listen: Sequence[str] = ANYWHERE) -> None:
        self.identity = identity
        self.peer = identity.peer
        self.external: list[str] = []
        """Outside addresses of this PC, as learned by reach.py; they come first in `address()`."""
        self.relays: tuple[bytes, ...] = ()
        """Peers that relay for this one."""
        self.relayed: Callable[[str], bool] = lambda address: False
        """Whether an address belongs to a relay's tunnel (set by reach.py)."""
        self.connectors: list[Connector] = []
        self.on_connected: list[Callable[[PeerId], None]] = []
        self.on_disconnected: list[Callable[[PeerId], None]] = []
        self.bans = Bans()
        self._listen = listen
        self._methods: dict[str, _Method] = {}
        self._meters: dict[str, Meter] = {}
        self._decoders: dict[type, Callable[[msgspec.Raw], Any]] = {}
        self._quotas: dict[PeerId, _Quota] = {}
        self._memory = Memory(limits.RECEIVING, limits.RECEIVING_BY_PEER)
        self._group: asyncio.TaskGroup | None = None

    async def __aenter__(self) -> "RpcNode":
        self.endpoint = await Endpoint.bind(self.identity.seed, self._listen)
        self.pool = Pool(self.endpoint, self.peer, self, self.bans)
        self.pool.connectors = self.connectors
        self.pool.on_connected = self.on_connected
        self.pool.on_disconnected = self.on_disconnected
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        self._loops = [self.start(self.pool.accept(), "accept"), self.start(self.pool.tend(), "tend")]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for loop in self._loops:
            loop.cancel()
        self.pool.close("the peer leaves")
        try:
            assert self._group is not None
            await self._group.__aexit__(kind, error, trace)
        finally:
            self._group = None
            await self.endpoint.close()

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run in the background until the node leaves at most."""
        if self._group is None:
            work.close()
            raise NetworkError("The network is not running. Start the worker first.")
        return self._group.create_task(work, name=name)

    # --- what others may call

    def register(
        self,
        name: str,
        request: type[RequestT],
        handler: Callable[[RequestT, Payload, Context], Awaitable[Result] | Result],
        *,
        max_payload: int = 0,
        cost: float = 1.0,
    ) -> None:
        """Serve a method.

        Args:
            name: what callers name it, as "dht.find".
            request: the type of its request; others are refused before the handler sees them.
            handler: see `Handler`. A HearthError it raises travels to the caller as RemoteFault with its code.
            max_payload: the largest payload it takes, in bytes.
            cost: how many calls one of these counts for in the caller's quota.
        """
        decode = msgspec.msgpack.Decoder(request).decode
        waits = inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004
        self._methods[name] = _Method(name, decode, handler, waits, max_payload, cost, self._meter(name))

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
    ) -> tuple[ReplyT, Payload]:
        """Call a method of a peer, connecting first if need be. Cancelling this cancels the call there.

        Returns:
            The reply and its payload (empty if it has none).

        Raises:
            PeerUnreachable: no connection, or it broke during the call.
            CallTimeout: no answer within `deadline_s` seconds.
            CallRefused: the peer declined: too busy, over a limit, unknown method, wrong types.
            RemoteFault: the peer's handler failed; `fault` says how.
        """
        meter = self._meter(name)
        began = time.monotonic()
        try:
            async with asyncio.timeout(deadline_s):
                link = self.pool.links.get(peer) or await self.pool.link(peer)
                answer, data = await self._ask(link, name, request, payload, began + deadline_s)
                result = self._decoder(reply)(answer.body)
        except TimeoutError as error:
            meter.failed()
            raise CallTimeout(f"Peer {peer.hex()[:8]} did not answer {name} within {deadline_s:.1f} s.") from error
        except msgspec.MsgspecError as error:
            meter.failed()
            self.strike(peer, 2.0)
            raise RemoteFault("bad_reply", f"Peer {peer.hex()[:8]} answered {name} with wrong types: {error}") from error
        except HearthError:
            meter.failed()
            raise
        meter.called(time.monotonic() - began, len(payload), len(data))
        return result, data

    async def _ask(
        self, link: Link, name: str, request: msgspec.Struct, payload: Payload, deadline: float
    ) -> tuple[Answer, Payload]:
        body = _encode(request)
        if len(body) > limits.MAX_HEADER - 256 or len(payload) > limits.MAX_PAYLOAD:
            raise CallRefused(f"{name}: a call of {len(body)} + {len(payload)} bytes is over the limit. Split it.")
        async with link.slots:
            number = link.new_id()
            future: asyncio.Future[tuple[Answer, Payload]] = asyncio.get_running_loop().create_future()
            link.waiting[number] = future
            link.used = now = time.monotonic()
            try:
                await link.send(Call(number, name, max(1, int((deadline - now) * 1000)), msgspec.Raw(body)), payload)
                return await future
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
        found = dict.fromkeys([*self.external, *self.endpoint.addresses()])
        return PeerAddress(self.peer, tuple(found)[: limits.ADDRESSES], self.relays)

    def keep(self, peer: PeerId, kept: bool = True) -> None:
        """Hold on to the connection with a peer: never idle, and a cut is noticed also between calls."""
        (self.pool.kept.add if kept else self.pool.kept.discard)(peer)

    def peers(self) -> list[PeerInfo]:
        """The connected peers."""
        now = time.monotonic()
        found = []
        for link in self.pool.links.values():
            path = link.connection.path()
            link.address = path.address or link.address
            relayed = path.path == "relayed" or (link.address is not None and self.relayed(link.address))
            found.append(
                PeerInfo(
                    link.peer,
                    "relayed" if relayed else "direct",
                    link.address,
                    path.rtt_ms,
                    path.bytes_in,
                    path.bytes_out,
                    link.since_unix,
                    self.bans.score(link.peer, now),
                )
            )
        return found

    def metrics(self) -> dict[str, MethodMetrics]:
        """Figures by method, of calls made and served since the start."""
        return {name: meter.read() for name, meter in self._meters.items()}

    def strike(self, peer: PeerId, points: float) -> None:
        """Note a fault of a peer (a bad signature, a lie): at 10 points it is banned for a time."""
        if self.bans.strike(peer, points, time.monotonic()) and (link := self.pool.links.get(peer)) is not None:
            link.close("banned")

    # --- what links ask of their owner

    async def admit(self, link: Link, header: Header, size: int) -> Callable[[], None]:
        """See link.Owner."""
        if isinstance(header, Call):
            method = self._methods.get(header.method)
            if method is None:
                self._refuse(link, header.id, "unknown_method", f"This peer has no method {header.method!r}.", 0.5)
            elif size > method.max_payload:
                text = f"{header.method} takes at most {method.max_payload} bytes of payload."
                self._refuse(link, header.id, "limit", text, 1.0)
            elif len(link.serving) >= limits.CALLS_BY_PEER:
                self._refuse(link, header.id, "busy", "Too many calls at once.", 0.1)
        elif size and (not isinstance(header, Answer) or header.id not in link.waiting):
            raise Refusal("unknown", "nobody waits for this payload")  # its call was cancelled meanwhile
        if size == 0:
            return nothing
        return await self._memory.reserve(link.peer, size)

    def _refuse(self, link: Link, number: int, code: str, message: str, points: float) -> None:
        link.post(Fault(number, code, message))
        self.strike(link.peer, points)
        raise Refusal(code, message)

    def deliver(self, link: Link, header: Header, payload: Payload, release: Callable[[], None]) -> float:
        """See link.Owner."""
        if isinstance(header, Call):
            return self._serve(link, header, payload, release)
        release()  # an answer's payload belongs to our own caller from here on
        if isinstance(header, Answer):
            future = link.waiting.get(header.id)
            if future is not None and not future.done():
                future.set_result((header, payload))
        elif isinstance(header, Fault):
            future = link.waiting.get(header.id)
            if future is not None and not future.done():
                future.set_exception(_fault(header))
        elif isinstance(header, Cancel):
            task = link.serving.get(header.id)
            if task is not None:
                task.cancel()
            elif len(link.cancelled) < limits.CALLS_BY_PEER:
                link.cancelled.add(header.id)
        elif isinstance(header, Ping):
            if link.roomy:
                link.post(Pong())
        return self._spend(link.peer, 0.1, len(payload))

    def _spend(self, peer: PeerId, cost: float, size: int) -> float:
        quota = self._quotas.get(peer)
        if quota is None:
            quota = self._quotas[peer] = _Quota()
            while len(self._quotas) > limits.FAULTY_PEERS:
                del self._quotas[next(iter(self._quotas))]
        now = time.monotonic()
        return max(quota.calls.spend(cost, now), quota.bytes.spend(size, now) if size else 0.0)

    def lost(self, link: Link) -> None:
        """See link.Owner."""
        self.pool.lost(link)

    def violated(self, link: Link, reason: str) -> None:
        """See link.Owner."""
        log.warning("peer %s broke the protocol: %s", link.peer.hex()[:8], reason)
        self.bans.strike(link.peer, 5.0, time.monotonic())

    # --- serving

    def _serve(self, link: Link, call: Call, payload: Payload, release: Callable[[], None]) -> float:
        method = self._methods[call.method]
        pause = self._spend(link.peer, method.cost, len(payload))
        if call.id in link.serving:
            release()
            raise Violation("two calls with one number")
        if call.id in link.cancelled:
            link.cancelled.discard(call.id)
            release()
            return pause
        try:
            if len(payload) > method.max_payload:
                raise msgspec.ValidationError(f"the payload is over {method.max_payload} bytes")
            request = method.decode(call.body)
        except msgspec.MsgspecError as error:
            release()
            method.meter.refused()
            link.post(Fault(call.id, "bad_request", f"{call.method}: {error}"[:500]))
            self.strike(link.peer, 2.0)
            return pause
        context = Context(link.peer, link.address, time.monotonic() + call.deadline_ms / 1000)
        if not method.waits and link.roomy and self._serve_at_once(link, call, method, request, payload, context):
            release()
            return pause
        task = self.start(self._serve_later(link, call, method, request, payload, context), call.method)
        link.serving[call.id] = task
        task.add_done_callback(lambda _: release())
        return pause

    def _serve_at_once(
        self, link: Link, call: Call, method: _Method, request: Any, payload: Payload, context: Context
    ) -> bool:
        """Run a plain function and queue its answer, without a task; False if it has a large answer."""
        began = time.monotonic()
        try:
            result = method.handler(request, payload, context)
            assert not isinstance(result, Awaitable)
            reply, data = result if isinstance(result, tuple) else (result, b"")
            body = _encode(reply)
        except Exception as error:
            link.post(self._failed(call, method, error))
            return True
        link.used = time.monotonic()
        method.meter.served(link.used - began, len(payload), len(data))
        answer = Answer(call.id, msgspec.Raw(body))
        if len(body) + len(data) <= limits.SMALL:
            link.post(answer, data)
        else:
            task = self.start(_send_quietly(link, answer, data), call.method)
            link.serving[call.id] = task
            task.add_done_callback(lambda _: link.serving.pop(call.id, None))
        return True

    async def _serve_later(
        self, link: Link, call: Call, method: _Method, request: Any, payload: Payload, context: Context
    ) -> None:
        began = time.monotonic()
        try:
            async with asyncio.timeout(context.deadline - began):
                try:
                    result = method.handler(request, payload, context)
                    if isinstance(result, Awaitable):
                        result = await result
                    reply, data = result if isinstance(result, tuple) else (result, b"")
                    answer = Answer(call.id, msgspec.Raw(_encode(reply)))
                except Exception as error:
                    await link.send(self._failed(call, method, error))
                else:
                    method.meter.served(time.monotonic() - began, len(payload), len(data))
                    await link.send(answer, data)
        except TimeoutError:
            method.meter.failed()
            if link.closed_because is None and link.roomy:
                link.post(Fault(call.id, TIMED_OUT, f"{call.method} took too long."))
        except PeerUnreachable:
            pass  # nobody is left to answer
        finally:
            link.serving.pop(call.id, None)
            link.used = time.monotonic()

    def _failed(self, call: Call, method: _Method, error: Exception) -> Fault:
        """What the caller is told of a handler's failure: ours by code, anything else without its text."""
        method.meter.failed()
        if isinstance(error, HearthError):
            code = "busy" if isinstance(error, CallRefused) else error.code
            return Fault(call.id, code, str(error)[:500])
        log.error("serving %s failed", call.method, exc_info=error)
        return Fault(call.id, INTERNAL, f"{call.method} failed on this peer; its log says why.")

    def _meter(self, name: str) -> Meter:
        meter = self._meters.get(name)
        if meter is None:
            meter = self._meters[name] = Meter()
        return meter

    def _decoder(self, reply: type[ReplyT]) -> Callable[[msgspec.Raw], ReplyT]:
        decode = self._decoders.get(reply)
        if decode is None:
            decode = self._decoders[reply] = msgspec.msgpack.Decoder(reply).decode
        return decode


async def _send_quietly(link: Link, answer: Answer, payload: Payload) -> None:
    with contextlib.suppress(PeerUnreachable):
        await link.send(answer, payload)


def _fault(fault: Fault) -> HearthError:
    if fault.code in REFUSALS:
        return CallRefused(fault.message)
    if fault.code == TIMED_OUT:
        return CallTimeout(fault.message)
    return RemoteFault(fault.code, fault.message)

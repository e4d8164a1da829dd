"""The serving side of remote calls: which calls are let in, how they run, and what is answered."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

import msgspec

from core.contracts.errors import UNREADABLE, CallRefused, PeerUnreachable
from core.contracts.net import (
    NO_ACCESS,
    NOT_SERVED,
    TIMED_OUT,
    Call,
    Fault,
    Header,
    Parts,
    Payload,
    joined,
    kind_of,
    size_of,
)
from core.identity import PeerId
from core.net import limits
from core.net.limits import Newest, TokenBucket
from core.net.link import Link, Refusal, Violation
from core.net.memory import Memory
from core.net.method import Context, Cost, Handler, Method, Result, answer_to, failure_of
from core.net.metrics import Meter
from core.net.shares import Shares

Lets = Callable[[PeerId, int], bool]
"""Whether a peer may send a call with so many bytes of payload that are still to come."""


class Node(Protocol):
    """What the service asks of the node."""

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run in the background."""

    def strike(self, peer: PeerId, points: float) -> None:
        """Note a fault of a peer."""

    def admits(self, peer: PeerId, name: str) -> bool:
        """Whether a peer may call a method."""


class _Quota:
    def __init__(self) -> None:
        self.calls = TokenBucket(limits.CALLS_PER_S, limits.CALL_BURST)
        self.bytes = TokenBucket(limits.BYTES_PER_S, limits.BYTE_BURST)


class Service:
    """The methods of a node, and the calls of others to them."""

    def __init__(self, node: Node, is_stranger: Callable[[PeerId], bool]) -> None:
        """It has no methods yet.

        Args:
            node: whose methods they are.
            is_stranger: whether a peer shares a quota with all others like it (see crowds.py).
        """
        self._node, self._is_stranger = node, is_stranger
        self._methods: dict[str, Method] = {}
        self.lets: dict[str, Lets] = {}
        """By method, where not everybody may send a payload at any time."""
        self._quotas = Newest[PeerId, _Quota](limits.FAULTY_PEERS)
        self._unsent = Shares()
        """Bytes of answers that peers do not read yet, or that are being read from a disk."""
        self.memory = Memory(limits.RECEIVING_LEAST, limits.RECEIVING_LEAST)
        """For payloads of calls: that of some of the largest that a method takes."""
        self._answers = Memory(limits.RECEIVING, limits.RECEIVING_BY_PEER)
        """For payloads that this PC has asked for."""

    def register(
        self,
        name: str,
        decode: Callable[[msgspec.Raw], Any] | None,
        handler: Handler,
        max_payload: int,
        cost: Cost,
        meter: Meter,
        held: int,
    ) -> None:
        """See RpcNode.register."""
        waits = inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__)
        price = cost if callable(cost) else lambda _: cost
        memory = Memory(held, held // 4) if held else self.memory
        self._methods[name] = Method(decode, handler, waits, max_payload, price, meter, "@" not in name, memory)
        largest = max(method.max_payload for method in self._methods.values())
        self.memory.by_peer = min(limits.RECEIVING_BY_PEER, max(limits.RECEIVING_LEAST, 2 * largest))
        self.memory.total = min(limits.RECEIVING, 2 * self.memory.by_peer)

    def unregister(self, suffix: str) -> None:
        """Serve no method whose name ends like this."""
        self._methods = {name: method for name, method in self._methods.items() if not name.endswith(suffix)}

    # --- letting in

    def admit(self, link: Link, call: Call, size: int) -> None:
        """Let a call in whose payload of `size` bytes is still to come (0: it is here); see link.Owner.admit."""
        method = self._methods.get(call.method)
        if method is None:
            points = 0.01 if "@" in call.method else 0.5  # a run that this peer has left is no fault of who asks
            self._refuse(link, call.id, NOT_SERVED, f"This peer has no method {call.method!r}.", points)
        elif not self._node.admits(link.peer, call.method):
            text = "You have shown no token that holds for this run; or, if it is open to all, no work for your key."
            self._refuse(link, call.id, NO_ACCESS, text, 0.01)
        elif size > method.max_payload:
            text = f"{call.method} takes at most {method.max_payload} bytes of payload, not {size}."
            self._refuse(link, call.id, "limit", text, 1.0)
        elif size and (lets := self.lets.get(call.method)) is not None and not lets(link.peer, size):
            self._refuse(link, call.id, "busy", f"You have called {call.method} often enough for now.", 0.1)
        elif unread := self._unread(link):
            self._refuse(link, call.id, "busy", unread, 0.1)
        elif len(link.serving) >= limits.CALLS_BY_PEER:
            self._refuse(link, call.id, "busy", "Too many calls at once. Try again later.", 0.1)

    def memory_for(self, header: Header) -> Memory:
        """Where a payload that comes has its room."""
        return self._methods[header.method].memory if isinstance(header, Call) else self._answers

    def _unread(self, link: Link) -> str:
        """What a peer is told if as many answers wait for it, or for those where it is, as there is memory for."""
        unsent, block, total = self._unsent.of, link.branch[:1], self.memory.total
        crowded = unsent(block) > total * 3 // 4 or (unsent(()) > total and unsent(block) > total // 4)
        has_enough = crowded or unsent(link.branch) > self.memory.by_peer
        return "Read the answers that you have asked for first." if has_enough else ""

    def _refuse(self, link: Link, number: int, code: str, message: str, points: float) -> None:
        link.post(Fault(number, code, message))
        self._node.strike(link.peer, points)
        raise Refusal(code, message)

    def spend(self, link: Link, cost: float, size: int) -> float:
        """Charge a peer for a frame. Returns the seconds to pause before reading more from it."""
        if (quota := self._quotas.get(link.peer)) is None:
            quota = self._quotas[link.peer] = _Quota()
        now = time.monotonic()
        pause = max(quota.calls.spend(cost, now), quota.bytes.spend(size, now) if size else 0.0)
        pause = max(pause, link.time.spend(limits.FRAME_TIME, False, now))
        if link.crowd is not None and self._is_stranger(link.peer):
            pause = max(pause, link.crowd.spend(max(1.0, cost), now))
        return pause

    # --- running

    def serve(self, link: Link, call: Call, parts: Parts, release: Callable[[], None]) -> float:
        """Run a call that was admitted. Returns the seconds to pause before reading more from the peer.

        Raises:
            Violation: the call's number is in use.
        """
        if (method := self._methods.get(call.method)) is None:  # the run was left while the payload came
            link.cancelled.discard(call.id)
            release()
            link.post(Fault(call.id, NOT_SERVED, f"This peer has no method {call.method!r} any more."))
            return self.spend(link, 1.0, size_of(parts))
        if call.id in link.serving:
            release()
            raise Violation("two calls with one number")
        if call.id in link.cancelled:
            link.cancelled.discard(call.id)
            release()
            return self.spend(link, 1.0, size_of(parts))
        now, began = time.monotonic(), time.thread_time()
        if method.is_common and (wait := link.time.common_wait(now)) > 0:
            release()
            link.post(Fault(call.id, "busy", "Peers from where you are keep this one busy. Try again later."))
            return max(wait, self.spend(link, 1.0, size_of(parts)))
        request = self._request(link, call, method, parts)
        if request is None:
            release()
            return self.spend(link, 1.0, size_of(parts))
        pause = self.spend(link, cost := method.cost(request), size_of(parts))
        payload = parts if method.decode is None else joined(parts)
        context = Context(link.peer, link.address, time.monotonic() + call.deadline_ms / 1000, link.branch, link)
        ready: Result | None = None
        if not method.waits and link.roomy:
            result = self._run_now(link, call, method, request, payload, context)
            pause = max(pause, link.time.spend(time.thread_time() - began, method.is_common, now))
            if result is None:
                release()
                return pause
            if isinstance(result, asyncio.Future):
                self._wait(link, call, method, result, payload, context, release)
                return pause
            ready = result
        else:
            taken = limits.TASK_TIME + cost * limits.RECORD_TIME * method.is_common
            pause = max(pause, link.time.spend(taken, method.is_common, now))
        self._start(link, call, method, request, payload, context, ready, release)
        return pause

    def _start(
        self,
        link: Link,
        call: Call,
        method: Method,
        request: Any,
        payload: Payload | Parts,
        context: Context,
        ready: Result | None,
        release: Callable[[], None],
    ) -> None:
        work = self._run(link, call, method, request, payload, context, ready)
        task = link.serving[call.id] = self._node.start(work, call.method)

        def ended(_: asyncio.Task[None]) -> None:
            link.serving.pop(call.id, None)
            link.used = time.monotonic()
            release()

        task.add_done_callback(ended)

    def _request(self, link: Link, call: Call, method: Method, parts: Parts) -> Any:
        """The decoded request, or None if it was refused."""
        try:
            if size_of(parts) > method.max_payload:  # a small one came with its header
                raise msgspec.ValidationError(f"the payload is over {method.max_payload} bytes")
            return bytes(call.body) if method.decode is None else method.decode(call.body)
        except UNREADABLE as error:
            method.meter.refused += 1
            link.post(Fault(call.id, "bad_request", f"{call.method}: {error}"[:500]))
            self._node.strike(link.peer, 2.0)
            return None

    def _run_now(
        self, link: Link, call: Call, method: Method, request: Any, payload: Payload | Parts, context: Context
    ) -> Result | asyncio.Future[Result] | None:
        """Run a plain function and queue its answer. One that is large or still to come is returned instead."""
        try:
            result = method.handler(request, payload, context)
        except Exception as error:
            link.post(failure_of(call, method, error))
            return None
        if isinstance(result, asyncio.Future):
            return result
        assert not isinstance(result, Awaitable)
        return self._post(link, call, method, result, size_of(payload))

    def _post(self, link: Link, call: Call, method: Method, result: Result, size: int) -> Result | None:
        """Queue an answer. A large one is returned instead, as it has to wait."""
        try:
            answer, data = answer_to(call, result)
        except Exception as error:
            link.post(failure_of(call, method, error))
            return None
        if len(answer.body) + size_of(data) > limits.SMALL:
            return result
        link.post(answer, data)
        link.used = time.monotonic()
        method.meter.served += 1
        method.meter.moved(len(call.body) + size, len(answer.body) + size_of(data))
        return None

    def _wait(
        self,
        link: Link,
        call: Call,
        method: Method,
        future: asyncio.Future[Result],
        payload: Payload | Parts,
        context: Context,
        release: Callable[[], None],
    ) -> None:
        """Answer when `future` is done, within the call's deadline."""
        link.serving[call.id] = future

        def late() -> None:
            method.meter.errors += 1
            _too_late(link, call)
            future.cancel()

        def ended(_: asyncio.Future[Result]) -> None:
            timer.cancel()
            link.serving.pop(call.id, None)
            ready = None
            if not future.cancelled():
                if (error := future.exception()) is None:
                    ready = self._post(link, call, method, future.result(), size_of(payload))
                elif isinstance(error, Exception):
                    link.post(failure_of(call, method, error))
            if ready is None:
                release()
            else:
                self._start(link, call, method, None, payload, context, ready, release)

        timer = asyncio.get_running_loop().call_at(context.deadline, late)
        future.add_done_callback(ended)

    async def _run(
        self,
        link: Link,
        call: Call,
        method: Method,
        request: Any,
        payload: Payload | Parts,
        context: Context,
        ready: Result | None,
    ) -> None:
        """Run a handler and send its answer, or send one that is ready, within the call's deadline."""
        size, unread = limits.CHUNK if kind_of(call.method) == "copy" else 0, self._unread(link)
        self._unsent.change(link.branch, size)
        try:
            if ready is None and unread:  # of calls that were let in at the same moment
                raise CallRefused(unread)
            async with asyncio.timeout_at(context.deadline):
                try:
                    result = method.handler(request, payload, context) if ready is None else ready
                    if isinstance(result, Awaitable):
                        result = await result
                    answer, data = answer_to(call, result)
                    if size_of(data) > max(size, size_of(payload)) and (unread := self._unread(link)):
                        raise CallRefused(unread)  # others were made meanwhile
                except Exception as error:
                    await link.send(failure_of(call, method, error))
                else:
                    method.meter.served += 1
                    method.meter.moved(len(call.body) + size_of(payload), len(answer.body) + size_of(data))
                    size += (more := len(answer.body) + size_of(data) - size)
                    self._unsent.change(link.branch, more)
                    await link.send(answer, data, kind_of(call.method))
        except TimeoutError:
            method.meter.errors += 1
            _too_late(link, call)
        except PeerUnreachable:
            pass  # nobody is left to answer
        except CallRefused as error:  # the user's limit is too low for this answer
            link.post(failure_of(call, method, error))
        finally:
            self._unsent.change(link.branch, -size)


def _too_late(link: Link, call: Call) -> None:
    if link.closed_because is None and link.roomy:
        link.post(Fault(call.id, TIMED_OUT, f"{call.method} took too long."))

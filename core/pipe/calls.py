"""Calls over the pipe, the same at both ends: requests and replies, streams, messages that nobody answers.

Methods are described in `core.contracts.pipe` and registered here with their handlers, as `core.net.rpc` has it for
peers. A call has a number, and carries its deadline along; who does not wait any more cancels it at the other end. When
the other end goes, all that waits for it fails.
"""

import asyncio
import contextlib
import inspect
import itertools
import logging
import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import Any, NoReturn, Protocol, TypeVar

import msgspec

from core.contracts.errors import UNREADABLE, ComputeError, HearthError, ProtocolError, RemoteFault
from core.contracts.pipe import Carrier, Described, Method, Stream, Tell
from core.pipe import frames
from core.pipe.faults import decode_error, encode_error, late, unknown
from core.pipe.frames import Data, Frame, Kind, Payload
from core.pipe.unanswered import Reply, Unanswered, Waiting

log = logging.getLogger(__name__)

Q = TypeVar("Q")
R = TypeVar("R")
A = TypeVar("A")
_encode = msgspec.msgpack.Encoder().encode


class Link(Protocol):
    """What carries frames to the other end."""

    def send(self, frame: list[Data], *, urgent: bool = False, lossy: bool = False) -> None:
        """Write a frame without waiting.

        Args:
            frame: its buffers.
            urgent: it gives something back to the user: what is on its way before it must not hold up its effect.
            lossy: it may be dropped if the other end does not keep up.
        """


class Incoming:
    """A call of the other end, to be answered at once or later, from the loop's thread."""

    def __init__(self, calls: "Calls", link: Link, number: int, deadline: float) -> None:
        self.deadline = deadline
        """time.monotonic() after which nobody waits; the clock is the same in both processes."""
        self._calls, self._link, self._number = calls, link, number

    def answer(self, reply: Any, payload: Payload = b"") -> None:
        """Give the reply."""
        self._send(Kind.REPLY, _encode(reply), payload)

    def refuse(self, error: HearthError) -> None:
        """Say why there is no reply."""
        self._send(Kind.FAULT, encode_error(error))

    def when_cancelled(self, callback: Callable[[], object]) -> None:
        """Have `callback` called if, before the reply, nobody waits any more."""
        self._calls._serving[self._number] = callback

    def _send(self, kind: Kind, body: bytes = b"", payload: Payload = b"") -> None:
        if self._calls._link is self._link:  # else who asked has gone
            if kind != Kind.ITEM:
                self._calls._serving.pop(self._number, None)
            self._link.send(frames.encode(kind, self._number, body, payload))


class Calls:
    """One end of the pipe: serves its methods to the other end and calls those of it.

    Methods may be registered before and after something is attached. The worker's `Calls` outlives its compute
    processes: it is attached to each, and detached at its end.
    """

    def __init__(self) -> None:
        self._link: Link | None = None
        self._methods: dict[bytes, Callable[[Link, Frame], object]] = {}
        self._listeners: dict[bytes, list[Callable[[Any], object]]] = {}
        self._effects: dict[bytes, Callable[[Frame], object]] = {}
        self._numbers = itertools.count(1)
        self._waiting = Unanswered()
        """This end's calls."""
        self._serving: dict[int, Callable[[], object]] = {}
        """How to cancel the other end's calls that are under way."""
        self._endings: list[Callable[[], object]] = []
        self._error: Exception | None = None
        self._failed = asyncio.Event()

    # --- the link

    def attach(self, link: Link) -> None:
        """Send everything over `link` from now on."""
        self._link = link

    def detach(self, error: HearthError) -> None:
        """The other end has gone: fail all calls with `error`, and cancel what it asked for."""
        self._link = None
        serving, self._serving = self._serving, {}
        self._waiting.fail(error)
        for cancel in serving.values():
            cancel()
        for ending in self._endings:
            ending()

    def when_detached(self, ending: Callable[[], object]) -> None:
        """Have `ending` called each time that the other end has gone."""
        self._endings.append(ending)

    # --- what the other end may call

    def register(self, method: Method[Q, R], handler: Callable[[Q], R | Awaitable[R]]) -> None:
        """Serve a method.

        Args:
            method: what it is.
            handler: takes a request, gives the reply; a plain function is run at once, without a task. A HearthError
                that it raises travels to the caller.
        """

        self._serve(method, lambda request, payload, call: handler(request), Incoming.answer)

    def register_carrier(
        self,
        method: Carrier[Q, R],
        handler: Callable[[Q, Payload, Incoming], tuple[R, Payload] | Awaitable[tuple[R, Payload]] | None],
    ) -> None:
        """Serve a method whose requests and replies come with payloads.

        Args:
            method: what it is.
            handler: takes request, payload and the call; gives reply and payload, or None if it answers the call by
                itself, at once or later.
        """

        def answer(call: Incoming, result: tuple[R, Payload] | None) -> None:
            if result is not None:
                call.answer(*result)

        self._serve(method, handler, answer)

    def register_stream(self, method: Stream[Q, R], handler: Callable[[Q], AsyncGenerator[R, None]]) -> None:
        """Serve a method whose reply comes in pieces.

        Args:
            method: what it is.
            handler: takes a request, gives the pieces; it is closed if nobody reads on.
        """

        async def send_all(request: Q, payload: Payload, call: Incoming) -> None:
            async with contextlib.aclosing(handler(request)) as pieces:
                async for piece in pieces:
                    call._send(Kind.ITEM, _encode(piece))

        self._serve(method, send_all, lambda call, _: call._send(Kind.END))

    def listen(self, tell: Tell[Q], listener: Callable[[Q], object]) -> None:
        """Have `listener` called with each message of a kind, after those that listen already."""
        listeners = self._listeners.setdefault(tell.key, [])
        listeners.append(listener)

        def serve(link: Link, frame: Frame) -> None:
            message = tell.request_of(frame.body)
            for each in listeners:
                try:
                    each(message)
                except Exception as error:
                    self._break(error)

        self._methods[tell.key] = serve

    def when_read(self, method: Described[Q], effect: Callable[[Q], object]) -> None:
        """Have `effect` called with each request as soon as it is read, before it is served; on Windows in the thread
        that reads."""
        self._effects[method.key] = lambda frame: effect(method.request_of(frame.body))

    def _serve(
        self, method: Described[Q], handle: Callable[[Q, Payload, Incoming], Any], done: Callable[[Incoming, Any], None]
    ) -> None:
        """Have calls of a method handled, each in a task if that takes time, and give `done` what comes of it."""

        def serve(link: Link, frame: Frame) -> None:
            request = method.request_of(frame.body)
            call = Incoming(self, link, frame.number, frame.deadline)
            try:
                result = handle(request, frame.payload, call)
                if asyncio.iscoroutine(result) or isinstance(result, asyncio.Future):
                    task = asyncio.ensure_future(self._finish(call, result, done))
                    call.when_cancelled(partial(_cancel, task, result))
                else:
                    done(call, result)
            except Exception as error:
                self._refuse(call, error)

        self._methods[method.key] = serve

    async def _finish(self, call: Incoming, work: Awaitable[Any], done: Callable[[Incoming, Any], None]) -> None:
        try:
            done(call, await work)
        except Exception as error:
            self._refuse(call, error)

    def _refuse(self, call: Incoming, error: Exception) -> None:
        if isinstance(error, HearthError):
            call.refuse(error)
        else:
            call.refuse(RemoteFault("internal", f"An error in the program ({type(error).__name__}: {error})."))
            self._break(error)

    def _break(self, error: Exception) -> None:
        log.error("A call over the pipe met an error in the program.", exc_info=error)
        self.fail(error)

    async def failed(self) -> NoReturn:
        """Wait for an error that is no answer to anybody, and raise it: one of a handler that is no HearthError, or
        what makes the pipe useless."""
        await self._failed.wait()
        assert self._error is not None
        raise self._error

    def fail(self, error: Exception) -> None:
        """Have `failed` raise an error."""
        self._error = self._error or error
        self._failed.set()

    # --- calling the other end

    def tell(self, tell: Tell[Q], message: Q) -> None:
        """Send a message that is not answered; nobody hears it while nothing is attached. From any thread."""
        if self._link is not None:
            frame = frames.encode(Kind.TELL, 0, _encode(message), method=tell.key)
            self._link.send(frame, urgent=tell.urgent, lossy=tell.lossy)

    def call(self, method: Method[Q, R], request: Q, deadline: float = math.inf) -> "asyncio.Future[R]":
        """Call a method, at once; its reply. Cancelling the future cancels the call there.

        Args:
            method: what to call.
            request: what it is asked.
            deadline: time.monotonic() after which it is given up.

        Raises:
            ComputeError: nobody is at the other end, or (the future) it has gone meanwhile.
            CallTimeout: (the future) there is no answer by the deadline.
            HearthError: (the future) the handler's.
        """
        return self._ask(method, request, b"", deadline, lambda body, payload: method.reply_of(body))

    def exchange(
        self, method: Carrier[Q, R], request: Q, payload: Payload = b"", deadline: float = math.inf
    ) -> "asyncio.Future[tuple[R, Payload]]":
        """Call a method with a payload; the reply and its payload. Without a task in between, which would take longer
        than a tiny expert.

        Args:
            method: what to call.
            request: what it is asked; a `msgspec.Raw` in it is passed on as it came.
            payload: flat buffers of bytes, which must not change any more; they are not copied.
            deadline: time.monotonic() after which it is given up.

        Raises:
            ComputeError, CallTimeout, HearthError: as `call`.
        """
        return self._ask(method, request, payload, deadline, lambda body, data: (method.reply_of(body), data))

    async def stream(
        self, method: Stream[Q, R], request: Q, patience_s: float | None = None
    ) -> AsyncGenerator[R, None]:
        """The pieces of a reply as they come. To be closed if nobody reads on.

        Args:
            method: what to call.
            request: what it is asked.
            patience_s: how long each piece may take; None: for ever.

        Raises:
            ComputeError, CallTimeout, HearthError: as `call`.
        """
        pieces: asyncio.Queue[tuple[Kind, memoryview] | HearthError] = asyncio.Queue()
        waiting = Waiting(lambda kind, body, _: pieces.put_nowait((kind, body)), pieces.put_nowait)
        link, number = self._send(method, request, b"", math.inf, waiting)
        try:
            while True:
                async with asyncio.timeout(patience_s):
                    piece = await pieces.get()
                if isinstance(piece, HearthError):
                    raise piece
                kind, body = piece
                if kind == Kind.FAULT:
                    raise decode_error(body)
                if kind == Kind.END:
                    return
                yield method.reply_of(body)
        except TimeoutError:
            raise late(patience_s or 0.0) from None
        finally:
            self._give_up(link, number)

    def _ask(
        self,
        method: Method[Q, R] | Carrier[Q, R],
        request: Q,
        payload: Payload,
        deadline: float,
        reply: Callable[[memoryview, Payload], A],
    ) -> "asyncio.Future[A]":
        """What `reply` makes of the answer to a call."""
        answer = Reply[A](lambda: self._give_up(link, number))

        def arrived(kind: Kind, body: memoryview, data: Payload) -> None:
            if kind == Kind.FAULT:
                fail(decode_error(body))
            elif not answer.done():
                answer.set_result(reply(body, data))

        def fail(error: HearthError) -> None:
            if not answer.done():
                answer.set_exception(error)

        waiting = Waiting(arrived, fail, deadline, deadline - answer.get_loop().time())
        link, number = self._send(method, request, payload, deadline, waiting)
        return answer

    def _send(
        self, method: Described[Q], request: Q, payload: Payload, deadline: float, waiting: Waiting
    ) -> tuple[Link, int]:
        """Begin a call; over what, and its number."""
        if self._link is None:
            raise ComputeError("There is no compute process now.")
        link, number = self._link, next(self._numbers)
        frame = frames.encode(Kind.CALL, number, _encode(request), payload, method.key, deadline)
        self._waiting.add(number, waiting)
        link.send(frame, urgent=method.urgent)
        return link, number

    def _give_up(self, link: Link, number: int) -> None:
        """Nobody waits any more; if there was no answer, the other end hears of that."""
        if self._waiting.remove(number) and self._link is link:
            link.send(frames.encode(Kind.CANCEL, number))

    # --- what comes

    def read(self, frame: Frame) -> None:
        """Note a frame that has just been read: some take effect then.

        Raises:
            ProtocolError: it is not in the contract.
        """
        if effect := self._effects.get(frame.method):
            try:
                effect(frame)
            except UNREADABLE as error:
                raise unknown(error) from error

    def received(self, link: Link, frame: Frame) -> None:
        """Serve a call, or hand on an answer. To be called from the loop's thread.

        Raises:
            ProtocolError: it is not in the contract.
        """
        try:
            match frame.kind:
                case Kind.CALL | Kind.TELL:
                    serve = self._methods.get(frame.method)
                    if serve is None:
                        raise ProtocolError(f"The pipe carried {frame.method!r}, which is not served here.")
                    serve(link, frame)
                case Kind.CANCEL:
                    if cancel := self._serving.pop(frame.number, None):
                        cancel()
                case _:
                    self._waiting.arrived(frame)
        except UNREADABLE as error:
            raise unknown(error) from error


def _cancel(task: asyncio.Task[None], work: Awaitable[Any]) -> None:
    task.cancel()
    if asyncio.iscoroutine(work) and inspect.getcoroutinestate(work) == inspect.CORO_CREATED:
        work.close()  # the task has not begun, and will never await it

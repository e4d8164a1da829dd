"""The call layer of the pipe: two ends, joined by a link that cuts and carries frames as the pipe does."""

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import AsyncGenerator
from contextvars import Context, ContextVar
from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.contracts.errors import (
    ERRORS_BY_CODE,
    CallTimeout,
    ComputeError,
    HearthError,
    PictureError,
    ProtocolError,
    RecordError,
    RemoteFault,
)
from core.contracts.pipe import Carrier, Method, Stream, Tell
from core.pipe import frames
from core.pipe.calls import Calls, Incoming
from core.pipe.frames import HEAD, MAX_BODY, MAX_PAYLOAD, Frame, Frames, Kind, Payload
from tests.joined_calls import join
from tests.workers import PATIENCE_S


class Question(msgspec.Struct, frozen=True, array_like=True):
    text: str


class Wrapped(msgspec.Struct, frozen=True, array_like=True):
    peer: str
    request: msgspec.Raw


LENGTH = Method("length", Question, int)
NEVER = Method("never", Question, int)
COUNT = Stream("count", int, int)
DOUBLE = Carrier("double", Wrapped, msgspec.Raw)
NEWS = Tell("news", str)
STOP = Method("stop", type(None), str, urgent=True)


class Ends:
    """Two ends; `there` serves."""

    def __init__(self, piece: int = 7) -> None:
        self.here, self.there = Calls(), Calls()
        self.to, self.back = join(self.here, self.there, piece)
        self.there.register(LENGTH, lambda question: len(question.text))


async def test_a_call_is_answered_whatever_the_pieces_in_which_it_comes() -> None:
    for piece in (1, 7, 1000):
        ends = Ends(piece)
        ends.there.register(NEVER, delayed)
        assert await ends.here.call(LENGTH, Question("four")) == 4
        answers = await asyncio.gather(*(ends.here.call(NEVER, Question("x" * n)) for n in range(20)))
        assert answers == list(range(20))


async def test_a_task_that_goes_on_with_an_answer_does_so_in_its_own_context() -> None:
    ends, kept = Ends(), ContextVar("kept", default=0)

    async def work() -> int:
        await ends.here.call(LENGTH, Question("four"))
        kept.set(1)
        await asyncio.sleep(0)
        return kept.get()

    assert await asyncio.create_task(work(), context=Context()) == 1


async def test_a_callback_that_fails_keeps_nothing_from_those_behind_it() -> None:
    ends, told, called = Ends(), list[object](), list[str]()

    def fail(answer: object) -> None:
        raise KeyError("odd")

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: told.append(context.get("exception")))
    try:
        first, second = ends.here.call(LENGTH, Question("four")), ends.here.call(LENGTH, Question("three"))
        first.add_done_callback(fail)
        first.add_done_callback(lambda _: called.append("behind it"))
        assert await second == 5 and await first == 4
        assert called == ["behind it"] and [type(error) for error in told] == [KeyError]
    finally:
        loop.set_exception_handler(None)


async def delayed(question: Question) -> int:
    await asyncio.sleep(0)
    return len(question.text)


async def test_errors_travel_with_their_types_and_those_of_a_program_are_told() -> None:
    ends = Ends()

    def refuse(question: Question) -> int:
        match question.text:
            case "picture":
                raise PictureError("No digit.")
            case "peer":
                raise RemoteFault("stale", "Too old.")
            case _:
                raise ZeroDivisionError("of the handler")

    ends.there.register(LENGTH, refuse)
    with pytest.raises(PictureError, match="No digit"):
        await ends.here.call(LENGTH, Question("picture"))
    with pytest.raises(RemoteFault, match="Too old") as fault:
        await ends.here.call(LENGTH, Question("peer"))
    assert fault.value.fault == "stale"
    with pytest.raises(HearthError, match="ZeroDivisionError"):
        await ends.here.call(LENGTH, Question("else"))
    with pytest.raises(ZeroDivisionError):
        await ends.there.failed()


@pytest.mark.parametrize("code", [*ERRORS_BY_CODE, "made up"])
async def test_what_a_peer_calls_its_fault_never_chooses_the_error_raised_here(code: str) -> None:
    ends = Ends()

    def fail(question: Question) -> int:
        raise RemoteFault(code, "Because.")

    ends.there.register(NEVER, fail)
    with pytest.raises(RemoteFault, match="Because") as caught:
        async with asyncio.timeout(PATIENCE_S):  # not to wait for ever if it does not
            await ends.here.call(NEVER, Question(""))
    assert (type(caught.value), caught.value.fault) == (RemoteFault, code)


async def test_an_error_that_is_made_otherwise_than_the_rest_travels_too() -> None:
    ends = Ends()

    def fail(question: Question) -> int:
        raise RecordError(1, "Forged.")

    ends.there.register(NEVER, fail)
    with pytest.raises(RecordError, match="Forged"):
        async with asyncio.timeout(PATIENCE_S):  # not to wait for ever if it does not
            await ends.here.call(NEVER, Question(""))


async def test_who_does_not_wait_any_more_cancels_the_call() -> None:
    ends, begun, cancelled = Ends(), asyncio.Event(), asyncio.Event()

    async def never(question: Question) -> int:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return 0

    ends.there.register(NEVER, never)
    call = ends.here.call(NEVER, Question(""))
    await begun.wait()
    call.cancel()
    await cancelled.wait()
    cancelled.clear()
    with pytest.raises(CallTimeout):
        await ends.here.call(NEVER, Question(""), time.monotonic() + 0.01)
    await cancelled.wait()
    assert not ends.here._waiting and not ends.there._serving


async def test_what_is_late_at_the_start_is_not_waited_for() -> None:
    ends = Ends()
    with pytest.raises(CallTimeout):
        await ends.here.call(LENGTH, Question("late"), time.monotonic() - 1)


async def test_a_stream_ends_is_closed_and_fails() -> None:
    ends, closed = Ends(), asyncio.Event()

    async def count(end: int) -> AsyncGenerator[int, None]:
        try:
            for number in range(end):
                yield number
                await asyncio.sleep(0)
            if end > 100:
                raise ComputeError("So far and no further.")
        finally:
            closed.set()

    ends.there.register_stream(COUNT, count)
    assert [number async for number in ends.here.stream(COUNT, 5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ComputeError, match="no further"):
        assert [number async for number in ends.here.stream(COUNT, 101)] == []
    closed.clear()
    pieces = ends.here.stream(COUNT, 100)
    assert await anext(pieces) == 0
    await pieces.aclose()
    await closed.wait()
    assert not ends.here._waiting

    async def stuck(end: int) -> AsyncGenerator[int, None]:
        await asyncio.Event().wait()
        yield 0

    ends.there.register_stream(COUNT, stuck)
    with pytest.raises(CallTimeout):
        await anext(ends.here.stream(COUNT, 1, patience_s=0.01))


async def test_a_body_and_a_payload_are_passed_on_as_they_came() -> None:
    ends, given = Ends(1 << 20), bytes(range(256)) * 1000

    def double(request: Wrapped, payload: Payload, call: Incoming) -> tuple[msgspec.Raw, Payload] | None:
        assert call.deadline == math.inf
        if request.peer == "later":
            asyncio.get_running_loop().call_soon(call.answer, request.request, payload)
            return None
        assert isinstance(payload, bytearray)
        return request.request, [payload, payload]

    ends.there.register_carrier(DOUBLE, double)
    for peer, parts in (("bob", 2), ("later", 1)):
        body = msgspec.Raw(msgspec.msgpack.encode({"any": [1, 2.5, "thing"]}))
        reply, payload = await ends.here.exchange(DOUBLE, Wrapped(peer, body), memoryview(given))
        assert bytes(reply) == bytes(body) and b"".join(cast(list[bytes], payload)) == parts * given


async def test_a_carrier_hears_that_nobody_waits() -> None:
    ends, cancelled = Ends(), asyncio.Event()
    ends.there.register_carrier(DOUBLE, lambda request, payload, call: call.when_cancelled(cancelled.set))
    answer = ends.here.exchange(DOUBLE, Wrapped("", msgspec.Raw(b"\x01")), b"x")
    answer.cancel()
    await cancelled.wait()


async def test_all_that_listen_hear_what_is_told() -> None:
    ends, heard = Ends(), list[str]()
    ends.there.listen(NEWS, heard.append)
    ends.there.listen(NEWS, lambda news: heard.append(news.upper()))
    ends.here.tell(NEWS, "new")
    await ends.here.call(LENGTH, Question(""))
    assert heard == ["new", "NEW"]


async def test_all_waiting_calls_fail_when_the_other_end_goes(caplog: pytest.LogCaptureFixture) -> None:
    ends, cancelled = Ends(), asyncio.Event()

    async def never(question: Question) -> int:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return 0

    async def stuck(end: int) -> AsyncGenerator[int, None]:
        await asyncio.Event().wait()
        yield 0

    ends.there.register(NEVER, never)
    ends.there.register_stream(COUNT, stuck)
    call = ends.here.call(NEVER, Question(""))
    stream = asyncio.ensure_future(anext(ends.here.stream(COUNT, 1)))
    await ends.here.call(LENGTH, Question(""))
    ends.here.detach(ComputeError("Compute has ended."))
    ends.there.detach(ComputeError("The worker has gone."))
    with pytest.raises(ComputeError, match="ended"):
        await call
    with pytest.raises(ComputeError, match="ended"):
        await stream
    await cancelled.wait()
    with pytest.raises(ComputeError):
        await ends.here.call(LENGTH, Question(""))
    ends.here.tell(NEWS, "nobody hears this")

    again = Ends()
    again.here.attach(again.to)  # the next process
    assert await again.here.call(LENGTH, Question("12")) == 2
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_what_matters_takes_effect_when_it_is_read() -> None:
    ends, order = Ends(), list[str]()
    ends.there.when_read(STOP, lambda _: order.append("read"))

    def stop(_: None) -> str:
        order.append("served")
        return "stopped"

    ends.there.register(STOP, stop)
    answer = ends.here.call(STOP, None)
    assert order == ["read"]
    assert await answer == "stopped" and order == ["read", "served"]


async def test_what_is_not_in_the_contract_is_refused() -> None:
    ends = Ends()

    def cut(data: bytes) -> Frame:
        [frame] = Frames().feed(data)
        return frame

    for frame in (
        frames.encode(Kind.CALL, 1, b"\xc0", method=b"unknown"),
        frames.encode(Kind.CALL, 1, b"\xc0", method=LENGTH.key),
        frames.encode(Kind.CALL, 1, b"", method=LENGTH.key),
        frames.encode(Kind.TELL, 0, b"\x91" * 100_000, method=LENGTH.key),
    ):
        with pytest.raises(ProtocolError):
            ends.there.received(ends.back, cut(b"".join(frame)))
    answer = ends.here.call(LENGTH, Question("?"))
    await asyncio.sleep(0)
    with pytest.raises(ProtocolError):
        ends.here.received(ends.to, cut(b"".join(frames.encode(Kind.REPLY, 1, b"\xa1x"))))
    ends.here.detach(ComputeError("It talked nonsense."))
    with pytest.raises(ComputeError, match="nonsense"):
        await answer
    ends.here.received(ends.to, cut(b"".join(frames.encode(Kind.REPLY, 77, b"\x01"))))  # nobody asked, or not any more


KEYS = st.sampled_from([LENGTH.key, NEWS.key, b"x"])


@given(st.binary(max_size=300), st.binary(max_size=30), st.integers(1, 7), KEYS)
def test_garbage_is_refused_and_never_crashes(body: bytes, payload: bytes, kind: int, method: bytes) -> None:
    ends, heard = Ends(), list[str]()
    ends.there.listen(NEWS, heard.append)
    frame = b"".join(frames.encode(Kind(kind), 1, body, payload, method))
    assert len(frame) == HEAD.size + len(method) + len(body) + len(payload)
    with contextlib.suppress(ProtocolError):
        for whole in Frames().feed(frame):
            ends.there.received(ends.back, whole)
    with contextlib.suppress(ProtocolError):
        list(Frames().feed(body))
    assert not heard or isinstance(msgspec.msgpack.decode(body), str)


@pytest.mark.parametrize(
    "head", [(9, 0, 1, 0.0, 0, 0), (1, 0, 1, 0.0, MAX_BODY + 1, 0), (1, 0, 1, 0.0, 0, MAX_PAYLOAD + 1)]
)
def test_frames_that_cannot_be_are_refused_by_their_heads(head: tuple[int, int, int, float, int, int]) -> None:
    with pytest.raises(ProtocolError):
        list(Frames().feed(HEAD.pack(*head)))


def test_a_payload_may_be_read_to_where_it_belongs() -> None:
    cut, whole = Frames(), b"".join(frames.encode(Kind.REPLY, 3, b"\x01", bytes(range(100))))
    assert cut.room is None and list(cut.feed(whole[: HEAD.size + 11])) == []
    room = cut.room
    assert room is not None and len(room) == 90
    room[:] = whole[HEAD.size + 11 :]
    [frame] = cut.read(90)
    assert (frame.number, bytes(frame.body), frame.payload) == (3, b"\x01", bytes(range(100)))

"""Compute's end of the pipe, with the test at the worker's."""

import asyncio
import os
import types
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from core.contracts.errors import ProtocolError
from core.contracts.pipe import QUIT, STOP, THREADS, TRAIN, Carrier, Described, Method, Tell
from core.pipe import compute_end as pipe
from core.pipe import frames
from core.pipe.calls import Calls
from core.pipe.compute_end import INBOX, Pipe
from core.pipe.frames import Data, Frame, Frames, Kind
from core.runtime.kernel_gate import KernelGate
from tests.workers import PATIENCE_S


def frame(method: Described[Any], request: object = None, number: int = 1, payload: Data = b"") -> bytes:
    kind = Kind.TELL if isinstance(method, Tell) else Kind.CALL
    return b"".join(frames.encode(kind, number, msgspec.msgpack.encode(request), payload, method.key))


class Ends:
    """The worker's ends of a pipe whose other ends compute has."""

    def __init__(self) -> None:
        (self.theirs, self.write_end), (self.read_end, self.back) = os.pipe(), os.pipe()
        self._frames = Frames()

    def say(self, *said: bytes) -> None:
        os.write(self.write_end, b"".join(said))

    def heard(self) -> Frame:
        while True:
            for one in self._frames.feed(os.read(self.read_end, 1 << 16)):
                return one


@pytest.fixture(params=["linux", "win32"])
def ends(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ends]:
    """With a loop that reads by itself, and with threads, as on Windows."""
    monkeypatch.setattr(pipe, "sys", types.SimpleNamespace(platform=request.param))
    monkeypatch.setattr(os, "_exit", lambda code: None)  # at the end the worker goes
    ends = Ends()
    yield ends
    for end in (ends.write_end, ends.read_end):
        os.close(end)


async def test_calls_are_served_in_order_and_answered(ends: Ends) -> None:
    calls, order = Calls(), list[object]()

    def stop(_: None) -> float:
        order.append("stop")
        return float(len(order))

    calls.listen(THREADS, order.append)
    calls.register(STOP, stop)
    Pipe((ends.theirs, ends.back), calls)
    async with asyncio.timeout(PATIENCE_S):
        for number in range(3 * INBOX):
            ends.say(frame(THREADS, number), frame(STOP, None, number))
            answer = await asyncio.to_thread(ends.heard)
            assert (answer.kind, answer.number) == (Kind.REPLY, number)
            assert msgspec.msgpack.decode(answer.body) == len(order)
    assert order == [what for number in range(3 * INBOX) for what in (number, "stop")]


async def test_a_large_payload_arrives_whole(ends: Ends) -> None:
    carry = Carrier("carry", int, int)
    calls, payload = Calls(), bytes(range(256)) * 8192
    calls.register_carrier(carry, lambda request, data, call: (request + 1, data))
    Pipe((ends.theirs, ends.back), calls)
    async with asyncio.timeout(PATIENCE_S):
        for number in (1, 2):
            sending = asyncio.create_task(asyncio.to_thread(_write_all, ends, frame(carry, 7, number, payload)))
            answer = await asyncio.to_thread(ends.heard)
            await sending
            assert answer.number == number and msgspec.msgpack.decode(answer.body) == 8 and answer.payload == payload


def _write_all(ends: Ends, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(ends.write_end, view) :]


async def test_rubbish_is_told_after_what_came_before(ends: Ends) -> None:
    calls, trained = Calls(), asyncio.Event()
    calls.listen(TRAIN, lambda _: trained.set())
    Pipe((ends.theirs, ends.back), calls)
    ends.say(frame(TRAIN))
    os.write(ends.write_end, b"\xff" * 64)
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(ProtocolError):
            await calls.failed()
    assert trained.is_set()


@pytest.mark.parametrize("method", [STOP, QUIT])
async def test_a_stop_is_heard_between_two_kernels(
    method: Method[None, float] | Tell[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a turn of the loop, which may have many kernels to run before the next."""
    monkeypatch.setattr(os, "_exit", lambda code: None)
    ends, kernel_gate, calls, served = Ends(), KernelGate(), Calls(), asyncio.Queue[object]()
    here = Pipe((ends.theirs, ends.back), calls)
    calls.when_read(method, lambda _: kernel_gate.close())
    kernel_gate.poll = here.look
    calls.listen(THREADS, served.put_nowait)
    if isinstance(method, Tell):
        calls.listen(method, served.put_nowait)
    else:

        def stop(_: None) -> float:
            served.put_nowait(None)
            return 0.0

        calls.register(method, stop)
    kernel_gate.open()
    assert kernel_gate.may_start()
    ends.say(frame(THREADS, 1), frame(method))
    assert not kernel_gate.may_start() and served.empty()
    assert [await served.get() for _ in range(2)] == [1, None]

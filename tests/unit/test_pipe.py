import asyncio
import os
import types
from collections.abc import Iterator

import pytest

from core.contracts import pipe as messages
from core.contracts.errors import ProtocolError
from core.contracts.pipe import Quit, SetThreads, Stop, Stopped, Tensor, ToCompute, ToWorker, Train
from core.pipe import compute_end as pipe
from core.pipe.compute_end import INBOX, Pipe
from core.runtime.kernel_gate import Switch


class Ends:
    """The worker's ends of a pipe whose other ends compute has."""

    def __init__(self) -> None:
        (self.theirs, self.write_end), (self.read_end, self.back) = os.pipe(), os.pipe()

    def say(self, *said: ToCompute) -> None:
        os.write(self.write_end, b"".join(b"".join(messages.encode(message)) for message in said))

    def heard(self) -> ToWorker:
        header, payload = messages.sizes(os.read(self.read_end, messages.PREFIX.size))
        message, _ = messages.decode(os.read(self.read_end, header), os.read(self.read_end, payload))
        assert isinstance(message, ToWorker)
        return message


@pytest.fixture(params=["linux", "win32"])
def ends(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ends]:
    """With a loop that reads by itself, and with threads, as on Windows."""
    monkeypatch.setattr(pipe, "sys", types.SimpleNamespace(platform=request.param))
    ends = Ends()
    yield ends
    for end in (ends.write_end, ends.read_end):
        os.close(end)


async def test_messages_come_in_order_and_go_out(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "_exit", lambda code: None)  # at the end the worker goes
    served: list[ToCompute] = []

    def at_once(message: ToCompute, tensors: list[Tensor]) -> bool:
        served.append(message)
        return isinstance(message, SetThreads)

    here = Pipe((ends.theirs, ends.back))
    here.at_once = at_once
    async with asyncio.timeout(10):
        for number in range(3 * INBOX):
            ends.say(SetThreads(number), Stop(number))
            assert await here.receive() == (Stop(number), [])
        assert [message for message in served if isinstance(message, SetThreads)] == [
            SetThreads(number) for number in range(3 * INBOX)
        ]
        here.send(Stopped(7, 1.0))
        assert await asyncio.to_thread(ends.heard) == Stopped(7, 1.0)


async def test_rubbish_is_told_after_what_came_before(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "_exit", lambda code: None)
    here = Pipe((ends.theirs, ends.back))
    ends.say(Train())
    os.write(ends.write_end, b"\xff" * 64)
    async with asyncio.timeout(10):
        assert await here.receive() == (Train(), [])
        with pytest.raises(ProtocolError):
            await here.receive()


@pytest.mark.parametrize("message", [Stop(1), Quit()])
async def test_a_stop_is_heard_between_two_kernels(message: ToCompute, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a turn of the loop, which may have many kernels to run before the next."""
    monkeypatch.setattr(os, "_exit", lambda code: None)
    ends, switch = Ends(), Switch()
    here = Pipe((ends.theirs, ends.back))
    here.urgent, switch.look = (lambda message: switch.off()), here.look
    switch.on()
    assert switch.may_start()
    ends.say(SetThreads(1), message)
    assert not switch.may_start()
    assert [(await here.receive())[0] for _ in range(2)] == [SetThreads(1), message]

"""Other peers' calls, through a real pipe and Runtime: kept inputs, one step for one gradient, clear refusals."""

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import msgspec
import pytest
import torch
from torch import Tensor

from core.compute.lead import BACK, START
from core.compute.recent_calls import DONE, DONE_PEER, DONE_S, Memory
from core.compute.serving import Serving, suspecting
from core.contracts.errors import AllowanceSpent, CallRefused, HearthError, RemoteFault
from core.contracts.expert_calls import Codec, Direction, ExpertReply, ExpertRequest
from core.contracts.manifest import Training
from core.contracts.model import Model
from core.contracts.remote_experts import SERVE, SUSPECT, ExpertCall, Suspect
from core.experts import codec
from core.experts.calls import Call
from core.experts.grid import Uid
from core.pipe.calls import Calls
from core.pipe.frames import Payload
from core.runtime.backend import ExpertBackend
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from tests.joined_calls import join
from tests.workers import PATIENCE_S

MODEL = Model("ffn_dmoe", 1, (2, 2), 8, 16, "ffn", 2)
TRAINING = Training(8, 1e-3, 1e-2, 5, 100, 1_000_000, 3600.0, 1.0, 0.0, 1, 1, 7)
A, B = Uid("test", 0, (0, 0)), Uid("test", 0, (0, 1))
PEER, OTHER = "aa" * 32, "bb" * 32
NAMES = str(A), str(B)


Asked = asyncio.Future[tuple[bytes, Payload]]


class Host:
    """Two experts behind a pipe's end; the test hears what they say."""

    def __init__(self) -> None:
        self.worker, compute = Calls(), Calls()
        self.suspected: list[Suspect] = []
        self.worker.listen(SUSPECT, self.suspected.append)
        join(self.worker, compute)
        self.kernel_gate = KernelGate()
        self.kernel_gate.open()
        self.experts = {uid: ExpertBackend(uid, MODEL, TRAINING) for uid in (A, B)}
        self.runtime = Runtime(self.experts, self.kernel_gate, suspecting(compute))
        self.serving = Serving(compute, self.runtime, self.kernel_gate)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.runtime.run())
        yield
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def send(
        self,
        direction: Direction,
        tensors: list[Tensor],
        passage: int = 0,
        uids: tuple[str, ...] = (str(A),),
        peer: str = PEER,
        width: int = 8,
        with_inputs: bool = True,
        encoding: Codec = "fp32",
        deadline: float = math.inf,
    ) -> Asked:
        rows = tuple(len(tensor) for tensor in tensors[:: 2 if direction == "backward" and with_inputs else 1])
        request = ExpertRequest(uids, rows, (width,), encoding, passage, (), with_inputs)
        payload = b"".join(codec.encode(tensor, encoding) for tensor in tensors)
        return self.send_raw(direction, msgspec.msgpack.encode(request), payload, peer, deadline)

    def send_raw(
        self, direction: Direction, request: bytes, payload: bytes, peer: str = PEER, deadline: float = math.inf
    ) -> Asked:
        """Ask in any words."""
        return self.worker.exchange(SERVE, ExpertCall(peer, direction, request), payload, deadline)

    async def answer(self, asked: Asked) -> tuple[ExpertReply, bytes]:
        async with asyncio.timeout(PATIENCE_S):
            reply, data = await asked
        return msgspec.msgpack.decode(reply, type=ExpertReply), b"".join(cast(list[bytes], data))

    async def refusal(self, asked: Asked) -> HearthError:
        with pytest.raises(HearthError) as caught:
            await self.answer(asked)
        return caught.value


def rows(n: int) -> Tensor:
    return torch.randn(n, 8)


async def test_backward_uses_the_inputs_kept_in_forward_and_a_miss_asks_for_them() -> None:
    host, twin = Host(), Host()
    x, y, g, h = rows(3), rows(2), rows(3), rows(2)
    async with host.running(), twin.running():
        reply, data = await host.answer(host.send("forward", [x, y], 7, NAMES))
        assert reply.answered == (True, True)
        torch.testing.assert_close(codec.decode(data[:96], "fp32", (3, 8)), host.experts[A].module(x).detach())

        reply, short = await host.answer(host.send("backward", [g, h], 7, NAMES, with_inputs=False))
        assert reply.answered == (True, True) and not reply.forgotten
        _, long = await twin.answer(twin.send("backward", [x, g, y, h], 7, NAMES))
        assert bytes(short) == bytes(long)
        assert torch.equal(host.experts[A].gathered, twin.experts[A].gathered)

        for peer, passage in ((PEER, 8), (OTHER, 7)):
            number = host.send("backward", [g, h], passage, NAMES, with_inputs=False, peer=peer)
            reply, data = await host.answer(number)
            assert reply.forgotten and reply.answered == (False, False) and not len(data)
        await host.answer(host.send("inference", [x], 9))
        reply, _ = await host.answer(host.send("backward", [g], 9, with_inputs=False))
        assert reply.forgotten, "inference keeps nothing"
    assert host.experts[A].pending == 3


async def test_a_backward_is_applied_once_however_often_it_is_asked_for() -> None:
    host = Host()
    x, g = rows(3), rows(3)
    numbers = [host.send("backward", [x, g], 5) for _ in range(3)]
    async with host.running():
        answers = [bytes((await host.answer(number))[1]) for number in numbers]
        again, data = await host.answer(host.send("backward", [x, g], 5))
        assert again.answered == (True,)
        assert {*answers, bytes(data)} == {answers[0]} and len(answers[0]) == 96
        assert host.experts[A].pending == 3
        host.serving._outcomes.pop(PEER, (5, A))
        forgotten, data = await host.answer(host.send("backward", [x, g], 5))
        assert forgotten.answered == (False,) and not len(data), "done, but its answer is not held any more"
        assert host.experts[A].pending == 3
        mixed, data = await host.answer(host.send("backward", [x, g, x, g], 5, NAMES))
        assert mixed.answered == (False, True) and host.experts[B].pending == 3
        await host.answer(host.send("backward", [x, g], 5, peer=OTHER))
        await host.answer(host.send("backward", [x, g]))
        await host.answer(host.send("backward", [x, g]))
    assert host.experts[A].pending == 12, "other callers' and those without a number count by themselves"


async def test_what_failed_may_be_asked_for_again() -> None:
    host = Host()
    x, g = rows(3), rows(3)
    dropped = host.send("backward", [x, g], 5)
    twin = host.send("backward", [x, g], 5)
    await asyncio.sleep(0.01)
    dropped.cancel()
    async with host.running():
        reply, _ = await host.answer(twin)
        assert reply.answered == (False,)
        assert host.experts[A].pending == 0
        reply, _ = await host.answer(host.send("backward", [x, g], 5))
        assert reply.answered == (True,) and host.experts[A].pending == 3
    assert not host.serving._visits and not host.serving._under_way


async def test_what_is_kept_of_a_request_keeps_nothing_else_in_memory() -> None:
    host = Host()
    async with host.running():
        await host.answer(host.send("forward", [rows(1), rows(5000)], 7, (str(A), "test.0.9.9")))
        kept = host.serving._inputs.get(PEER, (7, A))
        assert kept is not None and memoryview(kept.data.obj).nbytes == 32
        small, large = host.send("backward", [rows(1)] * 2, 8), host.send("backward", [rows(64)] * 2, 9)
        await host.answer(small)
        await host.answer(large)
    held = host.serving._outcomes.get(PEER, (8, A))
    assert held is not None and held.untyped_storage().nbytes() == 32


async def test_a_request_full_of_wrong_numbers_is_told_once() -> None:
    host = Host()
    bad = torch.full((1, 8), math.nan)
    async with host.running():
        refused = await host.refusal(host.send("forward", [bad] * 4, uids=NAMES * 2))
        assert isinstance(refused, RemoteFault) and refused.fault == "bad_values"
        assert len(host.suspected) == 1


async def test_wrong_requests_are_refused_with_a_reason() -> None:
    host = Host()
    wide = torch.randn(2, 9)
    bad = rows(2)
    bad[1, 3] = math.nan
    async with host.running():
        for asked, code, words in (
            (host.send("forward", [wide], width=9), "bad_shape", "2 x 9"),
            (host.send("forward", [rows(2)], uids=("test.0.9.9",)), "not_hosted", "test.0.9.9"),
            (host.send("forward", [rows(2)], uids=("nonsense",)), "protocol", "nonsense"),
            (host.send("forward", [rows(2)], deadline=time.monotonic() - 1), "timeout", "no answer"),
        ):
            refused = await host.refusal(asked)
            assert (refused.fault if isinstance(refused, RemoteFault) else refused.code) == code
            assert words in str(refused)
        refused = await host.refusal(host.send("backward", [bad, rows(2)]))
        assert isinstance(refused, RemoteFault) and refused.fault == "bad_values"
        [suspect] = host.suspected
        assert suspect.peer == PEER and "NaN" in suspect.why
        mixed, data = await host.answer(host.send("forward", [rows(1), rows(2)], uids=("test.0.9.9", str(B))))
        assert mixed.answered == (False, True) and len(data) == 64
        await host.answer(host.send("forward", [rows(2)], 6))
        shape = await host.refusal(host.send("backward", [rows(3)], 6, with_inputs=False))
        assert "do not fit the inputs" in str(shape)
    assert host.experts[A].pending == 0


LIES: list[tuple[bytes, bytes]] = [
    (b"\xc1", b""),
    (b"\x91" * 500, b""),
    (b"\x91" * 100_000 + b"\x01", b""),
    (msgspec.msgpack.encode({"uids": 1}), b""),
    (msgspec.msgpack.encode([[], [], [8]]), b""),
    (msgspec.msgpack.encode([[str(A)], [1], [2**40]]), bytes(32)),
    (msgspec.msgpack.encode([[str(A)], [1, 1], [8]]), bytes(64)),
    (msgspec.msgpack.encode([[str(A)], [1], [8]]), bytes(31)),
    (msgspec.msgpack.encode([[str(A)] * 257, [1] * 257, [8]]), bytes(257 * 32)),
    (msgspec.msgpack.encode([["\ud800".encode("utf8", "surrogatepass")], [1], [8]]), bytes(32)),
]


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize(("request_", "payload"), LIES)
async def test_no_lie_does_more_than_to_be_refused(request_: bytes, payload: bytes, direction: Direction) -> None:
    """The workers in between have not looked at it."""
    host = Host()
    async with host.running():
        await host.refusal(host.send_raw(direction, request_, payload))
        await host.answer(host.send("forward", [rows(2)]))


async def test_while_given_back_or_with_too_much_work_it_says_busy_at_once() -> None:
    host = Host()
    host.kernel_gate.load.paces["cpu"] = 1e-3
    host.send("forward", [rows(8)])
    assert isinstance(await host.refusal(host.send("forward", [rows(8)])), CallRefused)
    assert isinstance(await host.refusal(host.send("forward", [rows(8)], peer=OTHER)), CallRefused)
    host.kernel_gate.close()
    assert "given back" in str(await host.refusal(host.send("forward", [rows(8)])))


@pytest.mark.parametrize("encoding", ["fp16", "int8"])
async def test_other_codecs_are_served(encoding: Codec) -> None:
    host = Host()
    x = rows(3)
    async with host.running():
        _, data = await host.answer(host.send("forward", [x], 4, encoding=encoding))
        y = codec.decode(data, encoding, (3, 8))
        torch.testing.assert_close(y, host.experts[A].module(x).detach(), atol=0.1, rtol=0.1)
        reply, _ = await host.answer(host.send("backward", [rows(3)], 4, encoding=encoding, with_inputs=False))
        assert reply.answered == (True,)


async def test_who_sends_no_gradient_does_not_train_and_is_answered_no_more() -> None:
    host, part, some = Host(), rows(START // 4), rows(100)
    async with host.running():

        async def is_answered(x: Tensor = some, peer: str = PEER) -> bool:
            try:
                reply, _ = await host.answer(host.send("forward", [x], peer=peer))
            except AllowanceSpent as refused:
                assert "too few gradients" in str(refused)
                return False
            return all(reply.answered)

        assert [await is_answered(part) for _ in range(4)] == [True] * 4
        assert await is_answered() and not await is_answered(), "a little too much was answered, and no more is"
        assert await is_answered(peer=OTHER)
        reply, _ = await host.answer(host.send("inference", [some]))
        assert reply.answered == (True,), "questions are counted elsewhere"
        for _ in range(3):
            reply, _ = await host.answer(host.send("backward", [part, part], 5))
            assert reply.answered == (True,), "whose gradient is applied once, however often it comes"
        asked = 0
        while await is_answered(part):
            asked += len(part)
        assert asked == BACK * len(part)


async def test_a_trainer_that_loses_most_of_its_backward_passes_goes_on() -> None:
    host, x = Host(), rows(5000)
    async with host.running():
        for passage in range(1, 61):
            reply, _ = await host.answer(host.send("forward", [x], passage))
            assert reply.answered == (True,)
            if not passage % 3:
                await host.answer(host.send("backward", [x], passage, with_inputs=False))


def test_the_memory_is_bounded_by_bytes_and_time_and_a_peer_pushes_out_its_own() -> None:
    now = 0.0
    memory: Memory[int, str] = Memory(100, 60, clock=lambda: now)
    for key in range(5):
        memory.put("a", key, f"a{key}", 20)
    memory.put("b", 0, "b0", 40)
    assert [memory.get("a", key) for key in range(5)] == [None, None, "a2", "a3", "a4"]
    memory.put("c", 0, "c0", 20)
    assert (memory.get("a", 2), memory.get("b", 0), memory.bytes) == (None, "b0", 100), "the largest holder gives way"
    memory.put("b", 0, "new", 10)
    memory.put("b", 1, "huge", 61)
    assert (memory.get("b", 0), memory.get("b", 1), memory.bytes) == ("new", None, 70)
    now = 31.0
    assert memory.get("b", 0) is None
    memory.tidy()
    assert memory.bytes == 0


def test_what_was_done_is_known_for_a_while() -> None:
    now = 0.0
    done: Memory[int, bool] = Memory(DONE, DONE_PEER, DONE_S, lambda: now)
    for key in range(DONE_PEER + 1):
        done.put("a", key, True, 1)
    assert [done.get("a", key) for key in (0, 1, DONE_PEER)] == [None, True, True]
    assert done.get("b", 1) is None
    now = 301.0
    assert done.get("a", 1) is None


async def test_peers_wait_behind_a_person_who_asks_but_not_for_long() -> None:
    host = Host()
    async with host.running():
        with host.kernel_gate.aside():
            own = host.runtime.submit([Call(A, rows(2))], "forward").answers
            await host.answer(host.send("forward", [rows(3)], 1))
            assert host.runtime.peer_calls == 1, "it is served"
            share, seconds = host.kernel_gate.share, host.kernel_gate.load.seconds
            host.kernel_gate.load.worked(0.1, time.monotonic())  # as if its pass had taken so long
            start, asked = time.monotonic(), host.send("forward", [rows(3)], 2)
            question = await host.runtime.forward([Call(A, rows(1))], inference=True)
            assert question[0] is not None and not asked.done(), "the person is answered meanwhile"
            await host.answer(asked)
            assert time.monotonic() - start > 0.5, "a tenth of the time is the peers'"
            assert share == 0.1 and seconds < 0.1
        async with asyncio.timeout(PATIENCE_S):
            await own
            while host.kernel_gate.is_aside:  # noqa: ASYNC110  (it ends soon)
                await asyncio.sleep(0.01)
        assert host.kernel_gate.share == 1.0


async def test_own_training_waits_for_the_end_of_all_answers() -> None:
    host = Host()
    async with host.running():
        with host.kernel_gate.aside():
            with host.kernel_gate.aside():
                own = host.runtime.submit([Call(A, rows(2))], "forward").answers
                await host.runtime.forward([Call(A, rows(1))], inference=True)
            await host.runtime.forward([Call(A, rows(1))], inference=True)
            assert not own.done()
        async with asyncio.timeout(PATIENCE_S):
            await own

"""The Runtime joins requests into passes, serves them in order, gives way at once, and survives what experts do."""

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
import torch
from torch import Tensor

from core.contracts.manifest import Training
from core.contracts.model import Model
from core.experts.calls import Call
from core.experts.grid import Uid
from core.runtime.backend import ExpertBackend
from core.runtime.fair_queue import QUESTION, QUESTIONS, FairQueue
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import PASS_S, Runtime
from tests.workers import PATIENCE_S

MODEL = Model("ffn_dmoe", 1, (2, 2), 8, 16, "ffn", 2)
TRAINING = Training(8, 1e-3, 1e-2, 5, 100, 8, 3600.0, 1.0, 0.0, 1, 1, 7)
A, B = Uid("test", 0, (0, 0)), Uid("test", 0, (0, 1))


class Watched(ExpertBackend):
    """An expert that notes its passes in `book`, calls `on_pass` in them, and fails if told so."""

    def __init__(self, uid: Uid, training: Training, book: list[tuple[Uid, str, int]]) -> None:
        super().__init__(uid, MODEL, training)
        self.book = book
        self.broken = False
        self.on_pass: Callable[[], None] = lambda: None

    def forward(self, inputs: Tensor) -> Tensor:
        self._note("forward", inputs)
        return super().forward(inputs)

    def backward(self, inputs: Tensor, gradients: Tensor, *more: Any) -> Tensor:
        self._note("backward", inputs)
        return super().backward(inputs, gradients, *more)

    def _note(self, direction: str, inputs: Tensor) -> None:
        self.book.append((self.uid, direction, len(inputs)))
        self.on_pass()
        if self.broken:
            raise RuntimeError("out of order")


class Setup:
    """Two experts and the Runtime that serves them."""

    def __init__(self, training: Training = TRAINING) -> None:
        self.book: list[tuple[Uid, str, int]] = []
        self.experts = {uid: Watched(uid, training, self.book) for uid in (A, B)}
        self.kernel_gate = KernelGate()
        self.kernel_gate.open()
        self.suspected: list[tuple[str, str]] = []
        self.runtime = Runtime(self.experts, self.kernel_gate, lambda *told: self.suspected.append(told))

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.runtime.run())
        yield
        assert not task.done(), "the Runtime has ended"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def ask(self, *calls: Call, direction: str = "forward") -> asyncio.Task[list[Tensor | None]]:
        """A request on its way: it waits in the pools."""
        if direction == "backward":
            return asyncio.create_task(self.runtime.backward(calls))
        return asyncio.create_task(self.outputs(calls, direction == "inference"))

    async def outputs(self, calls: Sequence[Call], inference: bool) -> list[Tensor | None]:
        answers = await self.runtime.forward(calls, inference=inference)
        return [None if answer is None else answer.rows for answer in answers]


def rows(n: int) -> Tensor:
    return torch.randn(n, 8)


def answer(answers: Sequence[Tensor | None]) -> Tensor:
    assert len(answers) == 1
    assert answers[0] is not None
    return answers[0]


async def until(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.005)


async def test_requests_of_several_batches_are_joined_into_one_pass() -> None:
    setup = Setup()
    batches = [rows(n) for n in (3, 1, 5, 2)]
    requests = [setup.ask(Call(A, x)) for x in batches]
    await asyncio.sleep(0)
    async with setup.serving():
        answers = [answer(await request) for request in requests]
    assert setup.book == [(A, "forward", 11)]
    assert (setup.runtime.passes, setup.runtime.calls, setup.experts[A].calls) == (1, 4, 4)
    for x, y in zip(batches, answers, strict=True):
        torch.testing.assert_close(y, setup.experts[A].module(x).detach())


async def test_backward_requests_are_joined_too_and_make_one_step() -> None:
    setup, alone = Setup(), Setup()
    pairs = [(rows(n), rows(n)) for n in (3, 5)]
    requests = [setup.ask(Call(A, x, g), direction="backward") for x, g in pairs]
    await asyncio.sleep(0)
    async with setup.serving():
        answers = [answer(await request) for request in requests]
    assert setup.book == [(A, "backward", 8)]
    assert setup.experts[A].version == 1
    for (x, g), y in zip(pairs, answers, strict=True):
        torch.testing.assert_close(y, alone.experts[A].backward(x, g))


async def test_a_pass_is_bounded_and_a_large_call_is_cut_up() -> None:
    setup = Setup()
    setup.experts[A].rows_per_pass = 8
    batches = [rows(4), rows(4), rows(21), rows(3)]
    requests = [setup.ask(Call(A, x)) for x in batches]
    await asyncio.sleep(0)
    async with setup.serving():
        answers = [answer(await request) for request in requests]
    assert [n for _, _, n in setup.book] == [8, 8, 8, 8]
    for x, y in zip(batches, answers, strict=True):
        torch.testing.assert_close(y, setup.experts[A].module(x).detach())


async def test_the_oldest_request_is_served_first_and_inference_before_all() -> None:
    setup = Setup()
    requests = [
        setup.ask(Call(B, rows(1), rows(1)), direction="backward"),
        setup.ask(Call(A, rows(2))),
        setup.ask(Call(B, rows(3))),
        setup.ask(Call(A, rows(4)), direction="inference"),
    ]
    await asyncio.sleep(0)
    async with setup.serving():
        await asyncio.gather(*requests)
    assert setup.book == [(A, "forward", 4), (B, "backward", 1), (A, "forward", 2), (B, "forward", 3)]


async def test_while_the_switch_is_off_only_inference_is_served() -> None:
    setup = Setup()
    setup.kernel_gate.close()
    waiting = [setup.ask(Call(A, rows(2))), setup.ask(Call(A, rows(9), rows(9)), direction="backward")]
    async with setup.serving():
        for _ in range(3):
            assert len(answer(await setup.ask(Call(B, rows(5)), direction="inference"))) == 5
        assert setup.book == [(B, "forward", 5)] * 3
        assert not any(request.done() for request in waiting)
        setup.kernel_gate.open()
        await asyncio.gather(*waiting)
    assert setup.experts[A].version == 1


async def test_off_from_another_thread_holds_before_the_next_kernel() -> None:
    setup = Setup()

    def turn_off() -> None:
        thread = threading.Thread(target=setup.kernel_gate.close)
        thread.start()
        thread.join()

    setup.experts[A].on_pass = turn_off
    first, second = setup.ask(Call(A, rows(1))), setup.ask(Call(B, rows(1)))
    async with setup.serving():
        await first
        end = setup.kernel_gate.last_kernel_end
        assert end <= time.monotonic()
        await setup.ask(Call(B, rows(7)), direction="inference")
        assert setup.book == [(A, "forward", 1), (B, "forward", 7)]
        assert not second.done()
        assert setup.kernel_gate.last_kernel_end == end, "inference is no training kernel"
        setup.kernel_gate.open()
        await second
    assert setup.kernel_gate.last_kernel_end > end


async def test_a_failing_expert_fails_only_its_own_requests(caplog: pytest.LogCaptureFixture) -> None:
    setup = Setup()
    setup.experts[A].broken = True
    async with setup.serving():
        for _ in range(20):
            answers = await setup.ask(Call(A, rows(2)), Call(B, rows(3)))
            assert answers[0] is None
            assert answers[1] is not None
    assert setup.runtime.failures[A] == 20
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert "test.0.0.0 failed in forward" in errors[0]
    assert len(errors) == 5, "reported at 1, 2, 4, 8 and 16 failures"


async def test_what_is_not_finite_is_refused_and_what_was_joined_with_it_is_served() -> None:
    setup = Setup()
    bad = rows(4)
    bad[2, 3] = float("nan")
    good = rows(3), rows(3)
    requests = [
        setup.ask(Call(A, bad, rows(4)), direction="backward"),
        setup.ask(Call(A, *good), direction="backward"),
        setup.ask(Call(A, rows(4), bad), direction="backward"),
        setup.ask(Call(B, bad)),
    ]
    await asyncio.sleep(0)
    async with setup.serving():
        answers = [(await request)[0] for request in requests]
    assert [x is None for x in answers] == [True, False, True, True]
    assert setup.book == [(A, "backward", 3)]
    assert (setup.experts[A].pending, setup.experts[A].version) == (3, 0)


async def test_calls_that_do_not_fit_are_refused_at_once() -> None:
    setup = Setup()
    stranger = Uid("test", 0, (9, 9))
    async with setup.serving():
        answers = await setup.runtime.forward(
            [
                Call(stranger, rows(1)),
                Call(A, torch.randn(2, 9)),
                Call(A, torch.randn(2, 8, 1)),
                Call(A, rows(2).double()),
                Call(A, rows(0)),
                Call(A, rows(2), rows(2)),
                Call(B, rows(2)),
            ]
        )
        assert [x is None for x in answers] == [True] * 6 + [False]
        assert await setup.runtime.backward([Call(A, rows(2)), Call(A, rows(2), rows(3))]) == [None, None]
        assert await setup.runtime.forward([]) == []
    assert setup.book == [(B, "forward", 2)]


async def test_nobody_computes_for_a_caller_that_has_gone() -> None:
    setup = Setup()
    gone, waiting = setup.ask(Call(A, rows(2))), setup.ask(Call(A, rows(3)), Call(B, rows(1)))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    async with setup.serving():
        await waiting
    assert setup.book == [(A, "forward", 3), (B, "forward", 1)]


async def test_few_gradients_are_applied_when_they_are_old_enough() -> None:
    training = Training(8, 1e-3, 1e-2, 5, 100, 1000, 0.05, 1.0, 0.0, 1, 1, 7)
    setup = Setup(training)
    async with setup.serving():
        await setup.ask(Call(A, rows(2), rows(2)), Call(B, rows(1), rows(1)), direction="backward")
        await until(lambda: setup.experts[A].version == 1 and setup.experts[B].version == 1)
        assert setup.experts[A].samples == 2
        await setup.ask(Call(A, rows(2), rows(2)), direction="backward")
        await until(lambda: setup.experts[A].version == 2)


async def test_no_step_is_taken_while_the_switch_is_off() -> None:
    setup = Setup(Training(8, 1e-3, 1e-2, 5, 100, 1000, 1e-6, 1.0, 0.0, 1, 1, 7))
    setup.experts[A].on_pass = setup.kernel_gate.close
    async with setup.serving():
        await setup.ask(Call(A, rows(2), rows(2)), direction="backward")
        await setup.ask(Call(B, rows(2)), direction="inference")
        assert setup.experts[A].version == 0
        setup.kernel_gate.open()
        await until(lambda: setup.experts[A].version == 1)


async def test_an_expert_that_comes_is_served_and_one_that_goes_finishes_what_waits() -> None:
    setup = Setup()
    late = Watched(Uid("test", 0, (1, 1)), TRAINING, setup.book)
    setup.runtime.add(late)
    waiting = setup.ask(Call(late.uid, rows(2))), setup.ask(Call(late.uid, rows(3), rows(3)), direction="backward")
    await asyncio.sleep(0)
    async with setup.serving():
        await setup.runtime.remove(late.uid)
        assert [len(answer(await request)) for request in waiting] == [2, 3]
        assert (late.version, late.pending, late.samples) == (1, 0, 3), "what it had gathered was applied"
        assert await setup.ask(Call(late.uid, rows(2)), Call(A, rows(1))) != [None, None]
    assert setup.book == [(late.uid, "forward", 2), (late.uid, "backward", 3), (A, "forward", 1)]


async def test_what_waits_for_an_expert_that_goes_while_nothing_runs_fails() -> None:
    setup = Setup()
    setup.kernel_gate.close()
    waiting = setup.ask(Call(A, rows(2)), Call(B, rows(2)))
    async with setup.serving():
        await asyncio.sleep(0)
        await setup.runtime.remove(A)
        setup.kernel_gate.open()
        first, second = await waiting
    assert first is None and second is not None


async def test_a_caller_that_floods_does_not_starve_the_others() -> None:
    setup = Setup()
    flood = [setup.runtime.submit([Call(A, rows(8))], "forward", "flood") for _ in range(50)]
    setup.experts[A].rows_per_pass = setup.experts[B].rows_per_pass = 8
    own = [setup.ask(Call(B, rows(8))) for _ in range(3)]
    await asyncio.sleep(0)
    other = [setup.runtime.submit([Call(A, rows(8))], "forward", "other") for _ in range(3)]
    async with setup.serving():
        await asyncio.gather(*own, *(request.answers for request in other))
        done = sum(request.answers.done() for request in flood)
        assert done <= 5, "each of the three callers gets a third"
        await asyncio.gather(*(request.answers for request in flood))
    assert setup.runtime.load < 1.1


async def test_one_that_waits_long_does_not_pay_for_those_before_and_saves_nothing_up() -> None:
    turns = FairQueue()
    for _ in range(10):
        turns.leave("a", 5, turns.arrive("a", 5))
    kept = turns.arrive("a", 5)
    first, second = turns.arrive("b", 5), turns.arrive("b", 5)
    assert kept[0] == first[0] < second[0]
    assert (turns.ahead("a", 5), turns.ahead("c", 5), turns.waiting) == (15, 10, 15)


def test_questions_of_many_peers_together_get_the_turn_of_one_in_four() -> None:
    turns, served, askers = FairQueue(), Counter[str](), [QUESTION + str(peer) for peer in range(20)]
    waiting = [(turns.arrive(caller, 10), caller) for caller in ["", "trainer", *askers] for _ in range(2)]
    for _ in range(900):  # whoever was served asks for more at once
        waiting.sort()
        turn, caller = waiting.pop(0)
        served[caller] += 1
        turns.leave(caller, 10, turn)
        waiting.append((turns.arrive(caller, 10), caller))
    asked = [served[asker] for asker in askers]
    assert sum(asked) == pytest.approx(900 / (1 + 2 * QUESTIONS), rel=0.3)
    assert max(asked) <= min(asked) + 2, "evenly among those who ask"


async def test_what_is_too_late_is_dropped() -> None:
    setup = Setup()
    late = setup.runtime.submit([Call(A, rows(2))], "forward", "peer", deadline=time.monotonic() - 1.0)
    good = setup.runtime.submit([Call(A, rows(3))], "forward", "peer", deadline=time.monotonic() + 60.0)
    async with setup.serving():
        assert len(answer(await good.answers)) == 3
        assert await late.answers == [None]
    assert setup.book == [(A, "forward", 3)]


async def test_the_version_of_an_expert_is_told_whether_or_not_calls_wait_for_it() -> None:
    setup = Setup()
    async with setup.serving():
        await setup.ask(Call(A, rows(8), rows(8)), direction="backward")
        assert (setup.runtime.version(A), setup.runtime.version(B)) == (1, 0)
    assert setup.runtime.version(Uid("test", 0, (1, 1))) == 0, "it is not here"


async def test_stale_gradients_count_less_and_too_stale_ones_not_at_all() -> None:
    setup = Setup(msgspec.structs.replace(TRAINING, target_samples=1000, max_staleness=3))
    backend = setup.experts[A]
    backend.backward(rows(4), rows(4))
    for _ in range(4):
        backend.pending, backend.gathered = 4, torch.zeros(backend.weights)
        backend.step()
    x, g = rows(4), rows(4)
    async with setup.serving():
        fresh = answer(await setup.ask(Call(A, x, g, version=4), direction="backward"))
        whole = backend.gathered.clone()
        stale = answer(await setup.ask(Call(A, x, g, version=1), direction="backward"))
        torch.testing.assert_close(backend.gathered, whole * 1.25)
        torch.testing.assert_close(stale, fresh)
        request = setup.runtime.submit([Call(A, x, g, version=0)], "backward", "peer")
        assert await request.answers == [None]
    assert "4 steps old" in request.problems[0].text and request.versions == [4]
    assert backend.pending == 8 and setup.runtime.admission.refused["peer"] == 1


async def test_a_caller_with_gradients_far_beyond_the_others_is_clipped_and_absurd_ones_are_told_of() -> None:
    setup = Setup(msgspec.structs.replace(TRAINING, target_samples=10_000))
    told = setup.suspected
    backend = setup.experts[A]

    async def send(caller: str, scale: float) -> Tensor | None:
        g = torch.full((8, 8), scale)
        return (await setup.runtime.submit([Call(A, torch.ones(8, 8), g)], "backward", caller).answers)[0]

    async with setup.serving():
        for _ in range(5):
            for caller in ("a", "b", ""):
                assert await send(caller, 1.0) is not None
        before = backend.gathered.norm()
        one = before / 15
        for _ in range(5):
            await send("loud", 50.0)
        assert backend.gathered.norm() - before < 5 * 5.1 * one
        assert setup.runtime.admission.clipped == {"loud": 5, "a": 0, "b": 0, "": 0}
        assert await send("absurd", 1e6) is None
        assert await send("a", float("nan")) is None
        assert await send("", float("nan")) is None
    assert [caller for caller, _ in told] == ["absurd", "a"]
    assert "far beyond" in told[0][1] and "NaN" in told[1][1]


async def test_nobody_suffers_for_what_another_sent() -> None:
    setup = Setup()
    huge = torch.full((3, 8), 1e38)
    requests = [
        setup.runtime.submit([Call(A, x, g)], "backward", caller)
        for caller, x, g in (("good", rows(3), rows(3)), ("bad", huge, rows(3)))
    ]
    async with setup.serving():
        answers = [(await request.answers)[0] for request in requests]
    assert answers[0] is not None and answers[1] is None
    assert (setup.experts[A].pending, setup.runtime.failures[A]) == (3, 1)


async def test_a_pass_is_as_long_as_giving_the_machine_back_may_wait_whatever_the_size_of_the_expert() -> None:
    setup = Setup()
    setup.kernel_gate.load.paces["cpu"] = PASS_S / (
        16 * setup.experts[A].weights
    )  # so slow that 16 samples take all the time
    requests = [setup.ask(Call(A, rows(n))) for n in (10, 6, 40)]
    await asyncio.sleep(0)
    async with setup.serving():
        await asyncio.gather(*requests)
    assert next(n for _, _, n in setup.book) == 16
    assert sum(n for _, _, n in setup.book) == 56

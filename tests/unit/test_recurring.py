"""What is done again and again goes on whatever happens, and an error of our own is told."""

import ast
import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from core.contracts.errors import NetworkError
from core.net import recurring
from core.net.recurring import TOLD, Recurring
from tests.translations import ROOT, sentences
from tests.workers import PATIENCE_S


async def times(count: int, step: Callable[[int], Awaitable[None]]) -> tuple[Recurring, list[float]]:
    """Let `step`, which gets its number, be called so often; the rests before each call, by the loop's clock."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    moments = [loop.time()]

    async def counted() -> None:
        moments.append(loop.time())
        if len(moments) > count:
            done.set()
        await step(len(moments) - 1)

    made = Recurring("hosting", counted, lambda: 0.01)
    made.start()
    async with asyncio.timeout(PATIENCE_S):
        await done.wait()
    await asyncio.sleep(0)
    await made.stop()
    return made, [after - before for before, after in pairwise(moments)]


async def test_an_unforeseen_error_is_told_after_a_few_and_met_with_longer_rests() -> None:
    async def wrong(number: int) -> None:
        raise KeyError("no such expert")

    made, rests = await times(TOLD + 2, wrong)
    assert made.failures == TOLD + 2
    (told,) = made.notes
    assert told.code == "hosting.fails" and "no such expert" in str(told) and "5 times" in str(told)
    assert all(rest >= 0.0099 * 2**failures for failures, rest in enumerate(rests[1:], 1)), rests


async def test_what_works_again_is_told_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurring, "LONGEST_S", 0.01)

    async def wrong_at_first(number: int) -> None:
        if number <= TOLD:
            raise ValueError("odd")

    made, _ = await times(TOLD + 1, wrong_at_first)
    assert made.failures == 0 and made.notes == []


async def test_what_the_network_refuses_is_no_error_of_ours() -> None:
    async def refused(number: int) -> None:
        raise NetworkError("Nobody is there.")

    made, _ = await times(2 * TOLD, refused)
    assert made.failures == 0 and made.notes == []


async def test_a_wake_ends_a_rest_but_not_one_after_an_error() -> None:
    loop = asyncio.get_running_loop()
    calls: list[float] = []

    async def once_wrong() -> None:
        calls.append(loop.time())
        if len(calls) == 2:
            raise ValueError("odd")

    made = Recurring("hosting", once_wrong, lambda: 0.2 if len(calls) == 2 else 30.0)
    made.start()
    async with asyncio.timeout(PATIENCE_S):
        while len(calls) < 3:
            made.wake.set()
            await asyncio.sleep(0.005)
    await made.stop()
    assert calls[1] - calls[0] < 5.0 and calls[2] - calls[1] >= 0.35


def test_each_has_a_name_of_its_own_and_a_sentence_for_what_fails() -> None:
    calls = [
        node
        for path in (ROOT / "core").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Recurring"
    ]
    names = [ast.literal_eval(call.args[0]) for call in calls]
    assert len(names) > 5 and len(names) == len(set(names))
    assert {f"{name}.fails" for name in names} <= sentences("en").keys()

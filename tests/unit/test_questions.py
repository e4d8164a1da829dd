"""Questions to the model wait for compute to start, and then for its answer: each within a time of its own."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from core.contracts.control import PredictParams
from core.contracts.errors import ComputeError
from core.contracts.notices import notice
from core.contracts.pipe import QUESTION, Answered, Predicted
from core.pipe.calls import Calls
from core.store.progress import Progress
from core.worker.compute import questions
from core.worker.compute.questions import Questions
from tests.joined_calls import join

PICTURE = PredictParams(1, 1, b"\xff")


def asked_by(answers: bool) -> Questions:
    """Questions to a compute process that answers at once, or never."""
    worker, compute = Calls(), Calls()

    async def answer(_: object) -> AsyncGenerator[Answered, None]:
        if not answers:
            await asyncio.Event().wait()
        yield Answered(Predicted([1.0], [1.0]), [], 1, 1.0)

    compute.register_stream(QUESTION, answer)
    join(worker, compute)
    return Questions(worker, Progress(), lambda count: None)


async def test_compute_may_take_longer_to_start_than_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "ANSWER_S", 0.1)
    asked = asked_by(answers=True)
    asking = asyncio.create_task(asked.predict(PICTURE))
    done, _ = await asyncio.wait({asking}, timeout=0.3)
    assert not done and asked.waits
    monkeypatch.setattr(questions, "ANSWER_S", 60.0)
    asked.ready()
    assert (await asking).probabilities == [1.0] and not asked.waits


@pytest.mark.parametrize(("limit", "is_ready"), [("START_S", False), ("ANSWER_S", True)])
async def test_who_waited_in_vain_is_told_for_how_long(
    limit: str, is_ready: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, limit, 0.1)
    asked = asked_by(answers=False)
    if is_ready:
        asked.ready()
    with pytest.raises(ComputeError) as error:
        await asked.predict(PICTURE)
    assert error.value.notice == notice("question.too_late", within=0.1)

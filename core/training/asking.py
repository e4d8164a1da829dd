"""How the network answers a question, one pass after the other, and who took part in each."""

import asyncio
import time
from collections.abc import AsyncGenerator

from torch import Tensor

from core.contracts.control import Answer
from core.contracts.errors import ComputeError
from core.contracts.notices import notice
from core.contracts.pipe import Answered, Question
from core.experts.layer import Passed
from core.training.models.memory import Memory
from core.training.trainer import Trainer

PATIENCE_S, RETRY_S = 5.0, 0.25


async def ask(trainer: Trainer, question: Question) -> AsyncGenerator[Answered, None]:
    """Answer a question, also while the gate is closed; training gives way meanwhile.

    Args:
        trainer: of the network that is asked.
        question: of the kind that the run's task takes.

    Raises:
        ComputeError: no expert answered.
        HearthError: the question cannot be answered, and why.
    """
    exchange, memory = trainer.task.encode(question, trainer.ends), Memory()
    with trainer.kernel_gate.aside():
        while (inputs := exchange.inputs) is not None:
            start = time.monotonic()
            outputs, experts = await _asked(trainer, inputs, memory)
            ms = (time.monotonic() - start) * 1000
            yield Answered(exchange.decode(outputs), experts, trainer.step, ms, inputs.shape[-1])


async def _asked(trainer: Trainer, inputs: Tensor, memory: Memory) -> tuple[Tensor, list[Answer]]:
    """The network's outputs for `inputs` [n, ...], and the experts' part in the last row.

    A peer that was late is not asked for a moment, and may be the only one with experts of a layer: that is waited for.

    Raises:
        ComputeError: no expert answered in all that time.
    """
    clock = asyncio.get_running_loop()
    end = clock.time() + PATIENCE_S
    while True:
        try:
            outputs, passes = await trainer.infer(inputs, memory)
            return outputs, _experts(passes)
        except ComputeError:
            if clock.time() >= end:
                raise
        await asyncio.sleep(RETRY_S)


def _experts(passes: list[Passed]) -> list[Answer]:
    """Of the last row of a pass, by layer, best first.

    Raises:
        ComputeError: no expert answered for it.
    """
    if not all(bool(passed.alive[-1]) for passed in passes):
        raise ComputeError(notice("question.no_expert"))
    return [answer for layer, passed in enumerate(passes) for answer in _answers(layer, passed)]


def _answers(layer: int, passed: Passed) -> list[Answer]:
    by_cell = {call.uid.coords: i for i, call in enumerate(passed.calls)}
    found = []
    for index, weight in zip(passed.mixed[-1].tolist(), passed.weights[-1].tolist(), strict=True):
        i = by_cell[passed.beam.cells[index]]
        host = passed.hosts[i]
        found.append(
            Answer(layer, str(passed.calls[i].uid), weight, passed.seconds[i] * 1000, host is not None, host or "")
        )
    return found

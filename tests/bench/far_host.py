"""Experts as if they lived far away: a delay before each answer, and calls that fail."""

import asyncio
import random
from collections.abc import Sequence

from torch import Tensor

from core.experts.calls import Call, ExpertHost, Output


class FarHost:
    """An `ExpertHost` that passes calls on to another one, late and not always; those of inference as they are."""

    standing = None

    def __init__(self, host: ExpertHost, delay_s: float, failures: float = 0.0, seed: int = 0) -> None:
        """A host far away.

        Args:
            host: what answers in the end.
            delay_s: mean of the exponential delay of a request.
            failures: share of the calls that fail.
            seed: of delays and failures.
        """
        self._host = host
        self._delay_s = delay_s
        self._failures = failures
        self._random = random.Random(seed)

    async def forward(
        self, calls: Sequence[Call], passage: int, deadline: float, inference: bool = False
    ) -> list[Output | None]:
        reached = list(calls) if inference else await self._travel(calls)
        answers = iter(await self._host.forward([call for call in reached if call], passage, deadline, inference))
        return [next(answers) if call else None for call in reached]

    async def backward(self, calls: Sequence[Call], passage: int, deadline: float) -> list[Tensor | None]:
        reached = await self._travel(calls)
        answers = iter(await self._host.backward([call for call in reached if call], passage, deadline))
        return [next(answers) if call else None for call in reached]

    async def _travel(self, calls: Sequence[Call]) -> list[Call | None]:
        """The calls that arrive, after a while; a lost one never reaches its expert."""
        if self._delay_s:
            await asyncio.sleep(self._random.expovariate(1 / self._delay_s))
        return [None if self._random.random() < self._failures else call for call in calls]

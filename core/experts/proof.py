"""Whether a peer does any of the work that its claims promise; that it is slow is no reason to doubt it.

A batch has patience for a second. A PC under load may miss that again and again, and serves all the same. So a peer
that fails, and has done no work for this PC for long, gets questions of work with far more time than one under load
needs.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable

QUESTIONS, ANSWER_S, REST_S = 3, 10.0, 1.0
"""So many in a row, each with so much time; so long after one has ended comes the next."""
OWN_S = 1.0
"""If this process is late by more than that when a question ends, it could not have heard the answer in time."""
SERVED_S = 600.0
"""Who has done any work for this PC in this time is only slow."""
COUNTS_S = 120.0
"""For so long after the last question; who is named as a host still is asked again before."""

Ask = Callable[[float], Awaitable[bool | None]]
"""Ask a peer for a little work, with so many seconds of time; whether it did it. None: that says nothing of it."""


class Proof:
    """Of one peer."""

    def __init__(self, ask: Ask) -> None:
        """Nothing is known yet.

        Args:
            ask: see there.
        """
        self._ask = ask
        self._served_at = self._silent_until = -math.inf
        self._asking: asyncio.Task[None] | None = None

    @property
    def silent(self) -> bool:
        """Whether it did none of several pieces of work, and nothing else for long."""
        return _now() < self._silent_until

    def served(self) -> None:
        """It did some work."""
        self._served_at, self._silent_until = _now(), -math.inf

    def doubt(self) -> None:
        """It has failed: give it questions of work, unless it has them or did some work not long ago."""
        if _now() - self._served_at > SERVED_S and (self._asking is None or self._asking.done()):
            self._asking = asyncio.create_task(self._question(), name="proof of a peer")

    async def _question(self) -> None:
        began = _now()
        for _ in range(QUESTIONS):
            asked = _now()
            serves = await self._ask(ANSWER_S)
            left = asked + ANSWER_S - _now()
            if serves:
                self.served()
            if serves is None or self._served_at >= began or left < -OWN_S:
                return
            await asyncio.sleep(left + REST_S)
        if self._served_at < began:
            self._silent_until = _now() + COUNTS_S


def _now() -> float:
    return asyncio.get_running_loop().time()

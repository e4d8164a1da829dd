"""An asyncio loop whose clock jumps to the next timer when nothing else is left to do.

Whatever runs on it behaves as it would in real time, except that computing takes no time at all: an hour of waiting for
slow peers passes in as long as their work takes to compute, and equal seeds give equal runs.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.SelectSelector):
    """Instead of waiting for a time, moves the clock on by it."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("Every task waits and no timer is set: simulated time cannot go on.")
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop with simulated time, in seconds from 0.

    Timers that lie within `tick` seconds of the earliest go off together, that one's time being everybody's: so calls
    meet that would meet in a Runtime that needs time for each pass.
    """

    def __init__(self, tick: float = 1e-9) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)
        self._clock_resolution = max(tick, 1e-9)

    def time(self) -> float:
        return self._jumping.now


def run(main: Coroutine[Any, Any, T], tick: float = 1e-9) -> T:
    """`asyncio.run` in simulated time."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(tick)) as runner:
        return runner.run(main)

"""An asyncio loop whose clock jumps to the next timer when nothing else is left to do.

Whatever runs on it behaves as it would in real time, except that computing takes no time at all: an hour of waiting for
slow peers passes in as long as their work takes to compute, and equal seeds give equal runs. Or computing takes what it
costs this process, and waiting is skipped all the same.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _Jumping(selectors.SelectSelector):
    """Instead of waiting for a time, moves the clock on by it, and by a tick."""

    def __init__(self, tick: float, clock: Callable[[], float]) -> None:
        super().__init__()
        self._tick, self._clock = tick, clock
        self._skipped = -clock()

    def time(self) -> float:
        return self._skipped + self._clock()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("Every task waits and no timer is set: simulated time cannot go on.")
        if timeout > 0.0:
            self._skipped += timeout + self._tick
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop with simulated time, in seconds from 0.

    Timers that lie within `tick` seconds of the earliest go off together, at the end of that tick: so calls meet that
    would meet in a Runtime that needs time for each pass. None goes off early: a task that sets ever new timers
    shorter than a tick would stop the clock.
    """

    def __init__(self, tick: float = 0.0, clock: Callable[[], float] = lambda: 0.0) -> None:
        """A loop at time 0.

        Args:
            tick: seconds.
            clock: seconds of what takes time although it is not waited for: nothing, or with `time.process_time` the
                computing of this process, as if no other program were there.
        """
        self._jumping = _Jumping(tick, clock)
        super().__init__(self._jumping)
        self._clock_resolution = 1e-9

    def time(self) -> float:
        return self._jumping.time()

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """What another thread would compute takes no time either; a clock that jumps would not wait for it."""
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done


def run(main: Coroutine[Any, Any, T], tick: float = 0.0, clock: Callable[[], float] = lambda: 0.0) -> T:
    """`asyncio.run` in simulated time."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(tick, clock)) as runner:
        return runner.run(main)

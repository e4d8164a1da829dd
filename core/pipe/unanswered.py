"""One end's calls over the pipe that are not answered yet, and when each is given up."""

import asyncio
import math
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any, NamedTuple, TypeVar

from core.contracts.errors import HearthError
from core.pipe.faults import late
from core.pipe.frames import Frame, Kind, Payload

A = TypeVar("A")


class Reply(asyncio.Future[A]):
    """The answer to a call. Who waits for it goes on as soon as it is here, not one turn of the loop later, unless it
    comes while another task runs."""

    def __init__(self, given_up: Callable[[], object]) -> None:
        """Nothing is here yet.

        Args:
            given_up: called when nobody waits any more.
        """
        super().__init__()
        self._given_up = given_up
        self._then: list[tuple[Callable[[Any], object], Context | None]] = []

    def add_done_callback(self, fn: Callable[[Any], object], *, context: Context | None = None) -> None:
        """See `asyncio.Future`."""
        if self.done():
            super().add_done_callback(fn, context=context)
        else:
            self._then.append((fn, context))

    def remove_done_callback(self, fn: Callable[[Any], object], /) -> int:
        """See `asyncio.Future`."""
        before = len(self._then)
        self._then = [then for then in self._then if then[0] != fn]
        return before - len(self._then)

    def set_result(self, result: A, /) -> None:
        """See `asyncio.Future`."""
        super().set_result(result)
        at_once = asyncio.current_task() is None
        for fn, context in self._then:
            if at_once:
                self._call(fn, copy_context() if context is None else context)  # an empty one is false
            else:
                super().add_done_callback(fn, context=context)

    def _call(self, fn: Callable[[Any], object], context: Context) -> None:
        """As the loop calls it: an error of one is no reason not to call the others, nor to read on."""
        try:
            context.run(fn, self)
        except Exception as error:
            told = {"message": f"A reply's callback {fn!r} failed.", "exception": error, "future": self}
            self.get_loop().call_exception_handler(told)

    def set_exception(self, exception: type | BaseException, /) -> None:
        """See `asyncio.Future`."""
        super().set_exception(exception)
        self._end()

    def cancel(self, msg: Any = None) -> bool:
        """See `asyncio.Future`."""
        if cancelled := super().cancel(msg):
            self._end()
        return cancelled

    def _end(self) -> None:
        self.get_loop().call_soon(self._given_up)
        for fn, context in self._then:
            super().add_done_callback(fn, context=context)


class Waiting(NamedTuple):
    """Who waits for an answer."""

    arrived: Callable[[Kind, memoryview, Payload], object]
    fail: Callable[[HearthError], object]
    deadline: float = math.inf
    """By the loop's clock."""
    patience_s: float = math.inf
    """How long that was when the call began."""


class Unanswered:
    """One timer serves all calls, for the nearest deadline: one for each takes as long as all else of a call."""

    def __init__(self) -> None:
        self._calls: dict[int, Waiting] = {}
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = math.inf

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, number: int, call: Waiting) -> None:
        """Have a call wait, no longer than until its deadline."""
        self._calls[number] = call
        self._watch(call.deadline)

    def remove(self, number: int) -> bool:
        """Let a call wait no more; whether it still did."""
        return self._calls.pop(number, None) is not None

    def arrived(self, frame: Frame) -> None:
        """Hand on an answer, or a piece of it, if somebody still waits for it."""
        if call := self._calls.get(frame.number):
            call.arrived(frame.kind, frame.body, frame.payload)
            if frame.kind != Kind.ITEM:
                self._calls.pop(frame.number, None)

    def fail(self, error: HearthError) -> None:
        """Nobody will answer any of them."""
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.fail(error)

    def _watch(self, deadline: float) -> None:
        """See to it that nobody waits longer than until `deadline`."""
        if deadline < self._alarm_at:
            if self._alarm:
                self._alarm.cancel()
            loop, self._alarm_at = asyncio.get_running_loop(), deadline
            self._alarm = loop.call_later(deadline - loop.time(), self._expire)

    def _expire(self) -> None:
        now, self._alarm_at = asyncio.get_running_loop().time(), math.inf
        nearest = math.inf
        for call in list(self._calls.values()):
            if call.deadline <= now:
                call.fail(late(call.patience_s))
            else:
                nearest = min(nearest, call.deadline)
        self._watch(nearest)

"""The Runtime executes experts: one pass at a time, for all callers together (paper, section 3.3).

It and its callers live in one thread, that of the asyncio loop: between two passes it yields to the loop.
"""

import asyncio
import heapq
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from core.errors import ComputeError
from core.experts.grid import Uid
from core.experts.layer import Call, Output
from core.runtime.backend import ExpertBackend
from core.runtime.task_pool import Direction, Request, Task, TaskPool

log = logging.getLogger(__name__)


class Switch:
    """Whether training kernels may start. Off at first."""

    def __init__(self) -> None:
        self._on = False
        self._turned_on = asyncio.Event()
        self._listeners: list[Callable[[], None]] = []
        self.last_kernel_end = 0.0
        """time.monotonic() at the end of the last training kernel."""

    @property
    def is_on(self) -> bool:
        return self._on

    def off(self) -> None:
        """Let no further kernel start. May be called from any thread."""
        self._on = False

    def on(self) -> None:
        """Let training go on. To be called from the loop's thread."""
        self._on = True
        self._turned_on.set()
        for listener in self._listeners:
            listener()

    def listen(self, listener: Callable[[], None]) -> None:
        """Have `listener` called whenever the switch is turned on."""
        self._listeners.append(listener)

    async def wait(self) -> None:
        """Until the switch is on; does not give way to others if it is."""
        while not self._on:
            self._turned_on.clear()
            await self._turned_on.wait()

    async def run(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Run one training kernel, without autograd, as soon as the switch is on (a `core.experts.layer.Run`)."""
        await self.wait()
        return self.run_now(kernel, *arguments)

    def run_now(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        try:
            with torch.no_grad():
                return kernel(*arguments)
        finally:
            self.last_kernel_end = time.monotonic()


class Runtime:
    """Serves the experts of this process; an `ExpertHost`. Inference first, then the oldest training request."""

    def __init__(self, backends: Mapping[Uid, ExpertBackend], switch: Switch) -> None:
        self._switch = switch
        self._pools = {
            (uid, direction): TaskPool(backend, direction)
            for uid, backend in backends.items()
            for direction in ("inference", "forward", "backward")
        }
        self._inference: list[tuple[int, TaskPool]] = []
        self._training: list[tuple[int, TaskPool]] = []
        self._pending: dict[ExpertBackend, float] = {}
        """When gathered gradients are due, by the loop's clock, in that order."""
        self._wake = asyncio.Event()
        self._arrivals = 0
        self.calls = 0
        """Calls served so far."""
        self.passes = 0
        """Passes that served them: fewer, where several requests were joined."""
        self.refused = 0
        """Calls to unknown experts or of a wrong shape."""
        self.failures: Counter[Uid] = Counter()
        """Passes that failed, by expert."""
        switch.listen(self._wake.set)

    @property
    def last_kernel_end(self) -> float:
        """time.monotonic() at the end of the last training kernel."""
        return self._switch.last_kernel_end

    async def forward(self, calls: Sequence[Call], passage: int = 0, inference: bool = False) -> list[Output | None]:
        """The answer to each call; None where it was refused or failed."""
        answers = await self._submit(calls, "inference" if inference else "forward")
        return [
            None if rows is None else Output(rows, self._pools[call.uid, "forward"].backend.version)
            for call, rows in zip(calls, answers, strict=True)
        ]

    async def backward(self, calls: Sequence[Call], passage: int = 0) -> list[Tensor | None]:
        """Gradients by each call's inputs; None where it was refused or failed."""
        return await self._submit(calls, "backward")

    async def _submit(self, calls: Sequence[Call], direction: Direction) -> list[Tensor | None]:
        request = Request(len(calls))
        for index, call in enumerate(calls):
            pool = self._pools.get((call.uid, direction))
            if pool is None or not _fits(call, pool):
                self._refuse(call, direction)
                continue
            for piece in _pieces(call, pool.backend.rows_per_pass):
                self._arrivals += 1
                request.expect()
                pool.put(Task(request, index, piece, self._arrivals))
                if len(pool) == 1:
                    self._queue(pool)
        request.finish()
        self._wake.set()
        return await request.answers

    def _refuse(self, call: Call, direction: Direction) -> None:
        self.refused += 1
        if _is_worth_a_line(self.refused):
            log.warning(
                "Refused a %s call to %s: unknown expert or wrong shape (%d so far).",
                direction,
                call.uid,
                self.refused,
            )

    def _queue(self, pool: TaskPool) -> None:
        """A pool with tasks stands in its queue exactly once, by its oldest task."""
        queue = self._inference if pool.direction == "inference" else self._training
        heapq.heappush(queue, (pool.oldest, pool))

    async def run(self) -> None:
        """Serve until cancelled."""
        while True:
            if self._inference:
                self._serve(self._inference)
            elif self._switch.is_on and self._pending and next(iter(self._pending.values())) <= _now():
                self._switch.run_now(self._step_first)
            elif self._switch.is_on and self._training:
                self._switch.run_now(self._serve, self._training)
            else:
                await self._idle()
            await asyncio.sleep(0)

    async def _idle(self) -> None:
        """Until a request comes, the switch is turned on, or gathered gradients are due."""
        self._wake.clear()
        due = next(iter(self._pending.values())) if self._switch.is_on and self._pending else None
        try:
            async with asyncio.timeout_at(due):
                await self._wake.wait()
        except TimeoutError:
            pass

    def _step_first(self) -> None:
        """Apply the gathered gradients that have waited longest, however few they are."""
        backend = next(iter(self._pending))
        del self._pending[backend]
        try:
            backend.step()
        except ComputeError as error:
            self._report(backend, "step", error)

    def _serve(self, queue: list[tuple[int, TaskPool]]) -> None:
        """One pass for the oldest pool of a queue."""
        _, pool = heapq.heappop(queue)
        tasks = pool.take()
        if len(pool):
            self._queue(pool)
        if not tasks:
            return
        self.calls += len(tasks)
        self.passes += 1
        try:
            _answer(tasks, self._pass(pool, tasks))
        except Exception as error:  # whatever an expert does, the other requests must go on
            self._report(pool.backend, pool.direction, error)
            _answer(tasks, [None] * len(tasks))
        self._remember(pool.backend)

    def _pass(self, pool: TaskPool, tasks: list[Task]) -> Sequence[Tensor | None]:
        """Run the expert once for all tasks; a task with NaN or infinity in it gets None."""
        inputs = _join([task.call.inputs for task in tasks])
        gradients = _join([task.call.gradients for task in tasks if task.call.gradients is not None])
        if not math.isfinite(float(inputs.sum() + gradients.sum())):
            finite = [_is_finite(task.call) for task in tasks]
            if not all(finite):
                self._report(pool.backend, pool.direction, ComputeError("NaN or infinity in a request."))
                good = [task for task, is_finite in zip(tasks, finite, strict=True) if is_finite]
                rest = iter(self._pass(pool, good) if good else [])
                return [next(rest) if is_finite else None for is_finite in finite]
        if pool.direction == "backward":
            rows = pool.backend.backward(inputs, gradients)
        else:
            rows = pool.backend.forward(inputs)
        return rows.split_with_sizes([task.call.inputs.shape[0] for task in tasks])

    def _remember(self, backend: ExpertBackend) -> None:
        """Note when the gradients that an expert has begun to gather are due. A step leaves none."""
        if not backend.pending:
            self._pending.pop(backend, None)
        elif backend not in self._pending:
            self._pending[backend] = _now() + backend.max_age_s

    def _report(self, backend: ExpertBackend, what: str, error: Exception) -> None:
        self.failures[backend.uid] += 1
        count = self.failures[backend.uid]
        if _is_worth_a_line(count):
            log.error("Expert %s failed in %s (%d failures so far): %s", backend.uid, what, count, error)


def _now() -> float:
    """The running loop's clock: that of time.monotonic(), but a simulated loop has its own."""
    return asyncio.get_running_loop().time()


def _is_worth_a_line(count: int) -> bool:
    """At 1, 2, 4, 8 ..: what goes on failing must not fill the log."""
    return count & (count - 1) == 0


def _fits(call: Call, pool: TaskPool) -> bool:
    """Whether the expert can take the call; checked before anything is allocated."""
    like = call.inputs if call.gradients is None else call.gradients
    return (
        call.inputs.shape[1:] == pool.backend.input_shape
        and call.inputs.shape[0] > 0
        and call.inputs.dtype == pool.backend.dtype == like.dtype
        and like.shape == call.inputs.shape
        and (call.gradients is not None) == (pool.direction == "backward")
    )


def _pieces(call: Call, rows: int) -> list[Call]:
    """The call, cut into parts of at most `rows` samples."""
    if call.inputs.shape[0] <= rows:
        return [call]
    parts = [slice(start, start + rows) for start in range(0, len(call.inputs), rows)]
    return [Call(call.uid, call.inputs[p], None if call.gradients is None else call.gradients[p]) for p in parts]


def _join(parts: list[Tensor]) -> Tensor:
    if len(parts) == 1:
        return parts[0]
    return torch.cat(parts) if parts else torch.zeros(0)


def _is_finite(call: Call) -> bool:
    tensors = [call.inputs] if call.gradients is None else [call.inputs, call.gradients]
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors)


def _answer(tasks: list[Task], answers: Sequence[Tensor | None]) -> None:
    for task, answer in zip(tasks, answers, strict=True):
        task.request.answer(task.index, answer)

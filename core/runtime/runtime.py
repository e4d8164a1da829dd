"""The Runtime executes experts: one pass at a time, for all callers together (paper, section 3.3).

It and its callers live in one thread, that of the asyncio loop: between two passes it yields to the loop.
"""

import asyncio
import heapq
import itertools
import logging
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from core.contracts.errors import ComputeError
from core.experts.calls import Call, Output
from core.experts.grid import Uid
from core.runtime.admission import Admission, Misconduct, is_worth_a_line
from core.runtime.backend import ExpertBackend, joined
from core.runtime.device import CPU, Device, fault_of, lacks_memory
from core.runtime.fair_queue import FairQueue, turn_of
from core.runtime.kernel_gate import KernelGate
from core.runtime.out_of_memory import is_exhausted
from core.runtime.task_pool import (
    Direction,
    Done,
    Request,
    Task,
    TaskPool,
    gradients_of,
    pieces_of,
    problem_of,
)

log = logging.getLogger(__name__)

DIRECTIONS: tuple[Direction, ...] = ("inference", "forward", "backward")
PASS_S = 0.08
"""Time of one pass. Shorter ones do not pay with large experts: each reads all weights and writes their gradients."""
MIN_ROWS = 8
"""Samples of one pass, however large the expert."""
DRAIN_S = 1.0
"""How long an expert that goes may serve what waits for it."""


class Runtime:
    """Serves the experts of this process; an `ExpertHost`.

    This process's inference goes first; all else in the order of the callers' turns (`core.runtime.fair_queue`).
    Requests for one expert share a pass, whoever sent them.
    """

    standing = None

    def __init__(
        self,
        backends: Mapping[Uid, ExpertBackend],
        kernel_gate: KernelGate,
        suspect: Misconduct = lambda caller, what: None,
        *,
        told_of_arrivals: bool = False,
        pass_s: float = PASS_S,
    ) -> None:
        """Serve these experts, and those that are added.

        Args:
            backends: the experts, by name.
            kernel_gate: says when kernels may run, and where.
            suspect: called with a caller of another process that sent what no honest one sends, and what that was.
            told_of_arrivals: whether `serve_arrived` is called after each submission of another process's calls.
            pass_s: time of a pass, in seconds, as far as this process is known to be fast.
        """
        self._kernel_gate, self._told_of_arrivals, self._pass_s = kernel_gate, told_of_arrivals, pass_s
        self._pools: dict[tuple[Uid, Direction], TaskPool] = {}
        self._inference: list[tuple[tuple[float, int], int, TaskPool]] = []
        self._training: list[tuple[tuple[float, int], int, TaskPool]] = []
        self._pushes = itertools.count()
        self._turns = FairQueue()
        self._pending: dict[ExpertBackend, float] = {}
        """When gathered gradients are due, by the loop's clock, in that order."""
        self._begun: ExpertBackend | None = None
        """What was served last: it may have begun a step."""
        self._wake = asyncio.Event()
        self.admission = Admission(suspect)
        """Which calls are served, and how many were not."""
        self.calls = 0
        """Calls served so far."""
        self.peer_calls = 0
        """Those of them that came from other processes."""
        self.rows = 0
        """Samples in the calls served."""
        self.passes = 0
        """Passes that served them: fewer, where several requests were joined."""
        self.failures: Counter[Uid] = Counter()
        """Passes that failed, by expert."""
        for backend in backends.values():
            self.add(backend)
        kernel_gate.listen(self._wake.set, rests=True)

    # experts

    def add(self, backend: ExpertBackend) -> None:
        """Serve one more expert."""
        for direction in DIRECTIONS:
            self._pools[backend.uid, direction] = TaskPool(backend, direction)

    async def remove(self, uid: Uid) -> None:
        """Serve an expert no more. What waits for it is served within `DRAIN_S` or fails; what it gathered is applied.

        Nothing happens to an expert that is not here.
        """
        self.admission.agreement.forget(uid)
        pools = [self._pools.pop((uid, direction)) for direction in DIRECTIONS if (uid, direction) in self._pools]
        if waiting := set().union(*(pool.waiting() for pool in pools)):
            await asyncio.wait(waiting, timeout=DRAIN_S)
        for pool in pools:
            self._drop(pool, pool.clear())
            if pool.backend in self._pending:
                self._kernel_gate.run_now(self._step, pool.backend)

    # requests

    async def forward(
        self, calls: Sequence[Call], passage: int = 0, deadline: float = math.inf, inference: bool = False
    ) -> list[Output | None]:
        """See `ExpertHost`."""
        request = self.submit(calls, "inference" if inference else "forward", deadline=deadline)
        answers = await request.answers
        return [
            None if rows is None else Output(rows, version)
            for rows, version in zip(answers, request.versions, strict=True)
        ]

    async def backward(
        self, calls: Sequence[Call], passage: int = 0, deadline: float = math.inf
    ) -> list[Tensor | None]:
        """See `ExpertHost`."""
        return await self.submit(calls, "backward", deadline=deadline).answers

    def submit(
        self,
        calls: Sequence[Call],
        direction: Direction,
        caller: str = "",
        deadline: float = math.inf,
        done: Done | None = None,
        is_question: bool = False,
        crowd: str = "",
    ) -> Request:
        """Let calls wait for their turn.

        Args:
            calls: what is asked.
            direction: of all of them; "inference" is served also while the gate is closed.
            caller: who asks; "": this process.
            deadline: of the loop's clock, after which nobody waits for the answers.
            done: called with the answers at once.
            is_question: whether another process asks the model: that comes after training.
            crowd: with whom the caller counts as one in what experts learn; "": alone.
        """
        request = Request(len(calls), caller, deadline, done, turn_of(caller, is_question), crowd)
        for index, call in enumerate(calls):
            pool = self._pools.get((call.uid, direction))
            if problem := problem_of(call, pool):
                self.admission.refuse(request, index, call.uid, problem)
                continue
            assert pool is not None
            for piece in pieces_of(call, self._most(pool, CPU)):  # wherever it will be served
                request.expect()
                cost = pool.cost(piece.inputs.shape[0])
                if pool.put(Task(request, index, piece, cost, self._turns.arrive(request.turn, cost))):
                    self._queue(pool)
        request.finish()
        if not (caller and self._told_of_arrivals):
            self._wake.set()
        return request

    def delay(self, caller: str, calls: Sequence[Call], direction: Direction, is_question: bool = False) -> float:
        """Seconds until a new request is served, if every caller goes on asking."""
        pools = [(self._pools.get((call.uid, direction)), call.inputs.shape[0]) for call in calls]
        cost = sum(pool.cost(rows) for pool, rows in pools if pool is not None)
        return self._turns.ahead(turn_of(caller, is_question), cost) * self._pace / self._kernel_gate.share

    @property
    def load(self) -> float:
        """0 idle, 1 busy without pause; above that, the seconds of work that wait."""
        load, share = self._kernel_gate.load, self._kernel_gate.share
        return min(1.0, load.share() / share) + self._turns.waiting * self._pace / share

    @property
    def _pace(self) -> float:
        return self._kernel_gate.load.paces[self._kernel_gate.device.id]

    def version(self, uid: Uid) -> int:
        """Steps that an expert has taken; 0 if it is not here."""
        pool = self._pools.get((uid, "forward"))
        return pool.backend.version if pool is not None else 0

    def _queue(self, pool: TaskPool) -> None:
        """A pool stands in its queue by its first task; where another task has become the first, once more."""
        queue = self._inference if pool.direction == "inference" else self._training
        heapq.heappush(queue, (pool.first, next(self._pushes), pool))

    # serving

    async def run(self) -> None:
        """Serve until cancelled."""
        while True:
            if self.serve_next():
                await asyncio.sleep(0)
            else:
                await self._idle()

    def serve_arrived(self) -> None:
        """Serve at once what has just been submitted, and the rest in its turn: a turn of the loop takes longer than a
        tiny expert. To be called from the loop."""
        due = len(self._pending)
        if self.serve_next() and (self._inference or self._training or self._begun or len(self._pending) > due):
            self._wake.set()

    def serve_next(self) -> bool:
        """Make a pass or a step, or a slice of one; whether any was due. To be called from the loop, not from a
        kernel."""
        if self._inference:
            self._serve(self._inference)
        elif self._begun and self._may_start():
            self._kernel_gate.run_now(self._go_on, self._begun)
        elif self._pending and next(iter(self._pending.values())) <= _now() and self._may_start():
            self._kernel_gate.run_now(self._step, next(iter(self._pending)))
        elif self._training and self._may_start():
            self._kernel_gate.run_now(self._serve, self._training)
        else:
            return False
        return True

    def _may_start(self) -> bool:
        return self._kernel_gate.may_start(for_others=self._turns.others_wait)

    async def _idle(self) -> None:
        """Until a request comes, the gate is opened, or gathered gradients are due."""
        self._wake.clear()
        if not self._pending or not self._kernel_gate.is_open or self._kernel_gate.resting:
            await self._wake.wait()
            return
        timer = asyncio.get_running_loop().call_at(next(iter(self._pending.values())), self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    def _step(self, backend: ExpertBackend) -> None:
        """Apply the gathered gradients of an expert, however few they are."""
        del self._pending[backend]
        backend.go_to(self._kernel_gate.device)
        try:
            backend.step()
        except ComputeError as error:
            self._report(backend, "step", error)
        self._begun = backend if backend.has_begun else None

    def _go_on(self, backend: ExpertBackend) -> None:
        """With what an expert has begun: it must not wait until the expert is used again."""
        backend.prepare()
        if not backend.has_begun:
            self._begun = None

    def _serve(self, queue: list[tuple[tuple[float, int], int, TaskPool]]) -> None:
        """One pass for the pool of a queue whose turn it is."""
        turn, number, pool = heapq.heappop(queue)
        if not len(pool) or pool.first != turn:
            return  # it stands in the queue with its first task as well
        if queue is self._training and self._prepare(pool):
            heapq.heappush(queue, (turn, number, pool))
            return
        pool.backend.go_to(self._kernel_gate.device)
        tasks, dropped = pool.take(self._most(pool, pool.backend.device))
        if len(pool):
            self._queue(pool)
        self._drop(pool, dropped)
        if not tasks:
            return
        for task in tasks:
            self._turns.leave(task.request.turn, task.cost, turn)
        start, device = time.monotonic(), pool.backend.device
        self._answer(pool, tasks)
        device.synchronize()
        self._kernel_gate.load.served(time.monotonic() - start, sum(task.cost for task in tasks), device.id)
        self._remember(pool.backend)

    def _prepare(self, pool: TaskPool) -> bool:
        """Whether something had to be done before a pass; then there may be more, but the user comes first."""
        if pool.backend.prepare() or pool.backend.go_to(self._kernel_gate.device):
            return True
        return pool.backend.prepare(pool.direction == "backward")

    def _most(self, pool: TaskPool, device: Device) -> int:
        """Samples of a pass: as many as take `pass_s` there, so that giving the machine back never waits for long."""
        each, pace = pool.cost(1) - pool.cost(0), self._kernel_gate.load.paces[device.id]
        return max(MIN_ROWS, int(min(pool.backend.rows_per_pass, self._pass_s / (pace * each))))

    def _drop(self, pool: TaskPool, tasks: list[Task]) -> None:
        """Tasks that nobody waits for, or that nobody can serve any more."""
        for task in tasks:
            self._turns.leave(task.request.turn, task.cost)
            task.request.answer(task.index, None, pool.backend.version)

    def _answer(self, pool: TaskPool, tasks: list[Task]) -> None:
        """One pass for all tasks; if it fails, one for each, so that nobody suffers for what another sent."""
        backend, version = pool.backend, pool.backend.version
        answers: Sequence[Tensor | None] | None = None
        try:
            answers = self._pass(pool, tasks)
        except Exception as error:  # whatever an expert does, the other requests must go on
            if is_exhausted(error):
                raise MemoryError from error
            full = backend.device is not CPU and lacks_memory(error)
            if fault_of(error) and not full:
                raise
            if len(tasks) == 1 and not full:
                self._report(backend, pool.direction, error)
                answers = [None]
        if answers is None:  # outside of the handler, as the error's traceback holds memory
            if full:
                self._make_room(backend, tasks)
            for task in tasks:
                self._answer(pool, [task])
            return
        self.calls += len(tasks)
        backend.calls += len(tasks)
        self.peer_calls += sum(task.request.caller != "" for task in tasks)
        self.rows += sum(task.call.inputs.shape[0] for task in tasks)
        self.passes += 1
        for task, answer in zip(tasks, answers, strict=True):
            task.request.answer(task.index, answer, version)

    def _make_room(self, backend: ExpertBackend, tasks: list[Task]) -> None:
        """A pass found no room on the expert's device: smaller ones, or, if it cannot be smaller, the processor."""
        if len(tasks) == 1:
            backend.give_up()
        else:
            backend.rows_per_pass = max(MIN_ROWS, sum(len(task.call.inputs) for task in tasks) // 2)
            backend.device.tell_full()

    def _pass(self, pool: TaskPool, tasks: list[Task]) -> Sequence[Tensor | None]:
        """Run the expert once for all tasks; one that must not be served gets None."""
        backend, backward = pool.backend, pool.direction == "backward"
        inputs = joined([task.call.inputs for task in tasks])
        gradients = gradients_of(tasks) if backward else inputs[:0]
        factors = self.admission.factors(pool, tasks, inputs, gradients)
        good = [task for task, factor in zip(tasks, factors, strict=True) if factor]
        if not good:
            return [None] * len(tasks)
        if len(good) < len(tasks):
            inputs = joined([task.call.inputs for task in good])
            gradients = gradients_of(good) if backward else inputs[:0]
        sizes = [task.call.inputs.shape[0] for task in good]
        if not backward:
            rows = backend.forward(inputs)
        elif all(factor == 1.0 for factor in factors):
            rows = backend.backward(inputs, gradients)
        else:
            weights = [[factor] * size for factor, size in zip(filter(None, factors), sizes, strict=True)]
            counted = sum(size for task, size in zip(good, sizes, strict=True) if self.admission.believes(task))
            rows = backend.backward(inputs, gradients, torch.tensor(list(itertools.chain(*weights))), counted)
        if len(tasks) == 1:
            return [rows]
        parts = iter(rows.split_with_sizes(sizes))
        return [next(parts) if factor else None for factor in factors]

    def _remember(self, backend: ExpertBackend) -> None:
        """Note when the gradients that an expert has begun to gather are due, and what it has begun. A step leaves no
        gradients."""
        if not backend.pending:
            self._pending.pop(backend, None)
        elif backend not in self._pending:
            self._pending[backend] = _now() + backend.max_age_s
        if backend.has_begun:
            self._begun = backend

    def _report(self, backend: ExpertBackend, what: str, error: Exception) -> None:
        self.failures[backend.uid] += 1
        count = self.failures[backend.uid]
        if is_worth_a_line(count):
            log.error("Expert %s failed in %s (%d failures so far): %s", backend.uid, what, count, error)


def _now() -> float:
    """The running loop's clock: that of time.monotonic(), but a simulated loop has its own."""
    return asyncio.get_running_loop().time()

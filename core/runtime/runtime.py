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
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from core.errors import ComputeError
from core.experts.grid import Uid
from core.experts.layer import Call, Output
from core.runtime.backend import ExpertBackend
from core.runtime.exhaustion import is_exhausted
from core.runtime.fairness import Turns
from core.runtime.switch import Switch
from core.runtime.task_pool import Direction, Done, Problem, Request, Task, TaskPool

log = logging.getLogger(__name__)

DIRECTIONS: tuple[Direction, ...] = ("inference", "forward", "backward")
NOT_FINITE = Problem("bad_values", "NaN or infinity in its numbers.")
PASS_S = 0.08
"""Time of one pass. Shorter ones do not pay with large experts: each reads all weights and writes their gradients."""
MIN_ROWS = 8
"""Samples of one pass, however large the expert."""
DRAIN_S = 1.0
"""How long an expert that goes may serve what waits for it."""


class Runtime:
    """Serves the experts of this process; an `ExpertHost`.

    This process's inference goes first; all else in the order of the callers' turns (`core.runtime.fairness`). Requests
    for one expert share a pass, whoever sent them.
    """

    def __init__(self, backends: Mapping[Uid, ExpertBackend], switch: Switch) -> None:
        self._switch = switch
        self._pools: dict[tuple[Uid, Direction], TaskPool] = {}
        self._inference: list[tuple[tuple[float, int], int, TaskPool]] = []
        self._training: list[tuple[tuple[float, int], int, TaskPool]] = []
        self._pushes = itertools.count()
        self._turns = Turns()
        self._pending: dict[ExpertBackend, float] = {}
        """When gathered gradients are due, by the loop's clock, in that order."""
        self._wake = asyncio.Event()
        self.on_misconduct: Callable[[str, str], None] = lambda caller, what: None
        """Called with a caller of another process that sent what no honest one sends."""
        self.calls = 0
        """Calls served so far."""
        self.passes = 0
        """Passes that served them: fewer, where several requests were joined."""
        self.refused: Counter[str] = Counter()
        """Calls that were not served for what they are, by caller ("": this process)."""
        self.clipped: Counter[str] = Counter()
        """Calls whose gradients were scaled down, by caller."""
        self.failures: Counter[Uid] = Counter()
        """Passes that failed, by expert."""
        for backend in backends.values():
            self.add(backend)
        switch.listen(self._wake.set, rests=True)

    @property
    def last_kernel_end(self) -> float:
        """time.monotonic() at the end of the last training kernel."""
        return self._switch.last_kernel_end

    # experts

    def add(self, backend: ExpertBackend) -> None:
        """Serve one more expert."""
        for direction in DIRECTIONS:
            self._pools[backend.uid, direction] = TaskPool(backend, direction)

    async def remove(self, uid: Uid) -> None:
        """Serve an expert no more. What waits for it is served within `DRAIN_S` or fails; what it gathered is applied.

        Nothing happens to an expert that is not here.
        """
        pools = [self._pools.pop((uid, direction)) for direction in DIRECTIONS if (uid, direction) in self._pools]
        if waiting := set().union(*(pool.waiting() for pool in pools)):
            await asyncio.wait(waiting, timeout=DRAIN_S)
        for pool in pools:
            self._drop(pool, pool.clear())
            if pool.backend in self._pending:
                self._switch.run_now(self._step, pool.backend)

    # requests

    async def forward(self, calls: Sequence[Call], passage: int = 0, inference: bool = False) -> list[Output | None]:
        """The answer to each call; None where it was refused or failed."""
        request = self.submit(calls, "inference" if inference else "forward")
        answers = await request.answers
        return [
            None if rows is None else Output(rows, version)
            for rows, version in zip(answers, request.versions, strict=True)
        ]

    async def backward(self, calls: Sequence[Call], passage: int = 0) -> list[Tensor | None]:
        """Gradients by each call's inputs; None where it was refused or failed."""
        return await self.submit(calls, "backward").answers

    def submit(
        self,
        calls: Sequence[Call],
        direction: Direction,
        caller: str = "",
        deadline: float = math.inf,
        done: Done | None = None,
    ) -> Request:
        """Let calls wait for their turn.

        Args: calls, their direction ("inference" also while the switch is off), who asks ("": this process), the time
        of the loop's clock after which nobody waits for the answers, and what is called with them at once.
        """
        request = Request(len(calls), caller, deadline, done)
        for index, call in enumerate(calls):
            pool = self._pools.get((call.uid, direction))
            if problem := _problem(call, pool):
                self._refuse(request, index, call.uid, problem)
                continue
            assert pool is not None
            for piece in _pieces(call, self._most(pool)):
                request.expect()
                cost = pool.cost(piece.inputs.shape[0])
                if pool.put(Task(request, index, piece, cost, self._turns.arrive(caller, cost))):
                    self._queue(pool)
        request.finish()
        self._wake.set()
        return request

    def delay(self, caller: str, calls: Sequence[Call], direction: Direction) -> float:
        """Seconds until a new request is served, if every caller goes on asking."""
        pools = [(self._pools.get((call.uid, direction)), call.inputs.shape[0]) for call in calls]
        cost = sum(pool.cost(rows) for pool, rows in pools if pool is not None)
        return self._turns.ahead(caller, cost) * self._switch.load.pace / self._switch.duty.share

    @property
    def load(self) -> float:
        """0 idle, 1 busy without pause; above that, the seconds of work that wait."""
        load, share = self._switch.load, self._switch.duty.share
        return min(1.0, load.share() / share) + self._turns.waiting * load.pace / share

    def version(self, uid: Uid) -> int:
        """Steps that an expert has taken; 0 if it is not here."""
        pool = self._pools.get((uid, "forward"))
        return pool.backend.version if pool else 0

    def _refuse(self, request: Request, index: int, uid: Uid, problem: Problem) -> None:
        before = any(known.code == "bad_values" for known in request.problems.values())
        request.problems[index] = problem
        self.refused[request.caller] += 1
        if _is_worth_a_line(self.refused.total()):
            log.warning("Refused a call to %s: %s (%d so far)", uid, problem.text, self.refused.total())
        if problem.code == "bad_values" and request.caller and not before:  # a request counts once
            self.on_misconduct(request.caller, f"in a call to {uid}: {problem.text}")

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

    def serve_next(self) -> bool:
        """Make one pass or step if one is due; whether there was any. To be called from the loop, not from a kernel."""
        if self._inference:
            self._serve(self._inference)
        elif self._pending and next(iter(self._pending.values())) <= _now() and self._switch.may_start():
            self._switch.run_now(self._step, next(iter(self._pending)))
        elif self._training and self._switch.may_start():
            self._switch.run_now(self._serve, self._training)
        else:
            return False
        return True

    async def _idle(self) -> None:
        """Until a request comes, the switch is turned on, or gathered gradients are due."""
        self._wake.clear()
        if not self._pending or not self._switch.is_on or self._switch.resting:
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
        try:
            backend.step()
        except ComputeError as error:
            self._report(backend, "step", error)

    def _serve(self, queue: list[tuple[tuple[float, int], int, TaskPool]]) -> None:
        """One pass for the pool of a queue whose turn it is."""
        turn, _, pool = heapq.heappop(queue)
        if not len(pool) or pool.first != turn:
            return  # it stands in the queue with its first task as well
        tasks, dropped = pool.take(self._most(pool))
        if len(pool):
            self._queue(pool)
        self._drop(pool, dropped)
        if not tasks:
            return
        for task in tasks:
            self._turns.leave(task.request.caller, task.cost, turn)
        start = time.monotonic()
        self._answer(pool, tasks)
        self._switch.load.served(time.monotonic() - start, sum(task.cost for task in tasks))
        self._remember(pool.backend)

    def _most(self, pool: TaskPool) -> int:
        """Samples of a pass: as many as take `PASS_S` here, so that giving the machine back never waits for long."""
        each = pool.cost(1) - pool.cost(0)
        return max(MIN_ROWS, min(pool.backend.rows_per_pass, int(PASS_S / (self._switch.load.pace * each))))

    def _drop(self, pool: TaskPool, tasks: list[Task]) -> None:
        """Tasks that nobody waits for, or that nobody can serve any more."""
        for task in tasks:
            self._turns.leave(task.request.caller, task.cost)
            task.request.answer(task.index, None, pool.backend.version)

    def _answer(self, pool: TaskPool, tasks: list[Task]) -> None:
        """One pass for all tasks; if it fails, one for each, so that nobody suffers for what another sent."""
        version = pool.backend.version
        try:
            answers = self._pass(pool, tasks)
        except Exception as error:  # whatever an expert does, the other requests must go on
            if is_exhausted(error):
                raise MemoryError from error
            if len(tasks) > 1:
                for task in tasks:
                    self._answer(pool, [task])
                return
            self._report(pool.backend, pool.direction, error)
            answers = [None]
        self.calls += len(tasks)
        self.passes += 1
        for task, answer in zip(tasks, answers, strict=True):
            task.request.answer(task.index, answer, version)

    def _pass(self, pool: TaskPool, tasks: list[Task]) -> Sequence[Tensor | None]:
        """Run the expert once for all tasks; one that must not be served gets None."""
        backend, backward = pool.backend, pool.direction == "backward"
        inputs = _join([task.call.inputs for task in tasks])
        gradients = _gradients(tasks) if backward else inputs[:0]
        factors = self._factors(pool, tasks, inputs, gradients)
        good = [task for task, factor in zip(tasks, factors, strict=True) if factor]
        if not good:
            return [None] * len(tasks)
        if len(good) < len(tasks):
            inputs = _join([task.call.inputs for task in good])
            gradients = _gradients(good) if backward else inputs[:0]
        sizes = [task.call.inputs.shape[0] for task in good]
        if not backward:
            rows = backend.forward(inputs)
        elif all(factor == 1.0 for factor in factors):
            rows = backend.backward(inputs, gradients)
        else:
            weights = [[factor] * size for factor, size in zip(filter(None, factors), sizes, strict=True)]
            rows = backend.backward(inputs, gradients, torch.tensor(list(itertools.chain(*weights))))
        if len(tasks) == 1:
            return [rows]
        parts = iter(rows.split_with_sizes(sizes))
        return [next(parts) if factor else None for factor in factors]

    def _factors(self, pool: TaskPool, tasks: list[Task], inputs: Tensor, gradients: Tensor) -> list[float]:
        """How much each task counts; 0: not at all, it is refused."""
        if pool.direction != "backward":
            if math.isfinite(float(inputs.sum())):
                return [1.0] * len(tasks)
            return [float(self._accept(task, _is_finite(task.call), NOT_FINITE)) for task in tasks]
        norms = gradients.flatten(1).norm(dim=1).tolist()
        if math.isfinite(float(inputs.sum()) + sum(norms)):
            finite = [True] * len(tasks)
        else:
            finite = [_is_finite(task.call) for task in tasks]
        sizes, rest = [task.call.inputs.shape[0] for task in tasks], iter(norms)
        means = [sum(itertools.islice(rest, size)) / size for size in sizes]
        return [
            self._factor(pool.backend, task, norm) if self._accept(task, good, NOT_FINITE) else 0.0
            for task, good, norm in zip(tasks, finite, means, strict=True)
        ]

    def _factor(self, backend: ExpertBackend, task: Task, norm: float) -> float:
        """How much a task's finite gradients count: less if they are stale, or far larger than others'."""
        staleness = max(0, backend.version - task.call.version)
        if staleness > backend.max_staleness:
            return float(self._accept(task, False, Problem("stale", f"its gradients are {staleness} steps old.")))
        caller = task.request.caller
        factor = backend.conduct.factor(caller, norm, len(task.call.inputs))
        if factor == 0.0:
            problem = Problem("bad_values", f"gradients of norm {norm:.3g} are far beyond all others.")
            return float(self._accept(task, False, problem))
        self.clipped[caller] += factor < 1.0
        return factor / (1 + staleness)

    def _accept(self, task: Task, good: bool, problem: Problem) -> bool:
        """Note what speaks against a task, if it is not good."""
        if not good:
            self._refuse(task.request, task.index, task.call.uid, problem)
        return good

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


def _problem(call: Call, pool: TaskPool | None) -> Problem | None:
    """Why the expert cannot take the call, if it cannot; checked before anything is allocated."""
    if pool is None:
        return Problem("not_hosted", "this peer does not host it.")
    backend, inputs, gradients = pool.backend, call.inputs, call.gradients
    if (gradients is not None) != (pool.direction == "backward"):
        return Problem("bad_shape", "gradients belong to backward calls, and to all of them.")
    for name, tensor in (("inputs", inputs), ("gradients", inputs if gradients is None else gradients)):
        if tensor.shape[1:] != backend.input_shape or not tensor.shape[0] or tensor.dtype != backend.dtype:
            wanted = " x ".join(map(str, ("n", *backend.input_shape)))
            found = " x ".join(map(str, tensor.shape))
            return Problem("bad_shape", f"its {name} are {found} {tensor.dtype}, not {wanted} {backend.dtype}.")
    if gradients is not None and gradients.shape != inputs.shape:
        return Problem("bad_shape", f"{len(gradients)} gradients do not fit {len(inputs)} inputs.")
    return None


def _pieces(call: Call, rows: int) -> list[Call]:
    """The call, cut into parts of at most `rows` samples."""
    if call.inputs.shape[0] <= rows:
        return [call]
    parts = [slice(start, start + rows) for start in range(0, len(call.inputs), rows)]
    return [
        call._replace(inputs=call.inputs[p], gradients=None if call.gradients is None else call.gradients[p])
        for p in parts
    ]


def _join(parts: list[Tensor]) -> Tensor:
    if len(parts) == 1:
        return parts[0]
    return torch.cat(parts) if parts else torch.zeros(0)


def _gradients(tasks: list[Task]) -> Tensor:
    return _join([task.call.gradients for task in tasks if task.call.gradients is not None])


def _is_finite(call: Call) -> bool:
    tensors = [call.inputs] if call.gradients is None else [call.inputs, call.gradients]
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors)

"""Requests wait here, by expert and direction, until one pass serves many of them (paper, section 3.3)."""

import asyncio
import heapq
import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from core.experts.calls import Call
from core.runtime.backend import BACKWARD, ExpertBackend, joined

Direction = Literal["inference", "forward", "backward"]
TASK_COST = 2_000_000
"""Work of a task however small: what 0.2 ms are on a slow core."""


class Problem(NamedTuple):
    """Why a call was refused."""

    code: Literal["not_hosted", "bad_shape", "bad_values", "stale"]
    text: str


class Request:
    """A caller's calls, answered together; `answers` resolves once the last of them is served."""

    def __init__(
        self,
        calls: int,
        caller: str = "",
        deadline: float = math.inf,
        done: "Done | None" = None,
        turn: str | None = None,
        crowd: str = "",
    ) -> None:
        """Nothing is answered yet.

        Args:
            calls: how many.
            caller: who asks; "": this process.
            deadline: of the loop's clock, after which nobody waits for the answers.
            done: called at once with the answers, also if nobody waits.
            turn: as whose it waits (`core.runtime.fair_queue`); None: the caller's.
            crowd: with whom the caller counts as one in what experts learn; "": alone.
        """
        self.caller, self.deadline, self.crowd = caller, deadline, crowd or caller
        self.turn = caller if turn is None else turn
        self._done = done
        self.answers: asyncio.Future[list[Tensor | None]] = asyncio.get_running_loop().create_future()
        self.versions = [0] * calls
        """Of each call's expert, when it answered or refused."""
        self.problems: dict[int, Problem] = {}
        """Why calls were refused, by their number."""
        self._pieces: list[list[Tensor | None]] = [[] for _ in range(calls)]
        self._open = 0

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for the answers any more."""
        return self.answers.done() or (self.deadline < math.inf and asyncio.get_running_loop().time() > self.deadline)

    def expect(self) -> None:
        """One more task belongs to this request."""
        self._open += 1

    def answer(self, call: int, rows: Tensor | None, version: int) -> None:
        """One task is done; `rows` None: it failed. The pieces of a call come in order."""
        self._pieces[call].append(rows)
        self.versions[call] = version
        self._open -= 1
        if not self._open:
            self.finish()

    def finish(self) -> None:
        """Tell the caller."""
        if self._open:
            return
        answers = [_join(pieces) for pieces in self._pieces]
        if not self.answers.done():
            self.answers.set_result(answers)
        if self._done:
            self._done(self, answers)


Done = Callable[[Request, Sequence[Tensor | None]], None]


def _join(pieces: list[Tensor | None]) -> Tensor | None:
    whole = [piece for piece in pieces if piece is not None]
    if not pieces or len(whole) < len(pieces):
        return None
    return whole[0] if len(whole) == 1 else torch.cat(whole)


class Task:
    """One call, or a piece of one that is too large for a pass."""

    __slots__ = ("call", "cost", "index", "request", "turn")

    def __init__(self, request: Request, index: int, call: Call, cost: int, turn: tuple[float, int]) -> None:
        self.request = request
        self.index = index
        """Of the call in its request."""
        self.call = call
        self.cost = cost
        """Work, in multiplications of a weight with a number of one sample."""
        self.turn = turn
        """Tasks are served in this order: see `core.runtime.fair_queue`. No two are equal."""

    def __lt__(self, other: "Task") -> bool:
        return self.turn < other.turn


class TaskPool:
    """What waits for one expert in one direction, in the order of its turns."""

    def __init__(self, backend: ExpertBackend, direction: Direction) -> None:
        self.backend = backend
        self.direction = direction
        self._tasks: list[Task] = []

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def first(self) -> tuple[float, int]:
        """The turn of the task that is served next."""
        return self._tasks[0].turn

    def cost(self, rows: int) -> int:
        """Work of so many samples."""
        return TASK_COST + rows * self.backend.work * (BACKWARD if self.direction == "backward" else 1)

    def put(self, task: Task) -> bool:
        """Whether it is the first now."""
        heapq.heappush(self._tasks, task)
        return self._tasks[0] is task

    def take(self, most: int) -> tuple[list[Task], list[Task]]:
        """The first tasks, of `most` samples but at least one if there is any; and those that nobody waits for."""
        taken: list[Task] = []
        dropped: list[Task] = []
        rows = 0
        while self._tasks:
            task = self._tasks[0]
            if task.request.is_over:
                dropped.append(heapq.heappop(self._tasks))
                continue
            rows += task.call.inputs.shape[0]
            if taken and rows > most:
                break
            taken.append(heapq.heappop(self._tasks))
        return taken, dropped

    def clear(self) -> list[Task]:
        """All tasks; none waits any more."""
        tasks, self._tasks = self._tasks, []
        return tasks

    def waiting(self) -> set[asyncio.Future[list[Tensor | None]]]:
        """The requests that have a task here."""
        return {task.request.answers for task in self._tasks}


def problem_of(call: Call, pool: TaskPool | None) -> Problem | None:
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


def pieces_of(call: Call, rows: int) -> list[Call]:
    """The call, cut into parts of at most `rows` samples."""
    if call.inputs.shape[0] <= rows:
        return [call]
    parts = [slice(start, start + rows) for start in range(0, len(call.inputs), rows)]
    return [
        call._replace(inputs=call.inputs[p], gradients=None if call.gradients is None else call.gradients[p])
        for p in parts
    ]


def gradients_of(tasks: Sequence[Task]) -> Tensor:
    """Those of all calls, [rows, ...]."""
    return joined([task.call.gradients for task in tasks if task.call.gradients is not None])


def is_finite(call: Call) -> bool:
    """Whether all its numbers are."""
    tensors = [call.inputs] if call.gradients is None else [call.inputs, call.gradients]
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors)

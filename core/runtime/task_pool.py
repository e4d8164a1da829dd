"""Requests wait here, by expert and direction, until one pass serves many of them (paper, section 3.3)."""

import asyncio
from collections import deque
from typing import Literal

import torch
from torch import Tensor

from core.experts.layer import Call
from core.runtime.backend import ExpertBackend

Direction = Literal["inference", "forward", "backward"]


class Request:
    """A caller's calls, answered together; `answers` resolves once the last of them is served."""

    def __init__(self, calls: int) -> None:
        self.answers: asyncio.Future[list[Tensor | None]] = asyncio.get_running_loop().create_future()
        self._pieces: list[list[Tensor | None]] = [[] for _ in range(calls)]
        self._open = 0

    def expect(self) -> None:
        """One more task belongs to this request."""
        self._open += 1

    def answer(self, call: int, rows: Tensor | None) -> None:
        """One task is done; `rows` None: it failed. The pieces of a call come in order."""
        self._pieces[call].append(rows)
        self._open -= 1
        if not self._open:
            self.finish()

    def finish(self) -> None:
        """Tell the caller, unless it has gone."""
        if not self._open and not self.answers.done():
            self.answers.set_result([_join(pieces) for pieces in self._pieces])


def _join(pieces: list[Tensor | None]) -> Tensor | None:
    whole = [piece for piece in pieces if piece is not None]
    if not pieces or len(whole) < len(pieces):
        return None
    return whole[0] if len(whole) == 1 else torch.cat(whole)


class Task:
    """One call, or a piece of one that is too large for a pass."""

    __slots__ = ("arrival", "call", "index", "request")

    def __init__(self, request: Request, index: int, call: Call, arrival: int) -> None:
        self.request = request
        self.index = index
        """Of the call in its request."""
        self.call = call
        self.arrival = arrival
        """Rises by one from task to task, for all pools together."""


class TaskPool:
    """What waits for one expert in one direction, oldest first."""

    def __init__(self, backend: ExpertBackend, direction: Direction) -> None:
        self.backend = backend
        self.direction = direction
        self._tasks: deque[Task] = deque()

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def oldest(self) -> int:
        """Arrival of the task that waits longest."""
        return self._tasks[0].arrival

    def put(self, task: Task) -> None:
        self._tasks.append(task)

    def take(self) -> list[Task]:
        """The oldest tasks that fit into one pass, at least one if there is any; those nobody waits for are dropped."""
        taken: list[Task] = []
        rows = 0
        while self._tasks:
            task = self._tasks[0]
            if not task.request.answers.done():
                rows += task.call.inputs.shape[0]
                if taken and rows > self.backend.rows_per_pass:
                    break
                taken.append(task)
            self._tasks.popleft()
        return taken

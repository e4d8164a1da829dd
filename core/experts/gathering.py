"""One batch's calls, sent to all hosts at once: who is late, when to ask others, when to wait no longer.

A host is late when it takes longer than it usually does. While a sample has fewer than k_min answers, the calls of
hosts that are late or have failed go to spares as well; once all samples have them, late hosts are cut off.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from core.contracts.expert_calls import Direction
from core.experts.standing import Standing

K = TypeVar("K")
T = TypeVar("T")

OTHERS = 2.0
"""A host gets this many times what the others took, also if it is usually faster."""
WORD_S = 0.25
"""Beyond a request's deadline: for the host's own word that it failed, which says more than silence."""


class Rules(NamedTuple):
    """How patient a layer is."""

    k_min: int
    """Answers of a sample with which it does not wait for late hosts."""
    patience_s: float = 1.0
    """No host is waited for any longer."""
    audit: float = 0.0
    """Share of the requests of which a part is repeated and compared."""


def alike(keys: Iterable[K]) -> dict[K, list[int]]:
    """The places at which each key stands."""
    places: dict[K, list[int]] = {}
    for i, key in enumerate(keys):
        places.setdefault(key, []).append(i)
    return places


class _Request:
    """What one host was asked. Times are of the loop."""

    def __init__(
        self, host: str, standing: Standing | None, calls: Sequence[int], start: float, late_at: float, end_at: float
    ) -> None:
        self.host, self.standing, self.calls = host, standing, calls
        self.start, self.late_at, self.end_at = start, late_at, end_at
        self.is_late = False


class Gathering(Generic[T]):
    """Use `add` and `ask`, then `finish`; then read."""

    def __init__(
        self, direction: Direction, rules: Rules, shape: Sequence[int], accept: Callable[[str, int, T], T | None]
    ) -> None:
        """Begin with nothing asked.

        Args:
            direction: of all requests.
            rules: how patient it is.
            shape: samples, and choices of each.
            accept: makes of an answer (of a host, to a call) what is used of it; None: it cannot be right.
        """
        self.pairs: list[Tensor] = []
        """Of each call: which (sample, choice) its rows are, as indices into batch * k; batch * k: not used."""
        self.hosts: list[str | None] = []
        self.answers: list[T | None] = []
        self.seconds: list[float] = []
        self.arrived: list[int] = []
        """Calls that were answered, in the order of arrival."""
        self.bad: set[str] = set()
        """Hosts that were late or failed here."""
        self._direction, self._rules, self._shape, self._accept = direction, rules, shape, accept
        self._filled = torch.zeros(math.prod(shape) + 1, dtype=torch.bool)
        self._wanted = torch.zeros_like(self._filled)
        self._open: dict[asyncio.Task[list[T | None]], _Request] = {}
        self._began = asyncio.get_running_loop().time()
        self._enough_at: float | None = None
        self._first = 0
        self.blocked_s = 0.0
        """How long it waited for nobody but hosts that failed or were too late, and for those asked in their place."""
        self._all_well = True
        self._answered_at = self._began

    def add(self, pairs: Tensor, host: str | None) -> None:
        """One more call."""
        self.pairs.append(pairs)
        self.hosts.append(host)
        self.answers.append(None)
        self.seconds.append(0.0)

    def ask(
        self,
        host: str,
        standing: Standing | None,
        calls: Sequence[int],
        send: Callable[[float], Coroutine[Any, Any, list[T | None]]],
    ) -> None:
        """Send the request of one host.

        Args:
            host: its name.
            standing: what is known of it; None: it is this process, which is never late.
            calls: the numbers of its calls.
            send: asks, given the time of the loop after which the answers are of no use.
        """
        now, late_at, deadline = asyncio.get_running_loop().time(), math.inf, math.inf
        if standing is not None:
            late_at = now + standing.late_s(self._direction, self._rules.patience_s)
            deadline = now + standing.longest_s(self._direction, self._rules.patience_s)
        task = asyncio.create_task(send(deadline), name=f"{self._direction} {host[:8]}")
        self._open[task] = _Request(host, standing, calls, now, late_at, deadline + WORD_S)

    async def finish(self, spare: Callable[[], Awaitable[None]] | None = None) -> None:
        """Wait for the answers. `spare` asks others for what is `missing`, as far as it can."""
        for pairs, host in zip(self.pairs, self.hosts, strict=True):
            self._wanted[pairs] = spare is not None or host is not None
        self._first = len(self.pairs)
        self._all_well = spare is None or None not in self.hosts
        try:
            if spare is not None and None in self.hosts:
                await spare()
            while self._open:
                await self._go_on(spare)
        finally:
            await self._cut_off(list(self._open))
        if not self._all_well:
            self.blocked_s = asyncio.get_running_loop().time() - self._answered_at

    def is_complete(self) -> bool:
        """Whether every call was answered, and none was a spare's."""
        return len(self.arrived) == len(self.pairs) == self._first

    def missing(self) -> Tensor:
        """The (sample, choice) pairs that nobody on time is asked for, of samples that need them to have k_min."""
        promised = self._filled.clone()
        for request in self._open.values():
            if not request.is_late:
                for i in request.calls:
                    promised[self.pairs[i]] = True
        return (~promised[:-1].view(*self._shape) & self._short(promised).unsqueeze(1)).flatten().nonzero().flatten()

    def _short(self, filled: Tensor) -> Tensor:
        """[batch], samples that have fewer answers than wanted."""
        wanted = self._wanted[:-1].view(*self._shape).sum(1).clamp(max=self._rules.k_min)
        return filled[:-1].view(*self._shape).sum(1) < wanted

    async def _go_on(self, spare: Callable[[], Awaitable[None]] | None) -> None:
        """Until something happens, and what is to be done about it."""
        now = asyncio.get_running_loop().time()
        wake = min(r.end_at if r.is_late else min(r.late_at, r.end_at) for r in self._open.values())
        if self._enough_at is not None:
            wake = min(map(self._give_up_at, self._open.values()))
        timeout = None if wake == math.inf else max(0.0, wake - now)
        done, _ = await asyncio.wait(self._open, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        now = asyncio.get_running_loop().time()
        trouble = sum(self._receive(task, now) for task in done) > 0
        if self._enough_at is None and self._open and not self._short(self._filled).any():
            self._enough_at = now
        await self._cut_off([task for task, request in self._open.items() if now >= self._give_up_at(request)])
        for request in self._open.values():
            if now >= request.late_at and not request.is_late:
                request.is_late = trouble = True
                self.bad.add(request.host)
        if trouble and spare is not None and self._enough_at is None:
            await spare()

    def _give_up_at(self, request: _Request) -> float:
        if self._enough_at is None:
            return request.end_at
        return min(max(request.late_at, self._began + OTHERS * (self._enough_at - self._began)), request.end_at)

    def _receive(self, task: asyncio.Task[list[T | None]], now: float) -> int:
        """Take a host's answers; how many calls failed."""
        request = self._open.pop(task)
        answers = task.result()
        failed = 0
        for i, answer in zip(request.calls, answers, strict=True):
            self.seconds[i] = now - request.start
            used = None if answer is None else self._accept(request.host, i, answer)
            if used is None:
                failed += 1
            else:
                self.answers[i] = used
                self.arrived.append(i)
                self._filled[self.pairs[i]] = True
        if min(request.calls) < self._first:
            self._note_end(request, now, failed == 0)
        if failed < len(answers) and request.standing is not None:
            request.standing.answered(self._direction, now - request.start)
        if failed:
            self.bad.add(request.host)
        return failed

    def _note_end(self, request: _Request, now: float, answered: bool) -> None:
        """Of a request that was not a spare's. A late answer is one that nobody would have waited for but its own."""
        if answered:
            self._answered_at = max(self._answered_at, min(now, request.late_at))
        if not answered or now > request.late_at:
            self._all_well = False

    async def _cut_off(self, tasks: list[asyncio.Task[list[T | None]]]) -> None:
        now = asyncio.get_running_loop().time()
        for task in tasks:
            request = self._open.pop(task)
            if request.standing is not None:
                request.standing.given_up(self._direction, now - request.start)
            if min(request.calls) < self._first:
                self._note_end(request, now, False)
            for i in request.calls:
                self.seconds[i] = now - request.start
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

"""The threads that share a pass of a large expert.

OpenMP divides each operation into equal shares and waits for all of them, thirty times a pass: beside other programs
every share takes as long as the slowest, and two threads are slower than one. Here a thread takes the next piece of a
pass when it is done with its last, and each operation runs on one thread.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

T = TypeVar("T")

PIECES = 2
"""For each thread: so that one that is held up leaves work to the others."""
MIN_WORK = 20_000_000
"""Multiplications that a piece must be worth: half a millisecond."""


class ThreadTeam:
    """The calling thread and its helpers."""

    def __init__(self) -> None:
        self.threads = 1
        self._helpers: ThreadPoolExecutor | None = None

    def resize(self, threads: int) -> None:
        """Have so many threads from now on, the caller among them."""
        torch.set_num_threads(1)
        if threads != self.threads:
            if self._helpers:
                self._helpers.shutdown()
            self._helpers = (
                ThreadPoolExecutor(threads - 1, "team", torch.set_num_threads, (1,)) if threads > 1 else None
            )
            self.threads = threads

    def cut(self, length: int, work: int, least: int = 1) -> list[slice]:
        """Even pieces of something of `length` that takes `work` multiplications in all: one for each thread, or
        `PIECES` if each has at least `least` then."""
        each = PIECES if length >= least * PIECES * self.threads else 1
        count = each * self.threads if self.threads > 1 else 1
        count = max(1, min(count, length, work // MIN_WORK))
        return [slice(length * i // count, length * (i + 1) // count) for i in range(count)]

    def rounds(self, length: int, each: int) -> Iterator[list[slice]]:
        """Pieces of at most `each`, as many at once as there are threads."""
        starts = range(0, length, each)
        for first in range(0, len(starts), self.threads):
            yield [slice(start, min(start + each, length)) for start in starts[first : first + self.threads]]

    def run(self, jobs: Sequence[Callable[[], T]]) -> list[T]:
        """What the jobs return, in their order; the first error if one fails, once none runs any more."""
        if len(jobs) == 1:
            with torch.no_grad():
                return [jobs[0]()]
        results: dict[int, T] = {}
        waiting = iter(enumerate(jobs))

        def work() -> None:
            for number, job in waiting:
                with torch.no_grad():
                    results[number] = job()

        helpers = [self._helpers.submit(work) for _ in jobs[1 : self.threads]] if self._helpers else []
        try:
            work()
        finally:
            failed = [helper.exception() for helper in helpers if not helper.cancel()]
        for error in filter(None, failed):
            raise error
        return [results[number] for number in range(len(jobs))]


team = ThreadTeam()
"""Of this process, as torch's own threads are."""

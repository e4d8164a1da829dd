"""Work that nobody waits for: it ends by itself, or with its owner."""

import asyncio
import logging
from collections.abc import Awaitable, Coroutine, Iterable
from typing import Any, TypeVar

from core.contracts.errors import NetworkError

log = logging.getLogger(__name__)

T = TypeVar("T")


async def logged(work: Coroutine[Any, Any, None], name: str) -> None:
    """Have what goes wrong in the log only, as work for one peer must not end the node.

    Args:
        work: for one peer.
        name: of it, in the log.
    """
    try:
        await work
    except NetworkError as error:
        log.info("%s: %s", name, error)
    except Exception:
        log.exception("%s failed", name)


async def all_of(work: Iterable[Awaitable[T]]) -> list[T]:
    """Do all, and raise the first error only then."""
    done = []
    for result in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
        done.append(result)
    return done


class Background:
    """The tasks of one owner."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Begin some work; `name` is that of its task."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def done(self) -> None:
        """Wait until all of them have ended by themselves."""
        while self._tasks:
            await asyncio.wait({*self._tasks})

    async def close(self) -> None:
        """Cancel what is left, and wait for its end."""
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

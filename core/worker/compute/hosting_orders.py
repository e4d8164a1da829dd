"""Which experts compute shall host: orders that wait for its answer."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path

from core.contracts.errors import ComputeError
from core.contracts.pipe import Host, Hosted, Tensor, Unhost
from core.experts.grid import Uid

ANSWER_S = 60.0
"""To load or save some hundred experts on a slow disk."""

Send = Callable[[Host | Unhost, Sequence[Tensor]], Awaitable[None]]


class Orders:
    """`send` raises ComputeError while there is no compute."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, str]]] = {}

    async def host(self, experts: Mapping[Uid, Path | None]) -> dict[str, str]:
        """Have experts hosted, each from its newest own checkpoint or a newer file; what failed, and why.

        Raises:
            ComputeError: there is no compute, it ended meanwhile, or does not answer.
        """
        paths = {str(uid): None if path is None else str(path) for uid, path in experts.items()}
        return await self._order(Host(next(self._numbers), paths))

    async def unhost(self, uids: Iterable[Uid]) -> dict[str, str]:
        """Have experts saved and hosted no more; what failed, and why: those stay.

        Raises:
            ComputeError: as `host`.
        """
        return await self._order(Unhost(next(self._numbers), list(map(str, uids))))

    async def _order(self, message: Host | Unhost) -> dict[str, str]:
        answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._waiting[message.id] = answer
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._send(message, ())
                return await answer
        except TimeoutError:
            raise ComputeError(f"Compute did not take on or save experts within {ANSWER_S:.0f} s.") from None
        finally:
            del self._waiting[message.id]

    def hosted(self, message: Hosted) -> None:
        if (answer := self._waiting.get(message.id)) and not answer.done():
            answer.set_result(message.failed)

    def fail(self, why: str) -> None:
        """Compute is gone: nobody will answer."""
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ComputeError(why))

"""Many questions to one peer become one call."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

from core.contracts.dht import STORE_BYTES
from core.dht.routing import Contact
from core.identity import PeerId

Item = TypeVar("Item")
Reply = TypeVar("Reply")


class Batcher(Generic[Item, Reply]):
    """Puts what is asked of one peer within one turn of the event loop into one call."""

    def __init__(
        self,
        send: Callable[[Contact, list[Item]], Awaitable[list[Reply | None]]],
        start: Callable[[Coroutine[Any, Any, None], str], object],
        count: int,
        weight: Callable[[Item], int] = lambda _: 0,
    ) -> None:
        self._send, self._start, self._count, self._weight = send, start, count, weight
        self._waiting: dict[PeerId, tuple[Contact, list[tuple[Item, asyncio.Future[Reply | None]]]]] = {}

    def ask(self, contact: Contact, item: Item) -> "asyncio.Future[Reply | None]":
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._flush)
        future: asyncio.Future[Reply | None] = loop.create_future()
        self._waiting.setdefault(contact.peer, (contact, []))[1].append((item, future))
        return future

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for contact, entries in waiting.values():
            batch: list[tuple[Item, asyncio.Future[Reply | None]]] = []
            weight = 0
            for entry in entries:
                weight += self._weight(entry[0])
                if batch and (len(batch) >= self._count or weight > STORE_BYTES):
                    self._start(self._run(contact, batch), "dht call")
                    batch, weight = [], self._weight(entry[0])
                batch.append(entry)
            self._start(self._run(contact, batch), "dht call")

    async def _run(self, contact: Contact, batch: list[tuple[Item, "asyncio.Future[Reply | None]"]]) -> None:
        answers: list[Reply | None] = [None] * len(batch)
        try:
            answers = await self._send(contact, [item for item, _ in batch])
        finally:
            for (_, future), answer in zip(batch, answers, strict=True):
                if not future.done():
                    future.set_result(answer)

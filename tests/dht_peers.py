"""Real peers of a DHT on loopback, in this process."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from core.dht.node import DHTNode
from core.identity import Identity
from core.net.rpc import RpcNode
from tests.workers import PATIENCE_S

LOOPBACK = ["127.0.0.1:0"]


class Peer:
    """A node with its transport."""

    def __init__(self, identity: Identity, rpc: RpcNode, dht: DHTNode) -> None:
        self.identity, self.rpc, self.dht = identity, rpc, dht
        self.id = identity.peer

    async def join(self, others: Sequence["Peer"]) -> int:
        for other in others:
            self.rpc.learn(other.rpc.address())
        return await self.dht.bootstrap([other.id for other in others])


@contextlib.asynccontextmanager
async def peer(
    *others: Peer, serving: bool = True, identity: Identity | None = None, wall: Callable[[], float] = time.time
) -> AsyncIterator[Peer]:
    """A peer that has joined through `others`."""
    identity = identity or Identity.generate()
    async with RpcNode(identity, listen=LOOPBACK) as rpc, DHTNode(rpc, identity, serving=serving, wall=wall) as dht:
        made = Peer(identity, rpc, dht)
        await made.join(others)
        yield made


@contextlib.asynccontextmanager
async def peers(count: int) -> AsyncIterator[list[Peer]]:
    """A network; every peer has joined through the first."""
    async with contextlib.AsyncExitStack() as stack:
        made: list[Peer] = []
        for _ in range(count):
            made.append(await stack.enter_async_context(peer(*made[:1])))
        yield made


async def until(condition: Callable[[], Any | Awaitable[Any]], what: str, seconds: float = PATIENCE_S) -> Any:
    """The first true value of `condition`; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if isinstance(value, Awaitable):
            value = await value
        if value:
            return value
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds:.0f} s"
        await asyncio.sleep(0.02)

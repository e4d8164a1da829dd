"""One peer in a process of its own for the network benchmark: a line of JSON in, a line of JSON out.

Times are taken where the caller is, inside the peer's process, as the worker does that holds the DHT itself.
"""

import asyncio
import contextlib
import json
import random
import sys
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from core import event_loop
from core.contracts.net import Payload
from core.dht.node import DHTNode
from core.experts.dht_directory import DHTDirectory
from core.experts.directory import HostState
from core.experts.grid import Grid, Uid
from core.identity import Identity
from core.net.addresses import address_text, parse_address
from core.net.limits import MAX_PAYLOAD
from core.net.method import Context
from core.net.rpc import RpcNode

RUN = "expert"
LIFE_S = 600.0
LISTEN = ("127.0.0.1:0",)


class Empty(msgspec.Struct, array_like=True):
    """Nothing to say."""


async def _nop(request: Empty, payload: Payload, context: Context) -> tuple[Empty, Payload]:
    return Empty(), payload


class Peer:
    """What the benchmark may ask of a peer."""

    def __init__(self, node: RpcNode, dht: DHTNode, stack: contextlib.AsyncExitStack) -> None:
        self.node, self.dht, self.stack = node, dht, stack

    async def join(self, neighbours: Sequence[str]) -> str:
        addresses = [parse_address(text) for text in neighbours]
        for address in addresses:
            self.node.learn(address)
        await self.dht.bootstrap([parse_address(text).peer for text in neighbours])  # type: ignore[misc]
        return address_text(self.node.address())

    async def crowd(self, count: int) -> int:
        """Start more peers in this process, which stay; how many know others."""
        known = [address_text(self.node.address())]
        knowing = 0
        for _ in range(count):
            identity = Identity.generate()
            node = await self.stack.enter_async_context(RpcNode(identity, listen=LISTEN))
            dht = await self.stack.enter_async_context(DHTNode(node, identity))
            peer = Peer(node, dht, self.stack)
            known.append(await peer.join(random.sample(known, min(3, len(known)))))
            knowing += bool(dht.contacts())
        return knowing

    async def store(self, key: str, value: str) -> tuple[float, bool]:
        began = time.perf_counter()
        stored = await self.dht.store(key, value.encode(), LIFE_S)
        return time.perf_counter() - began, stored

    async def get(self, key: str, value: str) -> tuple[float, bool]:
        began = time.perf_counter()
        found = await self.dht.get(key)
        return time.perf_counter() - began, [record.value for record in found.values()] == [value.encode()]

    async def burst(self, keys: Sequence[str]) -> int:
        return sum(await asyncio.gather(*(self.dht.store(key, b"value", LIFE_S) for key in keys)))

    async def announce(self, side: int, uids: Sequence[str]) -> tuple[float, float, int]:
        """Seconds of the first and the second time, and the fewest replicas of a record."""
        directory = DHTDirectory(self.dht, self.node, Grid(RUN, 1, (side, side)), RUN)
        directory.host_here({Uid.parse(uid): HostState() for uid in uids})
        seconds = []
        for _ in range(2):
            began = time.perf_counter()
            replicas = await directory.announce()
            seconds.append(time.perf_counter() - began)
        return seconds[0], seconds[1], replicas

    async def find(self, side: int, uids: Sequence[str]) -> tuple[float, int]:
        directory = DHTDirectory(self.dht, self.node, Grid(RUN, 1, (side, side)), RUN)
        began = time.perf_counter()
        found = await directory.hosts([Uid.parse(uid) for uid in uids])
        return time.perf_counter() - began, len(found)


async def _main() -> None:
    identity = Identity.generate()
    async with contextlib.AsyncExitStack() as stack:
        node = await stack.enter_async_context(RpcNode(identity, listen=LISTEN))
        dht = await stack.enter_async_context(DHTNode(node, identity))
        node.register("bench.nop", Empty, _nop, max_payload=MAX_PAYLOAD)
        peer = Peer(node, dht, stack)
        while line := await asyncio.to_thread(sys.stdin.readline):
            name, *arguments = json.loads(line)
            answer: Any = await getattr(peer, name)(*arguments)
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    event_loop.run(_main())

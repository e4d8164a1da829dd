"""One peer in a process of its own for the benchmark of rounds: a line of JSON in, a line of JSON out."""

import asyncio
import contextlib
import hashlib
import json
import random
import statistics
import sys
import time
from typing import Any

import msgspec
import numpy as np

from core import event_loop
from core.contracts.errors import PeerUnreachable, RoundVoid
from core.contracts.net import PeerAddress
from core.contracts.trunk_rounds import Group
from core.identity import Identity, PeerId
from core.net.rpc import RpcNode
from core.swarm.trunk.all_reduce import AllReduce

MEETING_S, AGAIN_S = 120.0, 0.1
"""Within which a peer must be reached, and between two tries."""


def factor(owner: int, turn: int) -> float:
    """What a peer multiplies the shared random numbers by in a round, so that each knows the true mean."""
    return random.Random(1000 * turn + owner).uniform(-1, 1)


class Peer:
    """What the benchmark may ask of a peer."""

    def __init__(self, node: RpcNode, place: int, numbers: int) -> None:
        self.node, self.place, self.rounds = node, place, AllReduce(node, "bench")
        self.shared = np.random.default_rng(0).standard_normal(numbers, np.float32)
        self.vector, self.mean = self.shared, self.shared
        self.work: asyncio.Task[dict[str, Any]]

    async def address(self) -> str:
        return msgspec.msgpack.encode(self.node.address()).hex()

    async def meet(self, others: list[str]) -> int:
        """Connect, as members of a run are connected."""
        addresses = [msgspec.msgpack.decode(bytes.fromhex(text), type=PeerAddress) for text in others]
        for address in addresses:
            if address.peer != self.node.peer:
                self.node.learn(address)
                await self._link(address.peer)  # type: ignore[arg-type]
        return len(self.node.pool.links)

    async def _link(self, peer: PeerId) -> None:
        """Who was frozen is dialled again after a pause."""
        async with asyncio.timeout(MEETING_S):
            while True:
                with contextlib.suppress(PeerUnreachable):
                    await self.node.pool.link(peer)
                    return
                await asyncio.sleep(AGAIN_S)

    async def fill(self, turn: int) -> int:
        self.vector = self.shared * np.float32(factor(self.place, turn))
        return turn

    async def begin(self, group: str) -> None:
        """Take part in a round, beside what is asked next."""
        which = msgspec.msgpack.decode(bytes.fromhex(group), type=Group)
        self.work = asyncio.create_task(self._round(which))

    async def end(self) -> dict[str, Any]:
        """What came of the round."""
        return await self.work

    async def received(self) -> int:
        """Bytes since the start."""
        return self.node.moved()[0]

    async def _round(self, group: Group) -> dict[str, Any]:
        before, began, cpu = self.node.moved()[1], time.perf_counter(), time.process_time()
        try:
            result = await self.rounds.average(group, self.vector, 1)
        except RoundVoid as error:
            return {"error": str(error)}
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        assert result.vector is not None
        self.mean = result.vector
        digest = hashlib.sha256(result.vector.tobytes()).hexdigest()
        sent = (self.node.moved()[1] - before) / 1e6
        return {"seconds": seconds, "cpu": cpu, "digest": digest, "peers": result.peers, "sent_mb": sent}

    async def check(self, turn: int, peers: int) -> float:
        """The greatest deviation from the true mean."""
        mean = statistics.fmean(factor(owner, turn) for owner in range(peers))
        return float(np.abs(self.mean - self.shared * np.float32(mean)).max())


async def _main(place: int, numbers: int, listen: str) -> None:
    async with RpcNode(Identity.generate(), listen=(listen,)) as node:
        peer = Peer(node, place, numbers)
        while line := await asyncio.to_thread(sys.stdin.readline):
            name, *arguments = json.loads(line)
            answer: Any = await getattr(peer, name)(*arguments)
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    event_loop.run(_main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))

"""A peer in a process of its own whose user limits its bandwidth: loads other peers for a time, prints what it did.

Its arguments are JSON: [upload and download in bytes a second, seconds, [[peer, addresses, calls at once], ...]].
"""

import asyncio
import json
import statistics
import sys
import time
from collections import Counter

from core.contracts.net import PeerAddress
from core.identity import Identity, PeerId
from core.net.rpc import RpcNode
from tests.swarm.echo_peer import Number

SIZE = 96 * 1024


async def main() -> None:
    upload, download, seconds, peers = json.loads(sys.argv[1])
    done: Counter[str] = Counter()
    waits: list[float] = []
    async with RpcNode(Identity.generate(), listen=("0.0.0.0:0",)) as node:
        for peer, addresses, _ in peers:
            node.learn(PeerAddress(bytes.fromhex(peer), tuple(addresses)))
            await node.call(PeerId(bytes.fromhex(peer)), "add_one", Number(0), Number, deadline_s=10)
        node.limit(upload, download)

        async def load(peer: str) -> None:
            while True:
                await node.call(PeerId(bytes.fromhex(peer)), "echo", Number(0), Number, bytes(SIZE), deadline_s=60)
                done[peer] += 1

        async def knock(peer: str) -> None:
            while True:
                start = time.monotonic()
                await node.call(PeerId(bytes.fromhex(peer)), "add_one", Number(0), Number, deadline_s=60)
                waits.append(time.monotonic() - start)
                await asyncio.sleep(0.2)

        print("ready", flush=True)
        sys.stdin.readline()
        before, start = node.moved(), time.monotonic()
        tasks = [asyncio.create_task(load(peer)) for peer, _, at_once in peers for _ in range(at_once)]
        tasks += [asyncio.create_task(knock(peer)) for peer, _, _ in peers]
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        after, elapsed = node.moved(), time.monotonic() - start
        figures = {
            "seconds": elapsed,
            "moved": [b - a for a, b in zip(before, after, strict=True)],
            "echoes": [done[peer] for peer, _, _ in peers],
            "small_s": statistics.median(waits),
            "alive": all(not task.done() for task in tasks),
        }
        print(json.dumps(figures), flush=True)
        sys.stdin.readline()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main())

"""A peer in a process of its own whose files another peer copies while it calls that peer's experts.

Its arguments are JSON: whether the limits hold that do so until the user chooses some, and the other peer with its
address. For each line [seconds, whether files are copied] on its input it prints what it measured. With `served`, a
seed and an address as arguments it is the other peer.
"""

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

from core.contracts.hosting import CHUNK, FileRead, ReadFile
from core.contracts.line import Line
from core.contracts.net import READ_FILE, Payload, PeerAddress, of_run
from core.contracts.settings import Settings
from core.identity import Identity, PeerId
from core.net.line import LineTest
from core.net.method import Context
from core.net.rpc import RpcNode
from core.policy.limits.bandwidth import limits
from core.swarm.fetching import CHUNK_S
from tests.swarm.echo_peer import Number, serve
from tests.workers import DIGITS

BATCH = 48 * 1024
"""Bytes of a call of experts, and of its answer."""
EVERY_S = 0.25
"""Between two calls."""
AT_ONCE = 4
"""Files that are copied at once."""
METHOD = of_run(READ_FILE, DIGITS)


async def copies(node: RpcNode, peer: PeerId) -> None:
    """Read a peer's files, until this is cancelled."""

    async def copy() -> None:
        while True:
            await node.call(peer, METHOD, ReadFile("0" * 64, 0, CHUNK), FileRead, deadline_s=CHUNK_S)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(copy())


async def served(seed: str, address: str) -> None:
    async with RpcNode(Identity(bytes.fromhex(seed)), listen=[address]) as node:
        LineTest(node, lambda rate: None)
        serve(node)

        async def fetch(request: Number, payload: Payload, context: Context) -> Number:
            await copies(node, context.peer)
            return request

        node.register("fetch", Number, fetch)
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


@contextlib.asynccontextmanager
async def copied(node: RpcNode, peer: PeerId, wanted: bool) -> AsyncIterator[None]:
    """Within it the peer copies files of this one."""
    call = asyncio.create_task(node.call(peer, "fetch", Number(0), Number, deadline_s=3600)) if wanted else None
    try:
        yield
    finally:
        if call:
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)


async def calls(node: RpcNode, peer: PeerId, seconds: float) -> list[float]:
    """Seconds that each call took."""
    until, took = time.monotonic() + seconds, []
    while (began := time.monotonic()) < until:
        await node.call(peer, "echo", Number(0), Number, bytes(BATCH), deadline_s=60)
        took.append(time.monotonic() - began)
        await asyncio.sleep(max(0.0, EVERY_S - took[-1]))
    return took


async def main(limited: bool, peer: PeerId, address: str) -> None:
    data, given = os.urandom(CHUNK), [0]

    async def read(request: ReadFile, payload: Payload, context: Context) -> tuple[FileRead, Payload]:
        given[0] += request.length
        return FileRead(CHUNK), data

    async with RpcNode(Identity.generate(), listen=("0.0.0.0:0",)) as node:
        measured = [0.0]

        def found(rate: float) -> None:
            measured[0] = rate
            if limited:
                node.limit(0, 0, limits(Settings(), Line(rate), 0).far)

        node.register(METHOD, ReadFile, read)
        LineTest(node, found)
        node.learn(PeerAddress(peer, (address,)))
        await node.call(peer, "add_one", Number(0), Number, deadline_s=10)
        print("ready", flush=True)
        while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
            seconds, wanted = json.loads(line)
            before, given[0], began = node.moved()[1], 0, time.monotonic()
            async with copied(node, peer, wanted):
                took = await calls(node, peer, seconds)
            figures: dict[str, Any] = {
                "measured": measured[0],
                "limit": node.far.upload.rate,
                "sent_bytes_s": (node.moved()[1] - before) / (time.monotonic() - began),
                "copied_bytes": given[0],
                "calls_s": took,
            }
            print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "served":
        asyncio.run(served(*sys.argv[2:]))
    else:
        limited, name, where = json.loads(sys.argv[1])
        asyncio.run(main(limited, PeerId(bytes.fromhex(name)), where))

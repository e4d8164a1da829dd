"""The least that a call of a tiny expert can be: a peer that only passes payloads to a bare process and back.

It speaks as `network_peer` does. Nothing is checked, batched, counted or limited on the way.
"""

import asyncio
import json
import os
import subprocess
import sys

from core import event_loop
from core.contracts.net import Payload
from core.identity import Identity
from core.net.addresses import address_text
from core.net.method import Context
from core.net.rpc import RpcNode
from tests.bench.network_peer import LISTEN, Empty
from tests.workers import ROOT

MOST = 1 << 16
"""Bytes of a payload, as many as a pipe holds."""


class Expert:
    """The bare process and its pipes; one call at a time."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.bench.network_floor_expert"]
        self.popen = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self.popen.stdin is not None and self.popen.stdout is not None
        self._into, self._out = self.popen.stdin.fileno(), self.popen.stdout.fileno()
        assert os.read(self._out, MOST), "the bare expert has ended"  # it is ready
        self._waiting: asyncio.Future[tuple[Empty, Payload]] | None = None
        asyncio.get_running_loop().add_reader(self._out, self._answered)

    def call(self, request: Empty, payload: Payload, context: Context) -> asyncio.Future[tuple[Empty, Payload]]:
        self._waiting = asyncio.get_running_loop().create_future()
        os.write(self._into, payload)
        return self._waiting

    def _answered(self) -> None:
        data = os.read(self._out, MOST)
        assert self._waiting is not None
        self._waiting.set_result((Empty(), data))


async def _main() -> None:
    expert = Expert()
    async with RpcNode(Identity.generate(), listen=LISTEN) as node:
        node.register("bench.nop", Empty, expert.call, max_payload=MOST)
        while await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(address_text(node.address())), flush=True)


if __name__ == "__main__":
    event_loop.run(_main())

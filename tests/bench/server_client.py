"""One client of the server benchmark in a process of its own: waits for a line, calls random experts, prints JSON."""

import argparse
import asyncio
import contextlib
import json
import random
import sys
import time
from typing import cast

import torch

from core.contracts.errors import CallRefused, RemoteFault
from core.contracts.expert_calls import METHODS, Codec, Direction, ExpertReply, ExpertRequest
from core.contracts.net import of_run
from core.experts import codec
from core.identity import Identity, PeerId
from core.net.addresses import parse_address
from core.net.rpc import RpcNode
from tests.worked_peers import worked_peer

DEADLINE_S = 60.0
BUSY_S = 0.05
"""Until a busy server is asked again."""


class Client:
    """Forward and backward passes of a batch through one expert each."""

    def __init__(self, node: RpcNode, peer: PeerId, options: argparse.Namespace) -> None:
        self.node, self.peer, self.codec = node, peer, cast(Codec, options.codec)
        self.run_id: str = options.run_id
        self.uids: list[str] = options.uids.split(",")
        self.batch = torch.randn(options.batch_size, options.width)
        self.durations: list[float] = []

    async def call(
        self, direction: Direction, uid: str, passage: int, version: int = 0, with_inputs: bool = True
    ) -> tuple[torch.Tensor, int]:
        shape = tuple(self.batch.shape)
        request = ExpertRequest((uid,), (shape[0],), shape[1:], self.codec, passage, (version,), with_inputs)
        tensors = 2 if direction == "backward" and with_inputs else 1
        payload = bytes(codec.encode(self.batch, self.codec)) * tensors
        method = of_run(METHODS[direction], self.run_id)
        while True:
            with contextlib.suppress(CallRefused, RemoteFault):  # busy or given back: a trainer would ask another host
                reply, data = await self.node.call(
                    self.peer,
                    method,
                    request,
                    ExpertReply,
                    payload,
                    deadline_s=DEADLINE_S,
                )
                if reply.forgotten:  # it took longer than inputs are kept
                    return await self.call(direction, uid, passage, version)
                if reply.answered == (True,):
                    break
            await asyncio.sleep(BUSY_S)
        return codec.decode(data, self.codec, shape), reply.versions[0]

    async def both(self, uid: str) -> None:
        began = time.perf_counter()
        passage = random.getrandbits(62)
        _, version = await self.call("forward", uid, passage)
        await self.call("backward", uid, passage, version, with_inputs=False)
        self.durations.append(time.perf_counter() - began)

    async def keep_calling(self, until: float) -> None:
        while time.perf_counter() < until:
            await self.both(random.choice(self.uids))


async def _main(options: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    server = parse_address(options.server)
    async with worked_peer(options.run_id, identity=Identity.generate()) as node:
        node.learn(server)
        client = Client(node, PeerId(server.peer), options)
        for uid in client.uids:
            await client.both(uid)
        print(json.dumps({"ready": True}), flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        client.durations.clear()
        began = time.perf_counter()
        until = began + options.seconds
        await asyncio.gather(*(client.keep_calling(until) for _ in range(options.in_flight)))
        figures = {"elapsed": time.perf_counter() - began, "durations": client.durations}
        print(json.dumps({"samples": len(client.durations) * options.batch_size, **figures}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--run-id", required=True)
    parser.add_argument("--uids", required=True)
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--codec", default="fp32")
    parser.add_argument("--in-flight", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0)
    asyncio.run(_main(parser.parse_args()))


if __name__ == "__main__":
    main()

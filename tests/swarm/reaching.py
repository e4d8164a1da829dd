"""A peer as a process of its own, told what to do line by line: python -m tests.swarm.reaching SEED_HEX OPTIONS_JSON"""

import asyncio
import contextlib
import json
import sys
import time
from typing import Any

import msgspec

from core.contracts.errors import HearthError
from core.contracts.expert_calls import ExpertReply, ExpertRequest
from core.contracts.net import PeerAddress
from core.identity import Identity, PeerId
from core.net.lan import Lan
from core.net.method import Context
from core.net.reach import Reach
from core.net.rpc import RpcNode
from core.puzzle import solve
from tests.worked_peers import Worked
from tests.workers import DIGITS, DIGITS_CALLS

LARGEST = 4 * 1024 * 1024


class Echo(msgspec.Struct, frozen=True):
    """Send my payload back."""


async def echo(request: Echo, payload: Any, context: Context) -> tuple[Echo, bytes]:
    return request, bytes(payload)


async def obey(order: dict[str, Any], node: RpcNode, reach: Reach) -> dict[str, Any]:
    peer = PeerId(bytes.fromhex(order.get("peer", "")))
    if order["do"] == "learn":
        relays = tuple(bytes.fromhex(relay) for relay in order.get("relays", ()))
        node.learn(PeerAddress(peer, tuple(order["addresses"]), relays))
    elif order["do"] == "echo":
        payload = bytes(order["size"])
        began = time.monotonic()
        _, data = await node.call(peer, "echo", Echo(), Echo, payload, deadline_s=order["seconds"])
        assert data == payload
        return {"seconds": time.monotonic() - began, "path": node.pool.links[peer].path}
    elif order["do"] == "expert":
        request = ExpertRequest((order["uid"],), (order["rows"],), (order["width"],))
        inputs = bytes(4 * order["rows"] * order["width"])
        seconds = order["seconds"]
        node.admission.guard(DIGITS, Worked(await asyncio.to_thread(solve, node.peer)))
        reply, data = await node.call(peer, DIGITS_CALLS["inference"], request, ExpertReply, inputs, deadline_s=seconds)
        return {"answered": reply.answered, "bytes": len(data), "path": node.pool.links[peer].path}
    elif order["do"] == "state":
        address = node.address()
        return {
            **msgspec.to_builtins(reach.state),
            "addresses": address.addresses,
            "relays": [relay.hex() for relay in address.relays],
            "paths": {peer.hex(): link.path for peer, link in node.pool.links.items()},
            "known": [peer.hex() for peer in node.pool.book],
            "helpers": sorted(peer.hex() for peer in reach.helpers()),
            "relayed_bytes": reach.relay.bytes,
        }
    return {}


async def main(seed: str, options: dict[str, Any]) -> None:
    identity = Identity(bytes.fromhex(seed))
    async with RpcNode(identity, listen=options.get("listen", ("0.0.0.0:4000",))) as node:
        node.register("echo", Echo, echo, max_payload=LARGEST)
        bootstrap = []
        for text in options.get("bootstrap", ()):
            name, _, address = text.partition("@")
            bootstrap.append(PeerId(bytes.fromhex(name)))
            node.learn(PeerAddress(bootstrap[-1], (address,)))
        roles = {"backbone": options.get("backbone", False), "relays": options.get("relays", False)}
        async with contextlib.AsyncExitStack() as stack:
            reach = await stack.enter_async_context(Reach(node, bootstrap=bootstrap, **roles))
            if "run" in options:
                await stack.enter_async_context(Lan(node, {options["run"]: options.get("organiser")}))
            print(json.dumps({"peer": identity.peer.hex()}), flush=True)
            while line := await asyncio.to_thread(sys.stdin.readline):
                try:
                    answer = await obey(json.loads(line), node, reach)
                except HearthError as error:
                    answer = {"error": error.code, "message": str(error)}
                print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))

"""A peer in a process of its own: serves a few methods and prints where it is. For the tests of remote calls."""

import asyncio
import sys

import msgspec

from core.contracts.net import Payload
from core.identity import Identity
from core.net.endpoint import LOOPBACK
from core.net.method import Context
from core.net.rpc import RpcNode


class Number(msgspec.Struct):
    """A request and a reply."""

    value: int


def add_one(request: Number, payload: Payload, context: Context) -> Number:
    return Number(request.value + 1)


async def echo(request: Number, payload: Payload, context: Context) -> tuple[Number, Payload]:
    return request, payload


async def never(request: Number, payload: Payload, context: Context) -> Number:
    await asyncio.Event().wait()
    return request


def serve(node: RpcNode) -> None:
    node.register("add_one", Number, add_one)
    node.register("echo", Number, echo, max_payload=64 * 1024 * 1024)
    node.register("never", Number, never)


async def main() -> None:
    listen = sys.argv[2:] or LOOPBACK
    async with RpcNode(Identity(bytes.fromhex(sys.argv[1])), listen=listen) as node:
        serve(node)
        print(msgspec.json.encode(node.address().addresses).decode(), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())

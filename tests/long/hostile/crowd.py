"""A crowd of keys that have done their work, at one address, as a process of its own: it floods one peer after another.

`python -m tests.long.hostile.crowd KEYS FLOOD ADDRESS...` says `ready`, floods from each line "go" to the next "stop"
of its input, and says what it has done when that ends.
"""

import asyncio
import contextlib
import itertools
import json
import os
import socket
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from core.contracts.dht import FindNode, FindValue, Nodes, Store, Stored, Values
from core.contracts.errors import HearthError
from core.contracts.expert_calls import METHODS
from core.contracts.hosting import Hello, HelloReply
from core.contracts.net import PREFIX, Call, Cancel, PeerAddress, of_run
from core.dht.records import key_digest, make
from core.identity import Identity, PeerId
from core.net.addresses import parse_address
from core.net.endpoint import Endpoint
from core.net.link import Link
from core.net.rpc import RpcNode
from tests.worked_peers import Worked
from tests.workers import DIGITS, ROOT, worked_key

ELSEWHERE = "127.0.0.9:0"
"""The crowd has an address of its own."""
HELLO, FORWARD = of_run("host.hello", DIGITS), of_run(METHODS["forward"], DIGITS)
RECORDS = 500
PAYLOAD = 4 << 20
HALF_OPEN = 40
"""Handshakes that each key begins in a second, and ends none of."""

Flood = Callable[[RpcNode, PeerAddress], Awaitable[None]]
_encode = msgspec.msgpack.Encoder().encode
_number = itertools.count(1 << 40)


async def dear(node: RpcNode, victim: PeerAddress) -> None:
    """Questions that take most work."""
    asked = FindNode([os.urandom(20) for _ in range(256)], False)
    await node.call(PeerId(victim.peer), "dht.find_node", asked, Nodes, deadline_s=10)


async def fill(node: RpcNode, victim: PeerAddress) -> None:
    """Records until there is no room."""
    await _store(node, victim, b"filled")


async def tombstones(node: RpcNode, victim: PeerAddress) -> None:
    """For all prefixes of the run, and more."""
    await _store(node, victim, None)


async def _store(node: RpcNode, victim: PeerAddress, value: bytes | None) -> None:
    now, keys = time.time(), [f"{DIGITS}.{layer}.{u}." for layer in range(2) for u in ("0", "1", "2", "3")]
    names = [(key, str(number)) for key in keys for number in range(RECORDS // 16)]
    names += [(f"{DIGITS}.{next(_number)}", "") for _ in range(RECORDS // 2)]
    records = [make(node.identity, key, subkey, value, int(now * 1000), now + 3000).raw for key, subkey in names]
    await node.call(PeerId(victim.peer), "dht.store", Store(records, False), Stored, deadline_s=20)


async def drip(node: RpcNode, victim: PeerAddress) -> None:
    """Begins payloads that come byte by byte."""
    stream = await (await _link(node, victim)).connection.open()
    call = _encode(Call(next(_number), FORWARD, 600_000, msgspec.Raw(_encode(Hello()))))
    await stream.write(PREFIX.pack(len(call), PAYLOAD) + call + bytes(1 << 16))
    for _ in range(20):
        await asyncio.sleep(0.5)
        await stream.write(b"\0")


async def cancels(node: RpcNode, victim: PeerAddress) -> None:
    """Calls that are cancelled at once."""
    link = await _link(node, victim)
    body = msgspec.Raw(_encode(Hello()))
    for _ in range(200):
        call = Call(next(_number), HELLO, 10_000, body)
        await link.send(call)
        link.post(Cancel(call.id))
    await asyncio.sleep(0.05)


async def unread(node: RpcNode, victim: PeerAddress) -> None:
    """Asks for large answers, and reads none of them."""
    link = await _link(node, victim)
    for task in link._tasks[1:]:
        task.cancel()
    digests = [key_digest(f"{DIGITS}.{layer}.") for layer in range(2)]
    question = msgspec.Raw(_encode(FindValue(digests, False, "", False)))
    for _ in range(200):
        await link.send(Call(next(_number), "dht.find_value", 600_000, question))
    await asyncio.sleep(5.0)


async def half_open(node: RpcNode, victim: PeerAddress) -> None:
    """First packets of many endpoints; the answers reach none of them."""
    ip, _, port = victim.addresses[0].rpartition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as between:
        between.bind(("127.0.0.9", 0))
        between.setblocking(False)
        endpoint = await Endpoint.bind(os.urandom(32), (ELSEWHERE,))
        dials = [asyncio.create_task(_dial(endpoint, victim, between)) for _ in range(HALF_OPEN)]
        loop, until = asyncio.get_running_loop(), time.monotonic() + 1.0
        while time.monotonic() < until:
            with contextlib.suppress(TimeoutError):
                packet = await asyncio.wait_for(loop.sock_recv(between, 2048), 0.2)
                await loop.sock_sendto(between, packet, (ip, int(port)))
        for dial in dials:
            dial.cancel()
        await asyncio.gather(*dials, return_exceptions=True)
        await endpoint.close()


async def _dial(endpoint: Endpoint, victim: PeerAddress, between: socket.socket) -> None:
    with contextlib.suppress(HearthError):
        await endpoint.dial(PeerId(victim.peer), [f"127.0.0.9:{between.getsockname()[1]}"], 1.0)


FLOODS: dict[str, Flood] = {
    flood.__name__: flood for flood in (dear, fill, tombstones, drip, cancels, unread, half_open)
}


async def _link(node: RpcNode, victim: PeerAddress) -> Link:
    """A connection by which it has shown its work."""
    peer = PeerId(victim.peer)
    if peer not in node.pool.links:
        await node.call(peer, HELLO, Hello(), HelloReply, deadline_s=10)
    return node.pool.links[peer]


async def _member(
    node: RpcNode, flood: Flood, victims: list[PeerAddress], going: asyncio.Event, done: Counter[str]
) -> None:
    for victim in itertools.cycle(victims):
        await going.wait()
        node.learn(victim)
        try:
            await flood(node, victim)
            done["done"] += 1
        except (HearthError, OSError, KeyError):
            done["refused"] += 1
            await asyncio.sleep(0.05)


async def main(keys: int, flood: Flood, addresses: list[str]) -> None:
    """Flood; see above."""
    os.nice(10)  # it is on another machine: what it takes of this one's processors is not what the others feel of it
    going, done = asyncio.Event(), Counter[str]()
    victims = [parse_address(address) for address in addresses]
    for _ in range(32):
        worked_key()  # the first are the honest ones'
    async with contextlib.AsyncExitStack() as stack:
        tasks = []
        for _ in range(keys):
            seed, answer = worked_key()
            node = await stack.enter_async_context(RpcNode(Identity(seed), listen=(ELSEWHERE,)))
            node.admission.guard(DIGITS, Worked(answer))
            node.register("dht.find_value", FindValue, lambda *_: Values([], Nodes([], [])))
            tasks.append(asyncio.create_task(_member(node, flood, victims, going, done)))
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            (going.set if line.strip() == "go" else going.clear)()
        print(json.dumps(done), flush=True)
        os._exit(0)  # to take leave with each key would take long


@contextlib.asynccontextmanager
async def crowd(flood: str, addresses: list[str], keys: int = 24) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    """A crowd that is told when to flood.

    Args:
        flood: one of `FLOODS`.
        addresses: of the peers that are flooded.
        keys: of the crowd, 32 at most.
    """
    command = [sys.executable, "-m", "tests.long.hostile.crowd", str(keys), flood, *addresses]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=pipe, stdout=pipe)
    assert process.stdin and process.stdout

    async def tell(word: str) -> None:
        assert process.stdin
        process.stdin.write(f"{word}\n".encode())
        await process.stdin.drain()

    try:
        assert await process.stdout.readline() == b"ready\n"
        yield tell
    finally:
        process.stdin.close()
        print(flood, (await process.stdout.read()).decode().strip(), file=sys.stderr)
        await process.wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), FLOODS[sys.argv[2]], sys.argv[3:]))

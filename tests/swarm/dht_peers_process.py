"""Several peers of a DHT in one process, led by lines on stdin; each line is answered by one line of JSON on stdout."""

import asyncio
import json
import sys
import time
from contextlib import AsyncExitStack
from typing import Any

from core.contracts.net import PeerAddress
from core.identity import parse_peer
from tests.dht_peers import Peer, peer


async def command(peers: list[Peer], stack: AsyncExitStack, name: str, arguments: list[Any]) -> Any:
    if name == "start":
        count, known = arguments
        addresses = [PeerAddress(parse_peer(text), tuple(found)) for text, found in known]
        for _ in range(count):
            made = await stack.enter_async_context(peer())
            for address in addresses:
                made.rpc.learn(address)
            await made.dht.bootstrap([parse_peer(text) for text, _ in known])
            peers.append(made)
            if not addresses:
                addresses, known = [made.rpc.address()], [[made.id.hex(), list(made.rpc.address().addresses)]]
        return [[made.id.hex(), list(made.rpc.address().addresses)] for made in peers]
    if name == "store":  # [[peer, key, subkey], ...] all at once
        stores = [peers[who].dht.store(key, b"v", 300, subkey=subkey) for who, key, subkey in arguments]
        return await asyncio.gather(*stores)
    if name == "read":  # every peer, one after the other: seconds and subkeys
        answers = []
        for made in peers:
            began = time.monotonic()
            [key] = arguments
            full, compact = await made.dht.get(key), (await made.dht.find_suffixes([key]))[key]
            answers.append([time.monotonic() - began, sorted(full), sorted(compact)])
        return answers
    if name == "held":
        return [sorted({record.key for record in made.dht.storage}) for made in peers]
    raise ValueError(name)


async def main() -> None:
    peers: list[Peer] = []
    async with AsyncExitStack() as stack:
        while line := await asyncio.to_thread(sys.stdin.readline):
            name, *arguments = json.loads(line)
            print(json.dumps(await command(peers, stack, name, arguments)), flush=True)


if __name__ == "__main__":
    asyncio.run(main())

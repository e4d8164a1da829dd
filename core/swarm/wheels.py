"""Files of GPU packs from peers: who is asked for one, and in what order. They are named by their hash, as all files.

Nobody tells in the DHT that it has some: few do, and all who are connected are asked in one round. What comes is what
the signed feed says, whoever gave it; who is slow or lies costs a retry elsewhere.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable
from pathlib import Path

from core.contracts.errors import HearthError, NetworkError
from core.contracts.hosting import FileRead, ReadFile
from core.contracts.net import PACK_READ, READ_FILE, of_run
from core.net.link import Link
from core.net.rpc import RpcNode
from core.swarm.fetching import fetch_file

ASKED = 64
"""Peers that are asked whether they have a file: those of the local network first."""
ASK_S = 5.0
GIVERS = 3
"""Peers that are tried: web servers have it as well."""
LEAST = 256 << 10
"""Bytes a second, or half of what this PC may receive: of a slower peer, some gigabytes would take hours."""


async def fetch_wheel(
    node: RpcNode, run_id: str, sha256: str, size: int, partial: Path, told: Callable[[int], None]
) -> None:
    """Put a file together from peers of a run. What is there already is not fetched again.

    Args:
        node: this peer's connections.
        run_id: the run.
        sha256: the file's hash, which is its name.
        size: its bytes.
        partial: where it is put together.
        told: is told how many bytes are there.

    Raises:
        NetworkError: no peer gave the whole file; what came so far stays to be gone on with.
        OSError: it cannot be written.
    """
    method, links = of_run(READ_FILE, run_id), [*node.pool.links.values()]
    random.shuffle(links)
    links.sort(key=lambda link: not link.near)

    async def has(link: Link) -> bool:
        with contextlib.suppress(HearthError):
            reply, _ = await node.call(link.peer, method, ReadFile(sha256, 0, 1), FileRead, deadline_s=ASK_S)
            return reply.size == size
        return False

    have = await asyncio.gather(*map(has, links[:ASKED]))
    givers = [link.peer for link, given in zip(links, have, strict=False) if given][:GIVERS]
    if not givers:
        raise NetworkError(f"No peer has the file {sha256[:8]}.")
    least = min(LEAST, node.far.download.rate / 2 or LEAST)
    await fetch_file(node, run_id, sha256, size, givers, partial, PACK_READ, least=least, told=told)

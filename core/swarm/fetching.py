"""Fetching a file that is named by its hash: in chunks, from one peer after the other, checked before it counts."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from core.contracts.errors import NetworkError
from core.contracts.net import of_run
from core.identity import PeerId
from core.net.rpc import RpcNode
from core.store.blobs import Sha256, Size, sha256_of

log = logging.getLogger(__name__)

CHUNK = 1 << 20
"""Bytes of one answer."""
CHUNK_S = 15.0
"""For a chunk: 70 KB/s, and the dial before the first one."""
LIAR_POINTS = 5.0
"""For a file that is not what its hash says: the second one soon after means a ban."""


class ReadBlob(msgspec.Struct, frozen=True, array_like=True):
    """Bytes of a file; the payload of the answer holds them."""

    sha256: Sha256
    offset: Annotated[int, msgspec.Meta(ge=0)]
    length: Annotated[int, msgspec.Meta(ge=1, le=CHUNK)]


class BlobRead(msgspec.Struct, frozen=True, array_like=True):
    size: Size
    """Of the whole file."""


async def fetch_file(
    node: RpcNode, run_id: str, sha256: str, size: int, peers: Sequence[PeerId], partial: Path
) -> None:
    """Put a file together from peers that have it, and check it. What is there already is not fetched again.

    Args:
        node: this peer's connections.
        run_id: the run that the file is of.
        sha256: the file's hash, which is its name.
        size: its bytes.
        peers: who has it.
        partial: where it is put together.

    Raises:
        NetworkError: no peer gave the whole file, or all gave a wrong one; what came so far stays to be gone on with.
        OSError: it cannot be written.
    """
    left = list(peers)
    while left:
        peer = left.pop(0)
        offset = await asyncio.to_thread(_size, partial, size)
        try:
            await _fetch_from(node, run_id, peer, sha256, offset, size, partial)
        except NetworkError as error:
            log.info("Peer %s gave no more of the file %s: %s", peer.hex()[:8], sha256[:8], error)
            continue
        if await asyncio.to_thread(sha256_of, partial) == sha256:
            return
        await asyncio.to_thread(partial.unlink)
        if offset:  # others gave a part of it: this one is asked for the whole
            left.append(peer)
        else:
            node.strike(peer, LIAR_POINTS)
            log.warning("Peer %s gave something else than the file %s.", peer.hex()[:8], sha256[:8])
    raise NetworkError(f"No peer gave the file {sha256[:8]}.")


async def _fetch_from(
    node: RpcNode, run_id: str, peer: PeerId, sha256: str, offset: int, size: int, partial: Path
) -> None:
    """Go on with a partial file until it has its size."""
    method = of_run("blob.read", run_id)
    while offset < size:
        request = ReadBlob(sha256, offset, min(CHUNK, size - offset))
        reply, data = await node.call(peer, method, request, BlobRead, deadline_s=CHUNK_S)
        if reply.size != size or len(data) != request.length:
            raise NetworkError(f"it has {reply.size} bytes there, not {size}.")
        await asyncio.to_thread(_write, partial, offset, data)
        offset += len(data)


def _size(partial: Path, limit: int) -> int:
    """Bytes that are there; a file that is too long begins anew."""
    try:
        found = partial.stat().st_size
    except FileNotFoundError:
        return 0
    if found > limit:
        partial.unlink()
        return 0
    return found


def _write(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b" if offset else "wb") as file:
        file.seek(offset)
        file.write(data)

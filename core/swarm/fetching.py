"""Fetching a file that is named by its hash: in chunks, from one peer after the other, hashed as it comes."""

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from core.contracts.errors import NetworkError
from core.contracts.hosting import CHUNK, FileRead, ReadFile
from core.contracts.net import READ_FILE, of_run
from core.identity import PeerId
from core.net.metrics import count_as
from core.net.rpc import RpcNode

log = logging.getLogger(__name__)

CHUNK_S = 60.0
"""For a chunk, behind those of others and all calls of the peer that gives it, and the dial before the first one."""
SLOW_S, PACE_S = 20.0, 20.0
"""The same where others may be faster, and after how long a peer's pace counts there."""
LIAR_POINTS = 5.0
"""For a file that is not what its hash says: the second one soon after means a ban."""


async def fetch_file(
    node: RpcNode,
    run_id: str,
    sha256: str,
    size: int,
    peers: Sequence[PeerId],
    partial: Path,
    counted: str = "",
    *,
    least: float = 0.0,
    told: Callable[[int], None] = lambda have: None,
) -> None:
    """Put a file together from peers that have it, and check it. What is there already is not fetched again.

    Args:
        node: this peer's connections.
        run_id: the run that the file is of.
        sha256: the file's hash, which is its name.
        size: its bytes.
        peers: who has it.
        partial: where it is put together.
        counted: as what its bytes are counted, such as `core.contracts.net.DATA_READ`; "": as a copy of a checkpoint.
        least: bytes a second; a peer that gives fewer is given up.
        told: is told how many bytes are there.

    Raises:
        NetworkError: no peer gave the whole file, or all gave a wrong one; what came so far stays to be gone on with.
        OSError: it cannot be written.
    """
    left, method = list(peers), of_run(READ_FILE, run_id)
    file = await asyncio.to_thread(Partial, partial, size)
    while left:
        peer, begun = left.pop(0), file.offset
        try:
            await _fetch_from(node, method, peer, sha256, file, counted and of_run(counted, run_id), least, told)
        except NetworkError as error:
            log.info("Peer %s gave no more of the file %s: %s", peer.hex()[:8], sha256[:8], error)
            continue
        if file.digest.hexdigest() == sha256:
            return
        await asyncio.to_thread(file.begin_anew)
        if begun:  # others gave a part of it: this one is asked for the whole
            left.append(peer)
        else:
            node.strike(peer, LIAR_POINTS)
            log.warning("Peer %s gave something else than the file %s.", peer.hex()[:8], sha256[:8])
    raise NetworkError(f"No peer gave the file {sha256[:8]}.")


class Partial:
    """A file that is put together, and the hash of what is there."""

    def __init__(self, path: Path, size: int) -> None:
        """Go on with what is there; a file that is too long begins anew.

        Args:
            path: The file.
            size: Its bytes when it is finished.

        Raises:
            OSError: It cannot be read.
        """
        self._path, self.size = path, size
        self.offset, self.digest = 0, hashlib.sha256()
        if not path.exists():
            return
        if not path.is_file() or path.stat().st_size > size:
            path.unlink()
            return
        with path.open("rb") as file:
            while data := file.read(CHUNK):
                self._count(data)

    def add(self, data: bytes) -> None:
        """Write what comes next."""
        with self._path.open("r+b" if self.offset else "wb") as file:
            file.seek(self.offset)
            file.write(data)
        self._count(data)

    def begin_anew(self) -> None:
        """It was all wrong."""
        self._path.unlink()
        self.offset, self.digest = 0, hashlib.sha256()

    def _count(self, data: bytes) -> None:
        self.offset += len(data)
        self.digest.update(data)


async def _fetch_from(
    node: RpcNode,
    method: str,
    peer: PeerId,
    sha256: str,
    file: Partial,
    counted: str,
    least: float,
    told: Callable[[int], None],
) -> None:
    began, begun = time.monotonic(), file.offset
    while file.offset < file.size:
        request = ReadFile(sha256, file.offset, min(CHUNK, file.size - file.offset))
        reply, data = await node.call(peer, method, request, FileRead, deadline_s=SLOW_S if least else CHUNK_S)
        if counted:
            count_as(node.metrics, method, counted, len(data), 0)
        if reply.size != file.size or len(data) != request.length:
            raise NetworkError(f"it has {reply.size} bytes there, not {file.size}.")
        await asyncio.to_thread(file.add, data)
        told(file.offset)
        if (seconds := time.monotonic() - began) > PACE_S and file.offset - begun < least * seconds:
            raise NetworkError(f"it gave {file.offset - begun:,} bytes in {seconds:.0f} s.")

"""What is asked of this PC's copies: read them, and keep those of other peers.

Each file is kept as long as no better one is vouched for. A file of a version that nothing can have come to is not
taken, and a peer pushes out only what it gave itself, however high a version it names. Each is kept with the signature
of who gave it, which is told with it.
"""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from core.contracts.errors import CallRefused, CheckpointError, HearthError
from core.contracts.files import TRUNK, PartFile
from core.contracts.hosting import FileKept, FileRead, KeepFile, ReadFile
from core.contracts.net import READ_FILE, of_run
from core.experts.grid import Uid
from core.identity import PeerId, parse_peer, peer_text
from core.net.limits import TokenBucket
from core.net.method import Context
from core.net.metrics import count_as
from core.net.rpc import RpcNode
from core.store.run_files import RunFiles
from core.swarm.beliefs import Beliefs
from core.swarm.fetching import CHUNK_S
from core.swarm.hosted import HostedExperts
from core.swarm.members import Others
from core.swarm.signatures import Signatures

UPLOAD_BYTES_PER_S = 8.0 * (1 << 20)
"""Given to all other peers together."""
KEEPING = 4
"""Copies fetched at once for others; further ones are refused, and asked for again."""


class Copies(Protocol):
    """This PC's copies, and how they are made."""

    beliefs: Beliefs
    signatures: Signatures

    async def fetch(self, file: PartFile, peers: Sequence[PeerId]) -> Path:
        """Fetch a file (HearthError, OSError: it cannot be had)."""

    def is_rejected(self, sha256: str) -> bool:
        """Whether a file could not be used."""

    def is_own(self, part: str) -> bool:
        """Whether this PC made the newest state of a part."""

    def disown(self, part: str) -> None:
        """Another peer made a newer one."""


class Keeping:
    """Of one run."""

    def __init__(
        self, run_id: str, copies: Copies, files: RunFiles, hosted: HostedExperts, members: Others, node: RpcNode
    ) -> None:
        """Answer from now on, until the run's methods are unregistered.

        Args:
            run_id: the run.
            copies: what is here.
            files: where it is.
            hosted: the experts that this PC hosts.
            members: the peers of the run.
            node: this peer's connections.
        """
        self._run_id, self._copies, self._files = run_id, copies, files
        self._hosted, self._members, self._node = hosted, members, node
        self._upload = TokenBucket(UPLOAD_BYTES_PER_S, 4 * UPLOAD_BYTES_PER_S)
        self._under_way = 0
        self._givers: dict[str, PeerId] = {}
        """Who gave the newest state of each part that was given to be kept."""
        self._reading = of_run(READ_FILE, run_id)
        self.method = of_run("file.keep", run_id)
        node.register(self._reading, ReadFile, self._read)
        node.register(self.method, KeepFile, self._keep, cost=4.0)

    async def _read(self, request: ReadFile, payload: bytes, context: Context) -> tuple[FileRead, bytes]:
        if wait_s := self._upload.spend(request.length, time.monotonic()):
            await asyncio.sleep(min(wait_s, CHUNK_S / 2))
        try:
            size, data = await asyncio.to_thread(self._files.read, request.sha256, request.offset, request.length)
        except CheckpointError:
            self._files.forget(request.sha256)
            raise
        if counted := self._files.counted(request.sha256):
            count_as(self._node.metrics, self._reading, of_run(counted, self._run_id), 0, len(data))
        return FileRead(size), data

    async def _keep(self, request: KeepFile, payload: bytes, context: Context) -> FileKept:
        signed, copies, peer = request.file, self._copies, context.peer
        file = signed.file
        if not self._files.belongs(file.part):
            return FileKept(False, "This run has no such part.")
        if signed.trainer != peer or copies.signatures.trainer(signed, peer) is None:
            return FileKept(False, "Only a state that you have signed is kept here.")
        if copies.beliefs.counts(file.part, file.version) < file.version:
            return FileKept(False, "No state of this run can have come so far by now.")
        newest, giver = self._files.newest(file.part), self._givers.get(file.part)
        if newest is not None and (newest == file or (newest.version >= file.version and giver in (None, peer))):
            return FileKept(True)
        if self._under_way >= KEEPING:
            raise CallRefused("This peer is busy with other copies. Ask it again in a moment.")
        self._under_way += 1
        try:
            if self._node.distrusts(peer):
                return FileKept(False, "You were banned not long ago.")
            if copies.is_rejected(file.sha256):
                return FileKept(False, "This file could not be used.")
            if newest is not None and not await self._may_replace(file.part, peer):
                return FileKept(False, "Another peer hosts this part, and gives its states.")
            self._files.given(file.sha256, peer)
            copies.signatures.remember(signed)
            await copies.fetch(file, [peer])
            self._givers[file.part] = peer
        except (HearthError, OSError) as error:
            return FileKept(False, str(error)[:200])
        finally:
            self._under_way -= 1
        copies.disown(file.part)
        return FileKept(True)

    async def _may_replace(self, part: str, peer: PeerId) -> bool:
        """Whether a peer may have the states that are kept here of a part superseded: no stranger may push out those
        of its host by a higher version."""
        giver = self._givers.get(part)
        if part == TRUNK:  # each trainer has its own
            known = self._members.keepers(part)
            return not self._copies.is_own(part) and (giver in (None, peer) or peer_text(giver) not in known)
        if giver == peer:
            return True
        uid = Uid.parse(part)
        found = (await self._members.hosts([uid]))[uid]
        hosts = {*map(parse_peer, found.hosts), *([self._node.peer] if uid in self._hosted.claimed else [])}
        return hosts == {peer} or (not hosts and peer in found.left)  # it was the host, and hands out its last state

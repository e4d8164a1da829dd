"""Checkpoint files among the peers: who keeps which is in the DHT, two others keep each newest state, anybody fetches.

A key `digits.ckpt.digits.0.1.3` holds a record of each keeper. A file is fetched in chunks, goes on at another keeper
where one fails, and counts only once its hash is right.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from core.contracts.errors import CallRefused, CheckpointError, HearthError, NetworkError
from core.contracts.net import of_run
from core.contracts.pipe import SavedPart
from core.dht.node import DHTNode
from core.dht.records import own_subkey
from core.identity import PeerId, parse_peer, peer_text
from core.net.limits import TokenBucket
from core.net.rpc import Context, RpcNode
from core.store.blobs import COPIES, Blob, Blobs, Sha256, Size, Version
from core.store.checkpoint_files import blob_path, newest_states
from core.store.quota import TRUNK, Disk
from core.swarm.fetching import CHUNK, CHUNK_S, BlobRead, ReadBlob, fetch_file

log = logging.getLogger(__name__)

UPLOAD_BYTES_PER_S = 8.0 * CHUNK
"""Given to all other peers together."""
KEEP_S = 120.0
"""For a peer to fetch the copy that it was asked to keep."""
KEEPING = 4
"""Copies fetched at once for others, and handed out at once; further ones are refused, and asked for again."""
REFUSALS = 4
"""Peers beyond `COPIES` that are asked to keep a copy."""
AGAIN_S = 20.0
"""Until others are asked again to keep a file for which too few keepers were found."""
EXPIRY_S = 3600.0
RENEW_S = 1500.0
"""Records are published again well before they expire."""
TICK_S = 5.0
FLUSH_S = 10.0
"""For the last copies when this peer leaves."""
BUSY_S = 0.25
"""Until a peer that is busy is asked once more by one that leaves."""
FETCHES = 8
"""Files fetched at once."""
REJECTED = 1024
"""Files remembered that could not be used."""
MAX_COPY = 512 << 20
"""Bytes of a file that is kept for another peer."""


class KeepBlob(msgspec.Struct, frozen=True, array_like=True):
    """Keep a copy of this file, which is here. Answered when it is done."""

    part: Annotated[str, msgspec.Meta(max_length=64)]
    version: Version
    sha256: Sha256
    size: Size


class BlobKept(msgspec.Struct, frozen=True, array_like=True):
    kept: bool
    """This state of the part or a newer one."""
    why: Annotated[str, msgspec.Meta(max_length=200)] = ""


class _CopyRecord(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    sha256: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
    size: Size
    version: Version
    time: float
    """Unix seconds."""


class Copy(NamedTuple):
    """A file that a peer says it keeps."""

    peer: PeerId
    blob: Blob


class Copies:
    """Use as `async with Copies(...)`, inside the DHT's own."""

    def __init__(self, run_id: str, checkpoints: Path, blobs: Blobs, node: RpcNode, dht: DHTNode, disk: Disk) -> None:
        """Args: the run, the folder of compute's checkpoints, this disk's files, the network, who gives room."""
        self._run_id, self._checkpoints, self._blobs, self._node, self._dht = run_id, checkpoints, blobs, node, dht
        self._disk = disk
        disk.shared, disk.spares = True, lambda: blobs.spares(self._held_elsewhere())
        self.keepers: Callable[[str], Sequence[str]] = lambda part: ()
        """The peers to keep a part, the first ones first; set by hosting."""
        self._upload = TokenBucket(UPLOAD_BYTES_PER_S, 4 * UPLOAD_BYTES_PER_S)
        self._held: dict[str, dict[str, int]] = {}
        """By part the versions that other peers confirmed to keep."""
        self._told: dict[str, tuple[float, str]] = {}
        self._asked: dict[str, tuple[str, float]] = {}
        """By part the file for which others were asked last, and when."""
        self._own: set[str] = set()
        """Parts whose copies this peer cares for: it made their newest state."""
        self._fetching: dict[Blob, asyncio.Task[Path]] = {}
        self._slots = asyncio.Semaphore(FETCHES)
        self._keeping = 0
        self.expert_bytes = MAX_COPY
        """The most that an expert's file may have; set by hosting."""
        self._rejected: dict[str, None] = {}
        """Hashes of files that could not be used: they are fetched and named no more."""
        self.hosts: Callable[[str], Awaitable[set[PeerId]]] = _nobody
        """The other living peers that may change a part now; set by hosting."""
        self._givers: dict[str, PeerId] = {}
        """Who gave the newest state of each part that was given to be kept."""
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        node.register(of_run("blob.read", run_id), ReadBlob, self._read)
        self._keep_method = of_run("blob.keep", run_id)
        node.register(self._keep_method, KeepBlob, self._keep, cost=4.0)

    async def __aenter__(self) -> "Copies":
        await asyncio.to_thread(self._blobs.load)
        for part, blob in (await asyncio.to_thread(newest_states, self._checkpoints)).items():
            if part != TRUNK and blob.version:  # what this PC trained alone is its to give
                self._own.add(part)
                self._blobs.link(blob_path(self._checkpoints, blob.sha256))
        self._task = asyncio.create_task(self._run_always(), name="copies")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Hand out what only this peer has, as far as `FLUSH_S` goes."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._asked.clear()  # whom this interrupted is asked again
        with contextlib.suppress(HearthError, TimeoutError):
            async with asyncio.timeout(FLUSH_S):
                await self._publish()
                while await self._hand_out():  # noqa: ASYNC110  (what others have to do is no event here)
                    await asyncio.sleep(BUSY_S)

    # This disk

    def saved(self, parts: Mapping[str, SavedPart]) -> None:
        """Compute has saved these; what has been trained is kept here and elsewhere. New ones are the same anywhere."""
        for part, file in parts.items():
            if file.version:
                self._own.add(part)
                self._blobs.link(blob_path(self._checkpoints, file.sha256))
        self._wake.set()

    def own(self, part: str) -> Blob | None:
        """The newest state of a part on this disk."""
        return self._blobs.newest(part)

    def _held_elsewhere(self) -> dict[str, int]:
        """For each part how many others keep what is the newest here, or newer."""
        newest = {blob.part: blob.version for blob in self._blobs.all_newest()}
        return {
            part: sum(version >= newest.get(part, 0) for version in held.values()) for part, held in self._held.items()
        }

    # Telling and finding

    def _key(self, part: str) -> str:
        return f"{self._run_id}.ckpt.{part}"

    async def _publish(self) -> None:
        """Tell which newest states are here, as far as that has changed or was told long ago."""
        now, entries = time.monotonic(), {}
        for blob in self._blobs.all_newest():
            at, sha256 = self._told.get(blob.part, (0.0, ""))
            if blob.sha256 != sha256 or now - at > RENEW_S:
                record = _CopyRecord(bytes.fromhex(blob.sha256), blob.size, blob.version, time.time())
                entries[self._key(blob.part)] = {own_subkey(self._node.peer): msgspec.msgpack.encode(record)}
                self._told[blob.part] = (now, blob.sha256)
        if entries and self._dht.contacts():
            await self._dht.store_many(entries, EXPIRY_S)
        elif entries:
            self._told.clear()  # nobody was there

    async def find(self, parts: Iterable[str]) -> dict[str, list[Copy]]:
        """Who keeps each part according to the DHT, the newest first; other peers only, and none that was banned."""
        wanted = list(parts)
        records = await self._dht.get_many(map(self._key, wanted))
        found: dict[str, list[Copy]] = {}
        for part in wanted:
            for subkey, record in records[self._key(part)].items():
                with contextlib.suppress(msgspec.MsgspecError):
                    mine = record.peer == self._node.peer
                    if subkey == own_subkey(record.peer) and not mine and not self._node.distrusts(record.peer):
                        told = msgspec.msgpack.decode(record.value, type=_CopyRecord)
                        blob = Blob(part, told.version, told.sha256.hex(), told.size)
                        found.setdefault(part, []).append(Copy(record.peer, blob))
        for copies in found.values():
            copies.sort(key=lambda copy: copy.blob.version, reverse=True)
        return found

    # Fetching

    async def newest(self, part: str, copies: Sequence[Copy], above: int = 0) -> Path | None:
        """The newest state of a part that can be had, if it is above a version: of this disk or another peer.

        Args: the part, its copies as of `find`, and the version that is not enough.
        """
        own = self._blobs.newest(part)
        least = max(above, own.version if own else 0)
        files: dict[Blob, list[PeerId]] = {}
        for copy in copies:
            if copy.blob.version > least and copy.blob.sha256 not in self._rejected:
                files.setdefault(copy.blob, []).append(copy.peer)
        for blob, peers in files.items():
            try:
                return await self.fetch(blob, peers)
            except (HearthError, OSError) as error:
                log.warning("Version %d of %s could not be fetched: %s", blob.version, part, error)
        return self._blobs.path(own.sha256) if own and own.version > above else None

    async def fetch(self, blob: Blob, peers: Sequence[PeerId]) -> Path:
        """Fetch a part's file, wherever it is whole; several who want it share one transfer.

        Raises:
            NetworkError: no peer gave it.
            CheckpointError: there is no room for it, or it is not what it was said to be.
            OSError: it cannot be written.
        """
        if (known := self._blobs.get(blob.sha256)) is not None:
            if known != blob:
                raise CheckpointError(f"it is version {known.version} of {known.part}")
            return self._blobs.path(blob.sha256)
        task = self._fetching.get(blob)
        if task is None:
            if any(blob.sha256 == other.sha256 for other in self._fetching):
                raise CheckpointError("it is being fetched as something else")
            task = asyncio.create_task(self._fetch(blob, peers), name=f"fetch {blob.part}")
            self._fetching[blob] = task
            task.add_done_callback(lambda done: self._fetched(blob, done))
        return await asyncio.shield(task)

    def _fetched(self, blob: Blob, task: asyncio.Task[Path]) -> None:
        del self._fetching[blob]
        if not task.cancelled() and (error := task.exception()):  # nobody may wait for it any more
            log.debug("%s was not fetched: %s", blob.part, error)

    def reject(self, sha256: str, why: str) -> None:
        """A file that compute could not use is not offered again, nor given to others."""
        self._rejected[sha256] = None
        if len(self._rejected) > REJECTED:
            del self._rejected[next(iter(self._rejected))]
        if self._blobs.get(sha256) is not None:
            self._blobs.reject(sha256, why)

    async def _fetch(self, blob: Blob, peers: Sequence[PeerId]) -> Path:
        if blob.part != TRUNK and blob.size > self.expert_bytes:
            raise CheckpointError(f"{blob.size} bytes are too many for an expert of this run.")
        if blob.size > MAX_COPY:
            raise CheckpointError(f"{blob.size} bytes are too many for a copy.")
        partial = self._blobs.partial(blob.sha256)
        async with self._slots, self._disk.hold(partial, blob.size, self._blobs.newest(blob.part) is not None):
            await fetch_file(self._node, self._run_id, blob.sha256, blob.size, peers, partial)
        try:
            self._blobs.accept(blob)
        except CheckpointError:
            await asyncio.to_thread(partial.unlink, missing_ok=True)
            raise
        self._wake.set()
        return self._blobs.path(blob.sha256)

    # Handing out

    async def _run_always(self) -> None:
        while True:
            try:
                if self._dht.contacts():
                    await self._publish()
                    await self._hand_out()
            except HearthError as error:
                log.warning("The copies of checkpoints could not be cared for: %s", error)
            except Exception:  # whatever a disk or a peer does, later checkpoints are handed out
                log.exception("The copies of checkpoints could not be cared for.")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await self._wake.wait()
            self._wake.clear()

    async def _hand_out(self) -> bool:
        """Have two other peers keep each newest state that was made here; whether some were too busy for that."""
        slots = asyncio.Semaphore(KEEPING)

        async def care(blob: Blob) -> bool:
            async with slots:
                return await self._have_kept(blob)

        return any(await _all(care(blob) for blob in self._blobs.all_newest() if self._is_due(blob)))

    def _is_due(self, blob: Blob) -> bool:
        """Whether a state that was made here has too few keepers, and others may be asked (again)."""
        candidates = self.keepers(blob.part) if blob.part in self._own else ()
        held = self._held.get(blob.part, {})
        kept = sum(held.get(peer, -1) >= blob.version for peer in candidates)
        sha256, at = self._asked.get(blob.part, ("", 0.0))
        return kept < min(COPIES, len(candidates)) and (sha256 != blob.sha256 or time.monotonic() - at > AGAIN_S)

    async def _have_kept(self, blob: Blob) -> bool:
        """Ask one peer after the other, until `COPIES` keep it; whether it has too few keepers as some were busy."""
        self._asked[blob.part] = (blob.sha256, time.monotonic())
        candidates = list(self.keepers(blob.part))
        held = self._held.get(blob.part, {})
        held = self._held[blob.part] = {peer: version for peer, version in held.items() if peer in candidates}
        request = KeepBlob(blob.part, blob.version, blob.sha256, blob.size)
        busy = False
        for peer in candidates[: COPIES + REFUSALS]:
            if sum(version >= blob.version for version in held.values()) >= COPIES:
                return False
            if held.get(peer, -1) >= blob.version:
                continue
            try:
                reply, _ = await self._node.call(
                    parse_peer(peer), self._keep_method, request, BlobKept, deadline_s=KEEP_S
                )
            except CallRefused:
                busy = True
            except NetworkError as error:
                log.debug("Peer %s keeps no copy of %s now: %s", peer[:8], blob.part, error)
            else:
                if reply.kept:
                    held[peer] = blob.version
        if busy:
            del self._asked[blob.part]  # soon again
        return busy

    # What others ask

    async def _read(self, request: ReadBlob, payload: bytes, context: Context) -> tuple[BlobRead, bytes]:
        if wait_s := self._upload.spend(request.length, time.monotonic()):
            await asyncio.sleep(min(wait_s, CHUNK_S / 2))
        size, data = await asyncio.to_thread(self._blobs.read, request.sha256, request.offset, request.length)
        return BlobRead(size), data

    async def _keep(self, request: KeepBlob, payload: bytes, context: Context) -> BlobKept:
        if not self._blobs.belongs(request.part):
            return BlobKept(False, "This run has no such part.")
        newest = self._blobs.newest(request.part)
        if newest is not None and newest.version >= request.version:
            return BlobKept(True)
        if self._keeping >= KEEPING:
            raise CallRefused("This peer is busy with other copies. Ask it again in a moment.")
        self._keeping += 1
        try:
            if self._node.distrusts(context.peer):
                return BlobKept(False, "You were banned not long ago.")
            if request.sha256 in self._rejected:
                return BlobKept(False, "This file could not be used.")
            if newest is not None and not await self._may_replace(request.part, context.peer):
                return BlobKept(False, "Another peer hosts this part, and gives its states.")
            await self.fetch(Blob(request.part, request.version, request.sha256, request.size), [context.peer])
            self._givers[request.part] = context.peer
        except (HearthError, OSError) as error:
            return BlobKept(False, str(error)[:200])
        finally:
            self._keeping -= 1
        self._own.discard(request.part)
        return BlobKept(True)

    async def _may_replace(self, part: str, peer: PeerId) -> bool:
        """Whether a peer may have the states that are kept here of a part superseded: no stranger may push out those
        of its host by a higher version."""
        giver = self._givers.get(part)
        if part == TRUNK:  # each trainer has its own
            return part not in self._own and (giver in (None, peer) or peer_text(giver) not in self.keepers(part))
        return giver == peer or await self.hosts(part) <= {peer}


async def _nobody(part: str) -> set[PeerId]:
    return set()


async def _all(work: Iterable[Awaitable[bool]]) -> list[bool]:
    """Do all, and raise the first error only then."""
    done = []
    for result in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
        done.append(result)
    return done

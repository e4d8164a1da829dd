"""What a peer needs beside experts and takes from others: the run's data by hash, and the newest trunk."""

import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from core.contracts.errors import ComputeError, HearthError
from core.contracts.manifest import Manifest
from core.contracts.pipe import TakeTrunk, Tensor, ToCompute
from core.dht.node import DHTNode
from core.dht.records import own_subkey
from core.net.rpc import RpcNode
from core.store import shards
from core.store.blobs import Blobs
from core.store.progress import Progress
from core.store.quota import TRUNK, Disk
from core.swarm.fetching import fetch_file
from core.swarm.replication import EXPIRY_S, RENEW_S, Copies

log = logging.getLogger(__name__)

TRUNK_S = 60.0
"""Between two looks for a newer trunk, where none is trained."""
GIVERS = 8
"""Peers that are asked for one file."""


class Data:
    """The text of a run: what is here is given to others, what is missing comes from them."""

    def __init__(self, manifest: Manifest, folder: Path, blobs: Blobs, node: RpcNode, dht: DHTNode, disk: Disk) -> None:
        """Args: the run and its folder, what others may read, the network, who gives room."""
        self._manifest, self._folder, self._blobs, self._disk = manifest, folder, blobs, disk
        self._node, self._dht = node, dht
        self._told = 0.0
        self._missing = {shard.sha256 for shard in manifest.shards}

    async def tend(self) -> None:
        """Fetch what is missing, tell what is here.

        Raises:
            HearthError: the network or the disk failed; to be tried again.
        """
        if not self._manifest.shards:
            return
        if self._missing:
            await self._complete()
        if not self._told or time.monotonic() - self._told > RENEW_S:
            here = [s.sha256 for s in self._manifest.shards if s.sha256 not in self._missing]
            own = {own_subkey(self._node.peer): b""}
            await self._dht.store_many({self._key(sha256): own for sha256 in here}, EXPIRY_S)
            self._told = time.monotonic()

    async def _complete(self) -> None:
        """Make or fetch what is not here."""
        before = len(self._missing)
        for shard in shards.prepare(self._manifest, self._folder):
            records = await self._dht.get(self._key(shard.sha256))
            givers = [r.peer for subkey, r in records.items() if subkey == own_subkey(r.peer) != self._node.peer.hex()]
            partial = self._blobs.partial(shard.sha256)
            try:
                async with self._disk.hold(partial, 2 * shard.size):  # it is there twice for a moment
                    await fetch_file(
                        self._node, self._manifest.run_id, shard.sha256, shard.size, givers[:GIVERS], partial
                    )
                    shards.accept(self._folder, shard, partial.read_bytes())
                    partial.unlink()
            except (HearthError, OSError) as error:
                log.warning("A part of the run's text could not be fetched yet: %s", error)
        self._missing = {shard.sha256 for shard in shards.missing(self._manifest, self._folder)}
        for shard in self._manifest.shards:
            if shard.sha256 not in self._missing:
                self._blobs.share(shard.sha256, self._folder / shards.FOLDER / shard.sha256)
        if len(self._missing) < before:
            self._told = 0.0

    def _key(self, sha256: str) -> str:
        return f"{self._manifest.run_id}.data.{sha256}"


class Compute(Protocol):
    """What is asked of the supervisor of compute."""

    progress: Progress
    life: int
    fell_back: bool
    """It began without a trunk, or something of its checkpoints was damaged."""

    @property
    def at_work(self) -> bool:
        """Whether it is."""

    async def send(self, message: ToCompute, tensors: Sequence[Tensor]) -> None:
        """Hand it a message (ComputeError: it is gone)."""


class TrunkFollower:
    """Gives compute the newest trunk: to a trainer that has none, or lost its newest; again and again where none is
    trained. What a trainer has trained gives way to no stranger's."""

    def __init__(self, copies: Copies, compute: Compute, trains: bool) -> None:
        self._copies, self._compute, self._trains = copies, compute, trains
        self._life, self._looked = 0, 0.0

    async def tend(self) -> None:
        """Look for a newer one if it is time.

        Raises:
            HearthError: the network failed; to be tried again.
        """
        compute, now = self._compute, time.monotonic()
        rest_s = TRUNK_S if compute.progress.step else 0.0  # without any trunk, at every occasion
        began = compute.life != self._life
        again = began and compute.fell_back if self._trains else began or now - self._looked > rest_s
        if not (again and compute.at_work):
            return
        found = (await self._copies.find([TRUNK])).get(TRUNK, [])
        path = await self._copies.newest(TRUNK, found, compute.progress.step)
        if path is not None:
            try:
                await compute.send(TakeTrunk(str(path)), ())
            except ComputeError:
                return
        self._life, self._looked = compute.life, now

"""The data of a run, by hash: what is here is given to other peers, what is missing comes from them."""

import logging
import time

from core.contracts.errors import HearthError
from core.contracts.manifest import Manifest, Shard
from core.dht.node import DHTNode
from core.dht.records import own_subkey
from core.net.rpc import RpcNode
from core.store import shards
from core.store.run_files import RunFiles
from core.swarm.fetching import fetch_file
from core.swarm.replication import EXPIRY_S, RENEW_S

log = logging.getLogger(__name__)

GIVERS = 8
"""Peers that are asked for one file."""


class ShardExchange:
    """Looks after the shards of one run."""

    def __init__(self, manifest: Manifest, files: RunFiles, node: RpcNode, dht: DHTNode) -> None:
        """
        Args:
            manifest: The run.
            files: The run's files on this disk.
            node: This peer's connections.
            dht: Where peers tell which shards they have.
        """
        self._manifest, self._files, self._node, self._dht = manifest, files, node, dht
        self._told = 0.0
        self._missing: list[Shard] | None = None
        """None: it was not looked yet."""

    async def tend(self) -> None:
        """Fetch what is missing, tell what is here.

        Raises:
            HearthError: The network or the disk failed; to be tried again.
        """
        if not self._manifest.shards:
            return
        if self._missing is None:
            self._missing = shards.prepare(self._manifest, self._files.folder)
            self._share(*(shard for shard in self._manifest.shards if shard not in self._missing))
        for shard in list(self._missing):
            await self._fetch(shard, self._missing)
        if not self._told or time.monotonic() - self._told > RENEW_S:
            here = [self._key(shard) for shard in self._manifest.shards if shard not in self._missing]
            own = {own_subkey(self._node.peer): b""}
            await self._dht.store_many(dict.fromkeys(here, own), EXPIRY_S)
            self._told = time.monotonic()

    async def _fetch(self, shard: Shard, missing: list[Shard]) -> None:
        records = await self._dht.get(self._key(shard))
        givers = [r.peer for subkey, r in records.items() if subkey == own_subkey(r.peer) != self._node.peer.hex()]
        files = self._files
        try:
            partial = files.partial(shard.sha256)
            async with files.quota.hold(partial, shard.size):
                await fetch_file(self._node, self._manifest.run_id, shard.sha256, shard.size, givers[:GIVERS], partial)
                shards.place(files.folder, shard, partial)
        except (HearthError, OSError) as error:
            log.warning("A part of the run's text could not be fetched yet: %s", error)
        else:
            missing.remove(shard)
            self._share(shard)
            self._told = 0.0

    def _share(self, *here: Shard) -> None:
        for shard in here:
            self._files.share(shard.sha256, shards.path_of(self._files.folder, shard))

    def _key(self, shard: Shard) -> str:
        return f"{self._manifest.run_id}.data.{shard.sha256}"

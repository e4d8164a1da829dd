"""The data of a run, by hash: what is here is given to peers, what is missing comes from them or from web servers.

Each peer tells in the DHT which shards it has, a bit for each of the run's list. A trainer fetches a few ahead of its
training, those first of which there are the fewest copies, and of these one by chance; where the disk is full, the most
replicated of those that it has trained on go (DeDLOC, appendix H). A backbone peer keeps what it has room for.
"""

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from core.contracts.data import MOST_LISTED
from core.contracts.errors import CheckpointError, DataError, HearthError, NetworkError
from core.contracts.manifest import Manifest, Shard
from core.contracts.net import DATA_READ
from core.contracts.pipe import Reading
from core.dht.node import DHTNode
from core.dht.records import own_subkey
from core.identity import PeerId
from core.net.rpc import RpcNode
from core.store import shards
from core.store.disk_use import HELD, Spare
from core.store.run_files import KEEPERS, RunFiles
from core.swarm.fetching import Partial, fetch_file
from core.swarm.mirrors import Mirrors
from core.swarm.replication import EXPIRY_S, RENEW_S

log = logging.getLogger(__name__)

SLICE = 8192
"""Shards in a record: a bit for each fits into a value of the DHT."""
GIVERS = 8
"""Peers that are asked for one file."""
READ = 64
"""Peers by whose records copies are counted: of more, a sample."""
AHEAD = 20
"""Shards that a trainer has beside those that it reads."""
AT_ONCE = 4
"""Shards that are fetched."""
TELL_S = 10.0
"""Between two times that others are told of new ones, and that it is read what they have."""
BEGIN_S = 2.0
"""Until it is read and tried again while training cannot begin yet."""
CHECK_S, FETCH_S = 1.0, 5.0
"""For which shards are checked, and fetched, before others are told: a newcomer waits for the first word of them."""
TRY_AGAIN_S = 30.0
"""A shard that nobody gave."""


class ShardExchange:
    """Looks after the shards of one run."""

    def __init__(
        self,
        manifest: Manifest,
        files: RunFiles,
        node: RpcNode,
        dht: DHTNode,
        mirrors: Mirrors,
        roles: frozenset[str],
        ready: Callable[[], object],
    ) -> None:
        """
        Args:
            manifest: The run.
            files: The run's files on this disk.
            node: This peer's connections.
            dht: Where peers tell which shards they have.
            mirrors: Asks web servers.
            roles: What this PC is there for: who hosts only needs what compute begins with, a backbone peer keeps all.
            ready: Called when there is enough to begin to train.
        """
        self._manifest, self._files, self._node, self._dht = manifest, files, node, dht
        self._mirrors, self._ready, self._is_ready = mirrors, ready, False
        self._trains, self._keeps = "train" in roles, "backbone" in roles
        self._parts: tuple[Shard, ...] = ()
        """(), as long as their list is not here."""
        self._train: list[int] = []
        """Numbers of those to train on."""
        self._first: list[int] = []
        """What is held out, as far as trainers are judged by it."""
        self._here: set[int] = set()
        """Numbers of those that were found right."""
        self._damaged: set[int] = set()
        """Of those that the organiser has put here."""
        self._uses = Counter[int]()
        self._done: set[int] = set()
        """What compute needs no more."""
        self._failed: dict[int, float] = {}
        self._told, self._told_at = frozenset[int](), -RENEW_S
        self._others: dict[PeerId, dict[int, int]] = {}
        """By peer and slice the bits of its shards."""
        self._copies: list[int] = []
        self._read_at = -TELL_S
        self._chance = random.Random(node.peer)
        self.rest_s = TELL_S
        """Until it is to be tended again."""

    def reading(self, reading: Reading) -> None:
        """Compute tells which shards it reads."""
        known = range(len(self._parts) or MOST_LISTED)
        for number, times in reading.uses.items():
            if number in known:
                self._uses[number] = times
        self._done = (self._done - reading.uses.keys()) | {number for number in reading.done if number in known}

    async def tend(self) -> None:
        """Fetch what is wanted, tell what is here.

        Raises:
            HearthError: The network or the disk failed; to be tried again.
        """
        if not (self._manifest.shards or self._manifest.shard_list):
            return
        self.rest_s = TELL_S if self._is_ready else BEGIN_S
        await self._read_others()
        if not self._parts and not await self._open():
            return
        await self._look()
        await self._tell()
        await self._fetch_wanted()
        await self._tell()
        self._files.replicated = self._spares()
        if not self._is_ready and self._begins():
            self._is_ready = True
            self._ready()

    async def _open(self) -> bool:
        """Have the list of shards, and the tokenizer; whether they are here."""
        named, folder = self._manifest.shard_list, self._files.folder
        first = [file for file in (named, self._manifest.tokenizer) if file]
        for file in first:
            is_here = shards.path_of(folder, file.sha256).exists()
            if not is_here and not await self._fetch(file, [*self._others]):
                return False
        if not named:
            await asyncio.to_thread(shards.prepare, self._manifest, folder)
        try:
            parts = await asyncio.to_thread(shards.listed, self._manifest, folder)
        except DataError:  # it is what its hash says, and no list: no other one will come
            self.rest_s = RENEW_S
            raise
        for file in first:
            self._share(file)
        self._parts, self._train = parts, [n for n, part in enumerate(parts) if not part.held_out]
        self._first = [number for number, part in enumerate(parts) if part.held_out][: shards.HELD_OUT_SHARDS]
        self._copies = [0] * len(parts)
        self._read_at = -TELL_S
        await self._read_others()
        return True

    # what is here

    async def _look(self) -> None:
        """See what came and went; what is new is checked before it is given to anybody."""
        gone, right, damaged, unchecked = await asyncio.to_thread(self._checked, time.monotonic() + CHECK_S)
        for number in gone:
            self._forget(number)
        self._damaged |= damaged
        self._enter(*right)
        if unchecked:
            self.rest_s = 0.0

    def _checked(self, until: float) -> tuple[set[int], list[int], set[int], bool]:
        """In a thread: numbers of shards that are gone, right and damaged, and whether some were not looked at yet."""
        names, folder = shards.here(self._files.folder), self._files.folder
        present = {number for number, part in enumerate(self._parts) if part.sha256 in names}
        new = present - self._here - self._damaged
        right, damaged = list[int](), set[int]()
        for number in sorted(new, key=lambda number: not self._parts[number].held_out):
            if (began := time.monotonic()) > until:
                return self._here - present, right, damaged, True
            if shards.read(folder, self._parts[number]) is not None:
                right.append(number)
            else:
                damaged.add(number)
            time.sleep(time.monotonic() - began)  # half of a core: compute begins meanwhile, and gives way to all else
        return self._here - present, right, {n for n in damaged if self._is_own(n)}, False

    def _is_own(self, number: int) -> bool:
        return self._path(number).parent.name == shards.OWN

    def _path(self, number: int) -> Path:
        return shards.path_of(self._files.folder, self._parts[number].sha256)

    def _enter(self, *numbers: int) -> None:
        for number in numbers:
            self._here.add(number)
            self._share(self._parts[number])

    def _share(self, named: shards.Named) -> None:
        self._files.share(named.sha256, shards.path_of(self._files.folder, named.sha256))

    def _forget(self, number: int) -> None:
        self._here.discard(number)
        self._files.unshare(self._parts[number].sha256)

    def _begins(self) -> bool:
        """Whether a trainer can begin."""
        if not shards.streams(self._manifest, self._parts):
            return len(self._here) == len(self._parts)
        return self._here.issuperset(self._first) and not self._here.isdisjoint(self._train)

    def _spares(self) -> Sequence[Spare]:
        """What was trained on and enough others have: the most replicated goes first."""
        return [
            Spare(HELD, (-self._copies[number], 0), [self._path(number)], partial(self._forget, number))
            for number in self._here & self._done
            if self._copies[number] >= KEEPERS and not self._parts[number].held_out and not self._is_own(number)
        ]

    # telling and finding

    def _key(self, slice_: int) -> str:
        return f"{self._manifest.run_id}.data.{slice_}"

    async def _tell(self) -> None:
        now, here = time.monotonic(), frozenset(self._here)
        if not self._dht.contacts():
            return
        due = RENEW_S if here == self._told else TELL_S if self._told else 0.0
        if not here or now - self._told_at < due:
            return
        bits = Counter[int]()
        for number in here:
            bits[number // SLICE] |= 1 << number % SLICE
        own = own_subkey(self._node.peer)
        await self._dht.store_many(
            {self._key(at): {own: value.to_bytes(SLICE // 8, "little").rstrip(b"\0")} for at, value in bits.items()},
            EXPIRY_S,
        )
        self._told, self._told_at = here, now

    async def _read_others(self) -> None:
        """Read who has what, and count copies."""
        now = time.monotonic()
        if now - self._read_at < (TELL_S if self._is_ready else BEGIN_S) or not self._dht.contacts():
            return
        self._read_at = now
        slices = range(-(-len(self._parts) // SLICE) or 1)
        found = await self._dht.get_many(map(self._key, slices))
        others: dict[PeerId, dict[int, int]] = {}
        for at in slices:
            for subkey, record in found[self._key(at)].items():
                if subkey == own_subkey(record.peer) and record.peer != self._node.peer and not record.dead:
                    others.setdefault(record.peer, {})[at] = int.from_bytes(record.value[: SLICE // 8], "little")
        believed = [peer for peer in others if not self._node.distrusts(peer)]
        self._others = {peer: others[peer] for peer in self._chance.sample(believed, min(READ, len(believed)))}
        self._copies = await asyncio.to_thread(self._counted)

    def _counted(self) -> list[int]:
        """In a thread."""
        copies = [0] * len(self._parts)
        for has in self._others.values():
            for at, bits in has.items():
                while bits:
                    lowest = bits & -bits
                    if (number := at * SLICE + lowest.bit_length() - 1) < len(copies):
                        copies[number] += 1
                    bits ^= lowest
        return copies

    def _givers(self, number: int) -> list[PeerId]:
        at, bit = number // SLICE, 1 << number % SLICE
        return [peer for peer, has in self._others.items() if has.get(at, 0) & bit]

    # fetching

    def wanted(self) -> list[int]:
        """What is to be fetched, in this order."""
        missing = [number for number in range(len(self._parts)) if number not in self._here and self._may_come(number)]
        if not missing:
            return []
        most = len(missing)
        if not shards.streams(self._manifest, self._parts):
            first, rest = [number for number in missing if self._parts[number].held_out], missing
        else:
            first = [number for number in missing if number in self._first]
            rest, most = (missing, most) if self._keeps else self._to_train_on()
        chance = {number: self._chance.random() for number in rest}
        rest = sorted(rest, key=lambda number: (self._copies[number], chance[number]))[:most]
        return list(dict.fromkeys([*first, *rest]))

    def _to_train_on(self) -> tuple[list[int], int]:
        """Those that are missing of the shards that were used least, and how many of them are wanted now."""
        least = min((self._uses[number] for number in self._train), default=0)
        fresh = [number for number in self._train if self._uses[number] == least]
        ahead = sum(number in self._here for number in fresh)
        wanted = max(0, (AHEAD if self._trains else 1) - ahead)
        return [number for number in fresh if number not in self._here and self._may_come(number)], wanted

    async def _fetch_wanted(self) -> None:
        until = time.monotonic() + FETCH_S
        while time.monotonic() < until:
            came = await asyncio.gather(*(self._fetch_shard(number) for number in self.wanted()[:AT_ONCE]))
            if not any(came):
                return
            if not self._is_ready and self._begins():
                break  # training begins; the rest comes meanwhile
        self.rest_s = 0.0

    def _may_come(self, number: int) -> bool:
        """Whether somebody has it who has not just failed to give it."""
        rests = self._failed.get(number, -TRY_AGAIN_S) > time.monotonic()
        return bool(self._copies[number] or self._manifest.sources) and not rests

    async def _fetch_shard(self, number: int) -> bool:
        if came := await self._fetch(self._parts[number], self._givers(number)):
            self._enter(number)
            self._failed.pop(number, None)
        else:
            self._failed[number] = time.monotonic() + TRY_AGAIN_S
        return came

    async def _fetch(self, named: shards.Named, givers: list[PeerId]) -> bool:
        """Have a file that is missing, from peers or else from web servers; whether it came."""
        files = self._files
        if not givers and not self._manifest.sources:
            return False
        self._chance.shuffle(givers)
        try:
            file = files.partial(named.sha256)
            async with files.quota.hold(file, named.size):
                await self._bring(named, givers[:GIVERS], file)
                shards.place(files.folder, named.sha256, file)
        except CheckpointError as error:
            log.info("No more of the run's data are fetched: %s", error)
        except (HearthError, OSError) as error:
            log.info("A part of the run's data could not be fetched yet: %s", error)
        else:
            return True
        return False

    async def _bring(self, named: shards.Named, givers: Sequence[PeerId], file: Path) -> None:
        try:
            await fetch_file(self._node, self._manifest.run_id, named.sha256, named.size, givers, file, DATA_READ)
        except NetworkError:
            if not self._manifest.sources:
                raise
            partial_file = await asyncio.to_thread(Partial, file, named.size)
            sources = self._manifest.sources  # by chance: each of several servers has its part of the requests
            await self._mirrors.fetch(self._chance.sample(sources, len(sources)), named.sha256, partial_file)

"""The directory over the DHT: announces the local experts, and knows the others' (paper, supplement C).

A prefix key `digits.0.3.` holds the active suffixes under it, a leaf `digits.0.3.1` a record of each host. Suffixes are
read in compact, unsigned pages; a leaf's signature is checked before its host is named. A false suffix thus costs one
failed look-up, and is then left out for `NEGATIVE_S`.
"""

import math
import random
import re
import time
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Annotated, NamedTuple

import msgspec

from core.contracts.net import PeerAddress
from core.contracts.notices import Notice
from core.dht.node import DHTNode
from core.dht.records import Record, own_subkey, told
from core.experts.directory import MIRROR_LIMIT, HostState
from core.experts.grid import MAX_SIDE, Coords, Grid, Uid
from core.identity import PeerId
from core.net.limits import Newest
from core.net.recurring import Recurring
from core.net.rpc import RpcNode

_NUMBER = re.compile(r"0|[1-9][0-9]{0,3}", re.ASCII)

ANNOUNCE_EXPERTS_S = 20.0
EXPIRY_S = 60.0
"""Three announcements: a live host is not lost by one lost call, a dead one is gone after this and one refresh."""
REFRESH_S = 10.0
"""Between two readings of a small grid."""
EMPTY_S = 2.0
"""The same while a layer has no expert at all, so that training can begin soon after the first host has come."""
POSITIVE_S = 10.0
"""A prefix or host once read is believed for so long, and never beyond its expiry."""
NEGATIVE_S = 20.0
"""An expert without a host, or a prefix without suffixes, is not asked for again before this: one announcement."""
CACHED = 16_384
"""Hosts, prefixes or absent experts remembered."""


class _HostRecord(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    load: Annotated[float, msgspec.Meta(ge=0.0, le=1e6)]
    version: Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
    address: PeerAddress


class HostInfo(NamedTuple):
    """A peer that hosts an expert."""

    peer: PeerId
    load: float
    version: int
    rtt_ms: float | None
    """None: not connected yet."""
    expires: float
    """Unix seconds."""


class Hosts(NamedTuple):
    """Of one expert, other peers only."""

    living: list[HostInfo]
    left: list[PeerId]
    """Who said not long ago that it hosts the expert no more."""


class DHTDirectory:
    """Who hosts what of one run. Use as `async with DHTDirectory(...) as directory`."""

    def __init__(self, dht: DHTNode, rpc: RpcNode, grid: Grid, run_id: str, mirror_limit: int = MIRROR_LIMIT) -> None:
        """Begin empty.

        Args:
            dht: where the experts are announced and looked up.
            rpc: this peer's connections.
            grid: the run's cells.
            run_id: what the run's keys in the DHT begin with.
            mirror_limit: cells of a layer up to which all that are active are known at every moment.
        """
        self._dht, self._rpc, self.grid, self.run_id = dht, rpc, grid, run_id
        self._small = grid.cells <= mirror_limit
        self._local: dict[Uid, HostState] = {}
        self._unsaid: set[Uid] = set()
        """Withdrawn experts whose tombstones are on their way."""
        self._mirrors: dict[int, tuple[Coords, ...]] = {}
        self._remote: dict[int, dict[Coords, float]] = {}
        self._prefixes = Newest[tuple[int, Coords], tuple[float, dict[int, float]]](CACHED)
        self._hosts = Newest[Uid, tuple[float, list[HostInfo]]](CACHED)
        self._absent = Newest[Uid, float](CACHED)
        self._announced_at = Newest[PeerId, float](CACHED)
        self._announcing = Recurring("announcing", self.announce, lambda: ANNOUNCE_EXPERTS_S * random.uniform(0.9, 1.0))
        self._reading = Recurring("directory", self.refresh, self._rest_s)

    async def __aenter__(self) -> "DHTDirectory":
        self._announcing.start()
        if self._small:
            self._reading.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._announcing.stop()
        await self._reading.stop()

    @property
    def notes(self) -> list[Notice]:
        """What the user is told of what fails here again and again."""
        return [*self._announcing.notes, *self._reading.notes]

    # Announcing

    def host_here(self, experts: Mapping[Uid, HostState]) -> None:
        """These experts, and their state, are hosted here; new ones are announced at once. Others stay as they are."""
        if experts.keys() - self._local.keys():
            self._announcing.wake.set()
        self._local.update(experts)
        self._unsaid -= experts.keys()
        self._forget_mirrors()

    @property
    def announced(self) -> Set[Uid]:
        """What others were told to be hosted here."""
        return self._local.keys()

    async def withdraw(self, uids: Iterable[Uid]) -> None:
        """These experts are no longer hosted here: tombstones tell everybody at once."""
        gone = [uid for uid in uids if self._local.pop(uid, None) is not None or uid in self._unsaid]
        if not gone:
            return
        self._unsaid.update(gone)
        self._forget_mirrors()
        kept = {(key, suffix) for uid in self._local for key, suffix in self._prefix_keys(uid)}
        entries: dict[str, list[str]] = {}
        for uid in gone:
            entries[self._key(uid)] = [own_subkey(self._rpc.peer)]
            for key, suffix in self._prefix_keys(uid):
                if (key, suffix) not in kept and suffix not in entries.setdefault(key, []):
                    entries[key].append(suffix)
        await self._dht.remove(entries)
        self._unsaid.difference_update(gone)

    async def announce(self) -> int:
        """Publish all local experts, in a few calls; the number of replicas of the record with the fewest."""
        if not self._local:
            return 0
        address, own = self._rpc.address(), own_subkey(self._rpc.peer)
        entries: dict[str, dict[str, bytes]] = {}
        for uid, state in self._local.items():
            host = _HostRecord(max(0.0, min(state.load, 1e6)), state.version, address)
            entries[self._key(uid)] = {own: msgspec.msgpack.encode(host)}
            for key, suffix in self._prefix_keys(uid):
                entries.setdefault(key, {})[suffix] = b""
        return await self._dht.store_many(entries, EXPIRY_S)

    # The view of the grid

    def mirror(self, layer: int) -> Sequence[Coords] | None:
        """All active cells of a layer as last read, or None if the grid is large. The same object until it changes."""
        if not self._small:
            return None
        if layer not in self._mirrors:
            now = self._dht.clock.now()
            cells = {coords for coords, expires in self._remote.get(layer, {}).items() if expires > now}
            cells = {coords for coords in cells if not self._is_absent(Uid(self.grid.run, layer, coords))}
            cells |= {uid.coords for uid in self._local if uid.layer == layer}
            self._mirrors[layer] = tuple(sorted(cells))
        return self._mirrors[layer]

    def _forget_mirrors(self) -> None:
        """Let each layer's mirror be made again; where nothing has changed the old object stays."""
        old, self._mirrors = self._mirrors, {}
        for layer, cells in old.items():
            if self.mirror(layer) == cells:
                self._mirrors[layer] = cells

    async def refresh(self) -> None:
        """Read the whole grid anew."""
        try:
            found = await self._read_grid()
            if self._dht.contacts():  # cut off from all others, what is known stays until it expires
                self._remote = found
        finally:
            self._forget_mirrors()  # what has expired goes in any case

    async def _read_grid(self) -> dict[int, dict[Coords, float]]:
        found: dict[int, dict[Coords, float]] = {}
        open_prefixes: list[tuple[int, Coords]] = [(layer, ()) for layer in range(self.grid.layers)]
        for depth in range(len(self.grid.shape)):
            if not open_prefixes:
                break
            names = {self._prefix(layer, coords): (layer, coords) for layer, coords in open_prefixes}
            answers = await self._dht.find_suffixes(names)
            open_prefixes = []
            for name, suffixes in answers.items():
                layer, coords = names[name]
                for u, expires in self._valid(suffixes, depth).items():
                    if depth + 1 == len(self.grid.shape):
                        found.setdefault(layer, {})[(*coords, u)] = expires
                    else:
                        open_prefixes.append((layer, (*coords, u)))
        return found

    def _rest_s(self) -> float:
        known = all(self.mirror(layer) for layer in range(self.grid.layers))
        return (REFRESH_S if known else EMPTY_S) * random.uniform(0.8, 1.0)

    def _valid(self, suffixes: Mapping[str, float], depth: int) -> dict[int, float]:
        """The suffixes that are coordinates of this grid; anybody may publish others."""
        size = min(self.grid.shape[depth], MAX_SIDE)
        numbers = {text: int(text) for text in suffixes if _NUMBER.fullmatch(text)}
        return {u: suffixes[text] for text, u in numbers.items() if u < size}

    async def active_suffixes(self, layer: int, prefixes: Sequence[Coords]) -> list[Sequence[int]]:
        """For each prefix the next coordinates under which an active expert lives; read at most every `POSITIVE_S`."""
        now = time.monotonic()
        wanted = [p for p in dict.fromkeys(prefixes) if self._prefixes.get((layer, p), (0.0, {}))[0] <= now]
        if wanted:
            names = {self._prefix(layer, prefix): prefix for prefix in wanted}
            for name, found in (await self._dht.find_suffixes(names)).items():
                suffixes = self._valid(found, len(names[name]))
                until = now + (POSITIVE_S if suffixes else NEGATIVE_S)
                self._prefixes[layer, names[name]] = (until, suffixes)
        return [self._known_suffixes(layer, prefix) for prefix in prefixes]

    def _known_suffixes(self, layer: int, prefix: Coords) -> Sequence[int]:
        _, suffixes = self._prefixes.get((layer, prefix), (0.0, {}))
        now, depth = self._dht.clock.now(), len(prefix)
        alive = {u for u, expires in suffixes.items() if expires > now}
        if depth + 1 == len(self.grid.shape):
            alive = {u for u in alive if not self._is_absent(Uid(self.grid.run, layer, (*prefix, u)))}
        alive |= {uid.coords[depth] for uid in self._local if uid.layer == layer and uid.coords[:depth] == prefix}
        return sorted(alive)

    # Hosts

    async def hosts(self, uids: Sequence[Uid]) -> dict[Uid, Sequence[HostInfo]]:
        """The other peers that host each expert, best first: least load in steps of a tenth, then round trip."""
        now = time.monotonic()
        unknown = [uid for uid in dict.fromkeys(uids) if self._hosts.get(uid, (0.0, []))[0] <= now]
        unknown = [uid for uid in unknown if not self._is_absent(uid)]
        if unknown:
            records = await self._dht.get_many(map(self._key, unknown))
            for uid in unknown:
                self._remember(uid, records[self._key(uid)])
        clock = self._dht.clock.now()
        rtts = {peer: link.connection.path().rtt_ms for peer, link in self._rpc.pool.links.items()}
        found: dict[Uid, Sequence[HostInfo]] = {}
        for uid in uids:
            _, infos = self._hosts.get(uid, (0.0, []))
            alive = [info._replace(rtt_ms=rtts.get(info.peer)) for info in infos if info.expires > clock]
            if alive:
                found[uid] = sorted(alive, key=_quality)
        return found

    def remembered(self, layer: int) -> dict[Coords, list[HostInfo]]:
        """The other hosts of a layer's experts that were looked up before and have not expired, best first."""
        clock = self._dht.clock.now()
        found = {}
        for uid, (_, infos) in self._hosts.items():
            if uid.layer == layer and (alive := [info for info in infos if info.expires > clock]):
                found[uid.coords] = sorted(alive, key=_quality)
        return found

    async def read_hosts(self, uids: Sequence[Uid]) -> dict[Uid, Hosts]:
        """The other peers that host each expert as of now, past all that is remembered; it costs a look-up each."""
        records = await self._dht.get_many(map(self._key, uids), buried=True)
        found = {uid: records[self._key(uid)] for uid in uids}
        return {uid: Hosts(self._parse(told), self._left(told)) for uid, told in found.items()}

    def now(self) -> float:
        """Seconds of the network's clock."""
        return self._dht.clock.now()

    def announced_at(self, peer: PeerId) -> float:
        """When the newest announcement that was read of a peer was made, in seconds of the network's clock; 0: none."""
        return self._announced_at.get(peer, 0.0)

    def not_hosted(self, uid: Uid, peer: PeerId) -> None:
        """The peer says that it does not host the expert, or cannot be reached: it is not named again for a while."""
        until, infos = self._hosts.get(uid, (0.0, []))
        rest = [info for info in infos if info.peer != peer]
        self._hosts[uid] = (max(until, time.monotonic() + NEGATIVE_S), rest)
        if not rest:
            self._miss(uid)

    def _remember(self, uid: Uid, records: Mapping[str, Record]) -> None:
        infos = self._parse(records)
        self._hosts[uid] = (time.monotonic() + POSITIVE_S, infos)
        if not infos and uid not in self._local and self._dht.contacts():  # cut off from all others, nobody said so
            self._miss(uid)

    def _parse(self, records: Mapping[str, Record]) -> list[HostInfo]:
        infos = []
        for record, host in told(records, _HostRecord):
            if host.address.peer == record.peer != self._rpc.peer and math.isfinite(host.load):
                self._rpc.learn(host.address)
                self._announced_at[record.peer] = max(record.sequence / 1000, self.announced_at(record.peer))
                infos.append(HostInfo(record.peer, host.load, host.version, None, record.expires))
        return infos

    def _left(self, records: Mapping[str, Record]) -> list[PeerId]:
        others = (record for record in records.values() if record.dead and record.peer != self._rpc.peer)
        return [record.peer for record in others if record.subkey == own_subkey(record.peer)]

    def _miss(self, uid: Uid) -> None:
        """Nobody hosts the expert although it was announced, or was believed to be."""
        self._absent[uid] = time.monotonic() + NEGATIVE_S
        self._forget_mirrors()

    def _is_absent(self, uid: Uid) -> bool:
        return self._absent.get(uid, 0.0) > time.monotonic()

    # Keys

    def _prefix(self, layer: int, coords: Coords) -> str:
        return ".".join((self.run_id, str(layer), *map(str, coords), ""))

    def _key(self, uid: Uid) -> str:
        return self._prefix(uid.layer, uid.coords)[:-1]

    def _prefix_keys(self, uid: Uid) -> list[tuple[str, str]]:
        return [(self._prefix(uid.layer, uid.coords[:end]), str(u)) for end, u in enumerate(uid.coords)]


def _quality(info: HostInfo) -> tuple[float, float]:
    return (round(info.load, 1), info.rtt_ms if info.rtt_ms is not None else 1000.0)

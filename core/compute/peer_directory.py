"""The directory as compute sees it: the experts of this process, and what the worker reads from the DHT.

A batch does not wait for the DHT: what is known is used, and read again in the background once it is old.
"""

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from core.compute.peers import Asking, RemoteHost
from core.compute.tally import Tally
from core.contracts.errors import HearthError
from core.contracts.manifest import Training
from core.contracts.remote_experts import (
    FOLLOW,
    LOCATE,
    MISSING,
    SILENT,
    SUFFIXES,
    Banned,
    Cells,
    Missing,
    Place,
    Prefixes,
    Stirred,
)
from core.experts.calls import ExpertHost
from core.experts.directory import LOCAL, MIRROR_LIMIT, LocalDirectory
from core.experts.grid import Coords, Grid, Uid
from core.net.limits import Newest
from core.pipe.calls import Calls

log = logging.getLogger(__name__)

K = TypeVar("K")

FRESH_S = 5.0
"""Hosts and suffixes older than this are read again when they are used."""
LOOK_UP_S = 5.0
"""For a question to the worker."""
KEPT = 16_384
"""Experts, prefixes and peers remembered, each."""
LOOK_UP = 256
"""Uids or prefixes in one question to the worker."""
READ_AHEAD = 1024
"""Experts whose hosts are read again at once in the background."""
UNKNOWN_MS = 100.0
"""Round trip to a peer that has never been asked."""


class Known(NamedTuple):
    """What was read of an expert."""

    places: Sequence[Place]
    until: float
    """Time of the loop after which it is read again."""


class PeerDirectory:
    """`Directory` of a networked run. Suspended peers are not named; cells that only they host are not offered."""

    def __init__(
        self,
        grid: Grid,
        local: LocalDirectory,
        calls: Calls,
        training: Training,
        mirror_limit: int = MIRROR_LIMIT,
        tally: Tally | None = None,
    ) -> None:
        """Nothing is known of others yet.

        Args:
            grid: that of the run.
            local: the experts of this process.
            calls: to the worker, whose directory knows the others, and which calls them.
            training: the run's rules.
            mirror_limit: cells of a layer up to which the worker tells them all.
            tally: see `Asking`.
        """
        self._grid, self._local, self._calls = grid, local, calls
        self._asking = Asking(calls, tally)
        self._training = training
        self._small = grid.cells <= mirror_limit
        self._remote: dict[int, frozenset[Coords]] = {}
        self._mirrors: dict[int, tuple[Sequence[Coords] | None, int, tuple[Coords, ...]]] = {}
        self._epoch = 0
        self._hosts = Newest[str, RemoteHost](KEPT)
        self._silent: list[str] | None = None
        """As the worker was told."""
        self._known = Newest[Uid, Known](KEPT)
        self._suffixes = Newest[tuple[int, Coords], tuple[Sequence[int], float]](KEPT)
        self._locating = _Questions[Uid](self._locate)
        self._finding = _Questions[tuple[int, Coords]](self._find)

    # What others tell

    async def follow(self) -> None:
        """Take up what the worker learns of others, until cancelled."""
        async with contextlib.aclosing(self._calls.stream(FOLLOW, None)) as told:
            async for news in told:
                match news:
                    case Cells(layers):
                        self._remote = {layer: frozenset(cells) for layer, cells in enumerate(layers)}
                        self.changed()
                    case Banned(peer, seconds):
                        self.host(peer).standing.banned(seconds)
                    case Stirred(peer):
                        self.host(peer).standing.stir()

    def changed(self) -> None:
        """See `Watcher`. Mirrors are made again when they are asked for."""
        self._epoch += 1

    def missing(self, peer: str, uids: Sequence[Uid]) -> None:
        """See `Watcher`. The worker, which is told as well, does not name the peer for these experts for a while."""
        self._calls.tell(MISSING, Missing(peer, list(map(str, uids))))
        for uid in uids:
            if known := self._known.get(uid):
                self._known[uid] = known._replace(places=[place for place in known.places if place.peer != peer])
        self.changed()

    def host(self, peer: str) -> RemoteHost:
        """How a peer is asked."""
        if peer not in self._hosts:
            self._hosts[peer] = RemoteHost(peer, self._asking, self._training, self)
        return self._hosts[peer]

    def tell_answered(self) -> None:
        """Tell the worker how many calls to other peers' experts were answered, and who does no work."""
        self._asking.tell_answered()
        silent = [peer for peer, host in self._hosts.items() if host.standing.proof.silent]
        if self._hosts and silent != self._silent:  # who works alone has nobody to tell
            self._calls.tell(SILENT, silent)
            self._silent = silent

    @property
    def queue_s(self) -> float:
        """Seconds of work that wait at the peers that have been asked lately, their mean."""
        queues = [queue for host in self._hosts.values() if (queue := host.standing.queue_s) is not None]
        return sum(queues) / len(queues) if queues else 0.0

    # Directory

    def mirror(self, layer: int) -> Sequence[Coords] | None:
        """See `Directory`."""
        if not self._small:
            return None
        local = self._local.mirror(layer)
        old_local, epoch, cells = self._mirrors.get(layer, (None, -1, ()))
        if local is not old_local or epoch != self._epoch:
            offered = {u for u in self._remote.get(layer, ()) if self._may_answer(self._grid.uid(layer, u))}
            new = tuple(sorted(offered.union(local or ())))
            cells = cells if new == cells else new
            self._mirrors[layer] = (local, self._epoch, cells)
        return cells

    async def active_suffixes(self, layer: int, prefixes: Sequence[Coords]) -> list[Sequence[int]]:
        """See `Directory`."""
        local = await self._local.active_suffixes(layer, prefixes)
        now = _now()
        old = [p for p in prefixes if self._suffixes.get((layer, p), ((), 0.0))[1] <= now]
        reading = self._finding.start((layer, prefix) for prefix in old)
        if missing := {reading[layer, p] for p in old if (layer, p) not in self._suffixes}:
            await asyncio.wait(missing, timeout=self._training.patience_s)
        found: list[Sequence[int]] = []
        for prefix, own in zip(prefixes, local, strict=True):
            suffixes = set(self._suffixes.get((layer, prefix), ((), 0.0))[0])
            if len(prefix) + 1 == len(self._grid.shape):
                suffixes = {u for u in suffixes if self._may_answer(self._grid.uid(layer, (*prefix, u)))}
            found.append(sorted(suffixes.union(own)))
        return found

    async def hosts(self, uids: Sequence[Uid]) -> Mapping[Uid, Sequence[str]]:
        """See `Directory`: this process, then the least loaded, then the nearest."""
        own = await self._local.hosts(uids)
        others = [uid for uid in uids if uid not in own]
        reading = self._locating.start(uid for uid in others if self._is_old(uid))
        if missing := {reading[uid] for uid in others if uid not in self._known}:
            await asyncio.wait(missing, timeout=self._training.patience_s)
        found = {uid: own.get(uid) or self._usable(uid) for uid in uids}
        return {uid: names for uid, names in found.items() if names}

    def _usable(self, uid: Uid) -> list[str]:
        return [place.peer for place in sorted(self._usable_places(uid), key=self._cost)]

    def _usable_places(self, uid: Uid) -> list[Place]:
        known = self._known.get(uid)
        return [place for place in known.places if not self.host(place.peer).standing.suspended] if known else []

    def _cost(self, place: Place) -> tuple[bool, float, float]:
        """Who serves first; load in steps of a tenth, then the time that a forward call takes, or a round trip."""
        standing = self.host(place.peer).standing
        usual = standing.usual_s("forward")
        rtt_ms = UNKNOWN_MS if place.rtt_ms is None else place.rtt_ms
        load = round(max(place.load, standing.load), 1)
        return standing.proof.silent, load, rtt_ms if usual is None else usual * 1000

    def _may_answer(self, uid: Uid) -> bool:
        """Whether some peer may host the expert that is not suspended; who hosts it need not be known yet."""
        return uid not in self._known or bool(self._usable_places(uid))

    # Reading

    async def run(self) -> None:
        """Keep what is known of a small grid fresh, and of experts that nobody usable hosts: others may adopt them."""
        while True:
            cells = {self._grid.uid(layer, u) for layer, active in self._remote.items() for u in active}
            lonely = {uid for uid in self._known if not self._may_answer(uid)}
            self._locating.start(itertools.islice((uid for uid in cells | lonely if self._is_old(uid)), READ_AHEAD))
            await asyncio.sleep(FRESH_S / 2)

    def _is_old(self, uid: Uid) -> bool:
        return uid not in self._known or self._known[uid].until <= _now()

    async def _locate(self, uids: list[Uid]) -> None:
        places = await self._calls.call(LOCATE, [str(uid) for uid in uids], _now() + LOOK_UP_S)
        for uid, found in zip(uids, places, strict=True):
            self._known[uid] = Known(found, _now() + FRESH_S)
        self.changed()

    async def _find(self, prefixes: list[tuple[int, Coords]]) -> None:
        for layer in {layer for layer, _ in prefixes}:
            mine = [prefix for of, prefix in prefixes if of == layer]
            found = await self._calls.call(SUFFIXES, Prefixes(layer, mine), _now() + LOOK_UP_S)
            for prefix, suffixes in zip(mine, found, strict=True):
                self._suffixes[layer, prefix] = suffixes, _now() + FRESH_S


class _Questions(Generic[K]):
    """Each key is asked for once at a time, many keys in one question."""

    def __init__(self, ask: Callable[[list[K]], Awaitable[None]]) -> None:
        self._ask = ask
        self._under_way: dict[K, asyncio.Task[None]] = {}

    def start(self, keys: Iterable[K]) -> dict[K, asyncio.Task[None]]:
        """Ask; the task in which each key is being asked for."""
        keys = list(dict.fromkeys(keys))
        new = [key for key in keys if key not in self._under_way]
        for start in range(0, len(new), LOOK_UP):
            chunk = new[start : start + LOOK_UP]
            self._under_way |= dict.fromkeys(chunk, asyncio.create_task(self._run(chunk), name="directory"))
        return {key: self._under_way[key] for key in keys}

    async def _run(self, chunk: list[K]) -> None:
        try:
            await self._ask(chunk)
        except HearthError as error:
            log.info("The directory could not be read: %s", error)
        finally:
            for key in chunk:
                del self._under_way[key]


def _now() -> float:
    return asyncio.get_running_loop().time()


class Hosts(dict[str, ExpertHost]):
    """Every place where experts live: this process, and each peer."""

    def __init__(self, local: ExpertHost, directory: PeerDirectory) -> None:
        super().__init__({LOCAL: local})
        self._directory = directory

    def __missing__(self, peer: str) -> ExpertHost:
        return self._directory.host(peer)

"""A PC that works alone, and its runs, in place of `core.worker.network` and `core.worker.swarm`: loads neither."""

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from core.contracts.errors import HearthError, NetworkError
from core.contracts.line import Line
from core.contracts.manifest import Manifest
from core.contracts.network_status import FoundRun
from core.contracts.notices import Notice, notice
from core.contracts.run_link import RunLink
from core.contracts.taking_on import Reach
from core.contracts.trunk_status import ForTrunk, TrunkStatus
from core.experts.directory import HostState
from core.experts.grid import Coords, Uid
from core.store.run_files import RunFiles
from core.store.small_files import Files
from core.swarm.placement import least_needed
from core.swarm.state_room import StateRoom
from core.worker.compute.supervisor import ComputeSupervisor
from core.worker.places import News

log = logging.getLogger(__name__)

COME_BACK_S = 60.0
"""Between two times that parked experts are taken back."""


class LoneSwarm:
    """The place of a run on a PC without a network: all experts are here, but for those that there is no room for."""

    networked = False
    """Whether other peers' experts may be asked."""
    reachable = True
    reached = False
    members = 1
    capacity: int | None = None
    successor: Manifest | None = None
    barred: Notice | None = None
    notes: Sequence[Notice] = ()

    def __init__(self, compute: ComputeSupervisor, room: StateRoom) -> None:
        """
        Args:
            compute: the run's compute process.
            room: for states of experts on the disk.
        """
        self._compute, self._room, self._hosted = compute, room, compute.hosted
        self._moved = float("-inf")
        self._moving: asyncio.Task[None] | None = None
        self.calls: Counter[str] = Counter()

    async def __aenter__(self) -> "LoneSwarm":
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._moving:
            self._moving.cancel()
            await asyncio.gather(self._moving, return_exceptions=True)

    def look(self) -> None:
        """Nobody is told."""

    def lonely(self) -> bool:
        """Always."""
        return True

    def mirror(self, layer: int) -> Sequence[Coords] | None:
        """Nothing is known of others."""

    def remembered(self, layer: int) -> Mapping[Coords, Sequence[HostState]]:
        """There are no others."""
        return {}

    async def fetch_states(self) -> None:
        """There is nobody to give any."""

    def trunk(self) -> TrunkStatus | None:
        """There is nobody to agree with."""

    def take_news(self) -> News:
        """Nobody is there of whom there could be any."""
        return News()

    def for_trunk(self) -> ForTrunk:
        """Nothing."""
        return ForTrunk()

    def fit(self, count: int, most_bytes: float) -> None:
        """Park the least needed experts until the rest fits, and take them back later.

        Args:
            count: experts for which there is memory.
            most_bytes: none are hosted for others, and what has no room on a graphics processor is computed beside it.
        """
        idle = self._moving is None or self._moving.done()
        if self._compute.phase not in ("stopped", "training") or not idle:
            return
        experts, now = self._hosted.experts, time.monotonic()
        least = least_needed(experts, len(experts) - count) if count < len(experts) else []
        if least := least or self._room.admit():
            self._moving = asyncio.create_task(self.park(least), name="parking")
        elif self._hosted.parked and count > len(experts) and now - self._moved > COME_BACK_S:
            self._moved = now
            if back := self._room.take_back(self._hosted.parked, count - len(experts)):
                self._moving = asyncio.create_task(self._take_back(back), name="taking back")

    async def settle(self) -> None:
        """Before a new process trains: park what the disk has no room for, while there is nothing of it to be saved."""
        if self._moving is None or self._moving.done():
            self._moving = asyncio.create_task(self.park(self._room.admit()), name="parking")
        await asyncio.wait({self._moving})

    async def park(self, uids: Sequence[Uid]) -> None:
        """Save experts and do without them until there is room again."""
        gone = await let_go(self._compute, uids) if uids else set()
        if gone:
            self._hosted.park(gone)
            log.info("Parked %d experts: they do not fit into what Hearth may use now.", len(gone))

    async def _take_back(self, uids: Sequence[Uid]) -> None:
        with contextlib.suppress(HearthError):
            taken = await self._compute.host(dict.fromkeys(uids, ()), Reach(0, 0))
            self._hosted.unpark(uid for uid in uids if str(uid) not in taken.failed)
            log.info("Took %d parked experts back: there is room again.", len(uids) - len(taken.failed))


class NoNetwork:
    """A PC that works alone: it binds no socket to others and sends nothing."""

    has_peers = False
    shuffle = 0
    notes: Sequence[Notice] = ()

    async def __aenter__(self) -> "NoNetwork":
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def swarm(self, manifest: Manifest, compute: ComputeSupervisor, files: RunFiles, room: StateRoom) -> LoneSwarm:
        """A run without others; the policy keeps its memory."""
        return LoneSwarm(compute, room)

    def leave(self, run_id: str) -> None:
        """Nobody is told."""

    async def fetch_manifest(self, link: RunLink) -> NoReturn:
        """There is nobody to be asked.

        Raises:
            NetworkError: always.
        """
        raise NetworkError(notice("run.link_alone"))

    async def fetch_wheel(self, sha256: str, size: int, partial: Path, told: Callable[[int], None]) -> NoReturn:
        """There is nobody to be asked.

        Raises:
            NetworkError: always.
        """
        self.status()

    def found_runs(self) -> list[FoundRun]:
        """None."""
        return []

    def allow(self, forbidden: str) -> None:
        """There is nothing to forbid."""

    def limit(self, upload: float, download: float, far: tuple[float, float]) -> None:
        """There is nothing to limit."""

    def line(self) -> Line:
        """Nothing is known of it."""
        return Line()

    def keep_ports(self, files: Files) -> None:
        """There are none."""

    def moved(self) -> tuple[int, int]:
        """Nothing."""
        return (0, 0)

    def fastest(self) -> tuple[float, float]:
        """Nothing."""
        return (0.0, 0.0)

    def moved_by_method(self) -> dict[str, tuple[int, int]]:
        """Nothing."""
        return {}

    def status(self, *_: object) -> NoReturn:
        """Nothing is known of others, as with the next ones.

        Raises:
            NetworkError: always.
        """
        raise NetworkError(notice("network.alone"))

    dht_get = dht_stats = meet = status
    access = credit = community = property(status)


async def let_go(compute: ComputeSupervisor, uids: Sequence[Uid]) -> set[Uid]:
    """Have compute save experts and let them go; those that are gone. If it ended meanwhile, none is."""
    with contextlib.suppress(HearthError):
        with compute.hosted.leaving(uids) as stay:
            stay.update(map(Uid.parse, await compute.unhost(uids)))
        return set(uids) - stay
    return set()

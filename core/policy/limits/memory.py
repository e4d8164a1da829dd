"""Keeps all of Hearth within the memory that the user allows.

Experts are parked (saved and let go, the least needed first) until the rest fits. A compute process that stays over the
cap all the same is saved, ended, and comes back with fewer experts. The last resort is the system itself
(`core.policy.limits.system_limits`).
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import psutil

from core.contracts.errors import HearthError
from core.experts.grid import Uid
from core.policy.limits.memory_limit import BASE
from core.policy.limits.system_limits import Bounds
from core.swarm.placement import least_needed
from core.swarm.state_room import StateRoom
from core.worker.compute.supervisor import ComputeSupervisor

if TYPE_CHECKING:
    from core.worker.network import Network

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""Between two looks at what the processes take."""
SHARE = 0.9
"""Of what is left for experts, the part that is given out: batches on the way grow."""
PATIENCE_S = 15.0
"""Over the cap for so long, compute is ended: parking and passing peaks had their time."""
COME_BACK_S = 60.0
"""Between two times that parked experts are taken back."""
SMALLER = 0.7
"""Of the experts that compute held when it was over the cap, it comes back with so many."""


class Memory:
    """Looks once a second at what Hearth takes, and acts."""

    def __init__(
        self,
        compute: ComputeSupervisor,
        network: "Network | None",
        others: Callable[[], int],
        room: StateRoom,
        bounds: Bounds | None = None,
    ) -> None:
        """
        Args:
            compute: Who computes.
            network: This PC among its peers.
            others: Bytes of Hearth's processes beside compute.
            room: For the states of experts on the disk.
            bounds: Other bounds than those of this system.
        """
        self._compute, self._network, self._others, self._room = compute, network, others, room
        self._hosted = compute.hosted
        self._wanted = network.hosting.memory_bytes if network else 0
        """For experts, as the settings say."""
        self._looked, self._over_since = -math.inf, math.inf
        self._moved = -math.inf
        self._most: float = math.inf
        """Experts that did fit at most, since compute was ended for its memory."""
        self._exhausted = 0
        self.bounds = bounds or Bounds()
        compute.admit, compute.explain = self.bounds.admit, self._explain
        self.used = 0
        """Bytes that all of Hearth takes."""
        self._moving: asyncio.Task[None] | None = None
        self.notes: list[str] = []

    def apply(self, cap: int, now: float, gpu: float = math.inf) -> None:
        """Keep to `cap` bytes from now on; `gpu`: bytes of the graphics processor that the experts are on."""
        if now - self._looked < LOOK_S:
            return
        self._looked = now
        compute, left = self._compute, cap - self._others()
        taken = _taken(compute.pid)
        self.used = cap - left + taken
        hosted = len(self._hosted.experts)
        if compute.exhausted > self._exhausted:
            self._exhausted = compute.exhausted
            self._shrink()
        self.bounds.keep(left, taken)
        if self._hosted.expert_bytes:
            self._fit(left, gpu, hosted, now)
        self._watch(left, taken, cap, now)

    def _fit(self, left: int, gpu: float, hosted: int, now: float) -> None:
        """As many experts as there is room for; also while they are on a graphics processor, which has to be left at
        once when it is given back. What a lone PC has no room for there the processor computes."""
        room = max(0, left - BASE) * SHARE
        fits = int(min(room / self._hosted.expert_bytes, self._most))
        if self._network is not None:
            held = min(fits * self._hosted.expert_bytes, gpu * SHARE)
            self._network.hosting.memory_bytes = int(min(self._wanted, held))
        elif self._compute.phase in ("stopped", "training") and (self._moving is None or self._moving.done()):
            least = least_needed(self._hosted.experts, hosted - fits) if fits < hosted else []
            if least := least or self._room.surplus():
                self._moving = asyncio.create_task(self._park(least), name="parking")
            elif self._hosted.parked and fits > hosted and now - self._moved > COME_BACK_S:
                self._moved = now
                if back := self._room.fitting(sorted(self._hosted.parked))[: fits - hosted]:
                    self._moving = asyncio.create_task(self._take_back(back), name="taking back")

    async def settle(self) -> None:
        """Before a new process trains: park what the disk has no room for, while there is nothing of it to be saved."""
        if self._network is not None:
            if surplus := self._room.surplus():  # hosting takes on what there is room for
                with contextlib.suppress(HearthError), self._hosted.leaving(surplus) as stay:
                    stay.update(map(Uid.parse, await self._compute.orders.unhost(surplus)))
            return
        if self._moving is None or self._moving.done():
            self._moving = asyncio.create_task(self._park(self._room.surplus()), name="parking")
        await asyncio.wait({self._moving})

    async def _park(self, uids: list[Uid]) -> None:
        if not uids:
            return
        with contextlib.suppress(HearthError):
            with self._hosted.leaving(uids) as stay:
                stay.update(map(Uid.parse, await self._compute.orders.unhost(uids)))
            gone = set(uids) - stay
            self._hosted.park(gone)
            log.info("Parked %d experts: they do not fit into what Hearth may use now.", len(gone))

    async def _take_back(self, uids: list[Uid]) -> None:
        with contextlib.suppress(HearthError):
            failed = await self._compute.orders.host(dict.fromkeys(uids))
            self._hosted.unpark(uid for uid in uids if str(uid) not in failed)
            log.info("Took %d parked experts back: there is room again.", len(uids) - len(failed))

    def _explain(self, code: int) -> str | None:
        text = self.bounds.explain(code)
        if text is not None:
            self._shrink()
        return text

    def _shrink(self) -> None:
        """The next process holds fewer experts, from its start: the last one had no time to park some."""
        experts = self._hosted.experts
        self._most = max(1, int(len(experts) * SMALLER))
        self._hosted.park(least_needed(experts, len(experts) - int(self._most)))

    def _watch(self, left: int, taken: int, cap: int, now: float) -> None:
        """End a process that stays over the cap."""
        if taken <= max(left, 0):
            self._over_since = math.inf
            if taken:
                self.notes = []
            return
        self._over_since = min(self._over_since, now)
        if now - self._over_since < PATIENCE_S:
            return
        self._over_since = math.inf
        mb = 2**20
        text = (
            f"Compute took {taken // mb} MB of memory, and Hearth may use {cap // mb} MB in all. "
            "It was ended, nothing is lost, and it comes back smaller. Settings allow more."
        )
        self.notes = [text]
        self._shrink()
        self._compute.exceed(text)


def _taken(pid: int | None) -> int:
    """Resident bytes of a process; 0 if there is none."""
    with contextlib.suppress(psutil.Error):
        return 0 if pid is None else int(psutil.Process(pid).memory_info().rss)
    return 0

"""Keeps all of Hearth within the memory that the user allows.

Experts are parked (saved and let go, the least needed first) until the rest fits. A compute process that stays over the
cap all the same is saved, ended, and comes back with fewer experts. The last resort, on Linux, is the system: somewhat
above the cap it refuses more (RLIMIT_DATA: private writable memory, which is what grows; RLIMIT_AS would count the
gigabytes of address space that torch only reserves).
"""

import asyncio
import contextlib
import logging
import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import psutil

from core.control.messages import ExpertStatus
from core.errors import HearthError
from core.experts.grid import Uid
from core.worker.supervisor import ComputeSupervisor

if TYPE_CHECKING:
    from core.worker.network import Network

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""Between two looks at what the processes take."""
BASE = 320 << 20
"""Bytes that compute takes without experts: Python, torch, a trunk, the batches of a small run; until it is known."""
SHARE = 0.9
"""Of what is left for experts, the part that is given out: batches on the way grow."""
PATIENCE_S = 15.0
"""Over the cap for so long, compute is ended: parking and passing peaks had their time."""
COME_BACK_S = 60.0
"""Between two times that parked experts are taken back."""
HARD = 1.25
"""Times what is left: the system's own limit, for a process that grows faster than it is looked at."""
SMALLER = 0.7
"""Of the experts that compute held when it was over the cap, it comes back with so many."""


class Memory:
    """Looks once a second at what Hearth takes, and acts."""

    def __init__(self, compute: ComputeSupervisor, network: "Network | None", others: Callable[[], int]) -> None:
        """Args: who computes, this PC among its peers, bytes of Hearth's processes beside compute."""
        self._compute, self._network, self._others = compute, network, others
        self._wanted = network.hosting.memory_bytes if network else 0
        """For experts, as the settings say."""
        self._looked, self._over_since = -math.inf, math.inf
        self._moved = -math.inf
        self._most: float = math.inf
        """Experts that did fit at most, since compute was ended for its memory."""
        self._exhausted = 0
        self._limit: tuple[int, int] | None = None
        self._parked: set[Uid] = set()
        self._moving: asyncio.Task[None] | None = None
        self.notes: list[str] = []

    def apply(self, cap: int, now: float) -> None:
        """Keep to `cap` bytes from now on."""
        if now - self._looked < LOOK_S:
            return
        self._looked = now
        compute, left = self._compute, cap - self._others()
        taken = _taken(compute.pid)
        hosted = len(compute.progress.experts)
        if compute.exhausted > self._exhausted:
            self._exhausted, self._most = compute.exhausted, max(1, int(hosted * SMALLER))
        self._bound(left, taken)
        if compute.expert_bytes:
            self._fit(left, hosted, now)
        self._watch(left, taken, hosted, cap, now)

    def _fit(self, left: int, hosted: int, now: float) -> None:
        """As many experts as there is room for."""
        room = max(0, left - BASE) * SHARE
        fits = int(min(room / self._compute.expert_bytes, self._most))
        if self._network is not None:
            self._network.hosting.memory_bytes = min(self._wanted, fits * self._compute.expert_bytes)
        elif self._compute.phase in ("stopped", "training") and (self._moving is None or self._moving.done()):
            if fits < hosted and (least := least_needed(self._compute.progress.experts, hosted - fits)):
                self._moving = asyncio.create_task(self._park(least), name="parking")
            elif self._parked and fits > hosted and now - self._moved > COME_BACK_S:
                self._moved = now
                back = sorted(self._parked)[: fits - hosted]
                self._moving = asyncio.create_task(self._take_back(back), name="taking back")

    async def _park(self, uids: list[Uid]) -> None:
        with contextlib.suppress(HearthError):
            failed = await self._compute.orders.unhost(uids)
            gone = {uid for uid in uids if str(uid) not in failed}
            self._parked |= gone
            self._compute.left_out = frozenset(map(str, self._parked))
            log.info("Parked %d experts: they do not fit into the memory that Hearth may use now.", len(gone))

    async def _take_back(self, uids: list[Uid]) -> None:
        with contextlib.suppress(HearthError):
            failed = await self._compute.orders.host(dict.fromkeys(uids))
            self._parked -= {uid for uid in uids if str(uid) not in failed}
            self._compute.left_out = frozenset(map(str, self._parked))
            log.info("Took %d parked experts back: there is room again.", len(uids) - len(failed))

    def _bound(self, left: int, taken: int) -> None:
        """The system's own limit, far enough above the cap that saving never meets it: a library that is given no
        memory aborts the process. Where a process has more already, as the cap has fallen, parking comes first."""
        pid = self._compute.pid
        if sys.platform != "linux" or pid is None or not 0 < taken <= left:
            return
        wanted = (pid, max(BASE, int(left * HARD)) + BASE)
        if self._limit is None or self._limit[0] != pid or abs(wanted[1] - self._limit[1]) > wanted[1] / 50:
            with contextlib.suppress(psutil.Error, OSError, ValueError):
                psutil.Process(pid).rlimit(psutil.RLIMIT_DATA, (wanted[1], -1))
                self._limit = wanted

    def _watch(self, left: int, taken: int, hosted: int, cap: int, now: float) -> None:
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
        self._most = max(1, int(hosted * SMALLER))
        self._compute.exceed(text)


def least_needed(experts: list[ExpertStatus], count: int, kept: int = 1) -> list[Uid]:
    """The experts to park: those that were trained least, of the layers that have most; each layer keeps `kept`."""
    samples: Mapping[Uid, int] = {Uid.parse(expert.uid): expert.samples for expert in experts}
    layers = Counter(uid.layer for uid in samples)
    left = sorted(samples, key=lambda uid: (samples[uid], uid))
    chosen: list[Uid] = []
    while len(chosen) < count:
        layer, most = max(layers.items(), key=lambda item: (item[1], item[0]), default=(0, 0))
        if most <= kept:
            break
        uid = next(uid for uid in left if uid.layer == layer)
        left.remove(uid)
        chosen.append(uid)
        layers[layer] -= 1
    return chosen


def _taken(pid: int | None) -> int:
    """Resident bytes of a process; 0 if there is none."""
    with contextlib.suppress(psutil.Error):
        return 0 if pid is None else int(psutil.Process(pid).memory_info().rss)
    return 0

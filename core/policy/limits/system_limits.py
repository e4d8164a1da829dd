"""What the system itself does to keep compute's memory bounded, for a process that grows faster than it is looked at.

Linux: a control group, which ends a process beyond it, and RLIMIT_DATA, beyond which memory is refused: a refusal can
be told and what was trained be saved, but it goes by what was asked for, and only the group by what is used. Windows: a
job, which refuses as well. macOS has nothing that holds.
"""

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Sequence

import psutil

from core.contracts.errors import HearthError
from core.contracts.notices import Notice, notice
from core.policy.limits.memory_limit import BASE, Bound, Way, beyond

log = logging.getLogger(__name__)

CHANGE = 0.02
"""A smaller change of what compute may use is none."""


class Rlimit(Bound):
    """RLIMIT_DATA of Linux: private writable memory, which is what grows. RLIMIT_AS would count the gigabytes of
    address space that torch only reserves."""

    def __init__(self, pid: int, left: int) -> None:
        self._process = psutil.Process(pid)
        self.keep(left)

    def keep(self, left: int) -> None:
        self._bytes = beyond(left) + BASE
        self._process.rlimit(psutil.RLIMIT_DATA, (self._bytes, -1))

    def said(self) -> Notice:
        return notice("memory.bound_rlimit", most=self._bytes)


def system_ways() -> list[list[Way]]:
    """What this system offers: of each list the first that works."""
    if sys.platform == "linux":
        from core.policy.limits.cgroups import Scope, Subgroup

        return [[Scope, Subgroup], [Rlimit]]
    if sys.platform == "win32":
        from core.policy.limits.windows_job import Job

        return [[Job]]
    return []


class Bounds:
    """Those of one compute process after the other."""

    def __init__(self, ways: Sequence[Sequence[Way]] | None = None) -> None:
        self._ways = system_ways() if ways is None else ways
        self._bounds: list[Bound] = []
        self._left = self._kept = psutil.virtual_memory().total
        self._keeping: asyncio.Task[None] | None = None
        self.kept_by: Notice | None = None
        """What keeps the process that was admitted last within its memory; None before the first."""

    async def admit(self, pid: int) -> None:
        """Bound a process that has just begun, and uses next to nothing yet."""
        await asyncio.to_thread(self._admit, pid)

    def _admit(self, pid: int) -> None:
        for bound in self._bounds:
            bound.close()
        self._bounds, self._kept = [], self._left
        for ways in self._ways:
            for way in ways:
                try:
                    self._bounds.append(way(pid, self._left))
                    break
                except (HearthError, OSError, ValueError, psutil.Error) as error:
                    log.debug("%s: %s", way, error)
        self._tell()

    def _tell(self) -> None:
        before = self.kept_by
        self.kept_by = self._bounds[0].said() if self._bounds else notice("memory.bound_none")
        if before is None:
            log.info("Compute's memory: %s.", self.kept_by)

    def keep(self, left: int, taken: int) -> None:
        """Compute may use `left` bytes from now on, and uses `taken`. To be called about once a second.

        What it has already is left to it: parking experts comes first.
        """
        self._left = left
        changed = abs(left - self._kept) > CHANGE * self._kept
        if self._bounds and changed and 0 < taken <= left and (self._keeping is None or self._keeping.done()):
            self._kept = left
            self._keeping = asyncio.create_task(asyncio.to_thread(self._keep, left), name="bounds")

    def _keep(self, left: int) -> None:
        for bound in self._bounds:
            with contextlib.suppress(HearthError, OSError, ValueError, psutil.Error):  # the process may have gone
                bound.keep(left)
        self._tell()

    def explain(self, code: int) -> Notice | None:
        """Why a process ended with this code, if a bound was the cause."""
        if code != -signal.SIGKILL or not any(bound.overran() for bound in self._bounds):
            return None
        return notice("memory.ended_by_system", most=self._kept)

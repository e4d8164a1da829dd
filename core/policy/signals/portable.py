"""What psutil and the standard library tell on every system: processor, memory, disk, programs.

Each source is asked by a thread of its own, so the first of two measurements may be waited for here.
"""

import math
import shutil
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import psutil

from core.contracts.notices import notice
from core.policy.signals.processes import Own, names
from core.policy.signals.reading import Open, SourceError, Stateless

Now = Callable[[], float]
Sleep = Callable[[float], None]

FIRST_S = 0.5
"""Between the two measurements that the first reading of a rate needs."""
SMOOTH_S = 1.0
"""Time constant: 95% of a change is seen after 3 s."""
NAME = "psutil"


def sources(folder: Path, pids: Callable[[], Collection[int]]) -> dict[str, list[Open[Any]]]:
    """The sources that are alike everywhere, by the names of `Signals`."""
    return {
        "cpu_others": [lambda wake: CpuOthers(pids)],
        "memory_free": [lambda wake: MemoryFree()],
        "disk_free": [lambda wake: DiskFree(folder)],
        "programs": [lambda wake: Programs()],
    }


class Smooth:
    """An average in which what is older than a few seconds counts no more."""

    def __init__(self) -> None:
        self._value: float | None = None

    def add(self, value: float, seconds: float) -> float:
        """The average, after a value that was measured over so many seconds."""
        before = value if self._value is None else self._value
        self._value = before + (value - before) * (1 - math.exp(-seconds / SMOOTH_S))
        return self._value


class CpuOthers(Stateless):
    """Share of all cores that programs other than Hearth use."""

    name = NAME

    def __init__(
        self, pids: Callable[[], Collection[int]], now: Now = time.monotonic, sleep: Sleep = time.sleep
    ) -> None:
        self._own, self._now, self._smooth = Own(pids), now, Smooth()
        self._before = self._sample()
        sleep(FIRST_S)

    def _sample(self) -> tuple[float, float, float]:
        """Now, seconds that all cores were busy, seconds that they had. Waiting for a disk is no work."""
        times = psutil.cpu_times()
        # guests are counted as user time too; stolen time went to other machines of this PC's owner, if any
        all_s = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
        rest = ("idle", "iowait", "steal")
        return self._now(), all_s - sum(getattr(times, name, 0.0) for name in rest), all_s

    def read(self) -> float:
        after = self._sample()
        seconds, busy_s, all_s = (new - old for new, old in zip(after, self._before, strict=True))
        self._before = after
        own_s = self._own.step()
        if all_s <= 0.0 or seconds <= 0.0:
            return self._smooth.add(0.0, 0.0)
        return self._smooth.add(min(1.0, max(0.0, (busy_s - own_s) / all_s)), seconds)


class MemoryFree(Stateless):
    """Bytes that programs can get without swapping."""

    name = NAME

    def read(self) -> int:
        return int(psutil.virtual_memory().available)


class DiskFree(Stateless):
    """Bytes that this user may still write where the folder is."""

    name = "The file system"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> int:
        try:
            return shutil.disk_usage(self._folder).free
        except OSError as error:
            raise SourceError(notice("disk.unreadable", folder=str(self._folder), why=str(error.strerror))) from None


class Programs(Stateless):
    """Names of the running programs."""

    name = "The system"

    def __init__(self) -> None:
        self.read = names()

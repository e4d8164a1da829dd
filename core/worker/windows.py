"""Hearth's own processes: this one, its windows and the runs' compute processes, and the memory that each takes."""

import contextlib
import os
from collections.abc import Mapping
from typing import Literal

import psutil

from core.contracts.status import ProcessStatus

Window = Literal["app", "screensaver"]
"""A client that shows windows."""


class Windows:
    """The programs with windows that are connected now; what they use is Hearth's own."""

    def __init__(self) -> None:
        self._windows: dict[int, tuple[Window, int]] = {}
        """By process, each with the number of its connections."""

    def came(self, pid: int, name: Window) -> None:
        """A program with windows connected."""
        self._windows[pid] = (name, self._windows.get(pid, (name, 0))[1] + 1)

    def went(self, pid: int) -> None:
        """One of its connections ended."""
        name, count = self._windows.pop(pid)
        if count > 1:
            self._windows[pid] = (name, count - 1)

    def pids(self) -> list[int]:
        """Of this process and the windows; asked from other threads."""
        return [os.getpid(), *list(self._windows)]

    def memory(self) -> int:
        """Bytes that they take."""
        taken = 0
        for pid in self.pids():
            with contextlib.suppress(psutil.Error, OSError):
                taken += psutil.Process(pid).memory_info().rss
        return taken

    def status(self, computes: Mapping[int, str | None]) -> list[ProcessStatus]:
        """All of Hearth's processes.

        Args:
            computes: titles of runs, where they are to be told, by the process ids of their compute processes.
        """
        pids: list[tuple[Window | Literal["worker", "compute"], int]] = [("worker", os.getpid())]
        pids += [(name, pid) for pid, (name, _) in self._windows.items()]
        pids += [("compute", pid) for pid in computes]
        found = []
        for name, pid in pids:
            with contextlib.suppress(psutil.Error, OSError):
                taken_mb = psutil.Process(pid).memory_info().rss / 2**20
                found.append(ProcessStatus(name, pid, taken_mb, computes.get(pid)))
        return found

"""Processes: how much Hearth's own compute, and what all are called. Asked often, so cheap.

psutil finds children and names by reading every process again; a few files of Linux' /proc tell the same for a tenth.
"""

import os
import sys
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import psutil

PROC = Path("/proc")
CHILDREN_S = 3.0
"""How often processes that Hearth's started are looked for; elsewhere than on Linux it costs more."""
CHILDREN_ELSEWHERE_S = 10.0
COMM_CHARACTERS = 15
"""Linux cuts the names of processes here; the command line has the whole."""
SURE_SCANS = 6
"""A process is asked for its name when it is first seen, once more (it may have been about to become another
program), and then every so many scans."""


class Own:
    """Processor time of Hearth's processes and of all that they started."""

    def __init__(self, pids: Callable[[], Collection[int]]) -> None:
        self._pids = pids
        self._children: set[int] = set()
        self._looked = float("-inf")
        self._known: dict[int, psutil.Process] = {}
        self._before: dict[int, tuple[float, float]] = {}
        self._at = time.time()
        self.step()

    def step(self) -> float:
        """Seconds of processor time used since the last call.

        A process that ended took what it used since then with it; its parent, if it waited for it, got the sum of its
        life. So the sums with and without the time of ended children bound the truth.
        """
        before, started = self._before, self._at
        self._at = time.time()
        self._before = after = self._times()
        alone = sum(max(0.0, after[pid][0] - before[pid][0]) for pid in after if pid in before)
        born = [pid for pid in after if pid not in before]
        young = {pid for pid in born if self._known[pid].create_time() >= started - 0.1}
        alone += sum(after[pid][0] for pid in young)
        whole = sum(map(sum, after.values())) - sum(map(sum, before.values()))
        whole -= sum(sum(after[pid]) for pid in born if pid not in young)
        possible = alone + (self._at - started) * (os.cpu_count() or 1)
        return whole if alone <= whole <= possible else alone

    def _times(self) -> dict[int, tuple[float, float]]:
        """Of each process: its own seconds, those of its children that ended."""
        roots = set(self._pids()) | {os.getpid()}
        now = time.monotonic()
        if now - self._looked >= (CHILDREN_S if sys.platform == "linux" else CHILDREN_ELSEWHERE_S):
            self._looked, self._children = now, descendants(roots)
        times = {}
        for pid in roots | self._children:
            try:
                process = self._known.get(pid) or psutil.Process(pid)
                used = process.cpu_times()
            except psutil.Error:
                self._known.pop(pid, None)
                continue
            self._known[pid] = process
            times[pid] = (used.user + used.system, used.children_user + used.children_system)
        self._known = {pid: process for pid, process in self._known.items() if pid in times}
        return times


def descendants(pids: Collection[int]) -> set[int]:
    """Processes that these started, and those started, and so on."""
    found: set[int] = set()
    if sys.platform == "linux":
        waiting = list(pids)
        while waiting:
            new = set(_children(waiting.pop())) - found
            found |= new
            waiting += new
        return found - set(pids)
    for pid in pids:
        try:
            found |= {child.pid for child in psutil.Process(pid).children(recursive=True)}
        except psutil.Error:
            pass
    return found - set(pids)


def _children(pid: int) -> Iterator[int]:
    try:
        for task in (PROC / str(pid) / "task").iterdir():
            yield from map(int, (task / "children").read_bytes().split())
    except OSError:  # it ended; or a kernel without these files: then children count as others
        pass


def names(proc: Path = PROC) -> Callable[[], frozenset[str]]:
    """A function that tells the names of all running programs, in lower case and without ".exe"."""
    return Names(proc) if sys.platform == "linux" else _names_elsewhere


def plain(name: str) -> str:
    """A program's name as settings write it."""
    return name.strip().lower().removesuffix(".exe")


def _names_elsewhere() -> frozenset[str]:
    found = (process.info["name"] for process in psutil.process_iter(["name"]))
    return frozenset(plain(name) for name in found if name)


class Names:
    """The names of all programs under Linux' /proc."""

    def __init__(self, proc: Path = PROC) -> None:
        self._proc = proc
        self._known: dict[str, tuple[str, int]] = {}
        """By process: its name, and in how many scans it was seen since it was last asked."""

    def __call__(self) -> frozenset[str]:
        known = {}
        for folder in self._proc.iterdir():
            pid = folder.name
            if not pid.isdecimal():
                continue
            name, seen = self._known.get(pid, ("", 0))
            if seen <= 1 or seen >= SURE_SCANS:
                name = _name(folder)
            known[pid] = (name, 2 if seen >= SURE_SCANS else seen + 1)
        self._known = known
        return frozenset(name for name, _ in known.values() if name)


def _name(folder: Path) -> str:
    try:
        name = (folder / "comm").read_bytes().strip()
        if len(name) == COMM_CHARACTERS:
            with (folder / "cmdline").open("rb") as file:
                program = file.read(4096).split(b"\0", 1)[0].rsplit(b"/", 1)[-1]
            if program.startswith(name):
                name = program
    except OSError:  # it ended meanwhile
        return ""
    return plain(name.decode("utf8", "replace"))

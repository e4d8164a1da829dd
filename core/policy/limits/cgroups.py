"""A control group (version 2) of Linux for compute: memory that is used beyond its bound ends the process.

For the user of a desktop systemd makes it: nobody else may move a process there. A service with `Delegate=yes`, such as
that of a PC without a desktop, may make groups below its own.

Groups share the processor by their weights, and niceness counts only within one: where the system divides it so, the
group gets a low weight. It is not bounded in time (`cpu.max`): a kernel that is held up stops late when the user comes
back, and the share of the time is kept by resting.
"""

import contextlib
import os
import time
from pathlib import Path
from typing import Any

from core.contracts.notices import Notice, notice
from core.policy.limits.memory_limit import Bound, BoundError, beyond
from core.policy.signals.linux.bus import Bus, Object

MANAGER = Object("systemd", "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")
SLICE = "background.slice"
WEIGHT = 10
"""Of the processor; others have 100."""
START_S = 1.0
"""For systemd to move the process."""
LOOK_S = 0.01
OURS, COMPUTE = "hearth-worker", "hearth-compute"
"""Below a group that is delegated to Hearth: only leaves hold processes."""


class Group(Bound):
    """One group with a process of compute in it."""

    def __init__(self, folder: Path, left: int) -> None:
        """A group that exists.

        Args:
            folder: of its files.
            left: bytes that may be used.
        """
        self._folder = folder
        self._bytes = beyond(left)
        bound = (folder / "memory.max").read_text().strip()
        if bound == "max" or abs(int(bound) - self._bytes) > os.sysconf("SC_PAGE_SIZE"):
            raise BoundError(f"The memory of {folder} is bounded by {bound} bytes, not by {self._bytes}.")
        self._kills = self._killed()

    def overran(self) -> bool:
        return self._killed() > self._kills

    def _killed(self) -> int:
        """Processes that were ended for their memory here; their group may be gone, so the one above is asked."""
        with contextlib.suppress(OSError, ValueError):
            lines = (self._folder.parent / "memory.events").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
        return 0


class Scope(Group):
    """A transient unit of the user's systemd."""

    def __init__(self, pid: int, left: int, proc: Path = Path("/proc")) -> None:
        self._unit = f"hearth-compute-{pid}.scope"
        properties = [
            ("Description", ("s", "Hearth's compute process")),
            ("Slice", ("s", SLICE)),
            ("CollectMode", ("s", "inactive-or-failed")),
            ("PIDs", ("au", [pid])),
            ("MemoryMax", ("t", beyond(left))),
        ]
        _ask("StartTransientUnit", "ssa(sv)a(sa(sv))", (self._unit, "fail", properties, []), returns="o")
        deadline = time.monotonic() + START_S
        while (folder := group_of(pid, proc)).name != self._unit:
            if time.monotonic() > deadline:
                raise BoundError("systemd did not move the process.")
            time.sleep(LOOK_S)
        super().__init__(folder, left)
        if (folder / "cpu.weight").exists():
            self._set(("CPUWeight", ("t", WEIGHT)))

    def keep(self, left: int) -> None:
        self._set(("MemoryMax", ("t", beyond(left))))
        self._bytes = beyond(left)

    def _set(self, *properties: tuple[str, Any]) -> None:
        _ask("SetUnitProperties", "sba(sv)", (self._unit, True, list(properties)))

    def said(self) -> Notice:
        return notice("memory.bound_systemd", most=self._bytes)

    def close(self) -> None:
        """systemd lets go of it by itself."""


class Subgroup(Group):
    """A group below this process's own."""

    def __init__(self, pid: int, left: int, proc: Path = Path("/proc")) -> None:
        own = group_of(os.getpid(), proc)
        top = own.parent if own.name == OURS else own
        if "memory" not in (top / "cgroup.subtree_control").read_text().split():
            _delegate(top, {os.getpid(), pid})
        folder = top / COMPUTE
        folder.mkdir(exist_ok=True)
        (folder / "memory.max").write_text(str(beyond(left)))
        with contextlib.suppress(OSError):
            (folder / "cpu.weight").write_text(str(WEIGHT))
        (folder / "cgroup.procs").write_text(str(pid))
        super().__init__(folder, left)

    def keep(self, left: int) -> None:
        (self._folder / "memory.max").write_text(str(beyond(left)))
        self._bytes = beyond(left)

    def said(self) -> Notice:
        return notice("memory.bound_cgroup", most=self._bytes)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._folder.rmdir()


def group_of(pid: int, proc: Path = Path("/proc")) -> Path:
    """The folder of the group that a process is in.

    Raises:
        BoundError: this system has no groups of version 2.
        OSError: there is no such process.
    """
    mounts = [line.split() for line in (proc / "self" / "mountinfo").read_text().splitlines()]
    found = [fields[4] for fields in mounts if fields[fields.index("-") + 1] == "cgroup2" and fields[3] == "/"]
    lines = (proc / str(pid) / "cgroup").read_text().splitlines()
    paths = [line.removeprefix("0::/") for line in lines if line.startswith("0::/")]
    if not found or not paths:
        raise BoundError("This system has no control groups of version 2.")
    return Path(found[0], paths[0])


def _delegate(top: Path, mine: set[int]) -> None:
    """Have groups below `top` bound their memory: no process may be left in it for that."""
    if "memory" not in (top / "cgroup.controllers").read_text().split():
        raise BoundError("No memory is to be divided here.")
    there = {int(line) for line in (top / "cgroup.procs").read_text().split()}
    if not there <= mine:
        raise BoundError("Other programs are in this control group, which is not Hearth's own.")
    (top / OURS).mkdir(exist_ok=True)
    for pid in there:
        (top / OURS / "cgroup.procs").write_text(str(pid))
    (top / "cgroup.subtree_control").write_text("+memory")


def _ask(method: str, signature: str, arguments: tuple[Any, ...], returns: str = "") -> None:
    with contextlib.closing(Bus("session")) as bus:
        bus.call(MANAGER, method, signature, arguments, returns)

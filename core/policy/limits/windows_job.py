"""A job of Windows for compute: memory beyond its bound is refused, and compute ends with its worker. Not yet run on
Windows.

The processor's time is not bounded by it: a kernel that is held up stops late when the user comes back.
"""

import ctypes

from core.contracts.notices import Notice, notice
from core.policy.limits.memory_limit import BASE, Bound, BoundError, beyond
from core.policy.signals.foreign import Signature, Table, windows

DWORD, LONG, POINTER = ctypes.c_uint32, ctypes.c_int32, ctypes.c_void_p
EXTENDED_LIMITS = 9
"""JobObjectExtendedLimitInformation."""
JOB_MEMORY, KILL_ON_CLOSE = 0x200, 0x2000
"""JOB_OBJECT_LIMIT_JOB_MEMORY, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE."""
SET_QUOTA, TERMINATE = 0x100, 0x1
"""What AssignProcessToJobObject needs of PROCESS_ALL_ACCESS."""


class Limits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = [
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", DWORD),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", DWORD),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", DWORD),
        ("SchedulingClass", DWORD),
        ("IoInfo", ctypes.c_uint64 * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    ]


SIGNATURES: dict[str, Signature] = {
    "kernel32.CreateJobObjectW": (POINTER, POINTER, POINTER),
    "kernel32.SetInformationJobObject": (LONG, POINTER, LONG, POINTER, DWORD),
    "kernel32.OpenProcess": (POINTER, DWORD, LONG, DWORD),
    "kernel32.AssignProcessToJobObject": (LONG, POINTER, POINTER),
    "kernel32.CloseHandle": (LONG, POINTER),
}


class Job(Bound):
    """A job with one process in it, which ends when the job is closed."""

    def __init__(self, pid: int, left: int, find: Table | None = None) -> None:
        self._find = find or windows(SIGNATURES)
        self._job = self._find("kernel32.CreateJobObjectW")(None, None)
        if not self._job:
            raise BoundError("Windows makes no job.")
        try:
            self.keep(left)
            self._take(pid)
        except BoundError:
            self.close()
            raise

    def _take(self, pid: int) -> None:
        process = self._find("kernel32.OpenProcess")(SET_QUOTA | TERMINATE, 0, pid)
        if not process:
            raise BoundError("Windows does not let compute be put into a job.")
        try:
            if not self._find("kernel32.AssignProcessToJobObject")(self._job, process):
                raise BoundError("Windows does not put compute into a job.")
        finally:
            self._find("kernel32.CloseHandle")(process)

    def keep(self, left: int) -> None:
        """Windows counts what is promised to a process (commit charge), which is more than what it uses."""
        self._bytes = beyond(left) + BASE
        limits = Limits(LimitFlags=JOB_MEMORY | KILL_ON_CLOSE, JobMemoryLimit=self._bytes)
        told = self._find("kernel32.SetInformationJobObject")
        if not told(self._job, EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)):
            raise BoundError("Windows bounds no memory by a job.")

    def said(self) -> Notice:
        return notice("memory.bound_job", most=self._bytes)

    def close(self) -> None:
        self._find("kernel32.CloseHandle")(self._job)

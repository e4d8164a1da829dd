"""Compute's job over recorded answers of Windows' functions. Not run on Windows yet."""

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from core.contracts.notices import english
from core.policy.limits.memory_limit import BASE, BoundError, beyond
from core.policy.limits.windows_job import SIGNATURES, Job, Limits
from tests.unit.recorded_calls import at, recorded

JOB, PROCESS, PID = 0x20, 0x24, 4711
GIB = 1 << 30


class Windows:
    """Keeps jobs; any function can be told to fail."""

    def __init__(self, fails: str = "") -> None:
        self.limits: list[tuple[int, int]] = []
        self.inside: list[int] = []
        self.open: set[int] = set()
        answers: dict[str, Callable[..., Any]] = {
            "CreateJobObjectW": lambda security, name: self._open(JOB),
            "SetInformationJobObject": self._limit,
            "OpenProcess": self._process,
            "AssignProcessToJobObject": self._assign,
            "CloseHandle": self._close,
        }
        if fails:
            answers[fails] = lambda *arguments: 0
        self.table = recorded(SIGNATURES, {f"kernel32.{name}": answer for name, answer in answers.items()})

    def _open(self, handle: int) -> int:
        self.open.add(handle)
        return handle

    def _limit(self, job: int, kind: int, address: int, size: int) -> int:
        assert (job, kind, size) == (JOB, 9, 144)
        limits = at(Limits, address)
        self.limits.append((limits.LimitFlags, limits.JobMemoryLimit))
        return 1

    def _process(self, access: int, inherit: int, pid: int) -> int:
        assert (access, inherit, pid) == (0x101, 0, PID)
        return self._open(PROCESS)

    def _assign(self, job: int, process: int) -> int:
        assert (job, process) == (JOB, PROCESS) and self.limits  # bounded before anything is in it
        self.inside.append(PID)
        return 1

    def _close(self, handle: int) -> int:
        self.open.remove(handle)
        return 1


def test_the_structure_is_that_of_64_bit_windows() -> None:
    assert ctypes.sizeof(Limits) == 144
    assert (Limits.LimitFlags.offset, Limits.Affinity.offset, Limits.IoInfo.offset) == (16, 48, 64)
    assert (Limits.JobMemoryLimit.offset, Limits.PeakJobMemoryUsed.offset) == (120, 136)


def test_a_process_is_bounded_and_ends_with_its_worker() -> None:
    windows = Windows()
    job = Job(PID, GIB, windows.table)
    assert windows.inside == [PID] and windows.open == {JOB}  # its last handle: the job ends when the worker does
    job.keep(2 * GIB)
    assert windows.limits == [(0x2200, beyond(GIB) + BASE), (0x2200, beyond(2 * GIB) + BASE)]
    assert english(job.said()) == "Windows allows compute no more than 2.8 GB (a job)"
    assert not job.overran()
    job.close()
    assert not windows.open


@pytest.mark.parametrize("fails", [name.partition(".")[2] for name in SIGNATURES if "CloseHandle" not in name])
def test_what_windows_refuses_is_told_and_nothing_stays_open(fails: str) -> None:
    windows = Windows(fails)
    with pytest.raises(BoundError, match="Windows"):
        Job(PID, GIB, windows.table)
    assert not windows.open

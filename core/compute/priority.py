"""Gives way to everything else on this PC: processor, disk and, on Windows, power.

Linux: niceness and the lowest best-effort class of disk access. Not SCHED_IDLE nor the idle class of disk access:
beside a busy program such a process may not run for minutes, and could not save its work and end in the grace time.
"""

import contextlib
import os
import sys

import psutil

NICENESS = 10
IO_LOWEST = 7
POWER_THROTTLING = 4
"""ProcessPowerThrottling of Windows' PROCESS_INFORMATION_CLASS."""
EXECUTION_SPEED = 1
"""PROCESS_POWER_THROTTLING_EXECUTION_SPEED: EcoQoS, slow and efficient cores."""


def be_humble() -> None:
    """Lower this process's priority; what the system refuses is left as it is."""
    process = psutil.Process()
    if sys.platform == "win32":
        with contextlib.suppress(psutil.Error, OSError):
            process.nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
        with contextlib.suppress(psutil.Error, OSError):
            process.ionice(psutil.IOPRIO_LOW)
        with contextlib.suppress(OSError, AttributeError):
            _ecological()
        return
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    if sys.platform == "linux":
        with contextlib.suppress(psutil.Error, OSError):
            process.ionice(psutil.IOPRIO_CLASS_BE, IO_LOWEST)


def _ecological() -> None:
    """Windows 11: EcoQoS. Version 1, control mask, state mask (PROCESS_POWER_THROTTLING_STATE)."""
    import ctypes

    kernel = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined,unused-ignore]
    state = (ctypes.c_ulong * 3)(1, EXECUTION_SPEED, EXECUTION_SPEED)
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    kernel.SetProcessInformation.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong]
    kernel.SetProcessInformation(
        kernel.GetCurrentProcess(), POWER_THROTTLING, ctypes.byref(state), ctypes.sizeof(state)
    )

"""What this PC is."""

import contextlib
import platform
from pathlib import Path


def processor() -> str:
    """The processor's name."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()

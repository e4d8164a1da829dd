"""What a benchmark ran on, and how it reports."""

import os
import platform
import re
import statistics
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import psutil


def describe() -> dict[str, object]:
    """Processor, memory and versions."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        **{name.lower(): version(name) for name in ("hearth", "torch", "PySide6-Essentials", "numpy")},
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return re.sub(r"\((R|TM)\)|\bProcessor\b", "", names[0]).strip() if names else platform.machine()


def spread(values: Sequence[float]) -> dict[str, float]:
    """Count, p50, p95 (nearest rank) and greatest of some measurements."""
    ordered = sorted(values)
    p95 = ordered[max(0, -(-len(ordered) * 95 // 100) - 1)]
    figures = {"p50": statistics.median(ordered), "p95": p95, "max": ordered[-1]}
    return {"count": len(ordered), **{name: round(value, 2) for name, value in figures.items()}}


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

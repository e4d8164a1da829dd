"""Other programs that a benchmark runs, and that may hang."""

import contextlib
import math
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psutil

from tests.workers import ROOT


def output(command: Sequence[str], folder: Path | None, limit_s: float) -> bytes:
    """What a program writes to stdout. One that takes too long is ended with all that it started.

    Args:
        command: the program and its arguments.
        folder: in which it runs; None: that of the sources.
        limit_s: the longest that it may take.

    Raises:
        TimeoutExpired: it took longer.
        CalledProcessError: it failed.
    """
    with subprocess.Popen(command, cwd=folder or ROOT, stdout=subprocess.PIPE) as running:
        try:
            written, _ = running.communicate(timeout=None if math.isinf(limit_s) else limit_s)
        except subprocess.TimeoutExpired:
            for process in psutil.Process(running.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()  # in groups of their own they would outlive it
            running.kill()
            raise
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, command)
    return written

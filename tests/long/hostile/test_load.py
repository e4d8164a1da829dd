"""Honest workers on a machine that has far more to do than it can: who is only slow keeps its experts."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.long.hostile.honest import Swarm, updates
from tests.workers import Workers, wait_until

WORKERS, LOAD = 4, 16
"""Others work beside them as far as the machine has not that much to do anyway."""
SETTLED_S, QUIET_S, WATCHED_S = 900.0, 30.0, 120.0
SIGNS = ("does no work", "which nobody hosted")
NICE = 10
"""That of compute, which would get nothing at all beside a dozen programs that are less so."""


@contextlib.contextmanager
def busy(programs: int) -> Iterator[None]:
    """While other programs do nothing but work."""
    command = [sys.executable, "-c", f"import os; os.nice({NICE})\nwhile True: pass"]
    running = [subprocess.Popen(command) for _ in range(programs)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def test_honest_ones_under_heavy_load_adopt_nothing_of_each_other(tmp_path: Path) -> None:
    """From their first moment on, when none has done any work yet for the others."""
    with busy(LOAD - WORKERS - int(os.getloadavg()[0])), Workers() as workers:
        swarm = Swarm(tmp_path, workers)
        for name in range(WORKERS):
            swarm.start(str(name))

        def signs() -> list[str]:
            logs = (worker.log().splitlines() for worker in swarm.honest)
            return [line for log in logs for line in log if any(sign in line for sign in SIGNS)]

        last = [(time.monotonic(), signs())]

        def settled() -> bool:
            if (now := signs()) != last[0][1]:
                last[0] = time.monotonic(), now
            status = [worker.status() for worker in swarm.honest]
            share = all(0 < len(each.experts) < 32 // 2 and each.step > 1 for each in status)
            return share and len(updates(swarm.honest)) == 32 and time.monotonic() - last[0][0] > QUIET_S

        wait_until(settled, "a share of the experts for each, which train", SETTLED_S)
        before = signs()
        for sight in swarm.watch(WATCHED_S):
            print(f"load {os.getloadavg()[0]:.0f}: {sight}")
        assert signs() == before and not any(SIGNS[0] in line for line in before)
        assert len(updates(swarm.honest)) == 32

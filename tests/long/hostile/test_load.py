"""Honest workers on a machine that has far more to do than it can: who is only slow keeps its experts."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.long.hostile.attacker import Swarm, updates
from tests.workers import Workers, wait_until

WORKERS, OTHERS = 4, 12
SETTLED_S, WATCHED_S = 900.0, 120.0
SIGNS = ("does no work", "Adopted")
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
    with busy(OTHERS), Workers() as workers:
        swarm = Swarm(tmp_path, workers)
        for name in range(WORKERS):
            swarm.start(str(name))

        def settled() -> bool:
            hosted = [len(worker.status().experts) for worker in swarm.honest]
            return sum(hosted) == 32 and min(hosted) > 0 and all(worker.status().step > 1 for worker in swarm.honest)

        wait_until(settled, "a share of the experts for each, which train", SETTLED_S)
        for sight in swarm.watch(WATCHED_S):
            print(f"load {os.getloadavg()[0]:.0f}: {sight}")
        logs = [(worker.folder / "logs" / "hearth.log").read_text() for worker in swarm.honest]
        assert not [sign for log in logs for sign in SIGNS if sign in log]
        wait_until(lambda: sum(len(worker.status().experts) for worker in swarm.honest) == 32, "one host of each", 60.0)
        assert len(updates(swarm.honest)) == 32

"""What holds for all tests together: whatever they start has ended when they have."""

import os
import time
from collections.abc import Iterator

import psutil
import pytest

from tests.workers import PATIENCE_S

os.environ["OMP_NUM_THREADS"] = "1"
"""Before torch reads it; compute has one as well. On a busy machine threads that share an operation spin until the last
of them is done: up to ten times the processor time of one."""
MARK = "HEARTH_TESTS"
"""In the environment of every process that this one starts, and of whatever those start in turn."""


def marked(process: psutil.Process, mark: str) -> bool:
    """Whether the tests of this mark have started a process; nobody else's environment may be read."""
    try:
        return process.environ().get(MARK) == mark
    except (psutil.Error, OSError):
        return False


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """Fails the run if a process that a test started outlives it, whoever is its parent by then."""
    os.environ[MARK] = mark = f"{os.getpid()} {time.time()}"
    yield
    started = {*psutil.Process().children(recursive=True), *(one for one in psutil.process_iter() if marked(one, mark))}
    _, alive = psutil.wait_procs(started, PATIENCE_S)
    told = [f"{process.pid}: {process.cmdline()}" for process in alive if process.is_running()]
    for process in alive:
        process.kill()
    assert not alive, f"left behind: {told}"

"""Real hosts divide a grid among themselves, and go on when one of them goes."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from core.experts.grid import Grid
from tests.workers import RunningWorker, hearth, wait_until, worker

HERE = "127.0.0.1:0"
UIDS = [str(uid) for uid in Grid("digits", 2, (4, 4)).uids()]


@pytest.fixture
def backbone(tmp_path: Path) -> Iterator[str]:
    """The address of a peer that all others know."""
    with worker(tmp_path / "backbone", "--role", "backbone", "--listen", HERE) as running:
        yield hearth(running.folder, "address").stdout.strip()


def host(folder: Path, known: str) -> RunningWorker:
    return RunningWorker(folder, "--role", "host", "--listen", HERE, "--bootstrap", known)


def hosted(running: RunningWorker) -> set[str]:
    return {expert.uid for expert in running.status().experts}


def divided(*workers: RunningWorker) -> bool:
    """Whether each expert is hosted by exactly one of these."""
    counts = Counter(uid for running in workers for uid in hosted(running))
    return counts == Counter(UIDS)


def test_hosts_divide_the_grid(tmp_path: Path, backbone: str) -> None:
    with ExitStack() as stack:
        hosts = [host(tmp_path / name, backbone) for name in "abc"]
        for running in hosts:
            stack.callback(running.close)
        wait_until(lambda: divided(*hosts), "each expert hosted once")

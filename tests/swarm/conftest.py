"""Fixtures of tests with several processes."""

from collections.abc import Iterator

import pytest

from tests import workers
from tests.swarm.namespaces import impossible

SHARE = 30
"""Percent of the time for which compute works, where a test does not wait for what it learns."""


@pytest.fixture(scope="module", autouse=True)
def compute_leaves_time_to_other_tests() -> Iterator[None]:
    """A worker that trains while something else is waited for keeps a core from the tests beside this one."""
    usual, workers.usual_share = workers.usual_share, SHARE
    yield
    workers.usual_share = usual


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Skips what cannot run here. It is not tried on import, as each of the processes of tests imports all files."""
    if why := impossible():
        pytest.skip(f"not possible here: {why}")

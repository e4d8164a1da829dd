"""Fixtures of tests with several processes."""

import pytest

from tests.swarm.namespaces import impossible


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Skips what cannot run here. It is not tried on import, as each of the processes of tests imports all files."""
    if why := impossible():
        pytest.skip(f"not possible here: {why}")

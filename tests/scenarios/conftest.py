"""Fixtures of stories of real processes that take a minute and more, as of `tests/swarm`."""

from tests.swarm.conftest import compute_leaves_time_to_other_tests, namespaces

__all__ = ["compute_leaves_time_to_other_tests", "namespaces"]

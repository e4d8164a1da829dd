"""This PC in another time zone."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def zone(name: str) -> Iterator[None]:
    """Within it this PC is in the zone of this name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", name)
        time.tzset()
        try:
            yield
        finally:
            patch.undo()
            time.tzset()


def unix(*parts: int) -> float:
    """Unix time of a local one: year, month, day, hour, minute."""
    return time.mktime((*parts, *[0] * (6 - len(parts)), 0, 0, -1))  # type: ignore[arg-type]

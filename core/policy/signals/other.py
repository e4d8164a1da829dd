"""Systems whose idle time Hearth cannot measure yet."""

import sys
from collections.abc import Callable

from core.policy.signals.reading import Idle


class IdleWatch:
    """Always says that idle time is unknown here."""

    def __init__(self, interval_s: float, notice: Callable[[], None]) -> None:
        del interval_s, notice

    def read(self) -> Idle:
        return Idle(None, f"Idle time cannot be measured on this system ({sys.platform}) yet.")

    def close(self) -> None:
        pass

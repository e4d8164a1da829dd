"""How far something is that takes more than a second: on the terminal or, for the app, as lines of JSON."""

import contextlib
import sys
import time

from core.commands import common
from core.contracts.words import duration, size

PROGRESS_S, LEFT_S = 1.0, 10.0
"""What takes longer shows how far it is; what takes longer still, how long it will take."""


class Progress:
    """Is told how many bytes of how many are done.

    Args:
        json: for the app.
    """

    def __init__(self, json: bool) -> None:
        self._json, self._start, self._last = json, time.monotonic(), 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._start < PROGRESS_S or (now - self._last < PROGRESS_S / 4 and done < total):
            return
        self._last = now
        left = (now - self._start) * (total - done) / max(done, 1)
        if self._json:
            with contextlib.suppress(OSError):  # the app that has asked has gone
                print(common.in_one_line({"done": done, "total": total, "left_s": left}), flush=True)
        elif sys.stderr.isatty():
            when = f", {duration(left)} left" if left > LEFT_S else ""
            end = "\n" if done >= total else ""
            print(f"\r\033[K{size(done)} of {size(total)}{when}", end=end, file=sys.stderr, flush=True)

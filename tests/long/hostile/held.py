"""Processes that are held to a part of this machine: on PCs of their own they would take nothing from the others."""

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence

import psutil

TURN_S, LOOK_S = 0.05, 1.0
BURST_S = 0.2
"""Of the processor's time, which they may take at once."""


class _Held:
    def __init__(self, modules: Sequence[str], cores: float) -> None:
        self._modules, self._cores = modules, cores
        self._used: dict[psutil.Process, float] = {}
        """The processor's time of each so far."""
        self._left, self._looked, self._turned = BURST_S, 0.0, time.monotonic()

    def turn(self) -> None:
        """Stop all that have taken too much, and let them go on once they have not."""
        now = time.monotonic()
        if now >= self._looked + LOOK_S:
            self._looked = now
            for process in psutil.Process().children():
                with contextlib.suppress(psutil.Error):
                    if process not in self._used and set(self._modules) & set(process.cmdline()):
                        self._used[process] = 0.0
        self._left = min(BURST_S, self._left + self._cores * (now - self._turned))
        self._turned = now
        for process, before in [*self._used.items()]:
            try:
                times = process.cpu_times()
            except psutil.Error:  # it has ended
                del self._used[process]
                continue
            self._used[process] = times.user + times.system
            self._left -= self._used[process] - before
        self.let(self._left > 0.0)

    def let(self, run: bool) -> None:
        """Whether they run."""
        for process in self._used:
            with contextlib.suppress(psutil.Error):
                process.resume() if run else process.suspend()


@contextlib.contextmanager
def held(modules: Sequence[str], cores: float) -> Iterator[None]:
    """While this process's children of some modules together take no more than some cores would.

    Args:
        modules: by which they were started.
        cores: so many, also a part of one.
    """
    them, done = _Held(modules, cores), threading.Event()

    def hold() -> None:
        while not done.wait(TURN_S):
            them.turn()
        them.let(True)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()

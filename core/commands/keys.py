"""Keys pressed at a terminal, one at a time and without Enter."""

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator

Wait = Callable[[float], str]
"""Waits at most so many seconds for a key; "" if none was pressed."""


@contextlib.contextmanager
def keys() -> Iterator[Wait]:
    """Take keys while entered; the terminal is as before afterwards, also after a SIGTERM. It is not put aside by
    Ctrl+Z, which would leave it as it is now. Where no terminal is read, no key is ever pressed."""
    if not sys.stdin.isatty():
        yield _sleep
    elif sys.platform == "win32":
        yield _windows_key
    else:
        import termios
        import tty

        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
        kept = {
            signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM)),
            signal.SIGTSTP: signal.signal(signal.SIGTSTP, signal.SIG_IGN),
        }
        try:
            tty.setcbreak(terminal)
            yield _key
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
            for number, handler in kept.items():
                signal.signal(number, handler)


def _sleep(seconds: float) -> str:
    time.sleep(seconds)
    return ""


def _key(seconds: float) -> str:
    terminal = sys.stdin.fileno()
    return os.read(terminal, 1).decode("latin-1") if select.select([terminal], [], [], seconds)[0] else ""


def _windows_key(seconds: float) -> str:
    import msvcrt

    until = time.monotonic() + seconds
    while not msvcrt.kbhit():  # type: ignore[attr-defined]
        if time.monotonic() >= until:
            return ""
        time.sleep(0.05)
    return str(msvcrt.getwch())  # type: ignore[attr-defined]

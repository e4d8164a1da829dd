"""The event loop of the worker and of compute."""

import asyncio
import sys
from collections.abc import Coroutine
from typing import TypeVar

if sys.platform != "win32":
    import uvloop

T = TypeVar("T")


def run(main: Coroutine[object, object, T]) -> T:
    """Run a coroutine as `asyncio.run` does, in uvloop's loop where there is one: not on Windows.

    It passes on an expert's call, with its reads, writes and wake-ups, in less of the interpreter's time.

    Args:
        main: to be run to its end.
    """
    if sys.platform == "win32":
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)

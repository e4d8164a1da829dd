"""Work in a thread beside the window, so that it does not hold the window up."""

import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def beside(name: str, work: Callable[[], T], tell: Callable[[T], object]) -> None:
    """Do `work` in a thread of this name, and `tell` its result there, such as by a signal. Who wanted to know may
    have gone meanwhile, as when the window was built anew in another language."""

    def run() -> None:
        result = work()
        with contextlib.suppress(RuntimeError):  # of a signal whose owner has been deleted
            tell(result)

    threading.Thread(target=run, name=name, daemon=True).start()

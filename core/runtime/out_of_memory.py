"""When the system gives this process no more memory: it saves, ends, and comes back smaller."""

import contextlib
import ctypes
import sys
from collections.abc import Iterator

SAYS = ("can't allocate memory", "not enough memory", "cannot allocate memory")
"""What torch's allocator says; it has no error of its own for it."""


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what caused it; of a group, all of them."""
    while error is not None:
        if isinstance(error, BaseExceptionGroup):
            for one in error.exceptions:
                yield from causes(one)
            return
        yield error
        error = error.__cause__


def is_exhausted(error: BaseException) -> bool:
    """Whether an error means that there is no memory left, or was caused by such a one."""
    return any(
        isinstance(one, MemoryError)
        or (isinstance(one, RuntimeError | OSError) and any(words in str(one).lower() for words in SAYS))
        for one in causes(error)
    )


def give_memory_back() -> None:
    """Return to the system what was freed: glibc keeps much of it for later."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)


def lift_limit() -> None:
    """Take what is needed to save all the same: this process is about to end."""
    if sys.platform == "linux":
        import resource

        with contextlib.suppress(OSError, ValueError):
            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))

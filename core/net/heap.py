"""What keeps the memory of a process that joins the network small."""

import contextlib
import ctypes
import sys
from types import ModuleType

M_ARENA_MAX = -8
"""Of mallopt(3)."""


def keep_small() -> None:
    """Have the transport's thread share the one pool that is there, and give back what starting has left unused.

    Worth 4 MB of 24; to be called before the transport starts. Other systems than Linux have nothing like it.
    """
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # not glibc
            libc = ctypes.CDLL(None)
            libc.mallopt(M_ARENA_MAX, 1)
            libc.malloc_trim(0)


def ciphers() -> ModuleType:
    """`core.net.secure`, loaded when it is first needed: its library is 6 MB, and few peers use it."""
    from core.net import secure

    return secure

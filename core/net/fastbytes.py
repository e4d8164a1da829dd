"""The iroh binding copies byte strings one by one (4 MB/s); this copies them at once.

One method of the generated binding is replaced, and only if the binding looks as it did when this was written and the
replacement is seen to do the same. If not, everything still works, slowly; a test says so.
"""

import ctypes
import logging
from typing import Any

import iroh.iroh_ffi

iroh_ffi: Any = iroh.iroh_ffi  # its builder has no types
log = logging.getLogger(__name__)

_KNOWN_FIELDS = ["capacity", "len", "data"]


def _write(self: Any, value: bytes) -> None:
    size = len(value)
    if not isinstance(value, bytes):
        value = bytes(value)
    with self._reserve(size):
        if size:
            ctypes.memmove(ctypes.addressof(self.rbuf.data.contents) + self.rbuf.len, value, size)


def _looks_as_known() -> bool:
    builder = getattr(iroh_ffi, "_UniffiRustBufferBuilder", None)
    buffer = getattr(iroh_ffi, "_UniffiRustBuffer", None)
    return (
        builder is not None
        and buffer is not None
        and [name for name, *_ in getattr(buffer, "_fields_", [])] == _KNOWN_FIELDS
        and dict(buffer._fields_)["data"] is ctypes.POINTER(ctypes.c_char)
        and callable(getattr(builder, "_reserve", None))
        and callable(getattr(builder, "write", None))
    )


def _does_the_same() -> bool:
    sample = bytes(range(256)) * 5
    found = []
    for write in (iroh_ffi._UniffiRustBufferBuilder.write, _write):
        builder = iroh_ffi._UniffiRustBufferBuilder()
        builder.write_i32(7)
        write(builder, sample)
        write(builder, b"")
        write(builder, b"end")
        found.append(builder.rbuf.data[: builder.rbuf.len])
        builder.discard()
    return bool(found[0] == found[1])


def apply() -> bool:
    """Replace the slow method. Returns whether byte strings are fast now."""
    if not _looks_as_known():
        log.warning("The iroh binding has changed: large payloads will be slow until fastbytes.py is adapted.")
        return False
    if iroh_ffi._UniffiRustBufferBuilder.write is not _write:
        if not _does_the_same():
            log.warning("The iroh binding writes bytes in another way now: large payloads will be slow.")
            return False
        iroh_ffi._UniffiRustBufferBuilder.write = _write
    return True

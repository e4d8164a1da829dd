"""The iroh binding made fast: its generated Python code takes longer than the network does.

- Byte strings are copied at once, not one by one (4 MB/s).
- What is done at once is not waited for: a write that fits into the window takes no turn of the event loop.
- Who waits for the transport goes on in the callback that brings its news, not one turn of the loop later.
- The transport's thread, which says when something can be read, keeps its Python state: to make a new one each time
  costs a call of the system for its memory and another to give it back.

Parts of the generated binding are replaced, and only if it looks as it did when this was written and the replacement is
seen to do the same. If not, everything still works, slowly; a test says so.
"""

import asyncio
import ctypes
import inspect
import itertools
import logging
import struct
import threading
from collections.abc import Callable, Generator
from contextvars import Context
from typing import Any

import iroh.iroh_ffi

iroh_ffi: Any = iroh.iroh_ffi  # its generated parts have no types
log = logging.getLogger(__name__)

_KNOWN_FIELDS = ["capacity", "len", "data"]
_KNOWN_PARAMETERS = {
    "_uniffi_rust_call_async": [
        "rust_future",
        "ffi_poll",
        "ffi_complete",
        "ffi_free",
        "lift_func",
        "error_ffi_converter",
    ],
    "_uniffi_rust_call_with_error": ["error_ffi_converter", "fn", "args"],
    "_uniffi_check_call_status": ["error_ffi_converter", "call_status"],
}
_LENGTH = struct.Struct(">i")
_thread = threading.local()
_numbers = itertools.count(1)
_polls: dict[int, "_Poll"] = {}
"""Futures of the transport that are being polled, or whose news are waited for."""


# Byte strings


def _lower(value: bytes | memoryview) -> Any:
    """A buffer of the transport with a copy of a byte string and its length before it."""
    size = len(value)
    buffer = iroh_ffi._UniffiRustBuffer.alloc(_LENGTH.size + size)
    address = ctypes.addressof(buffer.data.contents)
    ctypes.memmove(address, _LENGTH.pack(size), _LENGTH.size)
    if isinstance(value, bytes):
        ctypes.memmove(address + _LENGTH.size, value, size)
    elif size:
        memoryview((ctypes.c_char * size).from_address(address + _LENGTH.size)).cast("B")[:] = value
    buffer.len = _LENGTH.size + size
    return buffer


def _lift(buffer: Any) -> bytes:
    """The byte string in a buffer of the transport, which is given back."""
    try:
        address = ctypes.addressof(buffer.data.contents)
        [size] = _LENGTH.unpack(ctypes.string_at(address, _LENGTH.size))
        if not 0 <= size == buffer.len - _LENGTH.size:
            raise iroh_ffi.InternalError("a byte string that does not fill its buffer")
        return ctypes.string_at(address + _LENGTH.size, size)
    finally:
        buffer.free()


# Calls


def _call(errors: Any, function: Callable[..., Any], *args: Any) -> Any:
    status = iroh_ffi._UniffiRustCallStatus()  # all zero: success
    result = function(*args, ctypes.byref(status))
    if status.code:
        iroh_ffi._uniffi_check_call_status(errors, status)
    return result


class _Poll:
    """A future of the transport that is asked whether it is done. Awaited, it has what a task wants of a future."""

    _asyncio_future_blocking = False

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.thread: int | None = threading.get_ident()
        """Which is asking at this moment."""
        self.code: int | None = None
        """The answer."""
        self._cancelled = False
        self._waiting: tuple[Callable[[_Poll], object], Context] | None = None

    def __await__(self) -> Generator["_Poll", None, int]:
        if self.code is None:
            self._asyncio_future_blocking = True
            yield self
        assert self.code is not None
        return self.code

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self.loop

    def add_done_callback(self, wake: Callable[["_Poll"], object], *, context: Context) -> None:
        self._waiting = wake, context

    def tell(self) -> None:
        """Have who waits go on; to be called from the loop."""
        if self._waiting is not None:
            (wake, context), self._waiting = self._waiting, None
            context.run(wake, self)

    def cancel(self, msg: object = None) -> bool:
        if self._waiting is not None:
            self._cancelled = True
            self.loop.call_soon(self.tell)
        return self._cancelled

    def result(self) -> None:
        if self._cancelled:
            raise asyncio.CancelledError


@iroh_ffi._UNIFFI_RUST_FUTURE_CONTINUATION_CALLBACK  # type: ignore[untyped-decorator]
def _news(number: int, code: int) -> None:
    """Called by the transport once for each poll: in it, or later from any thread."""
    poll = _polls.pop(number)
    poll.code = code
    if poll.thread == threading.get_ident():
        return
    if not hasattr(_thread, "kept"):
        _thread.kept = True
        ctypes.pythonapi.PyGILState_Ensure()  # never released: this thread's state outlives the call
    try:
        poll.loop.call_soon_threadsafe(poll.tell)
    except RuntimeError:
        pass  # the loop has ended, nobody waits any more


async def _call_async(
    rust_future: Any,
    ffi_poll: Callable[..., None],
    ffi_complete: Callable[..., Any],
    ffi_free: Callable[..., None],
    lift: Callable[[Any], Any],
    errors: Any,
) -> Any:
    try:
        code: int | None = None
        while code != iroh_ffi._UNIFFI_RUST_FUTURE_POLL_READY:
            poll, number = _Poll(), next(_numbers)
            _polls[number] = poll
            ffi_poll(rust_future, _news, number)
            poll.thread = None
            code = await poll
        return lift(_call(errors, ffi_complete, rust_future))
    finally:
        ffi_free(rust_future)


# Putting them in


def _looks_as_known() -> bool:
    buffer, converter = (getattr(iroh_ffi, f"_Uniffi{name}", None) for name in ("RustBuffer", "FfiConverterBytes"))
    callback = getattr(iroh_ffi, "_UNIFFI_RUST_FUTURE_CONTINUATION_CALLBACK", None)
    return (
        buffer is not None
        and [name for name, *_ in getattr(buffer, "_fields_", [])] == _KNOWN_FIELDS
        and dict(buffer._fields_)["data"] is ctypes.POINTER(ctypes.c_char)
        and callable(getattr(buffer, "alloc", None))
        and callable(getattr(converter, "lower", None))
        and callable(getattr(converter, "lift", None))
        and getattr(callback, "_argtypes_", None) == (ctypes.c_uint64, ctypes.c_int8)
        and hasattr(iroh_ffi, "_UNIFFI_RUST_FUTURE_POLL_READY")
        and getattr(getattr(iroh_ffi, "_UniffiRustCallStatus", None), "CALL_SUCCESS", None) == 0
        and all(_parameters(name) in (known, None) for name, known in _KNOWN_PARAMETERS.items())
    )


def _parameters(name: str) -> list[str] | None:
    """Of a function of the binding; None: it is replaced already."""
    function = getattr(iroh_ffi, name, None)
    if function is None:
        return []
    return None if function in (_call, _call_async) else list(inspect.signature(function).parameters)


def _does_the_same() -> bool:
    sample = bytes(range(256)) * 5
    converter, found = iroh_ffi._UniffiFfiConverterBytes, []
    for lower, lift in ((converter.lower, converter.lift), (_lower, _lift)):
        buffer = lower(sample)
        found.append((buffer.data[: buffer.len], lift(buffer), lift(lower(b""))))
    return found[0] == found[1]


def apply() -> bool:
    """Replace what is slow. Returns whether the binding is fast now."""
    if not _looks_as_known():
        log.warning("The iroh binding has changed: the network will be slow until fast_binding.py is adapted.")
        return False
    if iroh_ffi._uniffi_rust_call_async is not _call_async:
        if not _does_the_same():
            log.warning("The iroh binding writes bytes in another way now: the network will be slow.")
            return False
        iroh_ffi._UniffiFfiConverterBytes.lower = staticmethod(_lower)
        iroh_ffi._UniffiFfiConverterBytes.lift = staticmethod(_lift)
        iroh_ffi._uniffi_rust_call_with_error = _call
        iroh_ffi._uniffi_rust_call_async = _call_async
    return True

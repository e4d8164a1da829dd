"""A small client of the Wayland protocol: requests, events, and nothing that draws.

Wire: https://wayland.freedesktop.org/docs/html/ch04.html. A message is object, size and opcode (words of the machine's
own byte order), then arguments in whole words. A size has 16 bits, which bounds every message.
"""

import contextlib
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from core.contracts.notices import Notice, notice
from core.policy.signals.reading import AbsentError, SourceError

CALL_S = 1.0
HEADER = struct.Struct("=II")
"""Object; size in bytes with this header in the upper half of a word, opcode in the lower."""
MAX_OBJECTS = 4096
DISPLAY, REGISTRY = 1, 2
FROM_SERVER = 0xFF000000
"""Object numbers from here on are given by the compositor."""


class Arguments:
    """Those of one event, taken one after the other.

    Raises:
        ValueError: there are fewer bytes than the event's arguments need.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data

    def uint(self) -> int:
        return int.from_bytes(self._take(4), sys.byteorder)

    def array(self) -> bytes:
        size = self.uint()
        value = self._take(size)
        self._take(-size % 4)
        return value

    def string(self) -> str:
        return self.array().rstrip(b"\0").decode("utf8", "replace")

    def _take(self, size: int) -> bytes:
        if size > len(self._data):
            raise ValueError("an event is cut short")
        taken, self._data = self._data[:size], self._data[size:]
        return taken


Handler = Callable[[int, Arguments], None]
"""Takes an event's opcode and arguments, in the connection's own thread."""


def uint(value: int) -> bytes:
    return struct.pack("=I", value)


def string(text: str) -> bytes:
    data = text.encode() + b"\0"
    return uint(len(data)) + data + bytes(-len(data) % 4)


class Wayland:
    """A connection to the session's compositor. Used by one thread; events are told in another, its own.

    Raises:
        SourceError: this is not a Wayland session, or its compositor does not answer. So do all methods but `close`.
    """

    def __init__(self) -> None:
        self._globals: dict[str, tuple[int, int]] = {}
        """By interface, the newest first seen: name and version."""
        self._bound: set[int] = set()
        self._handlers: dict[int, Handler] = {DISPLAY: self._on_display, REGISTRY: self._on_registry}
        self._free: list[int] = []
        self._next = REGISTRY + 1
        self.ended: Notice | None = None
        """Why the connection has ended; None while it lives."""
        self._done = threading.Event()
        self._socket = _connect()
        threading.Thread(target=self._receive, name="wayland", daemon=True).start()
        try:
            self.request(DISPLAY, 1, uint(REGISTRY))
            self.round_trip()
        except SourceError:
            self.close()
            raise

    def request(self, target: int, opcode: int, arguments: bytes = b"") -> None:
        if self.ended:
            raise SourceError(self.ended)
        try:
            self._socket.sendall(HEADER.pack(target, (HEADER.size + len(arguments)) << 16 | opcode) + arguments)
        except OSError:
            self.ended = self.ended or notice("wayland.silent")
            self.close()
            raise SourceError(self.ended) from None

    def new(self, handler: Handler) -> int:
        """Number of an object that the next request makes; `handler` gets its events."""
        if self._free:
            number = self._free.pop()
        else:
            number, self._next = self._next, self._next + 1
        self._handlers[number] = handler
        return number

    def adopt(self, number: int, handler: Handler) -> None:
        """Take an object that the compositor made. Called by a handler.

        Raises:
            ValueError: it made too many, or numbers it wrong.
        """
        if number < FROM_SERVER or len(self._handlers) >= MAX_OBJECTS:
            raise ValueError("it makes too many objects")
        self._handlers[number] = handler

    def forget(self, number: int) -> None:
        """An object that the compositor made and that is gone."""
        self._handlers.pop(number, None)

    def version(self, interface: str) -> int:
        """What the compositor offers of it; 0: nothing."""
        return self._globals.get(interface, (0, 0))[1]

    def bind(self, interface: str, version: int, handler: Handler) -> int:
        """Number of the compositor's object for an interface that it offers."""
        name = self._globals[interface][0]
        number = self.new(handler)
        self._bound.add(name)
        self.request(REGISTRY, 0, uint(name) + string(interface) + uint(version) + uint(number))
        return number

    def round_trip(self) -> None:
        """Return when all requests so far have been handled, and their events too."""
        self._done = done = threading.Event()
        self.request(DISPLAY, 0, uint(self.new(lambda opcode, arguments: done.set())))
        if not done.wait(CALL_S) or self.ended:
            raise SourceError(self.ended or notice("wayland.silent"))

    def close(self) -> None:
        """Never waits, never raises."""
        self.ended = self.ended or notice("source.closed")
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # the receiving thread wakes, and closes it

    # in the connection's own thread

    def _receive(self) -> None:
        data = b""
        try:
            while chunk := self._socket.recv(1 << 16):
                data = self._take(data + chunk)
            self.ended = self.ended or notice("wayland.gone")
        except ConnectionError:
            self.ended = self.ended or notice("wayland.gone")
        except Exception as error:
            self.ended = self.ended or notice("wayland.nonsense", why=str(error)[:100])
        self._done.set()
        self._socket.close()

    def _take(self, data: bytes) -> bytes:
        """Handle all whole events; what is left of the bytes."""
        at = 0
        while len(data) - at >= HEADER.size:
            number, word = HEADER.unpack_from(data, at)
            size, opcode = word >> 16, word & 0xFFFF
            if size < HEADER.size or size % 4:
                raise ValueError("an event has an impossible size")
            if len(data) - at < size:
                break
            handler = self._handlers.get(number)
            if handler is not None:
                handler(opcode, Arguments(data[at + HEADER.size : at + size]))
            at += size
        return data[at:]

    def _on_display(self, opcode: int, arguments: Arguments) -> None:
        if opcode == 0:
            arguments.uint()
            arguments.uint()
            raise ValueError(f"it refuses: {arguments.string()}")
        number = arguments.uint()
        if REGISTRY < number < self._next and self._handlers.pop(number, None) is not None:
            self._free.append(number)

    def _on_registry(self, opcode: int, arguments: Arguments) -> None:
        name = arguments.uint()
        if opcode == 0:
            interface, version = arguments.string(), arguments.uint()
            if len(self._globals) < MAX_OBJECTS:
                self._globals.setdefault(interface, (name, version))
        elif name in self._bound:
            raise ConnectionError


def _connect() -> socket.socket:
    display, folder = os.environ.get("WAYLAND_DISPLAY"), os.environ.get("XDG_RUNTIME_DIR")
    if not display:
        raise AbsentError(notice("wayland.none"))
    if not folder and not Path(display).is_absolute():
        raise SourceError(notice("wayland.not_found"))
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(CALL_S)
    try:
        connection.connect(str(Path(folder or "/", display)))
    except OSError as error:
        connection.close()
        raise SourceError(notice("wayland.unreachable", why=str(error)[:100])) from None
    connection.settimeout(None)
    seconds, rest = divmod(CALL_S, 1)
    limit = struct.pack("ll", int(seconds), int(rest * 1e6))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
    return connection

"""The frames that cross the pipe, made and cut at either end.

A frame: a fixed head (`HEAD`), the method's name, a msgpack body, and a payload of raw bytes, which is never decoded
here. No pickle.
"""

import math
import struct
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from core.contracts.errors import ProtocolError

CHUNK = 256 * 1024
"""Bytes of one read: what is there of many small frames, or a good part of a large one."""
MAX_BODY = 4 << 20
"""Bytes; a progress message about 4,096 experts has 200 KB."""
MAX_PAYLOAD = 1 << 30
"""Bytes; the two ends trust each other, this only catches a stream out of step."""
HEAD = struct.Struct("<BBQdII")
"""Kind, length of the name, number of the call, deadline, length of the body, length of the payload."""

Data = bytes | bytearray | memoryview
Payload = Data | Sequence[Data]
"""Flat buffers of bytes."""


class Kind(IntEnum):
    """What a frame is. The first three name the sender's calls, the others those of who receives them."""

    CALL = 1
    TELL = 2
    """A message that nobody answers."""
    CANCEL = 3
    """Nobody waits for the answer any more."""
    REPLY = 4
    ITEM = 5
    """One more piece of a stream."""
    END = 6
    """The stream is complete."""
    FAULT = 7
    """The call failed."""


class Frame(NamedTuple):
    """One that has been cut."""

    kind: Kind
    method: bytes
    """Its name, in calls and tells."""
    number: int
    deadline: float
    """time.monotonic() after which nobody waits for the answer; the clock is the same in both processes."""
    body: memoryview
    payload: Payload


def encode(
    kind: Kind,
    number: int,
    body: bytes = b"",
    payload: Payload = b"",
    method: bytes = b"",
    deadline: float = math.inf,
) -> list[Data]:
    """The buffers of a frame, to be written one after the other.

    Args:
        kind: what it is.
        number: of the call; 0 in tells.
        body: msgpack.
        payload: is not copied.
        method: its name.
        deadline: time.monotonic().
    """
    parts = [payload] if isinstance(payload, bytes | bytearray | memoryview) else list(payload)
    size = sum(map(len, parts))
    head = HEAD.pack(kind, len(method), number, deadline, len(body), size) + method + body
    return [head, *parts] if size else [head]


KINDS = {kind.value: kind for kind in Kind}


def _check(kind: int, body: int, payload: int) -> None:
    """Raises:
    ProtocolError: a head is none, or announces more than may come; before anything is allocated.
    """
    if body > MAX_BODY or payload > MAX_PAYLOAD:
        raise ProtocolError(f"A frame of {body} + {payload} bytes is over the limit of the pipe.")
    if kind not in KINDS:
        raise ProtocolError(f"The pipe carried a frame of the unknown kind {kind}.")


class Frames:
    """Cuts one direction of the pipe into frames."""

    def __init__(self, in_parts: bool = False) -> None:
        """Begin with nothing.

        Args:
            in_parts: payloads are given out in the pieces in which they came, not copied, for who passes them on.
        """
        self._in_parts = in_parts
        self._head: tuple[int, int, int, float, int, int] | None = None
        """None: it is what comes next."""
        self._text: bytearray | None = None
        """Name and body, once they are complete."""
        self._part, self._parts = bytearray(HEAD.size), list[Data]()
        self._filled, self._wanted = 0, HEAD.size

    @property
    def room(self) -> memoryview | None:
        """Where the rest of a payload may be read to directly, to be followed by `read`; None: feed what comes."""
        return None if self._text is None else memoryview(self._part)[self._filled :]

    def read(self, count: int) -> Iterator[Frame]:
        """The frames that are complete with `count` bytes in `room`.

        Raises:
            ProtocolError: as `feed`.
        """
        self._filled += count
        return self.feed(b"")

    def feed(self, data: Data) -> Iterator[Frame]:
        """The frames that are complete with `data`.

        Raises:
            ProtocolError: something came that is no frame; the stream cannot be used any more.
        """
        view = memoryview(data)
        start = 0
        if self._head is None and not self._filled:
            for whole, start in self._whole(view):  # noqa: B007
                yield whole
        while True:
            taken = min(self._wanted - self._filled, len(view) - start)
            if self._in_parts and self._text is not None:
                if taken:
                    self._parts.append(view[start : start + taken])
            else:
                self._part[self._filled : self._filled + taken] = view[start : start + taken]
            start += taken
            self._filled += taken
            if self._filled < self._wanted:
                return
            if (frame := self._complete()) is not None:
                yield frame

    def _whole(self, view: memoryview) -> Iterator[tuple[Frame, int]]:
        """The frames that lie in `view` from their first byte to their last, each with where it ends: most do, and
        need not be put together."""
        start, size = 0, len(view)
        while size - start >= HEAD.size:
            head = HEAD.unpack_from(view, start)
            kind, name, number, deadline, body, payload = head
            _check(kind, body, payload)
            text = start + HEAD.size + name
            data, end = text + body, text + body + payload
            if end > size:
                return
            carried: Payload = [view[data:end]] if self._in_parts and payload else bytearray(view[data:end])
            frame = Frame(
                KINDS[kind], bytes(view[start + HEAD.size : text]), number, deadline, view[text:data], carried
            )
            yield frame, end
            start = end

    def _complete(self) -> Frame | None:
        """Go on to the next part; the frame, if that was its last one."""
        part = self._part
        if self._head is None:
            self._head = kind, name, _, _, body, payload = HEAD.unpack(part)
            _check(kind, body, payload)
            self._want(name + body)
            return None
        kind, name, number, deadline, _, size = self._head
        if self._text is None:
            self._text = part
            self._want(size, self._in_parts)
            return None
        text, payload = memoryview(self._text), self._parts if self._in_parts else part
        self._head, self._text, self._parts = None, None, []
        self._want(HEAD.size)
        return Frame(KINDS[kind], bytes(text[:name]), number, deadline, text[name:], payload)

    def _want(self, size: int, elsewhere: bool = False) -> None:
        """The next part has so many bytes; `elsewhere`: it stays in the pieces that come."""
        self._part = bytearray(0 if elsewhere else size)
        self._filled, self._wanted = 0, size

"""Cuts what comes through the pipe into frames, at either end."""

from collections.abc import Iterator

from core.contracts import pipe as messages
from core.contracts.pipe import Tensor, ToCompute, ToWorker

CHUNK = 256 * 1024
"""Bytes of one read: what is there of many small frames, or a good part of a large one."""


class Frames:
    """The frames of one direction of the pipe."""

    def __init__(self) -> None:
        self._parts: list[bytearray] = []
        """The finished ones of prefix, header and payload."""
        self._part, self._missing = bytearray(), messages.PREFIX.size

    def feed(self, data: bytes) -> Iterator[tuple[ToCompute | ToWorker, list[Tensor]]]:
        """The frames that are complete with `data`.

        Raises:
            ProtocolError: something came that is not in the contract; the stream cannot be used any more.
        """
        view = memoryview(data)
        while len(view) or not self._missing:
            self._part += view[: self._missing]
            taken, view = min(self._missing, len(view)), view[self._missing :]
            self._missing -= taken
            if self._missing:
                return
            self._parts.append(self._part)
            self._part = bytearray()
            if len(self._parts) < 3:
                self._missing = messages.sizes(self._parts[0])[len(self._parts) - 1]
                continue
            (_, header, payload), self._parts = self._parts, []
            self._missing = messages.PREFIX.size
            yield messages.decode(header, payload)

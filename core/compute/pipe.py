"""Compute's end of the pipe: two threads that read and write frames, whatever the rest of the process is doing."""

import asyncio
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import BinaryIO

from core.compute import messages
from core.compute.messages import LogText, Progress, Quit, Stop, Tensor, ToCompute, ToWorker
from core.errors import ProtocolError

INBOX = 64
"""Frames read but not yet obeyed; more are left in the pipe."""
BACKLOG = 1024
"""Frames waiting for the worker; one that lets so many pile up hangs, and nobody needs this process then."""
BACKLOG_LOSSY = 64
"""From here on progress and log lines are dropped."""
LAST_WISH_S = 1.0
"""How long the process may live after the worker has gone or talks nonsense."""

Streams = tuple[BinaryIO, BinaryIO]
Received = tuple[ToCompute, list[Tensor]]


def take_over() -> Streams:
    """Make stdin and stdout private, so that nothing that prints or reads by accident can get between the frames.

    Everything written to stdout from now on, also by C code, goes to stderr; stdin is empty.
    """
    reader, writer = os.dup(0), os.dup(1)
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(reader, os.O_BINARY)
        msvcrt.setmode(writer, os.O_BINARY)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return os.fdopen(reader, "rb"), os.fdopen(writer, "wb")


class Pipe:
    """Frames in and out. To be made in the loop's thread."""

    def __init__(self, streams: Streams) -> None:
        self.stop: Callable[[], object] = lambda: None
        """Called in the reading thread as soon as a Stop or Quit is read, before the loop gets to see it."""
        self.saving = threading.Event()
        """Set while a checkpoint is being written: the end of the process waits for that, but not for long."""
        self._reader, self._writer = streams
        self._loop = asyncio.get_running_loop()
        self._inbox: asyncio.Queue[Received | ProtocolError] = asyncio.Queue()
        self._room = threading.Semaphore(INBOX)
        self._frames: queue.Queue[list[bytes | memoryview]] = queue.Queue(BACKLOG)
        for target in (self._read, self._write):
            threading.Thread(target=target, name=f"pipe{target.__name__}", daemon=True).start()

    def send(self, message: ToWorker, tensors: Sequence[Tensor] = ()) -> None:
        """Hand a frame to the writing thread; never waits."""
        if isinstance(message, Progress | LogText) and self._frames.qsize() >= BACKLOG_LOSSY:
            return
        try:
            self._frames.put_nowait(messages.encode(message, tensors))
        except queue.Full:
            self._vanish()

    async def receive(self) -> Received:
        """The next message.

        Raises:
            ProtocolError: what came is no message for compute; the process ends in a second.
        """
        item = await self._inbox.get()
        self._room.release()
        if isinstance(item, ProtocolError):
            raise item
        return item

    def flush(self) -> None:
        """Wait until the worker has everything, or for `LAST_WISH_S`."""
        deadline = time.monotonic() + LAST_WISH_S
        while self._frames.unfinished_tasks and time.monotonic() < deadline:
            time.sleep(0.005)

    def _read(self) -> None:
        try:
            while True:
                header_size, payload_size = messages.sizes(self._exactly(messages.PREFIX.size))
                message, tensors = messages.decode(self._exactly(header_size), self._exactly(payload_size))
                if not isinstance(message, ToCompute):
                    raise ProtocolError(f"The worker sent a {type(message).__name__}, which is not for compute.")
                if isinstance(message, Stop | Quit):
                    self.stop()
                self._post((message, tensors))
        except ProtocolError as error:
            self._post(error)
            time.sleep(LAST_WISH_S)
            os._exit(error.exit_code)
        except (OSError, EOFError):
            self._vanish()

    def _exactly(self, size: int) -> bytes:
        data = self._reader.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def _post(self, item: Received | ProtocolError) -> None:
        self._room.acquire()
        try:
            self._loop.call_soon_threadsafe(self._inbox.put_nowait, item)
        except RuntimeError:
            pass  # the loop has ended, and the process is about to

    def _write(self) -> None:
        try:
            while True:
                for data in self._frames.get():
                    self._writer.write(data)
                self._writer.flush()
                self._frames.task_done()
        except OSError:
            self._vanish()

    def _vanish(self) -> None:
        """End the process at once, in the middle of a kernel too: without a worker it would be an orphan."""
        deadline = time.monotonic() + LAST_WISH_S
        while self.saving.is_set() and time.monotonic() < deadline:
            time.sleep(0.005)
        os._exit(0)

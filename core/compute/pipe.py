"""Compute's end of the pipe: a thread reads frames, whatever the rest of the process is doing; another writes those for
which the pipe has no room at once."""

import asyncio
import contextlib
import io
import os
import queue
import select
import sys
import threading
import time
from collections.abc import Callable, Sequence

from core.compute import messages
from core.compute.messages import Data, LogText, Progress, Quit, Stop, Tensor, ToCompute, ToWorker
from core.errors import ProtocolError

INBOX = 64
"""Frames read but not yet obeyed; more are left in the pipe."""
BACKLOG = 1024
"""Frames waiting for the worker; one that lets so many pile up hangs, and nobody needs this process then."""
BACKLOG_LOSSY = 64
"""From here on progress and log lines are dropped."""
ROOM = 1 << 20
"""Bytes that the pipe holds, where the system lets us choose: a batch of activations passes without waiting."""
LAST_WISH_S = 1.0
"""How long the process may live after the worker has gone or talks nonsense."""

if sys.platform == "linux":
    import fcntl

Streams = tuple[io.BufferedReader, io.BufferedWriter]
Received = tuple[ToCompute, list[Tensor]]


def take_over() -> Streams:
    """Make stdin and stdout private, so that nothing that prints or reads by accident can get between the frames.

    Everything written to stdout from now on, also by C code, goes to stderr; stdin is empty.
    """
    reader, writer = os.dup(0), os.dup(1)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            for end in (reader, writer):
                fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, ROOM)
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
        self.at_once: Callable[[ToCompute, list[Tensor]], bool] = lambda message, tensors: False
        """Called in the loop's thread with a message that no other waits before; whether it was dealt with. If not,
        `receive` gives it out."""
        self.saving = threading.Event()
        """Set while a checkpoint is being written: the end of the process waits for that, but not for long."""
        self._reader, self._writer = streams
        self._loop = asyncio.get_running_loop()
        self._inbox: asyncio.Queue[Received | ProtocolError] = asyncio.Queue()
        self._room = threading.Semaphore(INBOX)
        self._frames: queue.Queue[list[Data]] = queue.Queue(BACKLOG)
        self._sending = threading.Lock()
        if sys.platform != "win32":
            os.set_blocking(self._writer.fileno(), False)
        for target in (self._read, self._write):
            threading.Thread(target=target, name=f"pipe{target.__name__}", daemon=True).start()

    def send(self, message: ToWorker, tensors: Sequence[Tensor] = ()) -> None:
        """Write a frame, or leave it to the writing thread if the pipe has no room; never waits."""
        if isinstance(message, Progress | LogText) and self._frames.qsize() >= BACKLOG_LOSSY:
            return
        frame = messages.encode(message, tensors)
        try:
            with self._sending:
                # A hand-over to another thread takes longer than all else here.
                if sys.platform == "win32" or self._frames.unfinished_tasks or (frame := self._write_some(frame)):
                    self._frames.put_nowait(frame)
        except (queue.Full, OSError):
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

    def _exactly(self, size: int) -> bytearray:
        data = bytearray(size)
        if self._reader.readinto(data) < size:
            raise EOFError
        return data

    def _post(self, item: Received | ProtocolError) -> None:
        self._room.acquire()
        try:
            self._loop.call_soon_threadsafe(self._deliver, item)
        except RuntimeError:
            pass  # the loop has ended, and the process is about to

    def _deliver(self, item: Received | ProtocolError) -> None:
        if self._inbox.empty() and not isinstance(item, ProtocolError) and self.at_once(*item):
            self._room.release()
        else:
            self._inbox.put_nowait(item)

    def _write(self) -> None:
        try:
            while True:
                frame = self._frames.get()
                while frame := self._write_some(frame):
                    select.select([], [self._writer], [])
                self._frames.task_done()
        except OSError:
            self._vanish()

    def _write_some(self, frame: list[Data]) -> list[Data]:
        """Write as much as the pipe has room for (on Windows: all); what is left."""
        if sys.platform == "win32":
            for data in frame:
                self._writer.write(data)
            self._writer.flush()
            return []
        try:
            written = os.writev(self._writer.fileno(), frame)
        except BlockingIOError:
            return frame
        rest: list[Data] = []
        for data in frame:
            if written < len(data):
                rest.append(memoryview(data)[written:])
            written = max(0, written - len(data))
        return rest

    def _vanish(self) -> None:
        """End the process at once, in the middle of a kernel too: without a worker it would be an orphan."""
        deadline = time.monotonic() + LAST_WISH_S
        while self.saving.is_set() and time.monotonic() < deadline:
            time.sleep(0.005)
        os._exit(0)

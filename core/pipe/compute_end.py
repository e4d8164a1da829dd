"""Compute's end of the pipe: the loop reads frames, also before each training kernel; a thread writes those for which
the pipe has no room at once. On Windows, where a loop cannot wait for a pipe, another thread reads."""

import asyncio
import contextlib
import os
import queue
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from core.contracts import pipe as messages
from core.contracts.errors import ProtocolError
from core.contracts.pipe import Data, LogText, Progress, Quit, SetDevice, Space, Stop, Tensor, ToCompute, ToWorker
from core.pipe.old_frames import CHUNK, Frames

INBOX = 64
"""Frames read but not yet obeyed; about so many, more are left in the pipe."""
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

Ends = tuple[int, int]
"""File descriptors: where frames come from, and where they go."""
Received = tuple[ToCompute, list[Tensor]]


def take_over() -> Ends:
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
    return reader, writer


class Pipe:
    """Frames in and out. To be made in the loop's thread."""

    def __init__(self, ends: Ends) -> None:
        self.urgent: Callable[[Stop | Quit | SetDevice], object] = lambda message: None
        """Called as soon as what gives something back is read, before it is obeyed; on Windows in the reading
        thread."""
        self.at_once: Callable[[ToCompute, list[Tensor]], bool] = lambda message, tensors: False
        """Called in the loop's thread with a message that no other waits before; whether it was dealt with. If not,
        `receive` gives it out."""
        self.heard: Callable[[], object] = lambda: None
        """Called in the loop's thread when all that was there has been dealt with or given out."""
        self.saving = threading.Event()
        """Set while a checkpoint is being written: the end of the process waits for that, but not for long."""
        self._reader, self._writer = ends
        self._loop = asyncio.get_running_loop()
        self._incoming = Frames()
        self._inbox: asyncio.Queue[Received | ProtocolError] = asyncio.Queue()
        self._room = threading.Semaphore(INBOX)
        """For what a thread reads."""
        self._frames: queue.Queue[list[Data]] = queue.Queue(BACKLOG)
        self._sending = threading.Lock()
        if sys.platform == "win32":
            self._start(self._read_always)
        else:
            for end in ends:
                os.set_blocking(end, False)
            self._loop.add_reader(self._reader, self._arrived)
        self._start(self._write)

    def _start(self, target: Callable[[], None]) -> None:
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
        if isinstance(item, ProtocolError):
            raise item
        self._room.release()
        return item

    def look(self) -> None:
        """Read what has come, while the loop does not get to it: to be called before each training kernel."""
        if sys.platform != "win32":
            for item in self._read_some():
                self._inbox.put_nowait(item)

    def flush(self) -> None:
        """Wait until the worker has everything, or for `LAST_WISH_S`."""
        deadline = time.monotonic() + LAST_WISH_S
        while self._frames.unfinished_tasks and time.monotonic() < deadline:
            time.sleep(0.005)

    # reading

    def _arrived(self) -> None:
        for item in self._read_some():
            self._deliver(item)
        self.heard()

    def _read_some(self) -> list[Received]:
        """The messages that are complete with what the pipe holds now."""
        items: list[Received] = []
        try:
            while self._inbox.qsize() + len(items) < INBOX:
                data = os.read(self._reader, CHUNK)
                if not data:
                    raise EOFError
                items += self._cut(data)  # also those before an error
                if len(data) < CHUNK:
                    break
        except BlockingIOError:
            pass
        except (ProtocolError, EOFError, OSError) as error:
            self._loop.remove_reader(self._reader)
            self._loop.call_soon(self._ended, error)  # after these
        return items

    def _read_always(self) -> None:
        """For a thread of its own."""
        try:
            while data := os.read(self._reader, CHUNK):
                for item in self._cut(data):
                    self._room.acquire()
                    self._post(self._deliver, item)
            raise EOFError
        except (ProtocolError, EOFError, OSError) as error:
            self._post(self._ended, error)

    def _post(self, callback: Callable[..., None], *arguments: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and the process is about to
            self._loop.call_soon_threadsafe(callback, *arguments)

    def _cut(self, data: bytes) -> Iterator[Received]:
        """The messages that are complete with `data`; a Stop takes effect here."""
        for message, tensors in self._incoming.feed(data):
            if not isinstance(message, ToCompute):
                raise ProtocolError(f"The worker sent a {type(message).__name__}, which is not for compute.")
            if isinstance(message, Stop | Quit | SetDevice):
                self.urgent(message)
            yield message, tensors

    def _deliver(self, item: Received) -> None:
        waits = not isinstance(item[0], Space) and not self._inbox.empty()
        if not waits and self.at_once(*item):  # a save at the end goes on when nothing else is obeyed
            self._room.release()
        else:
            self._inbox.put_nowait(item)

    def _ended(self, error: Exception) -> None:
        """Nothing can be read any more."""
        if isinstance(error, ProtocolError):
            self._inbox.put_nowait(error)
            end = threading.Timer(LAST_WISH_S, os._exit, [error.exit_code])
            end.daemon = True
            end.start()
        else:
            self._start(self._vanish)

    # writing

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
                view = memoryview(data)
                while len(view):
                    view = view[os.write(self._writer, view) :]
            return []
        try:
            written = os.writev(self._writer, frame)
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

"""Compute's end of the pipe: the loop reads frames, also before each training kernel; a thread writes those for which
the pipe has no room at once. On Windows, where a loop cannot wait for a pipe, another thread reads.

A word that gives something back to the user takes effect in three steps, each for a reason. The worker announces it by
a signal (`ANNOUNCED`), as megabytes of other calls may be on their way before it: no kernel starts until it is read.
It is read between two kernels (`look`), as the loop may have many to run before its next turn, and takes effect then
(`Calls.when_read`). It is answered in its turn.
"""

import asyncio
import contextlib
import os
import queue
import select
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from core.contracts.errors import ProtocolError
from core.pipe.calls import Calls
from core.pipe.frames import CHUNK, Data, Frame, Frames

INBOX = 64
"""Frames read but not yet served; about so many, more are left in the pipe."""
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

    def __init__(self, ends: Ends, calls: Calls) -> None:
        """Carry the frames of `calls`."""
        self._calls = calls
        self.saving = threading.Event()
        """Set while a checkpoint is being written: the end of the process waits for that, but not for long."""
        self._reader, self._writer = ends
        self._loop = asyncio.get_running_loop()
        self._incoming = Frames()
        self._inbox: deque[Frame] = deque()
        """What was read by `look`."""
        self._heard: list[Callable[[], object]] = []
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
        calls.attach(self)

    def when_heard(self, callback: Callable[[], object]) -> None:
        """Have `callback` called in the loop's thread whenever all that was there has been served."""
        self._heard.append(callback)

    def _start(self, target: Callable[[], None]) -> None:
        threading.Thread(target=target, name=f"pipe{target.__name__}", daemon=True).start()

    def send(self, frame: list[Data], *, urgent: bool = False, lossy: bool = False) -> None:
        """Write a frame, or leave it to the writing thread if the pipe has no room; see `core.pipe.calls.Link`."""
        if lossy and self._frames.qsize() >= BACKLOG_LOSSY:
            return
        try:
            with self._sending:
                # A hand-over to another thread takes longer than all else here.
                if sys.platform == "win32" or self._frames.unfinished_tasks or (frame := self._write_some(frame)):
                    self._frames.put_nowait(frame)
        except (queue.Full, OSError):
            self._vanish()

    def look(self) -> None:
        """Read what has come, while the loop does not get to it: to be called before each training kernel."""
        if sys.platform != "win32":
            frames = self._read_some()
            if frames and not self._inbox:
                self._loop.call_soon(self._serve_inbox)
            self._inbox += frames

    def flush(self) -> None:
        """Wait until the worker has everything, or for `LAST_WISH_S`."""
        deadline = time.monotonic() + LAST_WISH_S
        while self._frames.unfinished_tasks and time.monotonic() < deadline:
            time.sleep(0.005)

    # reading

    def _arrived(self) -> None:
        self._inbox += self._read_some()
        self._serve_inbox()

    def _serve_inbox(self) -> None:
        while self._inbox:
            self._serve(self._inbox.popleft())
        for callback in self._heard:
            callback()

    def _read_some(self) -> list[Frame]:
        """The frames that are complete with what the pipe holds now."""
        frames: list[Frame] = []
        try:
            while len(self._inbox) + len(frames) < INBOX:
                room = self._incoming.room
                if room is not None and len(room) > CHUNK:  # of a large payload: to where it belongs
                    wanted, count = len(room), os.readv(self._reader, [room])
                    cut = self._incoming.read(count)
                else:
                    data = os.read(self._reader, CHUNK)
                    wanted, count, cut = CHUNK, len(data), self._incoming.feed(data)
                if not count:
                    raise EOFError
                frames += self._noted(cut)  # also those before an error
                if count < wanted:
                    break
        except BlockingIOError:
            pass
        except (ProtocolError, EOFError, OSError) as error:
            self._loop.remove_reader(self._reader)
            self._loop.call_soon(self._ended, error)  # after these
        return frames

    def _read_always(self) -> None:
        """For a thread of its own."""
        try:
            while data := os.read(self._reader, CHUNK):
                for frame in self._noted(self._incoming.feed(data)):
                    self._room.acquire()
                    self._post(self._serve_one, frame)
            raise EOFError
        except (ProtocolError, EOFError, OSError) as error:
            self._post(self._ended, error)

    def _post(self, callback: Callable[..., None], *arguments: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and the process is about to
            self._loop.call_soon_threadsafe(callback, *arguments)

    def _noted(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        """Frames as they are read: some take effect here."""
        for frame in frames:
            self._calls.read(frame)
            yield frame

    def _serve_one(self, frame: Frame) -> None:
        self._room.release()
        self._inbox.append(frame)
        self._serve_inbox()

    def _serve(self, frame: Frame) -> None:
        try:
            self._calls.received(self, frame)
        except ProtocolError as error:
            self._ended(error)

    def _ended(self, error: Exception) -> None:
        """Nothing can be read any more."""
        if isinstance(error, ProtocolError):
            self._calls.fail(error)
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

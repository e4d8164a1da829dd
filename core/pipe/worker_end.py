"""The worker's end of the pipe: starts a compute process, exchanges frames with it, notices its death."""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from typing import cast

from core.contracts import pipe as messages
from core.contracts.errors import ComputeError, ProtocolError
from core.contracts.pipe import Data, Tensor, ToCompute, ToWorker
from core.pipe.old_frames import Frames

log = logging.getLogger("compute")

SEND_S = 5.0
"""A pipe that takes nothing for so long belongs to a process that hangs."""
STDERR_LINE = 64 * 1024
"""Bytes; what is longer is logged in parts."""
JOINED = 64 * 1024
"""Frames up to this size are written in one piece."""

Received = tuple[ToWorker, list[Tensor]]


def command() -> list[str]:
    """How to start a compute process; a frozen app starts its own executable."""
    return [sys.executable, "compute"] if getattr(sys, "frozen", False) else [sys.executable, "-m", "core", "compute"]


class _Process(asyncio.SubprocessProtocol):
    """What the event loop tells of a compute process."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.at_once: Callable[[ToWorker, list[Tensor]], bool] = lambda message, tensors: False
        self.inbox: asyncio.Queue[Received | ProtocolError | None] = asyncio.Queue()
        """None: the process has closed the pipe."""
        self.exited: asyncio.Future[None] = loop.create_future()
        self.roomy = asyncio.Event()
        self.roomy.set()
        self._frames = Frames()
        self._broken = False
        self._stderr = bytearray()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._log(data)
        elif not self._broken:
            try:
                for message, tensors in self._frames.feed(data):
                    if not isinstance(message, ToWorker):
                        raise ProtocolError(f"Compute sent a {type(message).__name__}, which is not for the worker.")
                    if not self.inbox.empty() or not self.at_once(message, tensors):
                        self.inbox.put_nowait((message, tensors))
            except ProtocolError as error:
                self._broken = True
                self.inbox.put_nowait(error)

    def _log(self, data: bytes) -> None:
        self._stderr += data
        *lines, rest = self._stderr.split(b"\n")
        if len(rest) > STDERR_LINE:
            lines, rest = [*lines, rest], bytearray()
        self._stderr = rest
        for line in lines:
            log.warning("%s", line.decode("utf-8", "replace").rstrip())

    def pipe_connection_lost(self, fd: int, error: Exception | None) -> None:
        if fd == 1:
            self.inbox.put_nowait(None)
        elif fd == 2 and self._stderr:
            self._log(b"\n")
        elif fd == 0:
            self.roomy.set()  # nobody waits for a reader that has gone

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)

    def pause_writing(self) -> None:
        self.roomy.clear()

    def resume_writing(self) -> None:
        self.roomy.set()


class ComputeLink:
    """One compute process. Use `start`, iterate over `received`, and always `close` it."""

    def __init__(self, transport: asyncio.SubprocessTransport, process: _Process) -> None:
        self._transport, self._process = transport, process
        self._stdin = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
        self.pid = transport.get_pid()
        self.killed = False
        """Whether this end ended the process by force."""

    @classmethod
    async def start(cls) -> "ComputeLink":
        """Start a process.

        Raises:
            ComputeError: the system refuses (no memory, no processes left).
        """
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        try:
            made = await asyncio.get_running_loop().subprocess_exec(_Process, *command(), env=environment)
        except OSError as error:
            raise ComputeError(f"Compute could not be started: {error.strerror}.") from error
        return cls(*made)

    def handle(self, at_once: Callable[[ToWorker, list[Tensor]], bool]) -> None:
        """Call `at_once` with each message that no other waits before, as soon as it is here; those that it has not
        dealt with are `received`."""
        self._process.at_once = at_once

    def post(self, message: ToCompute, tensors: Sequence[Tensor] = ()) -> None:
        """Write one frame without waiting, for those who bound what they have under way.

        Raises:
            ComputeError: the process is gone.
        """
        if self._stdin.is_closing():
            raise ComputeError("Compute does not take messages any more.")
        _write(self._stdin, messages.encode(message, tensors))

    def announce(self) -> None:
        """Have no kernel start before the message that is sent next is read, which gives something back to the user:
        megabytes of other peers' calls may be on their way before it. Only for a process that is ready."""
        if messages.ANNOUNCED is not None:  # on Windows compute reads at all times
            with contextlib.suppress(ProcessLookupError):
                self._transport.send_signal(messages.ANNOUNCED)

    async def send(self, message: ToCompute, tensors: Sequence[Tensor] = ()) -> None:
        """Write one frame; waits while the process takes none.

        Raises:
            ComputeError: the process is gone, or has taken nothing for `SEND_S`.
        """
        self.post(message, tensors)
        if self._process.roomy.is_set():
            return
        try:
            async with asyncio.timeout(SEND_S):
                await self._process.roomy.wait()
        except TimeoutError as error:
            raise ComputeError("Compute does not take messages any more.") from error

    async def received(self) -> AsyncIterator[Received]:
        """The process's messages until it closes the pipe.

        Raises:
            ProtocolError: something came that is not in the contract; the stream cannot be used any more.
        """
        while item := await self._process.inbox.get():
            if isinstance(item, ProtocolError):
                raise item
            yield item

    def kill(self) -> None:
        """End the process at once; its checkpoint stays the last one saved."""
        if self._transport.get_returncode() is None:
            self.killed = True
            with contextlib.suppress(ProcessLookupError):
                self._transport.kill()

    async def close(self, patience_s: float = 0.0) -> int:
        """Wait for the end of the process, kill it when patience runs out; returns its exit code."""
        self._stdin.close()
        await asyncio.wait({self._process.exited}, timeout=patience_s)
        if not self._process.exited.done():
            self.kill()
            await self._process.exited
        self._transport.close()
        code = self._transport.get_returncode()
        assert code is not None
        return code


def _write(stream: asyncio.WriteTransport, frame: list[Data]) -> None:
    """Small frames in one piece, large ones without a copy of what the pipe takes at once."""
    if sum(map(len, frame)) <= JOINED:
        stream.write(b"".join(frame))
    else:
        for data in frame:
            stream.write(data)

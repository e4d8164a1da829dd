"""The worker's end of the pipe: starts a compute process, exchanges frames with it, notices its death."""

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import cast

from core.contracts.build import PACK, hearth_command
from core.contracts.errors import ComputeError, ProtocolError
from core.contracts.notices import Notice, notice
from core.contracts.pipe import ANNOUNCED
from core.pipe.calls import Calls
from core.pipe.frames import Data, Frames

log = logging.getLogger("compute")

SEND_S = 5.0
"""A pipe that takes nothing for so long belongs to a process that hangs."""
STDERR_LINE = 64 * 1024
"""Bytes; what is longer is logged in parts."""
JOINED = 64 * 1024
"""Frames up to this size are written in one piece."""
COPIED = 128 * 1024
"""Reads up to this size are copied: asyncio takes 256 KiB for each, and a piece that is kept leaves a hole of the rest,
too small for the next."""

NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""On Windows: else a terminal would open for compute, as the app's worker has none."""


def command() -> list[str]:
    """How to start a compute process."""
    return hearth_command("compute")


def cause_of_death(code: int) -> Notice:
    """Why a process has ended that was not asked to.

    Args:
        code: its exit code; that of a signal is below 0.
    """
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        return notice("compute.killed", signal=-code, name=name)
    return notice("compute.ended_unexpectedly", exit=code)


class _Output(asyncio.Protocol):
    """What a compute process writes, a turn of the loop before its transport would pass it on."""

    def __init__(self, link: "ComputeLink", transports: asyncio.BaseProtocol) -> None:
        self._link, self._transports = link, transports

    def data_received(self, data: Data) -> None:
        if len(data) <= COPIED:
            data = bytearray(data)
        self._link.pipe_data_received(1, data)

    def connection_lost(self, error: Exception | None) -> None:
        self._transports.connection_lost(error)


class ComputeLink(asyncio.SubprocessProtocol):
    """One compute process. Use `start`, wait for what `ended` says, and always `close` it."""

    def __init__(self, calls: Calls) -> None:
        self.killed = False
        """Whether this end ended the process by force."""
        self.heard = time.monotonic()
        """When the process last said something."""
        self._calls = calls
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        """The process has closed the pipe; or why it cannot be used any more."""
        self._exited = asyncio.Event()
        self._frames = Frames(in_parts=True)
        self._stderr = bytearray()
        self._watch: asyncio.TimerHandle | None = None
        self._written = 0

    @classmethod
    async def start(cls, calls: Calls, pack: Path | None = None) -> "ComputeLink":
        """Start a process.

        Args:
            calls: are attached to it.
            pack: the folder of another torch than Hearth's own.

        Raises:
            ComputeError: the system refuses (no memory, no processes left).
        """
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", PACK: str(pack or "")}
        loop = asyncio.get_running_loop()
        try:
            _, link = await loop.subprocess_exec(
                lambda: cls(calls), *command(), env=environment, creationflags=NO_WINDOW
            )
        except OSError as error:
            raise ComputeError(notice("compute.not_started", why=str(error.strerror))) from error
        return link

    async def ended(self) -> None:
        """Wait until the process closes the pipe.

        Raises:
            ProtocolError: something came that is not in the contract.
            ComputeError: the process has taken nothing for `SEND_S`.
        """
        await asyncio.shield(self._ended)

    async def exited(self) -> None:
        """Wait until the process is gone."""
        await self._exited.wait()

    def send(self, frame: list[Data], *, urgent: bool = False, lossy: bool = False) -> None:
        """Write a frame; see `core.pipe.calls.Link`. Who sends much bounds what is under way.

        What is urgent is announced: no kernel starts until it is read. Only a process that is ready understands that.
        """
        if self._stdin.is_closing():
            return
        if urgent and ANNOUNCED is not None:  # on Windows compute reads at all times
            with contextlib.suppress(ProcessLookupError):
                self._transport.send_signal(ANNOUNCED)
        size = sum(map(len, frame))
        self._written += size
        if size <= JOINED:
            self._stdin.write(b"".join(frame))
        else:  # without a copy of what the pipe takes at once
            for data in frame:
                self._stdin.write(data)

    def kill(self) -> None:
        """End the process at once; its checkpoint stays the last one saved."""
        if self._transport.get_returncode() is None:
            self.killed = True
            with contextlib.suppress(ProcessLookupError):
                self._transport.kill()

    async def close(self, patience_s: float = 0.0) -> int:
        """Wait for the end of the process, kill it when patience runs out; returns its exit code."""
        self._stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._exited.wait()
        if not self._exited.is_set():
            self.kill()
            await self._exited.wait()
        self._transport.close()
        code = self._transport.get_returncode()
        assert code is not None
        return code

    # what the event loop tells of the process

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The process runs."""
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._stdin = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))
        self.pid = self._transport.get_pid()
        output = cast(asyncio.Transport, self._transport.get_pipe_transport(1))
        output.set_protocol(_Output(self, output.get_protocol()))
        self._calls.attach(self)

    def pipe_data_received(self, fd: int, data: Data) -> None:
        """Something came."""
        if fd == 2:
            self._log(data)
        elif not self._ended.done():
            self.heard = time.monotonic()
            try:
                for frame in self._frames.feed(data):
                    self._calls.received(self, frame)
            except ProtocolError as error:
                self._end(error)

    def pipe_connection_lost(self, fd: int, error: Exception | None) -> None:
        """One of its streams has come to its end."""
        if fd == 1:
            self._end()
        elif fd == 2 and self._stderr:
            self._log(b"\n")

    def process_exited(self) -> None:
        """It is gone."""
        self._exited.set()

    def pause_writing(self) -> None:
        """The pipe is full: see whether the process takes anything of it."""
        self._watch = self._loop.call_later(SEND_S, self._look, self._taken)

    def resume_writing(self) -> None:
        """There is room again."""
        if self._watch:
            self._watch.cancel()

    @property
    def _taken(self) -> int:
        """Bytes that the process has taken so far."""
        return self._written - self._stdin.get_write_buffer_size()

    def _look(self, before: int) -> None:
        if self._taken == before:
            self._end(ComputeError(notice("compute.deaf")))
        else:
            self.pause_writing()

    def _end(self, error: Exception | None = None) -> None:
        """Say that the pipe cannot be used any more, and why if the process has not closed it."""
        self.resume_writing()
        if self._ended.done():
            return
        if error is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(error)

    def _log(self, data: Data) -> None:
        self._stderr += data
        *lines, rest = self._stderr.split(b"\n")
        if len(rest) > STDERR_LINE:
            lines, rest = [*lines, rest], bytearray()
        self._stderr = rest
        for line in lines:
            log.warning("%s", line.decode("utf-8", "replace").rstrip())

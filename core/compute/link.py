"""The worker's end of the pipe: starts a compute process, exchanges frames with it, notices its death."""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import AsyncIterator, Sequence

from core.compute import messages
from core.compute.messages import Tensor, ToCompute, ToWorker
from core.errors import ComputeError, ProtocolError

log = logging.getLogger("compute")

SEND_S = 5.0
"""A pipe that takes nothing for so long belongs to a process that hangs."""
STDERR_LINE = 64 * 1024


def command() -> list[str]:
    """How to start a compute process; a frozen app starts its own executable."""
    return [sys.executable, "compute"] if getattr(sys, "frozen", False) else [sys.executable, "-m", "core", "compute"]


class ComputeLink:
    """One compute process. Use `start`, iterate over `received`, and always `close` it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin and process.stdout and process.stderr
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._sending = asyncio.Lock()
        self.killed = False
        """Whether this end ended the process by force."""
        self._log = asyncio.create_task(self._log_stderr(), name="compute stderr")

    @classmethod
    async def start(cls) -> "ComputeLink":
        """Start a process.

        Raises:
            ComputeError: the system refuses (no memory, no processes left).
        """
        pipe = asyncio.subprocess.PIPE
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        try:
            process = await asyncio.create_subprocess_exec(
                *command(), stdin=pipe, stdout=pipe, stderr=pipe, limit=STDERR_LINE, env=environment
            )
        except OSError as error:
            raise ComputeError(f"Compute could not be started: {error.strerror}.") from error
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def send(self, message: ToCompute, tensors: Sequence[Tensor] = ()) -> None:
        """Write one frame.

        Raises:
            ComputeError: the process is gone, or has taken nothing for `SEND_S`.
        """
        async with self._sending:
            try:
                async with asyncio.timeout(SEND_S):
                    self._stdin.writelines(messages.encode(message, tensors))
                    await self._stdin.drain()
            except (OSError, TimeoutError) as error:
                raise ComputeError("Compute does not take messages any more.") from error

    async def received(self) -> AsyncIterator[tuple[ToWorker, list[Tensor]]]:
        """The process's messages until it closes the pipe.

        Raises:
            ProtocolError: something came that is not in the contract; the stream cannot be used any more.
        """
        while True:
            try:
                prefix = await self._stdout.readexactly(messages.PREFIX.size)
                header_size, payload_size = messages.sizes(prefix)
                header = await self._stdout.readexactly(header_size)
                payload = await self._stdout.readexactly(payload_size)
            except (asyncio.IncompleteReadError, OSError):
                return
            message, tensors = messages.decode(header, payload)
            if not isinstance(message, ToWorker):
                raise ProtocolError(f"Compute sent a {type(message).__name__}, which is not for the worker.")
            yield message, tensors

    def kill(self) -> None:
        """End the process at once; its checkpoint stays the last one saved."""
        if self._process.returncode is None:
            self.killed = True
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def close(self, patience_s: float = 0.0) -> int:
        """Wait for the end of the process, kill it when patience runs out; returns its exit code."""
        with contextlib.suppress(OSError):
            self._stdin.close()
        try:
            async with asyncio.timeout(patience_s):
                await self._process.wait()
        except TimeoutError:
            self.kill()
        # asyncio tells of a process's end only when all that it wrote has been read.
        rest = asyncio.create_task(self._discard(), name="compute rest")
        code = await self._process.wait()
        rest.cancel()
        self._log.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._log
        return code

    async def _discard(self) -> None:
        with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: somebody is reading already
            while await self._stdout.read(STDERR_LINE):
                pass

    async def _log_stderr(self) -> None:
        while True:
            try:
                line = await self._stderr.readline()
            except ValueError:  # a line over the limit; the reader has dropped it
                continue
            if not line:
                return
            log.warning("%s", line.decode("utf-8", "replace").rstrip())

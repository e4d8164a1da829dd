"""The compute process: Runtime and Trainer behind a pipe. It has no sockets and ends with its worker."""

import asyncio
import ctypes
import faulthandler
import gc
import logging
import os
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, Literal, cast

from core import event_loop
from core.compute.priority import be_humble
from core.contracts.errors import HearthError, ProtocolError
from core.contracts.notices import notice
from core.contracts.pipe import CONFIGURE, FAILED, LOG, Configure, Failed, LogText, Ready
from core.pipe.calls import Calls
from core.pipe.compute_end import Ends, Pipe, take_over

PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux's prctl(2)."""


def main() -> int:
    """Serve the worker at the other end of stdin and stdout. Does not return: the process ends."""
    faulthandler.enable()
    ends = take_over()
    _know_its_place()
    code = event_loop.run(_serve(ends))
    sys.stderr.flush()
    os._exit(code)  # at once: all is saved, and the user waits for the memory


def _know_its_place() -> None:
    """Give way to everything else, leave Ctrl+C to the worker, and never outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    be_humble()
    if sys.platform == "linux":
        # The pipe's end says the same, but is not heard while a library holds the interpreter.
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)


async def _serve(ends: Ends) -> int:
    calls = Calls()
    pipe = Pipe(ends, calls)
    logging.basicConfig(level=logging.INFO, handlers=[_LogToWorker(calls)])
    try:
        run = await _configured(calls, pipe)
        await run()
    except HearthError as error:
        calls.tell(FAILED, Failed(error.notice))
        return error.exit_code
    except MemoryError:
        calls.tell(FAILED, Failed(notice("compute.no_memory"), True))
        return 1
    except Exception as error:  # whatever it is, the worker must hear of it, and start compute anew
        traceback.print_exc()
        calls.tell(FAILED, Failed(notice("compute.program_error", kind=type(error).__name__, why=str(error))))
        return 1
    finally:
        pipe.flush()
    return 0


async def _configured(calls: Calls, pipe: Pipe) -> Callable[[], Awaitable[None]]:
    """Build the session that the worker's first call asks for; how to run it.

    Raises:
        Exception: it could not be built, or something else came.
    """
    built: asyncio.Future[Callable[[], Awaitable[None]]] = asyncio.get_running_loop().create_future()

    def build(request: Configure) -> "asyncio.Future[Ready]":
        if built.done():
            raise ProtocolError(notice("compute.configured_twice"))
        gc.disable()  # what is imported stays: to search it for garbage is a tenth of the start, and a pause later on
        from core.compute.session import Session  # imports torch, which takes a second; the pipe is served already

        gc.freeze()
        gc.enable()
        try:
            session = Session(calls, pipe, request)
        except Exception as error:
            built.set_exception(error)  # is told as every end of this process is
            return asyncio.get_running_loop().create_future()
        built.set_result(session.run)
        return session.ready

    calls.register(CONFIGURE, build)
    failed = asyncio.ensure_future(calls.failed())
    first: set[asyncio.Future[Any]] = {built, failed}
    await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
    if not built.done():
        await failed
    failed.cancel()
    return built.result()


class _LogToWorker(logging.Handler):
    def __init__(self, calls: Calls) -> None:
        super().__init__(logging.INFO)
        self._calls = calls

    def emit(self, record: logging.LogRecord) -> None:
        level = "error" if record.levelno >= logging.ERROR else record.levelname.lower()
        self._calls.tell(LOG, LogText(cast(Literal["debug", "info", "warning", "error"], level), record.getMessage()))


if __name__ == "__main__":
    main()

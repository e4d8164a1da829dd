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
from typing import Literal, cast

from core.compute.priority import be_humble
from core.contracts.errors import HearthError, ProtocolError
from core.contracts.pipe import Configure, Failed, LogText
from core.pipe.compute_end import Ends, Pipe, take_over

PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux's prctl(2)."""


def main() -> int:
    """Serve the worker at the other end of stdin and stdout. Does not return: the process ends."""
    faulthandler.enable()
    ends = take_over()
    _know_its_place()
    code = asyncio.run(_serve(ends))
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
    pipe = Pipe(ends)
    logging.basicConfig(level=logging.INFO, handlers=[_LogToWorker(pipe)])
    try:
        first, _ = await pipe.receive()
        if not isinstance(first, Configure):
            raise ProtocolError(f"The worker began with {type(first).__name__} instead of Configure.")
        gc.disable()  # what is imported stays: to search it for garbage is a tenth of the start, and a pause later on
        from core.compute.session import Session  # imports torch, which takes a second; the pipe is served already

        gc.freeze()
        gc.enable()
        await Session(pipe, first).run()
    except HearthError as error:
        pipe.send(Failed(str(error)))
        return error.exit_code
    except MemoryError:
        text = "There is not enough memory to train, of this PC or of what Hearth may use. What was trained is saved."
        pipe.send(Failed(f"{text} Close other programs, choose a smaller run, or allow more in Settings.", True))
        return 1
    except Exception as error:  # whatever it is, the worker must hear of it, and start compute anew
        traceback.print_exc()
        pipe.send(Failed(f"Compute met an error in the program ({type(error).__name__}: {error})."))
        return 1
    finally:
        pipe.flush()
    return 0


class _LogToWorker(logging.Handler):
    def __init__(self, pipe: Pipe) -> None:
        super().__init__(logging.INFO)
        self._pipe = pipe

    def emit(self, record: logging.LogRecord) -> None:
        level = "error" if record.levelno >= logging.ERROR else record.levelname.lower()
        self._pipe.send(LogText(cast(Literal["debug", "info", "warning", "error"], level), record.getMessage()))


if __name__ == "__main__":
    main()

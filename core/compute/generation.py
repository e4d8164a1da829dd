"""Texts that the model goes on with for clients of the worker, several at a time."""

import logging
from collections.abc import AsyncGenerator

from core.contracts.errors import ComputeError, HearthError
from core.contracts.notices import notice
from core.contracts.pipe import GENERATE, Generate, Generated
from core.pipe.calls import Calls
from core.runtime.device import fault_of
from core.training.asking import ask
from core.training.tasks.text import Prompt
from core.training.trainer import Trainer

log = logging.getLogger(__name__)

AT_ONCE = 8
"""Each takes its share of a core; more are refused."""


class Generation:
    """Serves `GENERATE`."""

    def __init__(self, calls: Calls, trainer: Trainer) -> None:
        """
        Args:
            calls: the worker's, to be served.
            trainer: whose model is asked.
        """
        self._trainer = trainer
        self._writing = 0
        self._stopped = False
        calls.register_stream(GENERATE, self._write)

    def stop(self) -> None:
        """Let all texts end with their next byte."""
        self._stopped = True

    async def _write(self, request: Generate) -> AsyncGenerator[Generated, None]:
        if self._writing >= AT_ONCE:
            raise ComputeError(notice("question.too_many_texts", most=AT_ONCE))
        self._writing += 1
        prompt = Prompt(request.prompt, request.length, request.temperature, request.seed)
        try:
            async for byte, experts, ms in ask(self._trainer, prompt):
                yield Generated(bytes([byte]), experts, ms, self._trainer.step)
                if self._stopped:
                    raise ComputeError(notice("question.ended", why=notice("compute.has_ended")))
        except HearthError:
            raise
        except Exception as error:  # whatever a text does to the model, training must go on
            if fault_of(error):
                raise
            what = notice("question.failed_text", kind=type(error).__name__, why=str(error))
            log.error("%s", what)
            raise ComputeError(what) from error
        finally:
            self._writing -= 1

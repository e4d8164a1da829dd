"""Questions that the model answers for clients of the worker, several at a time."""

import logging
from collections.abc import AsyncGenerator

from core.contracts.errors import ComputeError, HearthError
from core.contracts.notices import notice
from core.contracts.pipe import QUESTION, Answered, Question
from core.pipe.calls import Calls
from core.runtime.device import fault_of
from core.training.asking import ask
from core.training.trainer import Trainer

log = logging.getLogger(__name__)


class Questions:
    """Serves `QUESTION`."""

    def __init__(self, calls: Calls, trainer: Trainer) -> None:
        """
        Args:
            calls: the worker's, to be served.
            trainer: whose model is asked.
        """
        self._trainer = trainer
        self._stopped = False
        calls.register_stream(QUESTION, self._answer)

    def stop(self) -> None:
        """Let all answers end with their next piece."""
        self._stopped = True

    async def _answer(self, question: Question) -> AsyncGenerator[Answered, None]:
        try:
            async for answer in ask(self._trainer, question):
                yield answer
                if self._stopped:
                    raise ComputeError(notice("question.ended", why=notice("compute.has_ended")))
        except HearthError:
            raise
        except Exception as error:  # whatever a question does to the model, training must go on
            if fault_of(error):
                raise
            what = notice("question.failed", kind=type(error).__name__, why=str(error))
            log.error("%s", what)
            raise ComputeError(what) from error

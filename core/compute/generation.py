"""Texts that the model goes on with for clients of the worker, several at a time."""

import asyncio
import logging

from core.contracts.errors import ComputeError, HearthError
from core.contracts.notices import notice
from core.contracts.pipe import Generate, Generated, GenerationEnded, Refused
from core.pipe.compute_end import Pipe
from core.runtime.device import fault_of
from core.training.asking import ask
from core.training.tasks.text import Prompt
from core.training.trainer import Trainer

log = logging.getLogger(__name__)

AT_ONCE = 8
"""Each takes its share of a core; more are refused."""


class Generation:
    """Answers `Generate` by `Generated` for every byte, then by `GenerationEnded` or `Refused`."""

    def __init__(self, pipe: Pipe, trainer: Trainer) -> None:
        self._pipe, self._trainer = pipe, trainer
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def start(self, message: Generate, group: asyncio.TaskGroup) -> None:
        if len(self._tasks) >= AT_ONCE:
            self._refuse(message, ComputeError(notice("question.too_many_texts", most=AT_ONCE)))
            return
        task = self._tasks[message.id] = group.create_task(self._write(message), name="generate")
        task.add_done_callback(lambda _: self._tasks.pop(message.id))

    def stop(self, number: int | None = None) -> None:
        """End one text, or all."""
        for known, task in self._tasks.items():
            if number in (None, known):
                task.cancel()

    async def _write(self, message: Generate) -> None:
        try:
            prompt = Prompt(message.prompt, message.length, message.temperature, message.seed)
            async for byte, experts, ms in ask(self._trainer, prompt):
                self._pipe.send(Generated(message.id, bytes([byte]), experts, ms))
        except HearthError as error:
            self._refuse(message, error)
        except Exception as error:  # whatever a text does to the model, training must go on
            if fault_of(error):
                raise
            what = f"The model could not go on with this text ({type(error).__name__}: {error}). Try another."
            log.error("%s", what)
            self._refuse(message, ComputeError(what))
        else:
            self._pipe.send(GenerationEnded(message.id, self._trainer.step))

    def _refuse(self, message: Generate, error: HearthError) -> None:
        self._pipe.send(Refused(message.id, error.code, str(error)))

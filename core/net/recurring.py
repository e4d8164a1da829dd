"""What a peer does again and again, whatever happens: an error that nobody foresaw is counted, told, and met with
longer rests."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from core.contracts.errors import HearthError
from core.contracts.notices import Notice, notice

log = logging.getLogger(__name__)

TOLD = 3
"""Unforeseen errors in a row after which the user is told: one may be chance."""
LONGEST_S = 300.0
"""The longest rest after one."""


class Recurring:
    """Calls `step`, rests, and calls it again. `wake` ends a rest, but not one after an unforeseen error."""

    def __init__(self, name: str, step: Callable[[], Awaitable[object]], rest_s: Callable[[], float]) -> None:
        """
        Args:
            name: That of the task, in the log and as part of the notice's code, such as "hosting".
            step: What is done; HearthError means that it did not work this time.
            rest_s: Seconds until it is done again.
        """
        self._name, self._step, self._rest_s = name, step, rest_s
        self.wake = asyncio.Event()
        self.failures = 0
        """Unforeseen errors in a row."""
        self._error = ""
        self._task: asyncio.Task[None] | None = None

    @property
    def notes(self) -> list[Notice]:
        """What the user is told."""
        return [notice(f"{self._name}.fails", times=self.failures, error=self._error)] if self.failures >= TOLD else []

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run(), name=self._name)

    async def stop(self) -> None:
        """Do it no more; returns when it has ended."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                await self._step()
                self.failures = 0
            except HearthError as error:
                log.warning("%s did not work this time: %s", self._name.capitalize(), error)
            except Exception as error:  # whatever a disk or a peer does, this PC goes on
                self.failures += 1
                self._error = f"{type(error).__name__}: {error}"
                log.exception("%s failed %d times in a row.", self._name.capitalize(), self.failures)
                await asyncio.sleep(min(LONGEST_S, self._rest_s() * 2**self.failures))
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._rest_s()):
                    await self.wake.wait()
            self.wake.clear()

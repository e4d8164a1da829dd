"""Checkpoints of what this process trains: read at the start, written again and again."""

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from functools import partial

from core.compute.hosting import Residents, load_part
from core.contracts.errors import CallTimeout, CheckpointError
from core.contracts.files import TRUNK
from core.contracts.notices import Notice, notice
from core.contracts.pipe import SAVED, SPACE, AskSpace, Saved
from core.pipe.calls import Calls
from core.runtime.backend import ExpertBackend
from core.runtime.device import CPU
from core.runtime.kernel_gate import KernelGate
from core.runtime.part_files import Part
from core.store.checkpoint_files import Checkpoint
from core.store.checkpoints import CheckpointStore, State
from core.training.trainer import Trainer

log = logging.getLogger(__name__)

TURN_S = 0.02
"""For which an expert is copied at once."""
SAVE_S = 28.0
"""From the begin of a checkpoint until the next one is there: a crash may lose no more than half a minute of work."""
FIRST_S, LONGER = 5.0, 1.5
"""To the first checkpoint, and how much longer to each later one: in a young run a crash would lose most of it."""
SPACE_S = 12.0
"""For the worker to look through its files, and to make room; less than what it waits for a process that says nothing
while it saves."""


class Saving:
    """Saves experts and trunk, one save at a time."""

    def __init__(
        self,
        calls: Calls,
        under_way: threading.Event,
        store: CheckpointStore,
        residents: Residents,
        trainer: Trainer,
        report: Callable[[], None],
    ) -> None:
        """
        Args:
            calls: to the worker, which is asked for room and told of each save.
            under_way: set while a checkpoint is being written.
            store: where files are.
            residents: the experts that are saved.
            trainer: the trunk that is saved.
            report: is called before a save is told.
        """
        self._calls, self._under_way = calls, under_way
        self._store, self._residents, self._trainer = store, residents, trainer
        self._report = report
        self._one = asyncio.Lock()
        self._error: Notice | None = None
        self._unsaved = False
        """Whether a save was asked for since the last one began."""
        self._wanted = asyncio.Event()

    def restore(self) -> tuple[Notice, ...]:
        """Go on from the newest checkpoint; what was wrong with it."""
        owners: dict[str, ExpertBackend | Trainer] = {str(uid): b for uid, b in self._residents.backends.items()}
        owners[TRUNK] = self._trainer
        notes = self._store.restore({name: partial(load_part, owner) for name, owner in owners.items()})
        if self._trainer.step:
            log.info("Going on at step %d.", self._trainer.step)
        return notes

    async def regularly(self, kernel_gate: KernelGate) -> None:
        """For ever, while the gate is open."""
        due_s, takes_s = min(FIRST_S, SAVE_S), 0.0
        while True:
            await asyncio.sleep(max(due_s - 2 * takes_s, takes_s))
            if kernel_gate.is_open:
                began = time.monotonic()
                await self.save()
                takes_s = time.monotonic() - began
                due_s = min(LONGER * due_s, SAVE_S)

    def want(self) -> None:
        """Have `whenever_wanted` save."""
        self._wanted.set()

    async def whenever_wanted(self) -> None:
        """For ever."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await self.save()

    async def save(self, gpu_is_lost: bool = False) -> Notice | None:
        """Save what has changed; a failure is told, returned, and tried again at the next occasion.

        Args:
            gpu_is_lost: what is on a graphics processor cannot be read any more; it is left as it was saved last.
        """
        self._unsaved = True
        async with self._one:
            if not self._unsaved:
                return self._error  # another that waited here has saved it: a hundred stops need no hundred saves
            self._unsaved = False
            trainer, start, error = self._trainer, time.monotonic(), None
            step = trainer.step
            backends = {**self._residents.leaving, **self._residents.backends}
            # What has taken no step is the same anywhere, from the run's seed.
            parts: dict[str, State | Callable[[], Awaitable[State]]] = {
                str(uid): partial(copied, backend)
                for uid, backend in backends.items()
                if backend.version and (backend.device is CPU or not gpu_is_lost)
            }
            if trainer.device is CPU or not gpu_is_lost:
                parts[TRUNK] = Part(trainer.state(), step, trainer.samples)
            self._under_way.set()
            try:
                checkpoint = await self._store.save(
                    step, trainer.samples, parts, self._room, lambda stage: self._tell(start, stage)
                )
            except CheckpointError as failure:
                error = failure.notice
            finally:
                self._under_way.clear()
            self._error = error
            self._report()
            if error is None:
                self._tell(start, checkpoint)
            else:
                self._calls.tell(SAVED, Saved(step, time.time(), time.monotonic() - start, error))
            return error

    def _tell(self, start: float, checkpoint: Checkpoint) -> None:
        """What the checkpoint holds is there, whatever comes."""
        parts = [*checkpoint.parts.values()]
        self._calls.tell(SAVED, Saved(checkpoint.step, time.time(), time.monotonic() - start, None, parts))

    async def _room(self, part: str, needed: int, wanted: int, superseded: bool) -> int:
        """Ask the worker, which knows what else takes of the disk space that the user allows.

        Args:
            part, needed, wanted, superseded: as in `AskSpace`.

        Raises:
            CheckpointError: it does not answer, as when the disk hangs.
        """
        try:
            question = AskSpace(part, needed, wanted, superseded)
            return await self._calls.call(SPACE, question, time.monotonic() + SPACE_S)
        except CallTimeout:
            raise CheckpointError(notice("checkpoint.disk_hangs", within=SPACE_S)) from None


async def copied(backend: ExpertBackend) -> Part:
    """A copy of an expert, made in turns: the user may come back meanwhile."""
    await _in_turns(backend.prepare)
    state = backend.begin_copy()
    await _in_turns(lambda: "version" not in state and backend.prepare())
    return Part(state, int(state["version"]), int(state["samples"]))


async def _in_turns(go_on: Callable[[], bool]) -> None:
    """Call it while it returns true, giving way to the loop in between."""
    end = time.monotonic() + TURN_S
    while go_on():
        if time.monotonic() >= end:
            await asyncio.sleep(0)
            end = time.monotonic() + TURN_S

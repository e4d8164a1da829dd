"""Trunks that others give are tried before this process goes on from one.

A trunk is another trainer's checkpoint, or what one peer says that an agreement has come to: trunk and optimizer of a
trainer (`dedloc`), fragments of a syncer (`diloco`), parameters of a server (`vc_asgd`). What a round comes to is not
tried. This PC sums it up with the others, each has a bounded share of it, and it moves the trunk by a step.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from core.compute.trials import Trials, believed, check_usual, not_worse
from core.contracts.errors import CheckpointError, ComputeError, ProtocolError
from core.contracts.files import TRUNK
from core.contracts.notices import Notice, notice
from core.contracts.taking_on import Compared, CompareTrunks, Taken, TakeTrunk, Verdict
from core.pipe.calls import Incoming
from core.pipe.frames import Payload
from core.runtime.part_files import read
from core.training.trainer import Trainer

log = logging.getLogger(__name__)


class _Newer(NamedTuple):
    path: str
    state: dict[str, Tensor]
    trainer: Trainer


class OfferedTrunks:
    """Of one run."""

    def __init__(self, run: str, trainer: Trainer, another: Callable[[], Trainer], trials: Trials) -> None:
        """
        Args:
            run: its name.
            trainer: who may go on from one.
            another: makes a trainer beside it, for the same experts and data.
            trials: by which they are tried.
        """
        self._run, self._trainer, self._another, self._trials = run, trainer, another, trials

    async def take(self, asked: TakeTrunk) -> Taken:
        """Go on with the first trunk that is newer than the one here, and does as well as the best of all."""
        own = self._trainer
        newer, refused = list[_Newer](), dict[str, Notice]()
        usual = float(own.trial.trunk.with_parts({}).norm())
        for path in asked.paths:
            try:
                part = await asyncio.to_thread(read, self._run, TRUNK, Path(path))
                state = believed(part.tensors, asked.most)
                other = self._another()
                other.take_over(state)  # first, as it checks names, shapes and types
                check_usual(part.tensors, usual)
                check_usual({"weights.trunk": other.trial.trunk.with_parts({})}, usual)  # what is agreed, too
            except CheckpointError as error:
                refused[path] = error.notice
            else:
                if other.step > own.step:
                    newer.append(_Newer(path, state, other))
        known = [own] if own.step else []
        good = await self._are_good([*known, *(other.trainer for other in newer)])
        for (path, state, other), is_good in zip(newer, good[len(known) :], strict=True):
            if not is_good:
                refused[path] = notice("checkpoint.worse")
            elif other.step > own.step:
                own.take_over(state)
                log.info("Going on with the trunk of another trainer, at step %d.", own.step)
        for path, why in refused.items():
            log.warning("The trunk %s that came from a peer was not used: %s.", Path(path).stem[:8], why)
        return Taken(refused=refused)

    async def _are_good(self, trunks: list[Trainer]) -> list[bool]:
        """Which do about as well as the best of them; all, if that cannot be told."""
        with contextlib.suppress(ComputeError):
            if len(trunks) > 1:
                return not_worse(await self._trials.losses([trunk.trial for trunk in trunks]))
        return [True] * len(trunks)

    async def compare(self, asked: CompareTrunks, payload: Payload, call: Incoming) -> tuple[Compared, Payload]:
        """Which of some trunks training leads to, and which of these do about as well as the best of them."""
        trial, tried = self._trainer.trial, dict[int, Tensor]()
        trunk = trial.trunk
        usual, verdicts = float(trunk.with_parts({}).norm()), list[Verdict]()
        for place, state in enumerate(_states(asked, payload, trunk.sizes)):
            try:
                flat = trunk.with_parts(state.parts)
                check_usual({"weights.trunk": flat, **state.moments}, usual)
            except CheckpointError as error:
                log.warning("A trunk that others agreed on was not used: %s.", error)
                verdicts.append("unusual")
                continue
            verdicts.append("good")
            if state.parts or self._trainer.step:  # what is not trained is no measure
                tried[place] = flat
        if len(tried) < 2:  # there is nothing to compare it with
            return Compared(verdicts, next(iter(tried), 0)), b""
        losses = await self._trials.losses([partial(trial, weights=flat) for flat in tried.values()])
        for place, is_good in zip(tried, not_worse(losses), strict=True):
            verdicts[place] = "good" if is_good else "worse"
        return Compared(verdicts, min(zip(losses, tried, strict=True))[1]), b""


class _State(NamedTuple):
    parts: dict[int, Tensor]
    moments: dict[str, Tensor]


def _states(asked: CompareTrunks, payload: Payload, sizes: Sequence[int]) -> Iterator[_State]:
    """What is compared, piece by piece.

    Raises:
        ProtocolError: the payload has other numbers than these.
    """
    data = bytearray().join([payload] if isinstance(payload, bytes | bytearray | memoryview) else payload)
    numbers = torch.frombuffer(data, dtype=torch.float32) if data else torch.empty(0)
    each = 3 if asked.moments else 1
    if any(part >= len(sizes) for parts in asked.states for part in parts):
        raise ProtocolError("Parts came of a trunk that has no such ones.")
    if len(numbers) != each * sum(sizes[part] for parts in asked.states for part in parts):
        raise ProtocolError(f"{len(numbers)} numbers came of trunks that have others.")
    for parts in asked.states:
        size = sum(sizes[part] for part in parts)
        mine, numbers = numbers[: each * size], numbers[each * size :]
        weights = torch.split(mine[:size], [sizes[part] for part in parts]) if parts else ()
        moments = zip(("mean.trunk", "square.trunk"), mine[size:].view(2, -1), strict=True) if asked.moments else ()
        yield _State(dict(zip(parts, weights, strict=True)), dict(moments))

"""DeDLOC (Diskin et al., 2021), the side of a trainer: all trainers together gather a large batch, and take one step.

Each adds gradients up at its own pace until the worker says that all together have enough samples (section 3.1), those
on their way included. These come to their end, the sum is offered, and the mean over all comes back. With delayed
updates (section 3.2) the next sum is gathered while that one travels, and the mean is applied when that is gathered,
too: what is applied was computed with the trunk of exactly one step before. Who counts samples and who averages what is
the worker's matter. Who fell behind is answered with all of another's trunk instead of a mean.

Where the manifest says of how many samples, a trainer that knows of no other takes steps by itself: nothing ends, and
nothing travels. As soon as there is another one its steps are those of all.
"""

import asyncio
import logging
import math
import time
from collections.abc import Mapping
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from core.averaging.digests import TrunkDigest
from core.contracts import trunk
from core.contracts.errors import ComputeError, HearthError, NetworkError
from core.contracts.kinds import MODELS
from core.contracts.manifest import Manifest
from core.contracts.pipe import COMPANY, ENOUGH, GATHERED, GIVE_TRUNK, REACHED
from core.contracts.trunk import Agreed, Gathered, Offer, Reached
from core.pipe.calls import Calls, Incoming
from core.pipe.frames import Payload
from core.runtime.adam import SLICE, Adam, Lamb, State, check_state
from core.runtime.movable import Carry
from core.training.trunk.exchange import agree
from core.training.trunk.strategy import BATCHES, Judge, Run, TrunkStrategy, of_any

log = logging.getLogger(__name__)

AGAIN_S = 2.0
"""Before a round that failed is offered again."""
ALIVE_S = 12.0
"""Between two signs of a trainer that trains, as long as a batch may take: so it is not taken for gone."""
SELDOM_S = 1.0
"""Between two times that a trainer without others tells of itself."""
APART_S = 1800.0
"""So long the trunk of the last common step is what others' are measured by, where a trainer has gone on alone since
then. It takes many small steps, which may well come to less loss than the few common ones of the others meanwhile. No
longer, or liars could have it give up the work of a night."""
SPARED = 8
"""Times as long as a trainer was alone that it does not give up its trunk by that measure again: liars could have it
give up the work of each half hour."""
Round = asyncio.Task[tuple[Agreed, Tensor | None]]
"""An offer that is on its way."""
OPTIMIZERS: dict[str, type[Adam]] = {"adam": Adam, "lamb": Lamb}


class _Common(NamedTuple):
    weights: Tensor
    """[all parameters], flat, on the CPU."""
    since: float
    """time.monotonic() of the first step alone."""


class Dedloc(TrunkStrategy):
    """AdamW or LAMB on the mean gradient of the batches of all trainers; without others, of as many of its own."""

    def __init__(self, network: nn.Module, manifest: Manifest, calls: Calls | None) -> None:
        rules = manifest.trunk
        assert isinstance(rules, trunk.Dedloc)
        self._own, self._delayed = rules.alone_samples or rules.target_samples, rules.delayed
        self._alone = calls is None or rules.alone_samples is not None
        """Whether steps are taken without others, of `_own` samples: nobody has told of any yet."""
        training, kind = manifest.training, OPTIMIZERS[rules.optimizer]
        self._adam = kind(network, training.trunk_rate, training, weight_decay=rules.weight_decay)
        self.parameters = self._adam.parameters
        self._each = training.batch * MODELS[manifest.model.kind].rows(manifest.model)
        self._calls = calls
        self._sum: Tensor | None = None
        """[all parameters], of the gradients since the last offer; None: zeros."""
        self._gathered = 0
        """Samples in it."""
        self._travelling: Round | None = None
        """The round that was offered and not applied yet."""
        self._is_common = False
        """Whether the trunk here is that of a common step."""
        self._common: _Common | None = None
        """The one of the last such, if steps were taken alone since then."""
        self._spared_until = -math.inf
        """time.monotonic()"""
        self._begun = 0
        self._on_the_way: set[int] = set()
        """Batches."""
        self._ended = asyncio.Event()
        """None is."""
        self._enough, self._may_begin, self._taken_over = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._changed = asyncio.Event()
        """There is enough, or others have come or gone."""
        self._may_begin.set()
        self._told_at = -math.inf
        self._named = -1
        """The version whose digest was told; -1: not that of the trunk here."""
        if calls is not None:
            calls.listen(ENOUGH, self._told)
            if rules.alone_samples is not None:
                calls.listen(COMPANY, self._met)
            calls.register_carrier(GIVE_TRUNK, self._give)

    @property
    def _version(self) -> int:
        """The step on which what is gathered now is offered."""
        return self.step + (self._travelling is not None)

    @property
    def _outcome(self) -> Literal["none yet", "void", "mean", "trunk"]:
        """Of the round on its way. A trunk is that of the others: what is gathered meanwhile is of no use."""
        round_ = self._travelling
        if round_ is None or not round_.done() or round_.cancelled():
            return "none yet"
        if round_.exception() is not None:
            return "void"
        numbers = round_.result()[1]
        return "trunk" if numbers is not None and len(numbers) > len(self._adam.weights) else "mean"

    async def next_batch(self) -> int:
        await self._may_begin.wait()
        number, self._begun = self._begun, self._begun + 1
        self._on_the_way.add(number)
        self._tell()
        return number

    def contribute(self, batch: int, gradients: Tensor, samples: int) -> None:
        if not bool(torch.isfinite(gradients).all()):
            raise ComputeError("A gradient held NaN or infinity and was refused; the sum is unchanged.")
        if self._alone and self._travelling is None and self._gathered + samples >= self._own:
            self._step_alone(gradients, self._gathered + samples)
        else:
            self._sum = gradients if self._sum is None else self._sum.add_(gradients)
            self._gathered += samples
        self._end(batch)

    def _step_alone(self, gradients: Tensor, samples: int) -> None:
        """A step of what is gathered and these; if memory is short, nothing has changed, and this is called again."""
        # Bit for bit as `local`.
        mean = gradients / samples if self._sum is None else (self._sum + gradients).div_(samples)
        self._goes_alone()
        try:
            self._adam.step(mean, samples)
        except ComputeError:
            self._take()  # it would be refused with the next ones, too
            raise
        self._take()

    def _goes_alone(self) -> None:
        """The next step is of this trainer's samples alone."""
        now = time.monotonic()
        if self._is_common and now >= self._spared_until:
            self._common = _Common(self._adam.weights.to("cpu", copy=True), now)
        elif self._common and now > self._common.since + APART_S:
            self._common = None
        self._is_common = False

    def drop(self, batch: int) -> None:
        self._end(batch)

    def with_parts(self, parts: Mapping[int, Tensor]) -> Tensor:
        """As `TrunkStrategy.with_parts`."""
        if self._common and not parts and time.monotonic() <= self._common.since + APART_S:
            return self._common.weights
        return super().with_parts(parts)

    async def agree(self, run: Run, judge: Judge | None = None) -> None:
        if self._calls is None:
            return
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._take_steps(self._calls, run), name="steps")
                group.create_task(self._show_life(run), name="signs of life")
        finally:
            if self._travelling is not None:
                self._travelling.cancel()

    async def _take_steps(self, calls: Calls, run: Run) -> None:
        self._tell(at_once=True)
        while True:
            self._changed.clear()
            if self._outcome == "trunk":
                self._enough.set()
            if not self._alone and self.step != self._named:
                await self._name(calls, run)
            if self._alone or self._outcome == "void":
                await self._finish(run)  # what was offered when there were others, or what nobody had anything for
            if self._alone or not self._enough.is_set():
                await self._changed.wait()
                continue
            self._may_begin.clear()
            while self._on_the_way:
                self._ended.clear()
                await self._ended.wait()
            await self._finish(run)
            if self._enough.is_set():  # else another's trunk was taken over meanwhile
                self._travelling = asyncio.create_task(self._offer(calls, *self._take()))
                self._travelling.add_done_callback(lambda _: self._changed.set())
                self._tell()
                if not self._delayed:
                    await self._finish(run)
            self._may_begin.set()

    async def _show_life(self, run: Run) -> None:
        while True:
            await asyncio.sleep(ALIVE_S)
            await run(self._tell)

    async def _name(self, calls: Calls, run: Run) -> None:
        """Tell the digest of the trunk, which only `_finish` changes. Piece by piece: training goes on."""
        version, vectors = self.step, self._adam.vectors
        self._named = version
        digest = TrunkDigest(version, self.samples)
        for vector in vectors:
            for piece in torch.split(vector, SLICE):
                await run(lambda part: digest.add(_bytes(part)), piece)
        if version and version == self.step:  # else another's trunk was taken over meanwhile
            calls.tell(REACHED, Reached(version, digest.value))

    async def _give(self, _: None, payload: Payload, call: Incoming) -> tuple[Agreed, Payload]:
        """The trunk as it is between two kernels."""
        vectors = [_bytes(vector.clone()) for vector in self._adam.vectors]
        return Agreed(0, self.step, self.samples, 0), vectors

    def state(self) -> dict[str, Tensor]:
        return self._adam.state() | {BATCHES: torch.tensor(self._begun)}

    def load_state(self, state: dict[str, Tensor]) -> None:
        begun = state.get(BATCHES, state.get("version", torch.tensor(0)))  # of other strategies: each was a step
        check_state({BATCHES: begun}, {BATCHES: torch.tensor(0)})
        self.take_over(state)
        self._begun = int(begun)

    def take_over(self, state: dict[str, Tensor]) -> None:
        """As `TrunkStrategy.take_over`; parameters and the optimizer's moments are agreed, a sum is this trainer's."""
        self._adam.load_state(of_any(state))
        self._is_common, self._common = False, None
        if self._travelling is not None:
            self._travelling.cancel()
            self._travelling = None
        self._take()
        self._taken_over.set()
        self._tell()

    def move(self, carry: Carry) -> None:
        gathered = None if self._sum is None else carry(self._sum)
        self._adam.move(carry)
        self._sum = gathered

    def _end(self, batch: int) -> None:
        self._on_the_way.discard(batch)
        self._tell()
        if not self._on_the_way:
            self._ended.set()

    def _told(self, version: int) -> None:
        if version == self._version:
            self._enough.set()
            self._changed.set()

    def _met(self, others: bool) -> None:
        if self._alone == others:
            self._alone = not others
            self._changed.set()
            self._tell(at_once=True)

    def _tell(self, *, at_once: bool = False) -> None:
        """Tell the worker how much there is, or, without others, now and then how far this is.

        Args:
            at_once: even so soon after the last time.
        """
        if self._calls is None:
            return
        now = asyncio.get_running_loop().time()
        if at_once or not self._alone or now - self._told_at >= SELDOM_S:
            self._told_at = now
            samples = self._gathered + self._each * len(self._on_the_way)
            self._calls.tell(GATHERED, Gathered(self._version, samples, self.samples, self._alone))

    def _take(self) -> tuple[Tensor | None, int]:
        """What is gathered, and the number of its samples; the next sum begins."""
        taken = self._sum, self._gathered
        self._sum, self._gathered = None, 0
        self._enough.clear()
        return taken

    async def _offer(self, calls: Calls, gathered: Tensor | None, samples: int) -> tuple[Agreed, Tensor | None]:
        """Until the others have answered. Who was a moment too late has nothing to give, and gets the mean as well.

        Args:
            calls: to the worker.
            gathered: the sum; None: nothing.
            samples: that are in it.

        Raises:
            ComputeError: what was offered or agreed on is of no use, whatever is wrong with it.
        """
        numbers = None if gathered is None else gathered.to("cpu")
        size = sum(parameter.numel() for parameter in self.parameters)
        while True:
            try:
                return await agree(calls, Offer(0, self.step, samples), numbers, size, or_size=3 * size)
            except NetworkError as error:
                log.info("Step %d is offered again, as the others could not be asked: %s", self.step, error)
                await asyncio.sleep(AGAIN_S)
            except HearthError as error:
                raise ComputeError(error.notice) from error

    async def _finish(self, run: Run) -> None:
        """Apply what the round on its way comes to: a mean, or another's trunk where the others are further. If there
        is neither, a trunk that is taken over is waited for."""
        travelling = self._travelling
        if travelling is None:
            return
        await asyncio.wait({travelling})
        if travelling is not self._travelling:
            return
        try:
            agreed, numbers = travelling.result()
            if numbers is not None and self._outcome == "trunk":
                await run(self._adopt, travelling, agreed, numbers)
            elif numbers is not None and agreed.version == self.step + 1:
                await run(self._apply, travelling, agreed, numbers)
            else:
                log.info("The other trainers are at step %d, this one is at %d.", agreed.version, self.step)
                self._taken_over.clear()
                await self._taken_over.wait()
        except ComputeError as error:  # all the others have refused it, too
            log.warning("The mean for step %d was not used: %s", self.step, error)
            self._travelling = None
            self._enough.clear()
            self._tell()

    def _apply(self, round_: Round, agreed: Agreed, mean: Tensor) -> None:
        """Take the step.

        Args:
            round_: that it ends, unless another's trunk was taken over while this waited.
            agreed: whose step it is, and the samples in the trunk with it.
            mean: of the gradients of all trainers, [all parameters], flat.
        """
        if round_ is self._travelling:
            if agreed.alone:
                self._goes_alone()
            self._adam.step(mean.to(self.parameters[0].device), agreed.samples - self.samples)
            if not agreed.alone:
                self._is_common, self._common = True, None
            self._travelling = None

    def _adopt(self, round_: Round, agreed: Agreed, numbers: Tensor) -> None:
        """Go on from another's trunk and optimizer.

        Args:
            round_: that it ends, as in `_apply`.
            agreed: how far that trunk is.
            numbers: parameters and both moments, [all parameters] each, flat.

        Raises:
            ComputeError: training cannot lead to such a trunk.
        """
        weights, mean, square = numbers.chunk(3)
        if bool((square < 0).any()):
            raise ComputeError("The trunk that another trainer gave is none that training leads to.")
        if round_ is self._travelling:
            self._adam.adopt(State((weights, mean, square), agreed.version, agreed.samples))
            self._travelling = None
            if self._common:
                now = time.monotonic()
                self._spared_until = now + SPARED * min(APART_S, now - self._common.since)
            self._is_common, self._common = False, None
            self._named = -1  # it may have had that version of its own
            self._take()
            self._tell()
            log.info("Going on with the trunk of the others, at step %d.", self.step)


def _bytes(vector: Tensor) -> memoryview:
    return vector.to("cpu").numpy().data.cast("B")


STRATEGY = Dedloc

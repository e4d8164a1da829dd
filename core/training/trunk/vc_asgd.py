"""A trunk that parameter servers mix out of what each trainer has learnt (VC-ASGD: Atre, Jha and Rao, 2021).

A subtask is some batches in a row. This trainer takes steps of its own in them, from the servers' parameters on; then
it gives its parameters and gets the servers', with the next subtask. The moments of Adam are each trainer's own. Where
the manifest says how accurate the model must be, it measures the servers' parameters before it changes them.
"""

import asyncio
import logging
import statistics
from collections.abc import Callable
from typing import Any

import msgspec
import torch
from torch import Tensor, nn

from core.contracts.errors import HearthError, ProtocolError
from core.contracts.manifest import Manifest
from core.contracts.trunk import Agreed, Offer, VcAsgd
from core.pipe.calls import Calls
from core.runtime.adam import check_state
from core.runtime.movable import Carry
from core.training.trunk.exchange import agree
from core.training.trunk.local import Local
from core.training.trunk.strategy import AGREED, Judge, Run

log = logging.getLogger(__name__)

BEST = f"{AGREED}best"
"""In a checkpoint."""
RETRY_S = 5.0
"""After no server could be asked."""


class Subtasks(Local):
    """Steps of this trainer's own, subtask by subtask; alone, until the accuracy is good enough, if the manifest wants
    one."""

    def __init__(self, network: nn.Module, manifest: Manifest, calls: Calls | None) -> None:
        super().__init__(network, manifest, calls)
        assert isinstance(manifest.trunk, VcAsgd)
        self._calls, self._batches, self._wanted = calls, manifest.trunk.batches, manifest.trunk.accuracy
        self._at_once, self._parts = manifest.trunk.at_once, manifest.trunk.parts
        self._best = 0.0
        """What the best epoch counts for that was trained alone."""
        self._size = sum(parameter.numel() for parameter in self.parameters)
        self._holding: set[int] = set()
        """Versions of the subtasks that are here."""
        self._asking, self._turn = asyncio.Lock(), asyncio.Lock()
        self._left: list[int] = []
        """Batches of the subtask that are not given out, the next one last."""
        self._under_way: set[int] = set()
        self._trained = 0
        """Samples of the subtask so far."""
        self._given: Tensor | None = None
        """The servers' parameters, with which the subtask began."""
        self._more, self._done = asyncio.Event(), asyncio.Event()

    async def next_batch(self) -> int:
        if self._calls is None and self._wanted is None:
            return await super().next_batch()
        while not self._left:
            self._more.clear()
            await self._more.wait()
        batch = self._left.pop()
        self._under_way.add(batch)
        return batch

    def contribute(self, batch: int, gradients: Tensor, samples: int) -> None:
        super().contribute(batch, gradients, samples)
        self._trained += samples
        self._finished(batch)

    def drop(self, batch: int) -> None:
        self._finished(batch)

    def _finished(self, batch: int) -> None:
        self._under_way.discard(batch)
        if not self._left and not self._under_way:
            self._done.set()

    async def agree(self, run: Run, judge: Judge | None = None) -> None:
        if self._calls is None:
            if self._wanted is not None:
                await self._work_alone(self._wanted, judge)
            return
        async with asyncio.TaskGroup() as group:
            for place in range(self._at_once):
                group.create_task(self._work(self._calls, run, judge), name=f"subtasks {place}")

    async def _work_alone(self, wanted: float, judge: Judge | None) -> None:
        """Subtask after subtask, measured as for servers: until mean and median of an epoch are good enough."""
        while not self.reached:
            accuracies = []
            for _ in range(self._parts):
                if judge and (accuracy := await judge()) is not None:
                    accuracies.append(accuracy)
                first, self._begun = self._begun, self._begun + self._batches
                await self._train_on(first)
            if accuracies:
                self._best = max(self._best, min(statistics.mean(accuracies), statistics.median(accuracies)))
            self.reached = self._best >= wanted

    async def _train_on(self, first: int) -> None:
        """The batches of a subtask, from the `first` on."""
        self._done.clear()
        self._left = [*range(first, first + self._batches)][::-1]
        self._more.set()
        await self._done.wait()

    async def _work(self, calls: Calls, run: Run, judge: Judge | None) -> None:
        """One subtask after the other; it is trained on while no other is."""
        offer, numbers, mine = Offer(0, 0, 0), None, set[int]()
        while True:
            try:
                agreed, current = await self._ask(calls, offer, numbers, mine)
            except HearthError as error:
                log.warning("The parameter servers could not be asked: %s", error)
                if isinstance(error, ProtocolError):  # they would refuse the same again, and ban who repeats it
                    offer, numbers = Offer(0, 0, 0), None
                await asyncio.sleep(RETRY_S)
                continue
            if current is None:  # nobody has given those that all begin with
                offer, numbers = Offer(0, 0, 0), await run(self._weights)
                continue
            async with self._turn:
                await run(self._begin, agreed, current)
                accuracy = None
                ended = agreed.reached and not self.reached
                if judge and self._wanted is not None and (ended or not agreed.again_s):
                    accuracy = await judge()
                self.reached = agreed.reached
                offer, numbers, mine = Offer(0, 0, 0), None, set()
                if not agreed.again_s:
                    mine = {agreed.version}
                    await self._train_on(agreed.version * self._batches)
                    numbers = await run(self._weights) if self._trained else None
                    offer = Offer(agreed.part, agreed.version, self._trained, accuracy=accuracy)
            await asyncio.sleep(agreed.again_s)

    async def _ask(
        self, calls: Calls, offer: Offer, numbers: Tensor | None, mine: set[int]
    ) -> tuple[Agreed, Tensor | None]:
        """Give the result of a subtask, `mine`, and get the next one; one question at a time, for the servers are told
        which others are here."""
        async with self._asking:
            others = self._holding - mine
            asked = msgspec.structs.replace(offer, holding=tuple(sorted(others)))
            agreed, current = await agree(calls, asked, numbers, self._size)
            self._holding = others if current is None or agreed.again_s else {*others, agreed.version}
            return agreed, current

    def _weights(self) -> Tensor:
        return torch.cat([parameter.detach().flatten().cpu() for parameter in self.parameters])

    @torch.no_grad()
    def _begin(self, agreed: Agreed, weights: Tensor) -> None:
        for parameter, part in zip(self.parameters, self._adam.parts(weights), strict=True):
            parameter.copy_(part)
        self._adam.samples = max(self._adam.samples, agreed.samples)
        self._given = weights.to(self._adam.weights.device)
        self._trained = 0

    def by_agreed(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        if self._given is None:
            return kernel(*arguments)
        with self._adam.replaced(self._given):
            return kernel(*arguments)

    def move(self, carry: Carry) -> None:
        given = None if self._given is None else carry(self._given)
        super().move(carry)
        self._given = given

    def state(self) -> dict[str, Tensor]:
        return super().state() | ({BEST: torch.tensor(self._best)} if self._best else {})

    def load_state(self, state: dict[str, Tensor]) -> None:
        best = state.get(BEST, torch.tensor(0.0))
        check_state({BEST: best}, {BEST: torch.tensor(0.0)})
        super().load_state(state)
        self._given = None
        if self._calls is None and self._wanted is not None:  # others are asked how good it is
            self._best = float(best)
            self.reached = self._best >= self._wanted


STRATEGY = Subtasks

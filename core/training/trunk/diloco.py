"""Steps of one's own, and agreement now and then on what they came to (DiLoCo, arXiv 2311.08105, 2604.21428).

The trunk is cut into fragments that take turns, so that little travels at once and nobody waits: a trainer offers by
how much its fragment differs from the one agreed on last, trains on, and when the new one comes, adds to it what it has
learnt since. What could not be offered, or came too late to be counted, is still in its parameters, and so in the next
difference. A newcomer begins with what is agreed.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from core.averaging import fragment as fragments
from core.averaging.fragment import size_of
from core.averaging.outer import steps_between
from core.contracts.errors import HearthError
from core.contracts.manifest import Manifest
from core.contracts.trunk import Agreed, Diloco, Offer
from core.pipe.calls import Calls
from core.runtime.adam import Adam, check_state
from core.runtime.movable import Carry
from core.training.trunk.exchange import agree
from core.training.trunk.strategy import AGREED, Judge, Run, TrunkStrategy, of_any

log = logging.getLogger(__name__)

FACTOR = 2.0
"""The rate is raised so much at most: beyond it the trunks of many trainers drift apart, and experts cannot follow all.
16 trainers ended 2.7%, 1.7% and 3.6% behind one with 1, 2 and 4; 64 trainers 7.4%, 6.6% and 7.2% (`bench convergence`,
text to tune by, with four steps before the first agreements). With one step before them 64 ended 3.5% behind with 2,
and 4.0% with 4."""
AGAIN_S = 2.0
"""Until what could not be offered is offered again."""


class Fragment:
    """Every so many'th piece of the trunk, as one vector: first what travels in fp16, then the rest."""

    def __init__(self, fine: list[slice], coarse: list[slice]) -> None:
        """
        Args:
            fine: of the flat vector of parameters: norms and gates.
            coarse: all else.
        """
        self._slices = [*fine, *coarse]
        self.fine, self.size = size_of(fine), size_of(self._slices)

    def read(self, flat: Tensor) -> Tensor:
        """A copy of it, in the processor's memory."""
        return torch.cat([flat[piece] for piece in self._slices]).to("cpu")

    def write(self, flat: Tensor, numbers: Tensor) -> None:
        """Have these numbers instead."""
        parts = torch.split(numbers.to(flat.device), [piece.stop - piece.start for piece in self._slices])
        for piece, part in zip(self._slices, parts, strict=True):
            flat[piece] = part


class Offered(NamedTuple):
    """What a trainer has told the others of a fragment and has no answer to."""

    offer: Offer
    numbers: Tensor | None
    here: Tensor
    """The fragment as it was here then, ..."""
    life: int
    """... and after how many states that were gone on from."""


class DiLoCo(TrunkStrategy):
    """Adam for each batch; fragments are agreed on in turns."""

    def __init__(self, network: nn.Module, manifest: Manifest, calls: Calls | None) -> None:
        assert isinstance(manifest.trunk, Diloco)
        self._every, self._calls = manifest.trunk.inner_steps, calls
        self._adam = Adam(network, manifest.training.trunk_rate, manifest.training)
        self.parameters = self._adam.parameters
        self._fragments = cut(network, manifest.trunk.fragments)
        self._agreed = self._adam.weights.clone()
        """Each fragment as agreed last; the rest of the trunk is nowhere."""
        self._versions = [0] * len(self._fragments)
        """Of what is agreed; 0: this trainer does not know of it yet."""
        self._peers = [1] * len(self._fragments)
        """Trainers in the last agreement on each."""
        self._samples = [0] * len(self._fragments)
        """That this trainer has taken since it offered the fragment last."""
        self._begun = self._life = 0
        self._stepped = asyncio.Event()
        self._on_the_way: set[int] = set()
        """Batches."""
        self._changed, self._free = asyncio.Event(), asyncio.Event()
        """A batch has begun or ended; nothing that is agreed waits for that."""
        self._free.set()
        self._waiting = 0
        """Fragments whose new numbers are here and wait for a batch to end."""
        self._joined = asyncio.Event()
        """What is agreed was asked for, if there is anybody to ask."""
        self._resumed: dict[int, Tensor] = {}
        """Fragments that were asked for and not offered since, without what was learnt since they were asked for."""
        self._told: set[int] = set()
        """Fragments of which this trainer was told since it began or went on from a state."""

    async def next_batch(self) -> int:
        if self._calls is not None:
            await self._joined.wait()
        while not self._on_the_way and not self._free.is_set():
            await self._free.wait()
        self._begun += 1
        self._on_the_way.add(self._begun - 1)
        self._changed.set()
        return self._begun - 1

    def contribute(self, batch: int, gradients: Tensor, samples: int) -> None:
        self._adam.step(gradients / samples, samples)
        self._samples = [count + samples for count in self._samples]
        self._stepped.set()
        self.drop(batch)

    def drop(self, batch: int) -> None:
        self._on_the_way.discard(batch)
        self._changed.set()

    # --- with others

    async def agree(self, run: Run, judge: Judge | None = None) -> None:
        if self._calls is None:
            return
        self._on_the_way.clear()  # who was training before this was cancelled
        self._told.clear()
        self._joined.clear()
        async with asyncio.TaskGroup() as group:
            for part in range(len(self._fragments)):
                group.create_task(self._agree_on(part, self._calls, run), name=f"fragment {part}")

    async def _agree_on(self, part: int, calls: Calls, run: Run) -> None:
        """One fragment, again and again: what was offered is offered until it is answered. Who goes on from a state
        asks first, as the others may be far ahead."""
        while True:
            if not self._versions[part]:
                offered = await run(self._offer, part)
            elif part not in self._told:
                offered = await run(self._question, part)
            else:
                await self._until_due(part)
                offered = await run(self._offer, part)
            await self._ask(calls, offered, run)

    async def _ask(self, calls: Calls, offered: Offered, run: Run) -> None:
        fragment = self._fragments[offered.offer.part]
        while True:
            try:
                agreed, numbers = await agree(calls, offered.offer, offered.numbers, fragment.size)
                await self._between_batches(run, partial(self._commit, offered, agreed, numbers))
                return
            except HearthError as error:
                log.debug("Fragment %d of the trunk is not agreed on yet: %s", offered.offer.part, error)
                self._joined.set()  # training does not wait for a network that fails
                await asyncio.sleep(AGAIN_S)

    async def _between_batches(self, run: Run, commit: Callable[[], None]) -> None:
        """Not between the forward and the backward pass of a batch, which would have gradients of a trunk that there
        never was. Where several are on the way, each sees steps of the others anyway."""
        self._waiting += 1
        self._free.clear()
        try:
            while len(self._on_the_way) == 1:
                self._changed.clear()
                await self._changed.wait()
            await run(commit)
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._free.set()

    async def _until_due(self, part: int) -> None:
        """Fragments take turns: each in a step of its own of every `inner_steps`, or of fewer at first."""
        every = steps_between(self._versions[part], self._every)
        turn = part * every // len(self._fragments)
        due = self.step + 1 + (turn - self.step - 1) % every
        while self.step < due:
            self._stepped.clear()
            await self._stepped.wait()

    def _question(self, part: int) -> Offered:
        """Only to be told of a fragment; if nobody knows of it any more, it is as it is here."""
        fragment = self._fragments[part]
        here = fragment.read(self._adam.weights)
        return Offered(Offer(part, self._versions[part], 0, fragment.fine), here, here, self._life)

    def _offer(self, part: int) -> Offered:
        """What there is to be told of a fragment now."""
        fragment = self._fragments[part]
        here = fragment.read(self._adam.weights)
        # Who knows of no agreement says what it has: if nobody has agreed on anything yet, that is it.
        numbers = here - fragment.read(self._agreed) if self._versions[part] else here
        samples, self._samples[part] = self._samples[part], 0
        return Offered(Offer(part, self._versions[part], samples, fragment.fine), numbers, here, self._life)

    def _commit(self, offered: Offered, agreed: Agreed, numbers: Tensor | None) -> None:
        """Go on from what is agreed, with what was learnt here since the offer, or, if that was not counted, since the
        agreement before. A newcomer has learnt nothing that counts, unless all begin with what it had. Where the offer
        of a process that was killed was counted instead, all that was learnt since this one began is still to give."""
        offer, part = offered.offer, offered.offer.part
        if offered.life != self._life:
            return
        if numbers is None:  # it is known to nobody any more
            self._versions[part] = 0
            self._samples[part] += offer.samples
            return
        fragment = self._fragments[part]
        here = self._resumed.get(part, offered.here) if agreed.earlier else offered.here
        now = fragment.read(self._adam.weights)
        if not self._versions[part] and not torch.equal(numbers, here):
            here, self._samples[part] = now, 0  # what a newcomer has learnt alone is on another trunk than the agreed
        since = here if agreed.counted or not self._versions[part] else fragment.read(self._agreed)
        # What has not changed here since then has the bits that are agreed on.
        fragment.write(self._adam.weights, numbers + (now - since))
        fragment.write(self._agreed, numbers)
        if not agreed.counted or agreed.earlier:
            self._samples[part] += offer.samples
        if offer.version and offer.samples:
            self._resumed.pop(part, None)
        else:
            self._resumed[part] = numbers + (here - since)
        self._versions[part] = agreed.version
        self._peers[part] = max(1, agreed.peers)
        self._set_rate()
        self._told.add(part)
        if len(self._told) == len(self._fragments):
            self._joined.set()
        self._adam.samples = max(self._adam.samples, agreed.samples)  # warm-up and decay go by the samples of all

    def _set_rate(self) -> None:
        """Where noise is most of a gradient, the mean of K steps of Adam is shorter than one on the mean of their
        gradients, by the square root of K (Malladi et al., 2022: its rate goes with the root of the batch)."""
        self._adam.factor = min(FACTOR, math.sqrt(min(self._peers)))

    # --- what is kept

    def state(self) -> dict[str, Tensor]:
        state = self._adam.state()
        for part, (fragment, version) in enumerate(zip(self._fragments, self._versions, strict=True)):
            state[f"{AGREED}{part}"] = fragment.read(self._agreed) if version else torch.zeros(fragment.size)
            state[f"{AGREED}{part}.version"] = torch.tensor(version)
            state[f"{AGREED}{part}.peers"] = torch.tensor(self._peers[part])
        return state

    def load_state(self, state: dict[str, Tensor]) -> None:
        agreed = [self._read(state, part) for part in range(len(self._fragments))]
        self._adam.load_state(of_any(state))
        for fragment, (numbers, _, _) in zip(self._fragments, agreed, strict=True):
            if numbers is not None:
                fragment.write(self._agreed, numbers)
        self._versions = [version for _, version, _ in agreed]
        self._peers = [peers for _, _, peers in agreed]
        self._set_rate()
        self._samples = [0] * len(self._fragments)
        self._resumed.clear()
        self._life += 1
        self._begun = self.step  # whatever was on the way is trained on anew

    def _read(self, state: dict[str, Tensor], part: int) -> tuple[Tensor | None, int, int]:
        """What was agreed on a fragment, its version and by how many; nothing if the trunk was cut in another way then,
        or not at all: what is agreed is asked for.

        Raises:
            CheckpointError: it is nothing that can have been agreed.
        """
        name, size, count = f"{AGREED}{part}", self._fragments[part].size, torch.tensor(0)
        if name not in state or f"{name}.version" not in state or state[name].shape != (size,):
            return None, 0, 1
        found = {f"{name}.peers": count + 1, **state}  # older states do not have it
        expected = {name: self._agreed[:size], f"{name}.version": count, f"{name}.peers": count}
        check_state({key: found[key] for key in expected}, expected)
        version, peers = int(found[f"{name}.version"]), max(1, int(found[f"{name}.peers"]))
        return (found[name], version, peers) if version else (None, 0, 1)

    def take_over(self, state: dict[str, Tensor]) -> None:
        self.load_state(state)
        for fragment, version in zip(self._fragments, self._versions, strict=True):
            if version:  # what the other has learnt since is its own to give
                fragment.write(self._adam.weights, fragment.read(self._agreed))

    def move(self, carry: Carry) -> None:
        agreed = carry(self._agreed)
        self._adam.move(carry)
        self._agreed = agreed

    def by_agreed(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        if not all(self._versions) or max(self._peers) == 1:
            return kernel(*arguments)
        with self._adam.replaced(self._agreed):
            return kernel(*arguments)

    @property
    def sizes(self) -> list[int]:
        return [fragment.size for fragment in self._fragments]

    def with_parts(self, parts: Mapping[int, Tensor]) -> Tensor:
        flat = (self._agreed if all(self._versions) else self._adam.weights).clone()
        for part, numbers in parts.items():
            self._fragments[part].write(flat, numbers)
        return flat


def cut(network: nn.Module, count: int) -> list[Fragment]:
    """The fragments of a trunk, the same on every machine.

    Args:
        network: all parameters, as their kind declares them (`core.contracts.kinds`).
        count: of fragments, if none of them gets too large.
    """
    parameters = (
        (parameter.numel(), parameter.ndim < 2 or name.startswith("gates."))
        for name, parameter in network.named_parameters()
    )
    return [Fragment(*pieces) for pieces in fragments.cut(parameters, count)]


STRATEGY = DiLoCo

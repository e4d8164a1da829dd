"""States that other peers gave are tried on this PC's own data before they are used.

What a peer says of a state is no evidence: it may be finite, of the right shapes, and of no use. So a state must be one
that training leads to, and of several of one part only those are used that do about as well as the best of them.
"""

import asyncio
import logging
import math
from collections import ChainMap
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from core.compute.peers import PASSAGES
from core.contracts.errors import CheckpointError, ComputeError
from core.contracts.notices import notice
from core.contracts.taking_on import Reach
from core.experts.calls import Call, ExpertHost, Output
from core.experts.directory import LOCAL, Directory
from core.experts.grid import Coords, Uid
from core.experts.trust import UNLIKE, distance_of
from core.runtime.backend import ExpertBackend
from core.runtime.kernel_gate import KernelGate
from core.training.trainer import Trainer
from core.training.trial_pass import Tried

log = logging.getLogger(__name__)

ROWS = 512
"""Held-out samples of a trial."""
FEW, ANSWER_S = 8, 8.0
"""Samples that a host is given for each expert that it says it has, and the time that it gets for them: many times what
a batch has patience for."""
WORSE, BETTER = 0.1, 0.01
"""How much worse than the best one known a trunk, a host or an expert's state may be: so many nats a sample, and this
share of the loss. And how much better a state must be that is not related to what it would replace."""
UNUSUAL = 10.0
"""Times the norm of the weights that are here, or of new ones; or a part of it."""
STEEPEST = 10.0
"""The greatest mean gradient in deviations of it that Adam's two moments can come to is 7.3."""
FAINT = 1e-12
"""A mean gradient so small moves nothing, whatever became of its square in fp32."""
RELATED = 0.5
"""Least cosine of the weights of two states of one expert. In the run `digits` it is 0.94 or more for the first weights
and those after 2,000 batches, and 0.04 at most with noise."""
LEAST = 1 / 16
"""Share of the samples for which all experts must answer in all passes that are compared: noise is told by fewer."""
WITHIN_S = 20.0
"""For what is tried at once: hosts elsewhere are slow, or the machine is given back meanwhile."""


def believed(state: dict[str, Tensor], most: Reach) -> dict[str, Tensor]:
    """A state of another peer, which counts as no further than it can be.

    Args:
        state: as that peer gave it.
        most: how far that is.
    """
    counts = {"version": most.steps, "samples": most.samples}
    known = {name: count for name, count in counts.items() if name in state and state[name].dtype == torch.int64}
    return state | {name: state[name].clamp(max=count) for name, count in known.items()}


def norm_of(state: Mapping[str, Tensor]) -> float:
    """The norm of all weights of a part.

    Args:
        state: as a part's file holds it.
    """
    return math.hypot(*(float(tensor.norm()) for name, tensor in state.items() if name.startswith("weights.")))


def check_usual(state: Mapping[str, Tensor], norm: float) -> None:
    """Refuse a state that training does not lead to.

    Args:
        state: finite, of the right names and shapes.
        norm: of weights of that part that are known to be good, or new.

    Raises:
        CheckpointError: its weights, or the optimizer's moments, are none of training.
    """
    found = norm_of(state)
    if not norm / UNUSUAL <= found <= norm * UNUSUAL:
        raise CheckpointError(notice("checkpoint.unusual_weights", found=f"{found:.3g}", usual=f"{norm:.3g}"))
    for name, mean in state.items():
        kind, _, parameter = name.partition(".")
        square = state.get(f"square.{parameter}") if kind == "mean" else None
        if square is not None and not bool((mean.abs() <= STEEPEST * square.sqrt() + FAINT).all()):  # nor NaN
            raise CheckpointError(notice("checkpoint.unusual_moments", name=name))


def are_related(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    """Whether one of two states of a part can have become the other by training, which turns weights only slowly.

    Args:
        one, other: as a part's file holds them. Only their matrices count: scales are alike in all states.
    """
    product = squares = other_squares = 0.0
    for name, weights in one.items():
        if name.startswith("weights.") and weights.dim() > 1:
            product += float((weights * other[name]).sum())
            squares += float(weights.square().sum())
            other_squares += float(other[name].square().sum())
    return product >= RELATED * math.sqrt(squares * other_squares)


def not_worse(losses: Sequence[float]) -> list[bool]:
    """Which of some states do about as well as the best of them.

    Args:
        losses: of each, nats a sample on the same ones.
    """
    best = min((loss for loss in losses if math.isfinite(loss)), default=math.inf)
    return [loss <= best * (1 + WORSE) + WORSE for loss in losses]


def on_same(tried: Sequence[Tried], *, asked: bool = False) -> list[float]:
    """Nats a sample of some passes, on those samples for which all experts answered in each of them. Else one would be
    found worse for what a busy host left out.

    Args:
        tried: the passes, of the same samples.
        asked: only samples count that chose an expert that is alone; all passes are alike if there are none.

    Raises:
        ComputeError: there are too few such samples.
    """
    if not tried:
        return []
    whole = torch.stack([one.whole for one in tried]).all(0)
    if whole.sum() < len(whole) * LEAST:
        raise ComputeError("Too few experts answered for a state to be tried.")
    if asked:
        those = torch.stack([one.asked for one in tried]).any(0)
        if not those.any():
            return [0.0] * len(tried)
        whole &= those
        if 2 * whole.sum() < those.sum():  # a dozen samples, which busy hosts left, tell nothing
            raise ComputeError("Too few samples that ask the experts were answered by all.")
    return [float(one.losses[whole].mean()) for one in tried]


class Place(ExpertHost):
    """This process, with the states of some experts that are being tried. Only the loss judges these: no rule about
    answers of peers leaves any out."""

    standing = None

    def __init__(self, backends: Mapping[Uid, ExpertBackend], kernel_gate: KernelGate, rest: ExpertHost) -> None:
        """
        Args:
            backends: the states.
            kernel_gate: runs their kernels.
            rest: has the other experts of this process.
        """
        self._backends, self._kernel_gate, self._rest = backends, kernel_gate, rest

    async def forward(
        self, calls: Sequence[Call], passage: int, deadline: float, inference: bool = False
    ) -> list[Output | None]:
        """See `ExpertHost`."""
        others = [call for call in calls if call.uid not in self._backends]
        answers = iter(await self._rest.forward(others, passage, deadline, inference) if others else ())
        return [
            Output(await self._kernel_gate.run(self._backends[call.uid].forward, call.inputs), 0)
            if call.uid in self._backends
            else next(answers)
            for call in calls
        ]

    async def backward(self, calls: Sequence[Call], passage: int, deadline: float) -> list[Tensor | None]:
        """Nobody trains what is tried."""
        raise NotImplementedError


class Elsewhere(NamedTuple):
    """A `Directory` in which some experts are somewhere else."""

    places: Mapping[Uid, str]
    directory: Directory

    def mirror(self, layer: int) -> Sequence[Coords] | None:
        """See `Directory`."""
        cells = self.directory.mirror(layer)
        more = {uid.coords for uid in self.places if uid.layer == layer}
        return cells if cells is None or more <= {*cells} else tuple(sorted(more.union(cells)))

    async def active_suffixes(self, layer: int, prefixes: Sequence[Coords]) -> list[Sequence[int]]:
        """See `Directory`."""
        found = await self.directory.active_suffixes(layer, prefixes)
        more = [uid.coords for uid in self.places if uid.layer == layer]
        return [
            sorted({*suffixes, *(u[len(prefix)] for u in more if u[: len(prefix)] == prefix)})
            for prefix, suffixes in zip(prefixes, found, strict=True)
        ]

    async def hosts(self, uids: Sequence[Uid]) -> Mapping[Uid, Sequence[str]]:
        """See `Directory`."""
        others = await self.directory.hosts([uid for uid in uids if uid not in self.places])
        return {**others, **{uid: (self.places[uid],) for uid in uids if uid in self.places}}


class Trials:
    """Of one run."""

    def __init__(self, trainer: Trainer, directory: Directory, hosts: MutableMapping[str, ExpertHost]) -> None:
        """
        Args:
            trainer: whose trunk and held-out data are used.
            directory: who hosts the other experts.
            hosts: how these are asked.
        """
        self._trainer, self._directory, self._hosts = trainer, directory, hosts

    async def best(self, options: Mapping[Uid, Sequence[ExpertBackend]]) -> dict[Uid, int] | None:
        """Which state each expert is to go on from: from the last one on to each that does about as well or better.

        All are tried together, and taken apart only if they do worse than what they would replace: what one expert is
        worth hardly shows. For the same reason no others count for the samples that chose one of them.

        Args:
            options: states of each expert, the one that is wanted first, and what there is without the others last.

        Returns:
            The place of the state, by expert; None: they cannot be tried now.
        """
        chosen = places = {uid: len(states) - 1 for uid, states in options.items()}
        try:
            async with asyncio.timeout(WITHIN_S):
                while rivals := {uid: place - 1 for uid, place in places.items() if place}:
                    if not self._trainer.step:
                        raise ComputeError("What has not learnt anything tells nothing.")
                    chosen |= await self._contest(options, chosen, rivals)
                    places = rivals
        except (ComputeError, TimeoutError) as error:
            log.info("States of %d experts could not be tried: %s", len(options), str(error) or "it took too long")
            return None
        return chosen

    async def _contest(
        self, options: Mapping[Uid, Sequence[ExpertBackend]], chosen: Mapping[Uid, int], rivals: Mapping[Uid, int]
    ) -> Mapping[Uid, int]:
        """What is chosen once other states have competed with what is chosen now."""
        both = {uid: (options[uid][place], options[uid][chosen[uid]]) for uid, place in rivals.items()}
        related = {uid for uid, states in both.items() if are_related(*(one.named_weights for one in states))}
        safe, left = chosen, [[*rivals]]
        best = await self._pass(options, safe, rivals)
        while left:
            group = left.pop()
            bold = {**safe, **{uid: rivals[uid] for uid in group}}
            tried = await self._pass(options, bold, rivals)
            losses = on_same([best, tried], asked=True)
            is_better = losses[1] * (1 + BETTER) + BETTER < losses[0]
            if is_better or (related.issuperset(group) and not_worse(losses)[1]):
                safe, best = bold, tried if losses[1] < losses[0] else best
            elif len(group) > 1:
                left += [group[len(group) // 2 :], group[: len(group) // 2]]
        return safe

    async def _pass(
        self, options: Mapping[Uid, Sequence[ExpertBackend]], chosen: Mapping[Uid, int], contested: Collection[Uid]
    ) -> Tried:
        tried = {uid: options[uid][number] for uid, number in chosen.items()}
        place = Place(tried, self._trainer.kernel_gate, self._hosts[LOCAL])
        return await self._try(dict.fromkeys(chosen, LOCAL), ChainMap({LOCAL: place}, self._hosts), contested)

    async def serve(self, uids: Sequence[Uid], peer: str) -> bool | None:
        """Whether a peer answers for experts that are hosted here as well, and about as well as this process.

        Args:
            uids: the experts.
            peer: who says that it hosts them.

        Returns:
            None: that cannot be told now.
        """
        host = self._hosts[peer]
        if _is_suspended(host):
            return None
        try:
            async with asyncio.timeout(WITHIN_S):
                tried = await self._try(dict.fromkeys(uids, LOCAL), self._hosts, uids)
                if _is_suspended(host):
                    return None
                calls = [Call(uid, tried.passed[uid.layer].x[:FEW]) for uid in uids]
                deadline = asyncio.get_running_loop().time() + ANSWER_S
                theirs = await host.forward(calls, next(PASSAGES), deadline)
                mine = await self._hosts[LOCAL].forward(calls, next(PASSAGES), deadline)
                if not all(map(_alike, mine, theirs)):
                    return False
                there = await self._try(dict.fromkeys(uids, peer), self._hosts, uids)
            try:
                return not_worse(on_same([tried, there], asked=True))[1]
            except ComputeError:
                # it answered as it is answered here, but somebody was too busy for all those samples
                return any(name is None for passed in there.passed for name in passed.hosts) or None
        except (ComputeError, TimeoutError):
            return None

    async def losses(self, trunks: Sequence[Callable[..., Awaitable[Tried]]]) -> list[float]:
        """Of some trunks, nats a sample.

        Args:
            trunks: a trial of each, as of `Trainer.trial`.

        Raises:
            ComputeError: that cannot be told now.
        """
        try:
            async with asyncio.timeout(WITHIN_S):
                tried = [await trial(ROWS, self._directory, self._hosts) for trial in trunks]
        except TimeoutError:
            raise ComputeError("A trunk could not be tried in time.") from None
        return on_same(tried)

    async def _try(
        self, places: Mapping[Uid, str], hosts: Mapping[str, ExpertHost], alone: Collection[Uid] = ()
    ) -> Tried:
        """A pass with experts at some places.

        Raises:
            ComputeError: a layer has no expert.
        """
        return await self._trainer.trial(ROWS, Elsewhere(places, self._directory), hosts, alone=alone)


def _alike(mine: Output | None, theirs: Output | None) -> bool:
    """Whether a peer's answer is no more unlike that of this process than states of one expert are."""
    return theirs is not None and (mine is None or distance_of(mine.rows, theirs.rows) <= UNLIKE)


def _is_suspended(host: ExpertHost) -> bool:
    """Whether nothing is asked of it now: it would not hear of a trial."""
    return host.standing is not None and host.standing.suspended

"""The DMoE layer: a mixture of the k best experts of every sample, wherever they live (paper, section 3.1, equation 3).

Nothing awaits inside autograd: the layer is a place where the graph is cut. `forward` keeps no graph, `backward`
is an explicit vector-Jacobian product. All samples that chose one expert go to it in one call, all calls to one host
in one request.
"""

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

from core.experts.beam_search import Beam, BeamSearch
from core.experts.directory import Directory
from core.experts.gating import Gate, add_up, balance_loss
from core.experts.grid import Grid, Uid

T = TypeVar("T")
PASSAGES = 2**62
"""Passages are counted from a random number below this, so that a trainer that starts again uses no number twice."""
Run = Callable[..., Awaitable[Any]]
"""Runs `kernel(*arguments)` without autograd; training passes one that waits while the machine is given back."""


async def at_once(kernel: Callable[..., Any], *arguments: Any) -> Any:
    """The `Run` of inference: it does not wait."""
    with torch.no_grad():
        return kernel(*arguments)


class Call(NamedTuple):
    """What one expert is asked for one batch."""

    uid: Uid
    inputs: Tensor
    """[n, width]."""
    gradients: Tensor | None = None
    """[n, width], of each sample's own loss by the expert's outputs; only in backward."""
    version: int = 0
    """In backward: of the expert when it answered in forward."""


class Output(NamedTuple):
    """What one expert answered in forward."""

    rows: Tensor
    """[n, width]."""
    version: int
    """Steps the expert's weights had taken."""


class ExpertHost(Protocol):
    """A place where experts live: the Runtime of this process or a peer. It never raises for an expert's failure."""

    async def forward(self, calls: Sequence[Call], passage: int, inference: bool = False) -> list[Output | None]:
        """The answer to each call; None: failed, too late or refused.

        Args: calls, the number of this batch's way through a layer (backward names it again), whether it is not for
        training.
        """

    async def backward(self, calls: Sequence[Call], passage: int) -> list[Tensor | None]:
        """Gradients [n, width] by the inputs of each call; the experts keep those by their weights."""


class Passed(NamedTuple):
    """What a forward pass leaves for its backward pass, and for who wants to see what happened. No graph."""

    x: Tensor
    """[batch, width], the layer's input."""
    beam: Beam
    order: Tensor
    """[batch * k], the (sample, choice) pairs sorted by expert."""
    calls: list[Call]
    """One for each chosen expert, in the order of the cells."""
    hosts: list[str | None]
    """Which host answered each call; None: none did, and none is asked for gradients."""
    seconds: list[float]
    """How long each call's host took."""
    outputs: Tensor
    """[batch, k, width]; zeros where an expert did not answer."""
    weights: Tensor
    """[batch, k]; they add up to 1 over the experts that answered, all 0 if none did."""
    passage: int
    """The number under which the hosts know the forward pass."""

    @property
    def alive(self) -> Tensor:
        """[batch], whether at least one expert answered for the sample."""
        return self.weights.any(1)


class DMoELayer:
    """One layer of experts behind one gate."""

    def __init__(
        self,
        grid: Grid,
        index: int,
        gate: Gate,
        k: int,
        directory: Directory,
        hosts: Mapping[str, ExpertHost],
        balance: float,
    ) -> None:
        """Args: grid, the layer's number in it, its gate, experts a sample, who hosts what, how hosts are reached,
        weight of the load-balancing loss."""
        self.gate = gate
        self._grid = grid
        self._index = index
        self._search = BeamSearch(gate, directory, index, k)
        self._directory = directory
        self._hosts = hosts
        self._balance = balance
        self._passages = itertools.count(random.SystemRandom().randrange(PASSAGES))

    async def forward(self, x: Tensor, run: Run = at_once, inference: bool = False) -> tuple[Tensor, Passed]:
        """Equation 3: [batch, width] -> [batch, width]; a sample for which no expert answered gets zeros.

        Raises:
            ComputeError: the layer has no active expert at all.
        """
        heads = await run(self.gate, x)
        beam = await self._search.choose(heads)
        order, calls = await run(self._group, x, beam)
        hosts = await self._directory.hosts([call.uid for call in calls])
        places = [hosts[call.uid][0] if call.uid in hosts else None for call in calls]
        passage = next(self._passages)
        replies, seconds = await self._send(
            calls, places, lambda host, batch: self._hosts[host].forward(batch, passage, inference)
        )
        answers = [None if reply is None else reply.rows for reply in replies]
        calls = [c if r is None else c._replace(version=r.version) for c, r in zip(calls, replies, strict=True)]
        outputs, answered = await run(_ungroup, calls, answers, order, beam.chosen.shape)
        y, weights = await run(_mix, beam, outputs, answered)
        places = [None if answer is None else place for place, answer in zip(places, answers, strict=True)]
        return y, Passed(x, beam, order, calls, places, seconds, outputs, weights, passage)

    async def backward(self, passed: Passed, gradient: Tensor, run: Run = at_once) -> tuple[Tensor, list[Tensor]]:
        """The vector-Jacobian product of `forward` and of the layer's load-balancing loss.

        The loss is a sum over samples, so `gradient` [batch, width] holds each sample's own; the load-balancing loss,
        a mean, counts as often as there are samples. Where an expert's gradient does not come back, those that do are
        scaled up by (sum of all weights / sum of theirs). The gate's part needs no answer: it uses the outputs of
        `forward`.

        Returns:
            The gradient by `x` [batch, width] and those by the gate's parameters, in their order.
        """
        calls = await run(_gradient_calls, passed, gradient)
        answers, _ = await self._send(
            calls, passed.hosts, lambda host, batch: self._hosts[host].backward(batch, passed.passage)
        )
        through, answered = await run(_ungroup, calls, answers, passed.order, passed.weights.shape)
        by_x, *by_gate = await run(self._gate_product, passed, gradient)
        return by_x + await run(_collect, passed.weights, through, answered), by_gate

    def _group(self, x: Tensor, beam: Beam) -> tuple[Tensor, list[Call]]:
        """Samples by expert: the order of the pairs and one call for each expert chosen by anybody."""
        flat = beam.chosen.flatten()
        order = flat.argsort(stable=True)
        counts = torch.bincount(flat, minlength=len(beam.cells)).tolist()
        used = [(cell, count) for cell, count in zip(beam.cells, counts, strict=True) if count]
        inputs = x[order // beam.chosen.shape[1]].split_with_sizes([count for _, count in used])
        calls = [Call(self._grid.uid(self._index, cell), rows) for (cell, _), rows in zip(used, inputs, strict=True)]
        return order, calls

    async def _send(
        self,
        calls: list[Call],
        places: list[str | None],
        ask: Callable[[str, list[Call]], Awaitable[list[T | None]]],
    ) -> tuple[list[T | None], list[float]]:
        """One request to each host, all at once; the answers in the order of the calls."""
        answers: list[T | None] = [None] * len(calls)
        seconds = [0.0] * len(calls)

        async def request(host: str) -> None:
            start = time.perf_counter()
            mine = [i for i, place in enumerate(places) if place == host]
            for i, answer in zip(mine, await ask(host, [calls[i] for i in mine]), strict=True):
                answers[i] = answer
                seconds[i] = time.perf_counter() - start

        await asyncio.gather(*(request(host) for host in dict.fromkeys(place for place in places if place is not None)))
        return answers, seconds

    def _gate_product(self, passed: Passed, gradient: Tensor) -> tuple[Tensor, ...]:
        """The gate's vector-Jacobian product, recomputed: its parameters may have changed since the forward pass."""
        by_weight = torch.einsum("bkw,bw->bk", passed.outputs, gradient)
        by_score = passed.weights * (by_weight - (passed.weights * by_weight).sum(1, keepdim=True))
        with torch.enable_grad():
            x = passed.x.detach().requires_grad_()
            scores = add_up(self.gate(x), passed.beam.columns)
            loss = torch.sum(scores.gather(1, passed.beam.chosen) * by_score)
            if self._balance:
                loss = loss + self._balance * len(x) * balance_loss(scores, passed.beam.chosen)
        return torch.autograd.grad(loss, [x, *self.gate.parameters()])


def _mix(beam: Beam, outputs: Tensor, answered: Tensor) -> tuple[Tensor, Tensor]:
    """Equation 3 over those that answered: the mixture [batch, width] and the weights [batch, k]."""
    scores = beam.scores.gather(1, beam.chosen).masked_fill(~answered, -torch.inf)
    # Softmax over all -inf is NaN: a sample without any answer gets zeros instead.
    weights = torch.where(answered, scores.softmax(1), 0.0)
    return torch.bmm(weights.unsqueeze(1), outputs).squeeze(1), weights


def _ungroup(
    calls: list[Call], answers: list[Tensor | None], order: Tensor, shape: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    """Answers by call -> by sample: [batch, k, width] with zeros where there is none, and [batch, k] whether."""
    rows = torch.cat(
        [
            torch.zeros_like(call.inputs) if answer is None else answer
            for call, answer in zip(calls, answers, strict=True)
        ]
    )
    by_sample = torch.empty_like(rows)
    by_sample[order] = rows
    answered = torch.ones(len(order), dtype=torch.bool)
    if any(answer is None for answer in answers):
        sizes = [call.inputs.shape[0] for call in calls]
        for pairs, answer in zip(order.split_with_sizes(sizes), answers, strict=True):
            answered[pairs] = answer is not None
    return by_sample.view(*shape, -1), answered.view(shape)


def _gradient_calls(passed: Passed, gradient: Tensor) -> list[Call]:
    """Each expert's share of the gradient by the mixture; an expert that did not answer in forward is not asked."""
    grouped = (passed.weights.unsqueeze(2) * gradient.unsqueeze(1)).flatten(0, 1)[passed.order]
    sizes = [call.inputs.shape[0] for call in passed.calls]
    return [
        call._replace(gradients=rows) for call, rows in zip(passed.calls, grouped.split_with_sizes(sizes), strict=True)
    ]


def _collect(weights: Tensor, through: Tensor, answered: Tensor) -> Tensor:
    """The experts' gradients by the layer's input, summed by sample and rescaled for those that are missing."""
    survived = (weights * answered).sum(1, keepdim=True)
    scale = torch.where(survived > 0, weights.sum(1, keepdim=True) / survived, 0.0)
    return through.sum(1) * scale

"""The DMoE layer: a mixture of the k best experts of every sample, wherever they live (paper, section 3.1, equation 3).

Nothing awaits inside autograd: the layer is a place where the graph is cut. `forward` keeps no graph, `backward`
is an explicit vector-Jacobian product. All samples that chose one expert go to it in one call, all calls to one host
in one request.
"""

import itertools
import math
import random
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from core.contracts.expert_calls import Direction
from core.experts.audits import Audits
from core.experts.beam_search import Beam, BeamSearch
from core.experts.calls import Call, ExpertHost, Output
from core.experts.directory import LOCAL, Directory
from core.experts.gathering import Gathering, Rules, alike
from core.experts.gating import Gate, add_up, balance_loss
from core.experts.grid import Coords, Grid
from core.experts.spare_experts import Spares
from core.experts.trust import Suspect, Trust, Vouch

PASSAGES = 2**62
"""Passages are counted from a random number below this, so that a trainer that starts again uses no number twice."""
FULL = 64
"""Rows of a call from which on what each pass costs hardly counts beside what its rows cost."""
MOST_RESCALED = 10.0
"""Times a sample's gradient is scaled up for answers that are missing. What is left of an expert that hardly counted is
rounding: scaled up a billion times it would decide the batch, and further yet it overflows."""
Run = Callable[..., Awaitable[Any]]
"""Runs `kernel(*arguments)` without autograd; training passes one that waits while the machine is given back."""


async def at_once(kernel: Callable[..., Any], *arguments: Any) -> Any:
    """The `Run` of inference: it does not wait."""
    with torch.no_grad():
        return kernel(*arguments)


class Passed(NamedTuple):
    """What a forward pass leaves for its backward pass, and for who wants to see what happened. No graph."""

    x: Tensor
    """[batch, width], the layer's input."""
    beam: Beam
    mixed: Tensor
    """[batch, k], indices into the beam's cells: the chosen experts, or the spares that stood in for them."""
    order: Tensor
    """[rows of all calls], which (sample, choice) each row is, as an index into batch * k; batch * k: not used."""
    calls: list[Call]
    """One for each chosen expert, in the order of the cells, then the spares'."""
    hosts: list[str | None]
    """Which host answered each call; None: none did in time, and none is asked for gradients."""
    seconds: list[float]
    """How long each call's host took."""
    outputs: Tensor
    """[batch, k, width]; zeros where an expert did not answer."""
    weights: Tensor
    """[batch, k]; they add up to 1 over the experts that answered, all 0 if none did."""
    passages: list[int]
    """The number under which the host of each call knows the forward pass."""
    blocked_s: list[float]
    """How long nobody was waited for but hosts that did not answer, and their spares: forward, later backward."""

    @property
    def alive(self) -> Tensor:
        """[batch], whether at least one expert answered for the sample."""
        return self.weights.any(1)

    @property
    def alone(self) -> bool:
        """Whether no other peer was asked."""
        return all(host == LOCAL for host in self.hosts)

    @property
    def full(self) -> bool:
        """Whether its calls are so large that a pass of several would hardly be quicker than one after the other."""
        return len(self.order) >= FULL * len(self.calls)


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
        rules: Rules | None = None,
        suspect: Suspect = lambda host, points, why: None,
        vouch: Vouch = lambda host, direction: None,
    ) -> None:
        """Begin with nothing known of the hosts.

        Args:
            grid: that of the run.
            index: the layer's number in it.
            gate: scores the cells.
            k: experts a sample.
            directory: who hosts what.
            hosts: how hosts are asked.
            balance: weight of the load-balancing loss.
            rules: how patient it is.
            suspect: told of hosts that lie.
            vouch: told of hosts that pass an audit.
        """
        self.gate = gate
        self._grid = grid
        self._index = index
        self._search = BeamSearch(gate, directory, index, k)
        self._directory = directory
        self._hosts = hosts
        self._balance = balance
        self._rules = rules or Rules(max(1, k - 1))
        self._trust = Trust(suspect, vouch)
        self._passages = itertools.count(random.SystemRandom().randrange(PASSAGES))
        self._audits = Audits(directory, hosts, self._rules, self._trust, self._passages)

    async def forward(
        self, x: Tensor, run: Run = at_once, inference: bool = False, even: bool = False
    ) -> tuple[Tensor, Passed]:
        """Equation 3: [batch, width] -> [batch, width]; a sample for which no expert answered gets zeros.

        Args:
            x: [batch, width].
            run: runs its kernels.
            inference: no backward pass follows.
            even: spread the load, as in training.

        Raises:
            ComputeError: the layer has no active expert at all.
        """
        heads = await run(self.gate, x)
        beam = await self._search.choose(heads, even)
        order, calls = await run(self._group, x, beam)
        hosts = await self._directory.hosts([call.uid for call in calls])
        places = [hosts[call.uid][0] if call.uid in hosts else None for call in calls]
        forward = _Forward(self, x, beam, inference)
        forward.send(calls, _by_call(order, calls), places)
        await forward.gathering.finish(forward.ask_spares)
        y, passed = await run(forward.mixture)
        if not inference:
            self._audits.outputs(passed.calls, forward.gathering)
        return y, passed

    async def backward(self, passed: Passed, gradient: Tensor, run: Run = at_once) -> tuple[Tensor, list[Tensor]]:
        """The vector-Jacobian product of `forward` and of the layer's load-balancing loss.

        The loss is a sum over samples, so `gradient` [batch, width] holds each sample's own; the load-balancing loss,
        a mean, counts as often as there are samples. Where an expert's gradient does not come back, those that do are
        scaled up by (sum of all weights / sum of theirs), at most `MOST_RESCALED` times. The gate's part needs no
        answer: it uses the outputs of `forward`.

        Returns:
            The gradient by `x` [batch, width] and those by the gate's parameters, in their order.
        """
        calls: list[Call] = await run(_gradient_calls, passed, gradient)

        def accept(host: str, i: int, rows: Tensor) -> Tensor | None:
            sent = calls[i].gradients
            assert sent is not None
            return self._trust.gradients(host, sent, rows)

        one = self._rules._replace(k_min=1)  # one answer keeps a sample's gradient alive, and no spare could help
        gathering = Gathering[Tensor]("backward", one, passed.weights.shape, accept)
        for pairs, host in zip(_by_call(passed.order, calls), passed.hosts, strict=True):
            gathering.add(pairs, host)
        for (host, passage), mine in alike(zip(passed.hosts, passed.passages, strict=True)).items():
            if host is not None:
                place = self._hosts[host]
                gathering.ask(host, place.standing, mine, partial(place.backward, [calls[i] for i in mine], passage))
        await gathering.finish()
        passed.blocked_s.append(gathering.blocked_s)
        self._audits.gradients(calls, gathering)
        through, answered = await run(_ungroup, calls, gathering.answers, passed.order, passed.weights.shape)
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

    def _gate_product(self, passed: Passed, gradient: Tensor) -> tuple[Tensor, ...]:
        """The gate's vector-Jacobian product, recomputed: its parameters may have changed since the forward pass."""
        by_weight = torch.einsum("bkw,bw->bk", passed.outputs, gradient)
        by_score = passed.weights * (by_weight - (passed.weights * by_weight).sum(1, keepdim=True))
        with torch.enable_grad():
            x = passed.x.detach().requires_grad_()
            scores = add_up(self.gate(x), passed.beam.columns)
            loss = torch.sum(scores.gather(1, passed.mixed) * by_score)
            if self._balance:
                best = scores.topk(passed.beam.chosen.shape[1]).indices  # what was chosen is even already
                loss = loss + self._balance * len(x) * balance_loss(scores, best)
        return torch.autograd.grad(loss, [x, *self.gate.parameters()])


class _Forward:
    def __init__(self, layer: DMoELayer, x: Tensor, beam: Beam, inference: bool) -> None:
        self._layer, self._x, self._beam, self._inference = layer, x, beam, inference
        self._calls: list[Call] = []
        self._passages: list[int] = []
        self._cells: list[int | None] = []
        """Of each call, if it is a spare's: the index of its cell in the beam."""
        self._spares = Spares(beam)
        direction: Direction = "inference" if inference else "forward"
        self.gathering = Gathering[Output](direction, layer._rules, beam.chosen.shape, self._accept)

    def _accept(self, host: str, i: int, output: Output) -> Output | None:
        rows = self._layer._trust.outputs(host, self._calls[i].inputs, output.rows)
        return None if rows is None else output

    def send(
        self,
        calls: Sequence[Call],
        pairs: Sequence[Tensor],
        hosts: Sequence[str | None],
        spares: Sequence[int] | None = None,
    ) -> None:
        """One request to each host. `spares`: the cell of each call, if it stands in for others."""
        passage, start = next(self._layer._passages), len(self._calls)
        self._calls += calls
        self._passages += [passage] * len(calls)
        self._cells += spares or [None] * len(calls)
        for of_call, host in zip(pairs, hosts, strict=True):
            self.gathering.add(of_call, host)
        for host, mine in alike(hosts).items():
            if host is not None:
                place = self._layer._hosts[host]
                send = partial(place.forward, [calls[i] for i in mine], passage, inference=self._inference)
                self.gathering.ask(host, place.standing, [start + i for i in mine], send)

    async def ask_spares(self) -> None:
        """Samples that miss answers go to their next best experts, on hosts that are not late."""
        gathering, layer, k = self.gathering, self._layer, self._beam.chosen.shape[1]
        pairs = gathering.missing()
        if not len(pairs):
            return
        uids = {cell: layer._grid.uid(layer._index, self._beam.cells[cell]) for cell in self._spares.candidates(pairs)}
        found = await layer._directory.hosts(list(uids.values()))
        usable = {cell: [h for h in found.get(uid, ()) if h not in gathering.bad] for cell, uid in uids.items()}
        hosts = {cell: names[0] for cell, names in usable.items() if names}
        stand_in = self._spares.assign(pairs, hosts)
        rows = [torch.tensor(wanted) for wanted in stand_in.values()]
        calls = [Call(uids[cell], self._x[wanted // k]) for cell, wanted in zip(stand_in, rows, strict=True)]
        self.send(calls, rows, [hosts[cell] for cell in stand_in], list(stand_in))

    def mixture(self) -> tuple[Tensor, Passed]:
        """Equation 3 over those that answered; of several answers for one choice of a sample the first counts."""
        gathering, beam = self.gathering, self._beam
        unused = beam.chosen.numel()
        mixed = beam.chosen
        if gathering.is_complete():
            slots = gathering.pairs
        else:
            mixed = mixed.clone()
            slots = [torch.full_like(pairs, unused) for pairs in gathering.pairs]
            free = torch.ones(unused, dtype=torch.bool)
            for i in gathering.arrived:
                pairs = gathering.pairs[i]
                slots[i] = torch.where(free[pairs], pairs, unused)
                cell = self._cells[i]
                if cell is not None:
                    mixed.view(-1)[pairs[free[pairs]]] = cell
                free[pairs] = False
        order = torch.cat(slots)
        answers = [None if answer is None else answer.rows for answer in gathering.answers]
        outputs, answered = _ungroup(self._calls, answers, order, beam.chosen.shape)
        y, weights = _mix(beam.scores.gather(1, mixed), outputs, answered)
        calls = [
            call if answer is None else call._replace(version=answer.version)
            for call, answer in zip(self._calls, gathering.answers, strict=True)
        ]
        hosts = [
            host if answer is not None and bool((mine < unused).any()) else None
            for host, answer, mine in zip(gathering.hosts, answers, slots, strict=True)
        ]
        seconds, blocked_s = gathering.seconds, [gathering.blocked_s]
        passed = Passed(self._x, beam, mixed, order, calls, hosts, seconds, outputs, weights, self._passages, blocked_s)
        return y, passed


def mixed_alone(passed: Passed, alone: Collection[Coords]) -> tuple[Tensor, Passed, Tensor]:
    """A forward pass as if the others of a sample that chose one of some experts had not answered.

    Args:
        passed: with all answers.
        alone: the cells of these experts.

    Returns:
        The mixture [batch, width], what is left of the pass, and [batch], whether one of them answered.
    """
    places = [place for place, cell in enumerate(passed.beam.cells) if cell in alone]
    answered = passed.weights > 0
    among = answered & torch.isin(passed.mixed, torch.tensor(places, dtype=passed.mixed.dtype))
    of_these = among.any(1)
    y, weights = _mix(
        passed.beam.scores.gather(1, passed.mixed), passed.outputs, torch.where(of_these[:, None], among, answered)
    )
    return y, passed._replace(weights=weights), of_these


def _by_call(order: Tensor, calls: Sequence[Call]) -> Sequence[Tensor]:
    return order.split_with_sizes([call.inputs.shape[0] for call in calls])


def _mix(scores: Tensor, outputs: Tensor, answered: Tensor) -> tuple[Tensor, Tensor]:
    """Equation 3 over those that answered: the mixture [batch, width] and the weights [batch, k]."""
    scores = scores.masked_fill(~answered, -torch.inf)
    # Softmax over all -inf is NaN: a sample without any answer gets zeros instead.
    weights = torch.where(answered, scores.softmax(1), 0.0)
    return torch.bmm(weights.unsqueeze(1), outputs).squeeze(1), weights


def _ungroup(
    calls: Sequence[Call], answers: Sequence[Tensor | None], order: Tensor, shape: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Answers by call -> by sample: [batch, k, width] with zeros where there is none, and [batch, k] whether."""
    rows = torch.cat(
        [
            torch.zeros_like(call.inputs) if answer is None else answer
            for call, answer in zip(calls, answers, strict=True)
        ]
    )
    slots = math.prod(shape)
    by_sample = rows.new_zeros(slots + 1, rows.shape[1])
    by_sample[order] = rows
    answered = torch.zeros(slots + 1, dtype=torch.bool)
    for mine, answer in zip(_by_call(order, calls), answers, strict=True):
        if answer is not None:
            answered[mine] = True
    return by_sample[:-1].view(*shape, -1), answered[:-1].view(shape)


def _gradient_calls(passed: Passed, gradient: Tensor) -> list[Call]:
    """Each expert's share of the gradient by the mixture; an expert that did not answer in forward is not asked."""
    by_slot = (passed.weights.unsqueeze(2) * gradient.unsqueeze(1)).flatten(0, 1)
    grouped = functional.pad(by_slot, (0, 0, 0, 1))[passed.order]  # rows that are not used have no gradient
    parts = _by_call(grouped, passed.calls)
    return [call._replace(gradients=rows) for call, rows in zip(passed.calls, parts, strict=True)]


def _collect(weights: Tensor, through: Tensor, answered: Tensor) -> Tensor:
    """The experts' gradients by the layer's input, summed by sample and rescaled for those that are missing."""
    survived = (weights * answered).sum(1, keepdim=True)
    return through.sum(1) * (weights.sum(1, keepdim=True) / survived.clamp(min=1 / MOST_RESCALED))


def tape_bytes(tape: list[tuple[Tensor, Passed]]) -> int:
    """Of the storages that a batch's tape holds."""
    tensors = [h for h, _ in tape]
    for _, passed in tape:
        tensors += [passed.x, passed.outputs, passed.order, passed.beam.scores, *(call.inputs for call in passed.calls)]
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}.values())

"""One expert as its host keeps it: weights, optimizer, and the gradients gathered for the next step."""

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor, nn

from core.errors import ComputeError, ManifestError
from core.experts import modules
from core.experts.grid import Grid, Uid
from core.experts.modules import Factors
from core.manifest import Manifest, Model, Training
from core.runtime.adam import Adam
from core.runtime.conduct import Conduct
from core.runtime.crew import crew

T = TypeVar("T")

BACKWARD = 3
"""Work of a sample's backward pass, with its recomputation, in forward passes."""
ROWS = 128
"""Samples of a piece of a pass that several threads share, if there are enough: fewer take longer each."""
MAX_ROWS = 4096
"""Samples of one pass, however small the expert."""
THREADED_WEIGHTS = 500_000
"""Two threads make a pass of 32 samples 1.0 times faster for 30,000 weights, 1.3 for these, 1.5 for a million. Beside
a busy program the threads wait for each other: 30,000 weights then train 3 to 25 times slower on two than on one."""
COPIES = 4
"""Weights, two Adam moments, gathered gradients."""
OVERHEAD = 64 << 10
"""Bytes of Python objects, task pools and kept inputs of an expert, however small."""


Numbered = list[tuple[int, T]]
"""Gradients with their parameters' numbers."""


class ExpertBackend:
    """An expert that trains itself on the gradients it is sent (paper, section 3.3)."""

    def __init__(self, uid: Uid, model: Model, training: Training) -> None:
        """A new expert, the same on every machine.

        Raises:
            ManifestError: unknown kind of expert.
        """
        self.uid = uid
        self.input_shape = modules.kind_of(model.expert).input_shape(model.width)
        self.weights, self.dtype = _size(model)
        self.pending = 0
        """Samples whose gradients wait for the next step."""
        self.max_age_s = training.max_age_s
        """Pending gradients older than this are applied even if they are few; whoever runs the expert sees to it."""
        self._model, self._training = model, training
        self.gathered = torch.zeros(0)
        """Sum of the pending gradients by the weights, flat; of no meaning while there are none."""
        self.max_staleness = training.max_staleness
        self.conduct = Conduct()
        self.rows_per_pass = MAX_ROWS

    @functools.cached_property
    def module(self) -> nn.Module:
        """Its weights take memory once it is used; until then they are as the seed says."""
        model = self._model
        return modules.build(model.expert, model.width, model.hidden, self._training.seed, self.uid)

    @functools.cached_property
    def _adam(self) -> Adam:
        share = min(1.0, self._model.k / math.prod(self._model.grid))
        return Adam(self.module, self._training.expert_rate, self._training, share)

    @property
    def version(self) -> int:
        """Optimizer steps taken."""
        return self._adam.version if "_adam" in vars(self) else 0

    @property
    def samples(self) -> int:
        """Samples whose gradients have been applied."""
        return self._adam.samples if "_adam" in vars(self) else 0

    @torch.no_grad()
    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs of [n, ...] samples; changes nothing."""
        module, pieces = self.module, crew.cut(len(inputs), len(inputs) * self.weights, ROWS)
        return _joined(crew.run([partial(module, inputs[piece]) for piece in pieces]))

    def backward(self, inputs: Tensor, gradients: Tensor, weights: Tensor | None = None) -> Tensor:
        """Run the expert again with a graph (gradient checkpointing), gather gradients, step if there are enough.

        Args:
            inputs: [n, ...], those of the forward pass.
            gradients: [n, ...], of each sample's own loss by the outputs.
            weights: [n], over 0: how much each sample counts in the step, which is divided by their number all the
                same. Adam hides the scale of gradients that are all alike stale; where fresh and stale ones meet, in
                one step or in its moments, the stale ones count less. None: all 1.

        Returns:
            The gradients by the inputs, as if all weights were 1.

        Raises:
            ComputeError: a gradient is NaN or infinite; all n samples are refused and the expert is untouched.
        """
        if weights is not None:
            weights = weights.view(-1, *[1] * (gradients.dim() - 1))
            gradients = gradients * weights
        module, parameters = self.module, self._adam.parameters
        jobs = [
            partial(_product, module, parameters, inputs[piece], gradients[piece])
            for piece in crew.cut(len(inputs), BACKWARD * len(inputs) * self.weights, ROWS)
        ]
        products = crew.run(jobs)
        if not math.isfinite(sum(bound for *_, bound in products)):
            raise ComputeError(f"A gradient for {self.uid} held NaN or infinity and was refused; it is unchanged.")
        self._gather([small for _, small, _, _ in products], [large for _, _, large, _ in products])
        by_inputs = _joined([rows for rows, *_ in products])
        self.pending += len(inputs)
        if self.pending >= self._training.target_samples:
            self.step()
        return by_inputs if weights is None else by_inputs.div_(weights)

    @torch.no_grad()
    def _gather(self, small: list[Numbered[Tensor]], large: list[Numbered[Factors]]) -> None:
        """Add the gradients of a pass's pieces to those that wait, without a copy of the size of all weights."""
        if not len(self.gathered):
            self.gathered = torch.zeros(self.weights, dtype=self.dtype)
        elif not self.pending:
            self.gathered.zero_()
        totals = self._adam.parts(self.gathered)
        for piece in small:
            torch._foreach_add_([totals[number] for number, _ in piece], [gradient for _, gradient in piece])
        jobs = []
        for number in {number: None for piece in large for number, _ in piece}:
            found = [factors for piece in large for known, factors in piece if known == number]
            factors = Factors(_joined([f.left for f in found]), _joined([f.right for f in found]))
            total = totals[number]
            jobs += [
                partial(factors.add_to, total, outputs)
                for outputs in crew.cut(len(total), len(factors.left) * total.numel())
            ]
        crew.run(jobs)

    def step(self) -> None:
        """Apply what is pending: the mean over its samples, clipped, by Adam."""
        count, self.pending = self.pending, 0
        if count:
            self._adam.step(self.gathered, count, divisor=count)

    def state(self) -> dict[str, Tensor]:
        """A copy of weights, optimizer state and counters. Pending gradients are not part of it."""
        return self._adam.state()

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go on from a copy.

        Raises:
            CheckpointError: it does not fit; the expert is unchanged.
        """
        self._adam.load_state(state)
        self.pending = 0


def _product(
    module: nn.Module, parameters: Sequence[Tensor], inputs: Tensor, gradients: Tensor
) -> tuple[Tensor, Numbered[Tensor], Numbered[Factors], float]:
    """As `factored_product`, and a number that is finite if all of it is."""
    by_inputs, small, large = modules.factored_product(module, parameters, inputs, gradients)
    total = float(by_inputs.sum() + torch.cat([gradient.flatten() for _, gradient in small]).sum())
    return by_inputs, small, large, sum((factors.bound() for _, factors in large), total)


def _joined(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def expert_bytes(model: Model) -> int:
    """Memory that a host needs for each expert, from the manifest alone.

    Raises:
        ManifestError: unknown kind of expert.
    """
    weights, dtype = _size(model)
    return weights * dtype.itemsize * COPIES + OVERHEAD


def _size(model: Model) -> tuple[int, torch.dtype]:
    """Numbers in an expert, and their type.

    Raises:
        ManifestError: unknown kind of expert.
    """
    with torch.device("meta"):
        parameters = list(modules.kind_of(model.expert).build(model.width, model.hidden).parameters())
    return sum(parameter.numel() for parameter in parameters), parameters[0].dtype


def check_memory(model: Model, experts: int, memory_bytes: int) -> None:
    """Refuse a run before it fills this PC's memory.

    Args: the run's model, how many of its experts are held here at least, the memory of this PC.

    Raises:
        ManifestError: they cannot fit, or their kind is unknown.
    """
    needed = experts * expert_bytes(model)
    if needed > memory_bytes:
        raise ManifestError(
            f"{experts} experts of this run take {needed / 2**30:.1f} GB of memory, and this PC has "
            f"{memory_bytes / 2**30:.1f} GB. Share them with other peers (--bootstrap), or take a smaller run."
        )


def useful_threads(experts: Iterable[ExpertBackend], threads: int) -> int:
    """How many of `threads` pay: small experts are slower on several, and far slower beside other programs."""
    return threads if any(expert.weights >= THREADED_WEIGHTS for expert in experts) else 1


def all_experts(manifest: Manifest) -> Iterator[ExpertBackend]:
    """A new expert for every cell of a run's grid."""
    grid = Grid(manifest.run, manifest.model.layers, manifest.model.grid)
    return (ExpertBackend(uid, manifest.model, manifest.training) for uid in grid.uids())

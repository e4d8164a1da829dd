"""One expert as its host keeps it: weights, optimizer, and the gradients gathered for the next step."""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from core.contracts.errors import ComputeError, DeviceError, ManifestError
from core.contracts.kinds import EXPERTS
from core.contracts.manifest import Training
from core.contracts.model import Model
from core.contracts.notices import notice
from core.experts.grid import Uid
from core.experts.kinds import expert as experts
from core.experts.kinds.expert import Expert
from core.experts.products import Factors, Numbered
from core.runtime.adam import SLICE, Adam, State, read_state
from core.runtime.device import CPU, Device, lacks_memory
from core.runtime.gradient_guard import GradientGuard
from core.runtime.movable import Carry, Movable
from core.runtime.threads import team

BACKWARD = 3
"""Work of a sample's backward pass, with its recomputation, in forward passes."""
ROWS = 128
"""Samples of a piece of a pass that several threads share, if there are enough: fewer take longer each."""
MAX_ROWS = 4096
"""Samples of one pass, however small the expert."""
THREADED_WEIGHTS = 500_000
"""Two threads make a pass of 32 samples 1.0 times faster for 30,000 weights, 1.3 for these, 1.5 for a million. Beside
a busy program the threads wait for each other: 30,000 weights then train 3 to 25 times slower on two than on one."""
FLOAT_BYTES = 4
COPIES = 4
"""Weights, two Adam moments, gathered gradients."""
OVERHEAD = 64 << 10
"""Bytes of Python objects, task pools and kept inputs of an expert, however small."""


class ExpertBackend(Movable):
    """An expert that trains itself on the gradients it is sent (paper, section 3.3)."""

    def __init__(self, uid: Uid, model: Model, training: Training) -> None:
        """A new expert, the same on every machine.

        Raises:
            ManifestError: unknown kind of expert.
        """
        super().__init__()
        self.uid = uid
        assert model.expert  # a manifest whose model has layers without one is refused
        declared = EXPERTS[model.expert]
        self.input_shape = declared.sample(model)
        self.weights = declared.numbers(model)
        self.dtype = torch.get_default_dtype()
        self.work = declared.multiplications(model)
        """Multiplications of a sample's forward pass."""
        self.calls = 0
        """Answered since it is here, forward and backward."""
        self.pending = 0
        """Samples whose gradients wait for the next step."""
        self.max_age_s = training.max_age_s
        """Pending gradients older than this are applied even if they are few; whoever runs the expert sees to it."""
        self._model, self._training = model, training
        self.gathered = torch.zeros(0)
        """Sum of the pending gradients by the weights, flat: zeros while there are none, or nothing at all."""
        self.max_staleness = training.max_staleness
        self.guard = GradientGuard()
        self.rows_per_pass = MAX_ROWS
        """Fewer where a device had no room for more."""

        self._expert: _Expert | None = None
        self._begun: Iterator[None] | None = None
        """What must come to its end before anybody looks at the expert: its first values, a step, a copy."""

    def prepare(self, backward: bool = False) -> bool:
        """Do a slice of what must be done before a pass: end what was begun, and take memory, which takes far longer
        the first time that it is touched. Of small experts, and on a graphics processor, little is left for this.

        Args:
            backward: whether the pass is a backward one.

        Returns:
            Whether there was anything to do. If so, there may be more.
        """
        if self._begun is None:
            if self._expert is None:
                self._begun = self._filling()
            elif backward and self.device is CPU and not len(self.gathered):
                self._begun = self._clearing()
            else:
                return False
        try:
            next(self._begun)
        except StopIteration:
            self._begun = None
        except BaseException:
            self._begun = None
            raise
        return True

    @property
    def has_begun(self) -> bool:
        """Whether something was begun that `prepare` is to bring to its end."""
        return self._begun is not None

    def _end(self, backward: bool = False) -> "_Expert":
        """All of `prepare` at once."""
        while self.prepare(backward):
            pass
        assert self._expert is not None
        return self._expert

    def _blank(self) -> "_Expert":
        model, training = self._model, self._training
        module, vector = experts.blank(model)
        share = min(1.0, model.k / math.prod(model.grid))
        return _Expert(module, Adam(module, training.expert_rate, training, share, vector))

    def _filling(self) -> Iterator[None]:
        expert = self._blank()
        yield from experts.filling(expert.module, self._training.seed, self.uid, SLICE)
        self._expert = expert

    def _clearing(self) -> Iterator[None]:
        gathered = torch.empty(self.weights, dtype=self.dtype)
        for piece in torch.split(gathered, SLICE):
            piece.zero_()
            yield
        self.gathered = gathered

    @property
    def module(self) -> Expert:
        """Its weights take memory once it is used; until then they are as the seed says."""
        return self._end().module

    @property
    def _adam(self) -> Adam:
        return self._end().adam

    @property
    def is_used(self) -> bool:
        """Whether its weights take memory."""
        return self._expert is not None

    def go_to(self, device: Device) -> bool:
        """As any other; it has passes of all sizes there, until there is no room for one."""
        moved = super().go_to(device)
        if moved:
            self.rows_per_pass = MAX_ROWS
        return moved

    def _carry(self, carry: Carry) -> None:
        gathered = carry(self.gathered) if self.pending else torch.zeros(0)
        self._adam.move(carry)
        self.gathered = gathered

    @property
    def version(self) -> int:
        """Optimizer steps taken."""
        return self._expert.adam.version if self._expert else 0

    @property
    def samples(self) -> int:
        """Samples whose gradients have been applied."""
        return self._expert.adam.samples if self._expert else 0

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs of [n, ...] samples; changes nothing."""
        x = self.device.put(inputs)
        pieces = team.cut(len(x), len(x) * self.work, ROWS)
        return self.device.take(joined(team.run([partial(self.module, x[piece]) for piece in pieces])))

    def backward(
        self, inputs: Tensor, gradients: Tensor, weights: Tensor | None = None, counted: int | None = None
    ) -> Tensor:
        """Run the expert again with a graph (gradient checkpointing), gather gradients, step if there are enough.

        Args:
            inputs: [n, ...], those of the forward pass.
            gradients: [n, ...], of each sample's own loss by the outputs.
            weights: [n], over 0: how much each sample counts in the step, which is divided by their number all the
                same. Adam hides the scale of gradients that are all alike stale; where fresh and stale ones meet, in
                one step or in its moments, the stale ones count less. None: all 1.
            counted: how many are in that number: who is hardly believed must not make steps of nothing. None: all.

        Returns:
            The gradients by the inputs, as if all weights were 1.

        Raises:
            ComputeError: a gradient is NaN or infinite; all n samples are refused and the expert is untouched.
            DeviceError: the device failed in the middle, and what is gathered cannot be trusted.
            RuntimeError: as `core.runtime.device.lacks_memory` says, the device has no room; the expert is untouched.
        """
        if weights is not None:
            weights = weights.view(-1, *[1] * (gradients.dim() - 1))
            gradients = gradients * weights
        product = self._product(inputs, gradients)
        if not math.isfinite(product.bound):
            raise ComputeError(f"A gradient for {self.uid} held NaN or infinity and was refused; it is unchanged.")
        try:
            self._gather(product)
        except RuntimeError as error:
            if lacks_memory(error):
                raise DeviceError(notice("device.full_in_a_sum", name=self.device.label)) from error
            raise
        self.pending += len(inputs) if counted is None else counted
        if self.pending >= self._training.target_samples:
            self.step()
        return product.by_inputs if weights is None else product.by_inputs.div_(weights)

    def _product(self, inputs: Tensor, gradients: Tensor) -> "_Product":
        """What `_gather` needs, memory for the sum included."""
        module, adam = self._end(backward=True)
        parameters = adam.parameters
        if not len(self.gathered):
            self.gathered = parameters[0].new_zeros(self.weights)
        x, by_outputs = self.device.put(inputs), self.device.put(gradients)
        jobs = [
            partial(_product, module, parameters, x[piece], by_outputs[piece])
            for piece in team.cut(len(x), BACKWARD * len(x) * self.work, ROWS)
        ]
        products = team.run(jobs)
        large = [item for product in products for item in product.large]
        return _Product(
            self.device.take(joined([product.by_inputs for product in products])),
            [piece for product in products for piece in product.small],
            [
                (n, _all([factors for known, factors in large if known == n]))
                for n in dict.fromkeys(n for n, _ in large)
            ],
            sum(product.bound for product in products),
        )

    @torch.no_grad()
    def _gather(self, product: "_Product") -> None:
        """Add the gradients of a pass to those that wait, without a copy of the size of all weights."""
        totals = self._adam.parts(self.gathered)
        for piece in product.small:
            torch._foreach_add_([totals[number] for number, _ in piece], [gradient for _, gradient in piece])
        team.run(
            [
                partial(factors.add_to, totals[number], outputs)
                for number, factors in product.large
                for outputs in team.cut(len(totals[number]), len(factors.left) * totals[number].numel())
            ]
        )

    def step(self) -> None:
        """Apply what is pending: the mean over its samples, clipped, by Adam. With a large expert this is only begun:
        `prepare` goes on with it, and whoever looks at the expert ends it first.

        Raises:
            ComputeError: it is not finite, and was refused.
        """
        count = self.pending
        try:
            if count:
                self._begun = self.with_room(lambda: self._step(count))
        except BaseException:
            self.gathered = torch.zeros(0)
            raise
        finally:
            self.pending = 0

    def _step(self, count: int) -> Iterator[None] | None:
        """What remains to be done of a step."""
        rest = self._adam.begin_step(self.gathered, count, divisor=count)
        if self.device is CPU and self.weights > SLICE:
            return rest
        for _ in rest:
            pass
        return None

    def state(self) -> dict[str, Tensor]:
        """A copy of weights, optimizer state and counters. Pending gradients are not part of it."""
        return self._adam.state()

    @property
    def named_weights(self) -> dict[str, Tensor]:
        """The weights, named as in `state`; not copied, if they are the processor's."""
        return {f"weights.{name}": weights.detach().cpu() for name, weights in self.module.named_parameters()}

    def begin_copy(self) -> dict[str, Tensor]:
        """What `state` gives, as far as it is copied yet: `prepare` goes on with it until it holds its "version"."""
        adam, state = self._adam, dict[str, Tensor]()
        self._begun = adam.copying(state)
        return state

    @property
    def norm(self) -> float:
        """Of all weights."""
        return float(self._adam.weights.norm())

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go on from a copy.

        Raises:
            CheckpointError: it does not fit; the expert is unchanged.
        """
        self.adopt(self.read_state(state))

    def read_state(self, state: dict[str, Tensor]) -> State:
        """A copy, checked; may be called from any thread.

        Raises:
            CheckpointError: it does not fit.
        """
        return read_state(state, dict(experts.outline(self._model).named_parameters()))

    def adopt(self, state: State) -> None:
        """Go on from a copy that was checked. Its vectors become the expert's."""
        if self._expert is None:
            self._begun = None  # first values, which nobody needs
        expert = self._end() if self._expert else self._blank()
        self.with_room(lambda: expert.adam.adopt(state))
        self._expert = expert
        self.pending, self.gathered = 0, torch.zeros(0)


class _Expert(NamedTuple):
    """What takes memory once an expert is used."""

    module: Expert
    adam: Adam


class _Product(NamedTuple):
    """The gradients of a pass, or of a piece of it."""

    by_inputs: Tensor
    small: list[Numbered[Tensor]]
    """By parameters, for each piece: tensors, ..."""
    large: Numbered[Factors]
    """... and factors."""
    bound: float
    """Finite if all of them are."""


def _product(module: Expert, parameters: Sequence[Tensor], inputs: Tensor, gradients: Tensor) -> _Product:
    by_inputs, small, large = module.gradients(parameters, inputs, gradients)
    total = float(by_inputs.sum() + torch.cat([gradient.flatten() for _, gradient in small]).sum())
    return _Product(by_inputs, [small], large, sum((factors.bound() for _, factors in large), total))


def _all(parts: list[Factors]) -> Factors:
    return Factors(joined([part.left for part in parts]), joined([part.right for part in parts]))


def joined(parts: list[Tensor]) -> Tensor:
    """[n, ...] each, and at least one -> one of all rows."""
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def expert_bytes(model: Model) -> int:
    """Memory that a host needs for each expert, from the manifest alone.

    Raises:
        ManifestError: unknown kind of expert.
    """
    return EXPERTS[model.expert].numbers(model) * FLOAT_BYTES * COPIES + OVERHEAD if model.expert else 0


def check_memory(model: Model, held: int, memory_bytes: int) -> None:
    """Refuse a run before it fills this PC's memory.

    Args:
        model: the run's.
        held: how many of its experts are held here at least.
        memory_bytes: the memory of this PC.

    Raises:
        ManifestError: they cannot fit, or their kind is unknown.
    """
    needed = held * expert_bytes(model)
    if needed > memory_bytes:
        raise ManifestError(notice("manifest.too_little_memory", held=held, needed=float(needed), memory=memory_bytes))


def useful_threads(backends: Iterable[ExpertBackend], threads: int) -> int:
    """How many threads pay: small experts are slower on several, and far slower beside other programs.

    Args:
        backends: the experts that are computed.
        threads: as many as are allowed.
    """
    return threads if any(backend.weights >= THREADED_WEIGHTS for backend in backends) else 1

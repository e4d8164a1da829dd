"""Adam over one flat vector that holds all parameters of a module.

torch.optim would import the compiler (1 s at every start, 80 MB), and one vector needs one operation a step instead of
one for each parameter.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from core.contracts.errors import CheckpointError, ComputeError
from core.contracts.manifest import Training
from core.contracts.notices import notice
from core.runtime.threads import team

BETAS = (0.9, 0.999)
EPSILON = 1e-8
LEAST = 0.05
"""Of the rate, at the planned end of a run and after it."""
KINDS = ("weights", "mean", "square")
LONGEST = 10.0
"""Norm of a matrix from which on LAMB's steps grow no more with it."""
SLICE = 1 << 20
"""Numbers that are worked on at once, by each thread: some milliseconds; some tens where memory is touched for the
first time."""
MAX_COUNT = 2**53
"""Of steps or samples: more than a million a second for 200 years, and exact in JSON."""


class Adam:
    """Adam (Kingma and Ba, 2015) with a clipped gradient norm.

    The rate rises linearly, stays, and falls with the inverse square root of the samples seen: that suits a run without
    a planned end, while under a constant rate the accuracy swings by points for ever. Where the end is planned the rate
    falls linearly up to it, which ends better: stale gradients hurt less, the smaller the steps. Samples, not steps:
    how many of them a step gathers depends on the traffic. The module's parameters become views of one vector; they
    change in place. The moments take no memory before the first step.
    """

    def __init__(
        self,
        module: nn.Module,
        rate: float,
        training: Training,
        share: float = 1.0,
        vector: Tensor | None = None,
        weight_decay: float = 0.0,
    ) -> None:
        """No step was taken yet.

        Args:
            module: whose parameters are changed.
            rate: the greatest learning rate.
            training: the run's warm-up, decay and clip.
            share: of the run's samples that the module sees, by which warm-up and decay come earlier.
            vector: [all parameters], that they are views of; None: they are not yet.
            weight_decay: by which the weights are drawn to zero, times the rate (Loshchilov and Hutter, 2019).
        """
        self._names = [name for name, _ in module.named_parameters()]
        self.parameters = list(module.parameters())
        self._rate, self._clip, self._weight_decay = rate, training.clip, weight_decay
        self._warmup, self._decay = training.warmup_samples * share, training.decay_samples * share
        self._planned = training.planned_samples * share if training.planned_samples else math.inf
        if vector is None:
            vector = torch.cat([parameter.detach().flatten() for parameter in self.parameters])
        self._hold(vector)
        self._moments: tuple[Tensor, Tensor] | None = None
        """Moving means of the gradient and of its square; None: zeros."""
        self.factor = 1.0
        """Times the rate: that of the next steps."""
        self.version = 0
        """Steps taken."""
        self.samples = 0
        """Samples whose gradients they applied."""

    def _hold(self, weights: Tensor) -> None:
        """Have the parameters be views of these weights."""
        self.weights = weights
        """All parameters, flat: the vector that they are views of, until they move or are loaded."""
        for parameter, part in zip(self.parameters, self.parts(weights), strict=True):
            parameter.data = part

    @contextlib.contextmanager
    def replaced(self, weights: Tensor) -> Iterator[None]:
        """Have the parameters be views of other weights meanwhile; nothing may be awaited in it."""
        own = self.weights
        self._hold(weights)
        try:
            yield
        finally:
            self._hold(own)

    def parts(self, flat: Tensor) -> list[Tensor]:
        """Views of [all parameters], flat, in the parameters' shapes."""
        sizes = [parameter.numel() for parameter in self.parameters]
        return [p.view(q.shape) for p, q in zip(flat.split_with_sizes(sizes), self.parameters, strict=True)]

    def move(self, carry: Callable[[Tensor], Tensor]) -> None:
        """Have weights and moments carried to another device; nothing has changed if that fails."""
        weights = carry(self.weights)
        moments = self._moments and (carry(self._moments[0]), carry(self._moments[1]))
        self._hold(weights)
        self._moments = moments

    def step(self, gradient: Tensor, samples: int, divisor: float = 1.0) -> None:
        """Change the parameters in place, once.

        Args:
            gradient: [all parameters], in their order, flat; the mean over samples. It is zero afterwards.
            samples: how many.
            divisor: of the gradient: 1 if it is the mean, `samples` if it is the sum.

        Raises:
            ComputeError: the gradient holds NaN or infinity; nothing has changed.
        """
        for _ in self.begin_step(gradient, samples, divisor):
            pass

    @torch.no_grad()
    def begin_step(self, gradient: Tensor, samples: int, divisor: float = 1.0) -> Iterator[None]:
        """The same in slices: the counters tell of the step at once, the rest is done by the iterator. Until its end
        nobody may look at parameters, moments or the gradient.

        Raises:
            ComputeError: as `step`.
        """
        each = SLICE if gradient.is_cpu else len(gradient)
        norms = [_norms([gradient[piece] for piece in pieces]) for pieces in team.rounds(len(gradient), each)]
        norm = math.hypot(*norms) / divisor
        if not math.isfinite(norm):
            raise ComputeError("A gradient held NaN or infinity and was refused; the parameters are unchanged.")
        if samples < 1:
            raise ComputeError("A gradient of no samples was refused; the parameters are unchanged.")
        # All memory is taken before anything changes: a device may have none.
        count = torch.tensor(self.version + 1, dtype=torch.float32, device=gradient.device)
        fresh = self._moments is None
        self._moments = self._moments or (torch.empty_like(gradient), torch.empty_like(gradient))
        self.version += 1
        self.samples += samples
        rise = self.samples / self._warmup if self._warmup else 1.0
        fall = max(LEAST, 1.0 - (1.0 - LEAST) * self.samples / self._planned)
        rate = self._rate * self.factor * min(1.0, rise, math.sqrt(self._decay / self.samples)) * fall
        change = partial(_change, scale=divisor * max(1.0, norm / self._clip), count=count, fresh=fresh)
        return self._changes(rate, change, (gradient, *self._moments), each)

    def _changes(
        self, rate: float, change: Callable[..., None], vectors: tuple[Tensor, ...], each: int
    ) -> Iterator[None]:
        """The slices of a step.

        Args:
            rate: of this step.
            change: the rule of Adam.
            vectors: the gradient and the moments.
            each: numbers of a slice.
        """
        return _slices(partial(change, rate, self._weight_decay), (self.weights, *vectors), each)

    def state(self) -> dict[str, Tensor]:
        """A copy of the weights and both moments by parameter, and the numbers of steps and samples."""
        state: dict[str, Tensor] = {}
        for _ in self.copying(state, each=len(self.weights)):
            pass
        return state

    @torch.no_grad()
    def copying(self, state: dict[str, Tensor], each: int = SLICE) -> Iterator[None]:
        """The same slice by slice, into `state`, whose counters come last; nothing may change meanwhile."""
        for kind, flat in zip(KINDS, (self.weights, *(self._moments or (None, None))), strict=True):
            copy = torch.empty(self.weights.shape, dtype=self.weights.dtype)
            for start in range(0, len(copy), each):
                piece = slice(start, start + each)
                if flat is None:
                    copy[piece].zero_()
                else:
                    copy[piece].copy_(flat[piece].to("cpu"))
                yield
            state.update({f"{kind}.{name}": p for name, p in zip(self._names, self.parts(copy), strict=True)})
        state.update(self._counts())

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go on from a copy.

        Raises:
            CheckpointError: a name, shape or dtype does not fit this module, or a value is not finite; nothing has
                changed.
        """
        self.adopt(read_state(state, dict(zip(self._names, self.parameters, strict=True))))

    def adopt(self, state: "State") -> None:
        """Go on from a copy that fits: its vectors become those of this module."""
        where = self.weights.device
        weights, mean, square = (vector.to(where) for vector in state.vectors)
        self._hold(weights)
        self._moments = (mean, square) if state.version else None
        self.version, self.samples = state.version, state.samples

    @property
    def vectors(self) -> tuple[Tensor, Tensor, Tensor]:
        """Weights and both moments, [all parameters] each, flat: those in use, which the next step changes."""
        return self.weights, *(self._moments or (torch.zeros_like(self.weights), torch.zeros_like(self.weights)))

    def _counts(self) -> dict[str, Tensor]:
        return {"version": torch.tensor(self.version), "samples": torch.tensor(self.samples)}


class Lamb(Adam):
    """Adam for large batches: each matrix takes steps as long as it is itself, times the rate (You et al., 2020).

    Vectors, such as biases and norms, follow Adam.
    """

    def begin_step(self, gradient: Tensor, samples: int, divisor: float = 1.0) -> Iterator[None]:
        self._step = torch.zeros_like(gradient)
        return super().begin_step(gradient, samples, divisor)

    @torch.no_grad()
    def _changes(
        self, rate: float, change: Callable[..., None], vectors: tuple[Tensor, ...], each: int
    ) -> Iterator[None]:
        yield from _slices(partial(change, 1.0, 0.0), (self._step, *vectors), each)
        for weight, step in zip(self.parts(self.weights), self.parts(self._step), strict=True):
            step.sub_(weight, alpha=self._weight_decay)
            length, own = float(step.norm()), min(LONGEST, float(weight.norm()))
            weight.add_(step, alpha=rate * own / length if weight.ndim > 1 and own and length else rate)
            yield
        del self._step


class State(NamedTuple):
    """What a module and its optimizer go on from."""

    vectors: tuple[Tensor, Tensor, Tensor]
    """Weights and both moments, [all parameters] each, flat."""
    version: int
    samples: int


def read_state(state: dict[str, Tensor], parameters: Mapping[str, Tensor]) -> State:
    """What `Adam.state` gave, checked. It takes long if the module is large; may be called from any thread.

    Args:
        state: the copy.
        parameters: the module's, by name; only shapes and types matter.

    Raises:
        CheckpointError: it does not fit, as `Adam.load_state`.
    """
    expected = {f"{kind}.{name}": parameter for kind in KINDS for name, parameter in parameters.items()}
    check_state(state, {**expected, "version": torch.tensor(0), "samples": torch.tensor(0)})
    weights, mean, square = (torch.cat([state[f"{kind}.{name}"].flatten() for name in parameters]) for kind in KINDS)
    return State((weights, mean, square), int(state["version"]), int(state["samples"]))


def _slices(change: Callable[[list[Tensor]], None], vectors: Sequence[Tensor], each: int) -> Iterator[None]:
    for pieces in team.rounds(len(vectors[0]), each):
        team.run([partial(change, [vector[piece] for vector in vectors]) for piece in pieces])
        yield


def _change(
    rate: float, weight_decay: float, vectors: list[Tensor], *, scale: float, count: Tensor, fresh: bool
) -> None:
    """The rule of Adam, in one pass over weights, gradient and moments: operation by operation takes three times
    longer. The gradient is zeroed; so are the moments before, if they are fresh."""
    weights, gradient, mean, square = vectors
    if fresh:
        mean.zero_()
        square.zero_()
    divisor = None
    if weights.is_cpu:
        divisor = torch.tensor(scale, dtype=torch.float32)
    else:  # Apple's kernel does not know the divisor, and CUDA's wants it on the device
        gradient.div_(scale)
    torch._fused_adamw_(
        [weights],
        [gradient],
        [mean],
        [square],
        [],
        [count],
        lr=rate,
        beta1=BETAS[0],
        beta2=BETAS[1],
        weight_decay=weight_decay,
        eps=EPSILON,
        amsgrad=False,
        maximize=False,
        grad_scale=divisor,
    )
    gradient.zero_()


def _norms(vectors: Sequence[Tensor]) -> float:
    return math.hypot(*team.run([partial(_norm, vector) for vector in vectors]))


def _norm(vector: Tensor) -> float:
    return float(vector.norm())


def check_state(state: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    """Compare a loaded state with tensors of the names, shapes and dtypes that belong there.

    Raises:
        CheckpointError: they differ, a value is not finite, or one that training cannot lead to.
    """
    if state.keys() != expected.keys():
        odd = ", ".join(sorted(state.keys() ^ expected.keys())[:3])
        raise CheckpointError(notice("checkpoint.other_tensors", names=odd))
    for name, tensor in expected.items():
        if state[name].shape != tensor.shape or state[name].dtype != tensor.dtype:
            found, due = (f"{tuple(one.shape)} {one.dtype}" for one in (state[name], tensor))
            raise CheckpointError(notice("checkpoint.other_shape", name=name, found=found, due=due))
        is_count = not tensor.is_floating_point()
        if (is_count or name.startswith("square.")) and bool((state[name] < 0).any()):
            raise CheckpointError(notice("checkpoint.negative", name=name))
        if is_count and bool((state[name] > MAX_COUNT).any()):
            raise CheckpointError(notice("checkpoint.impossible_count", name=name))
        if not torch.isfinite(state[name]).all():
            raise CheckpointError(notice("checkpoint.not_finite", name=name))

"""Adam over one flat vector that holds all parameters of a module.

torch.optim would import the compiler (1 s at every start, 80 MB), and one vector needs one operation a step instead of
one for each parameter.
"""

import math
from functools import partial

import torch
from torch import Tensor, nn

from core.errors import CheckpointError, ComputeError
from core.manifest import Training
from core.runtime.crew import crew

BETAS = (0.9, 0.999)
EPSILON = 1e-8
LEAST = 0.05
"""Of the rate, at the planned end of a run and after it."""
KINDS = ("weights", "mean", "square")
WORK = 10
"""Of a step for each number, in multiplications."""
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

    def __init__(self, module: nn.Module, rate: float, training: Training, share: float = 1.0) -> None:
        """Args: module, learning rate, rules of the run (warm-up, decay and clip), and the share of the run's samples
        that the module sees, by which warm-up and decay come earlier."""
        self._names = [name for name, _ in module.named_parameters()]
        self.parameters = list(module.parameters())
        self._rate, self._clip = rate, training.clip
        self._warmup, self._decay = training.warmup_samples * share, training.decay_samples * share
        self._planned = training.planned_samples * share if training.planned_samples else math.inf
        self._weights = torch.cat([parameter.detach().flatten() for parameter in self.parameters])
        for parameter, part in zip(self.parameters, self.parts(self._weights), strict=True):
            parameter.data = part
        self._moments: tuple[Tensor, Tensor] | None = None
        """Moving means of the gradient and of its square; None: zeros."""
        self.version = 0
        """Steps taken."""
        self.samples = 0
        """Samples whose gradients they applied."""

    def parts(self, flat: Tensor) -> list[Tensor]:
        """Views of [all parameters], flat, in the parameters' shapes."""
        sizes = [parameter.numel() for parameter in self.parameters]
        return [p.view(q.shape) for p, q in zip(flat.split_with_sizes(sizes), self.parameters, strict=True)]

    @torch.no_grad()
    def step(self, gradient: Tensor, samples: int, divisor: float = 1.0) -> None:
        """Change the parameters in place, once.

        Args:
            gradient: [all parameters], in their order, flat; the mean over samples. It is overwritten.
            samples: how many.
            divisor: of the gradient: 1 if it is the mean, `samples` if it is the sum.

        Raises:
            ComputeError: the gradient holds NaN or infinity; nothing has changed.
        """
        pieces = crew.cut(len(gradient), WORK * len(gradient))
        norm = math.hypot(*crew.run([partial(_norm, gradient[piece]) for piece in pieces])) / divisor
        if not math.isfinite(norm):
            raise ComputeError("A gradient held NaN or infinity and was refused; the parameters are unchanged.")
        self.version += 1
        self.samples += samples
        rise = self.samples / self._warmup if self._warmup else 1.0
        fall = max(LEAST, 1.0 - (1.0 - LEAST) * self.samples / self._planned)
        rate = self._rate * min(1.0, rise, math.sqrt(self._decay / self.samples)) * fall
        mean, square = self._moments = self._moments or (torch.zeros_like(gradient), torch.zeros_like(gradient))
        scale = torch.tensor(divisor * max(1.0, norm / self._clip), dtype=torch.float32)
        vectors = (self._weights, gradient, mean, square)
        crew.run([partial(self._change, rate, scale, [vector[piece] for vector in vectors]) for piece in pieces])

    def _change(self, rate: float, scale: Tensor, vectors: list[Tensor]) -> None:
        """The rule of Adam, in one pass over weights, gradient and moments: operation by operation takes three times
        longer."""
        weights, gradient, mean, square = vectors
        torch._fused_adam_(
            [weights],
            [gradient],
            [mean],
            [square],
            [],
            [torch.tensor(self.version, dtype=torch.float32)],
            lr=rate,
            beta1=BETAS[0],
            beta2=BETAS[1],
            weight_decay=0.0,
            eps=EPSILON,
            amsgrad=False,
            maximize=False,
            grad_scale=scale,
        )

    def state(self) -> dict[str, Tensor]:
        """A copy of the weights and both moments by parameter, and the numbers of steps and samples."""
        state = self._counts()
        zeros = torch.zeros(0) if self._moments else torch.zeros_like(self._weights)
        for kind, flat in zip(KINDS, (self._weights, *(self._moments or (zeros, zeros))), strict=True):
            parts = self.parts(flat.clone())
            state.update({f"{kind}.{name}": part for name, part in zip(self._names, parts, strict=True)})
        return state

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go on from a copy.

        Raises:
            CheckpointError: a name, shape or dtype does not fit this module, or a value is not finite; nothing has
                changed.
        """
        expected = {f"{kind}.{name}": p for kind in KINDS for name, p in zip(self._names, self.parameters, strict=True)}
        check_state(state, {**expected, **self._counts()})
        weights, mean, square = (
            torch.cat([state[f"{kind}.{name}"].flatten() for name in self._names]) for kind in KINDS
        )
        self._weights.copy_(weights)
        self.version, self.samples = int(state["version"]), int(state["samples"])
        self._moments = (mean, square) if self.version else None

    def _counts(self) -> dict[str, Tensor]:
        return {"version": torch.tensor(self.version), "samples": torch.tensor(self.samples)}


def _norm(vector: Tensor) -> float:
    return float(vector.norm())


def check_state(state: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    """Compare a loaded state with tensors of the names, shapes and dtypes that belong there.

    Raises:
        CheckpointError: they differ, a value is not finite, or one that training cannot lead to.
    """
    if state.keys() != expected.keys():
        odd = ", ".join(sorted(state.keys() ^ expected.keys())[:3])
        raise CheckpointError(f"The checkpoint is of another model: {odd} is missing or too much.")
    for name, tensor in expected.items():
        if state[name].shape != tensor.shape or state[name].dtype != tensor.dtype:
            raise CheckpointError(
                f"The checkpoint is of another model: {name} is {tuple(state[name].shape)} {state[name].dtype}, "
                f"not {tuple(tensor.shape)} {tensor.dtype}."
            )
        is_count = not tensor.is_floating_point()
        if (is_count or name.startswith("square.")) and bool((state[name] < 0).any()):
            raise CheckpointError(f"The checkpoint holds a negative number in {name}.")
        if is_count and bool((state[name] > MAX_COUNT).any()):
            raise CheckpointError(f"The checkpoint holds an impossible count in {name}.")
        if not torch.isfinite(state[name]).all():
            raise CheckpointError(f"The checkpoint holds NaN or infinity in {name}.")

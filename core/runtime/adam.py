"""Adam over one flat vector that holds all parameters of a module.

torch.optim would import the compiler (1 s at every start, 80 MB), and one vector needs six operations a step instead
of six for each parameter.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from core.errors import CheckpointError, ComputeError
from core.manifest import Training

BETAS = (0.9, 0.999)
EPSILON = 1e-8
MAX_COUNT = 2**53
"""Of steps or samples: more than a million a second for 200 years, and exact in JSON."""


class Adam:
    """Adam (Kingma and Ba, 2015) with a clipped gradient norm.

    The rate rises linearly, stays, and falls with the inverse square root of the steps: that suits a run without a
    planned end, while under a constant rate the accuracy swings by points for ever. The module's parameters become
    views of one vector; they change in place.
    """

    def __init__(self, module: nn.Module, rate: float, training: Training) -> None:
        """Args: module, learning rate, and the rules of the run: warm-up, decay and clip."""
        self._names = [name for name, _ in module.named_parameters()]
        self.parameters = list(module.parameters())
        self._rate, self._clip = rate, training.clip
        self._warmup, self._decay = max(1, training.warmup_updates), training.decay_updates
        self._weights = torch.cat([parameter.detach().flatten() for parameter in self.parameters])
        for parameter, part in zip(self.parameters, self._parts(self._weights), strict=True):
            parameter.data = part
        self._mean = torch.zeros_like(self._weights)
        self._square = torch.zeros_like(self._weights)
        self.version = 0
        """Steps taken."""

    def _parts(self, flat: Tensor) -> list[Tensor]:
        sizes = [parameter.numel() for parameter in self.parameters]
        return [p.view(q.shape) for p, q in zip(flat.split_with_sizes(sizes), self.parameters, strict=True)]

    @torch.no_grad()
    def step(self, gradient: Tensor) -> None:
        """Change the parameters in place, once.

        Args:
            gradient: [all parameters], in their order, flat.

        Raises:
            ComputeError: the gradient holds NaN or infinity; nothing has changed.
        """
        norm = float(gradient.norm())
        if not math.isfinite(norm):
            raise ComputeError("A gradient held NaN or infinity and was refused; the parameters are unchanged.")
        if norm > self._clip:
            gradient = gradient * (self._clip / norm)
        self.version += 1
        rate = self._rate * min(1.0, self.version / self._warmup, math.sqrt(self._decay / self.version))
        self._mean.lerp_(gradient, 1 - BETAS[0])
        self._square.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        root = self._square.sqrt().div_(math.sqrt(1 - BETAS[1] ** self.version)).add_(EPSILON)
        self._weights.addcdiv_(self._mean, root, value=-rate / (1 - BETAS[0] ** self.version))

    def state(self) -> dict[str, Tensor]:
        """A copy of the weights and both moments by parameter, and the number of steps."""
        state = {"version": torch.tensor(self.version)}
        for kind, flat in self._vectors():
            parts = self._parts(flat.clone())
            state.update({f"{kind}.{name}": part for name, part in zip(self._names, parts, strict=True)})
        return state

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go on from a copy.

        Raises:
            CheckpointError: a name, shape or dtype does not fit this module, or a value is not finite; nothing has
                changed.
        """
        vectors = self._vectors()
        expected = {
            f"{kind}.{name}": p for kind, _ in vectors for name, p in zip(self._names, self.parameters, strict=True)
        }
        check_state(state, {**expected, "version": torch.tensor(0)})
        for kind, flat in vectors:
            flat.copy_(torch.cat([state[f"{kind}.{name}"].flatten() for name in self._names]))
        self.version = int(state["version"])

    def _vectors(self) -> Iterable[tuple[str, Tensor]]:
        return [("weights", self._weights), ("mean", self._mean), ("square", self._square)]


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

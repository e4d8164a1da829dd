"""What happens with a trunk's gradients, and when trainers agree on it.

The trunk (embeddings, attention, gates, head) is held by every trainer. How trainers come to one trunk is a strategy:
one module of this package whose `STRATEGY` is its class. It is declared, with the parameters that a manifest gives it,
in `core.contracts.trunk`.

What a strategy is asked, in the order in which it happens:
- a newcomer's trunk begins as the seed says, or as `load_state` is told by this trainer's own checkpoint, or as
  `take_over` is told by that of another trainer, whose `step` is greater;
- `next_batch` says which batch of the data is trained on next, and may wait: a synchronous strategy does while the last
  sum has not come back, one that deals the data out until it has a part of them;
- `contribute` gets the batch's gradients, or `drop` hears that there are none. Several batches are on the way at once
  and come in any order. A synchronous strategy adds gradients up until all trainers together have enough, and goes on
  with the next sum while that one travels; one with inner steps takes a step at once;
- `agree` runs beside training and does what takes time: it waits for others, exchanges sums, differences or parameters
  with them, and changes the trunk, whole or piece by piece, by kernels of its own. It goes on while the machine is
  given back, as far as the network may be used then; its kernels wait. It may be cancelled at any moment: what others
  count on is in `state` before they are told, or can be had from them again;
- `state` is what a checkpoint keeps.

This process has no socket. A strategy reaches other peers by methods of the pipe (`core.contracts.pipe`) that it calls
and registers on the `calls` that it is given, as `core.compute.peers` and `core.compute.serving` do for experts; who
takes part in a round, and how far it is, is counted by the worker (`core.swarm`).
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from torch import Tensor, nn

from core.contracts.manifest import Manifest
from core.pipe.calls import Calls
from core.runtime.adam import Adam
from core.runtime.movable import Carry

AGREED = "agreed."
"""Begins the names, in a checkpoint, of what is agreed with others: who agrees with nobody does without."""
BATCHES = "batches"
"""The name, in a checkpoint, of how many batches were begun, where not each of them is a step."""
Run = Callable[..., Awaitable[Any]]
"""Runs `kernel(*arguments)` as soon as training kernels may run, where the trunk is."""


Judge = Callable[[], Awaitable[float | None]]
"""The accuracy of the trunk as it is now on held-out data; None: it could not be measured, as no expert answered."""


class TrunkStrategy(ABC):
    """The trunk's parameters, their optimizer, and what is agreed with others.

    All but `agree` and `next_batch` are kernels, or run between two: they must be short, and nothing awaits in them.
    """

    @abstractmethod
    def __init__(self, network: nn.Module, manifest: Manifest, calls: Calls | None) -> None:
        """Take charge of a new trunk.

        Args:
            network: all of its parameters, gates included; they change in place.
            manifest: the run's; its `trunk` holds the strategy's own parameters.
            calls: to the worker; None: there are no others.
        """

    _adam: Adam
    parameters: list[nn.Parameter]
    """In the order of the flat vector of gradients."""
    reached = False
    """Whether what is agreed is as good as the manifest wants: there is nothing more to train."""

    @property
    def step(self) -> int:
        """How far the trunk is, in steps or rounds: among trainers that agree, the greater one is to be taken over."""
        return self._adam.version

    @property
    def samples(self) -> int:
        """Samples in the trunk so far: rows of the DMoE layers, also those of others."""
        return self._adam.samples

    @abstractmethod
    async def next_batch(self) -> int:
        """The number, in this trainer's stream, of the batch that is trained on next. After a restart it goes on."""

    @abstractmethod
    def contribute(self, batch: int, gradients: Tensor, samples: int) -> None:
        """Take the gradients of one batch.

        Args:
            batch: its number.
            gradients: [all parameters], flat, of the sum of the samples' losses.
            samples: rows whose losses were summed.

        Raises:
            ComputeError: they are not finite; the trunk is unchanged.
        """

    @abstractmethod
    def drop(self, batch: int) -> None:
        """A batch failed: nobody answered for any of its samples, or its gradients were refused.

        Args:
            batch: its number; it may be given again.
        """

    @abstractmethod
    async def agree(self, run: Run, judge: Judge | None = None) -> None:
        """What goes on beside training, until it is cancelled; returns at once where a trainer agrees with nobody.

        Args:
            run: runs a kernel that changes the trunk.
            judge: measures the trunk; no batch may change it meanwhile. None: nobody can.
        """

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """A copy of all that this trainer needs to go on after a restart."""

    @abstractmethod
    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go on from a state of this trainer's own.

        Args:
            state: as `state` gave it.

        Raises:
            CheckpointError: it does not fit; nothing has changed.
        """

    def by_agreed(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """What a kernel returns that sees the trunk as it is agreed with others, where that is not the one that is
        trained on: so the trunk is evaluated and asked, and all trainers answer alike.

        Args:
            kernel: it changes no parameter.
            arguments: the kernel's.
        """
        return kernel(*arguments)

    def by(self, weights: Tensor, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """As `by_agreed`, with other weights.

        Args:
            weights: [all parameters], flat.
            kernel: as there.
            arguments: the kernel's.
        """
        with self._adam.replaced(weights.to(self._adam.weights.device)):
            return kernel(*arguments)

    @property
    def sizes(self) -> Sequence[int]:
        """Numbers of each part that is agreed on by itself."""
        return (self._adam.weights.numel(),)

    def with_parts(self, parts: Mapping[int, Tensor]) -> Tensor:
        """All parameters, flat, as they are agreed, but with other numbers in some parts.

        Args:
            parts: the numbers of each, as many as `sizes` says.
        """
        return parts.get(0, self._adam.weights)

    def take_over(self, state: dict[str, Tensor]) -> None:
        """Go on from another trainer's state: what is agreed counts, and not what is that trainer's own.

        Args:
            state: as the other's `state` gave it.

        Raises:
            CheckpointError: it does not fit; nothing has changed.
        """
        self.load_state(state)

    @abstractmethod
    def move(self, carry: Carry) -> None:
        """Have parameters and optimizer on another device, or nothing of it if that fails.

        Args:
            carry: brings a tensor there.
        """


def of_any(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What all strategies keep of a trunk, which goes on where a revised manifest names another one than before.

    Args:
        state: as `TrunkStrategy.state` of any of them gave it.
    """
    return {name: tensor for name, tensor in state.items() if name != BATCHES and not name.startswith(AGREED)}


def strategy_of(network: nn.Module, manifest: Manifest, calls: Calls | None) -> TrunkStrategy:
    """The strategy of a run, in charge of a new trunk.

    Args:
        network: as in `TrunkStrategy`.
        manifest: the run's.
        calls: as in `TrunkStrategy`.
    """
    module = import_module(f"{__package__}.{manifest.strategy}")
    strategy: TrunkStrategy = module.STRATEGY(network, manifest, calls)
    return strategy

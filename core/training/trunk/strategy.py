"""What happens with a trunk's gradients, and when trainers agree on it.

The trunk (embeddings, attention, gates, head) is held by every trainer. How trainers come to one trunk is a strategy:
one file of this package whose `STRATEGY` is its class, found by the name that the manifest's `trunk` gives.

What a strategy is asked, in the order in which it happens:
- a newcomer's trunk begins as the seed says, or as `take_over` is told by a trainer that is ahead, or as `load_state`
  is told by this trainer's own checkpoint;
- `contribute` gets the gradients of each batch. It is a kernel: it must be short, and nothing awaits in it. A
  synchronous strategy gathers here until all trainers together have enough, one with inner steps takes one at once;
- `agree` runs beside training and does what takes time: it waits for others, exchanges differences or parameters over
  what the strategy was constructed with, and changes the trunk by kernels of its own. It goes on while the machine is
  given back, as far as the network may be used then;
- `step` and `samples` say how far the trunk is: a trunk that is further is the one to take over.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any

from torch import Tensor, nn

from core.contracts import by_name
from core.contracts.manifest import Manifest
from core.runtime.movable import Carry
from core.training import trunk

Run = Callable[..., Awaitable[Any]]
"""Runs `kernel(*arguments)` as soon as training kernels may run, where the trunk is."""


class TrunkStrategy(ABC):
    """The trunk's parameters, their optimizer, and what is agreed with others."""

    @abstractmethod
    def __init__(self, network: nn.Module, manifest: Manifest) -> None:
        """Take charge of a new trunk.

        Args:
            network: all of its parameters, gates included; they change in place.
            manifest: the run's, with the strategy's own rules.
        """

    parameters: list[nn.Parameter]
    """In the order of the flat vector of gradients."""

    @property
    @abstractmethod
    def step(self) -> int:
        """Batches whose gradients the trunk has applied, or rounds as the strategy counts them."""

    @property
    @abstractmethod
    def samples(self) -> int:
        """Samples in the trunk so far: rows of the DMoE layers."""

    @abstractmethod
    def contribute(self, gradients: Tensor, samples: int) -> None:
        """Take the gradients of one batch; a kernel.

        Args:
            gradients: [all parameters], flat, of the sum of the samples' losses.
            samples: rows whose losses were summed.

        Raises:
            ComputeError: they are not finite; the trunk is unchanged.
        """

    @abstractmethod
    async def agree(self, run: Run) -> None:
        """What goes on beside training, until it is cancelled; returns at once where a trainer agrees with nobody.

        Args:
            run: runs a kernel that changes the trunk.
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


def strategy_of(network: nn.Module, manifest: Manifest) -> TrunkStrategy:
    """The strategy of a run, in charge of a new trunk.

    Raises:
        ManifestError: there is none of that name.
    """
    strategy: TrunkStrategy = by_name.named(trunk, "STRATEGY", manifest.trunk, "trunk_strategy")(network, manifest)
    return strategy

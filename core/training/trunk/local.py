"""A trunk of one trainer: every batch is a step, and nobody is asked."""

from torch import Tensor, nn

from core.contracts.manifest import Manifest
from core.runtime.adam import Adam
from core.runtime.movable import Carry
from core.training.trunk.strategy import Run, TrunkStrategy


class Local(TrunkStrategy):
    """Adam on the mean gradient of each batch."""

    def __init__(self, network: nn.Module, manifest: Manifest) -> None:
        self._adam = Adam(network, manifest.training.trunk_rate, manifest.training)
        self.parameters = self._adam.parameters

    @property
    def step(self) -> int:
        return self._adam.version

    @property
    def samples(self) -> int:
        return self._adam.samples

    def contribute(self, gradients: Tensor, samples: int) -> None:
        self._adam.step(gradients / samples, samples)

    async def agree(self, run: Run) -> None:
        """Nobody else has this trunk."""

    def state(self) -> dict[str, Tensor]:
        return self._adam.state()

    def load_state(self, state: dict[str, Tensor]) -> None:
        self._adam.load_state(state)

    def move(self, carry: Carry) -> None:
        self._adam.move(carry)


STRATEGY = Local

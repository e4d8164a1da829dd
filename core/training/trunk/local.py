"""A trunk of one trainer: every batch is a step, and nobody is asked."""

from torch import Tensor, nn

from core.contracts.manifest import Manifest
from core.pipe.calls import Calls
from core.runtime.adam import Adam
from core.runtime.movable import Carry
from core.training.trunk.strategy import Judge, Run, TrunkStrategy, of_any


class Local(TrunkStrategy):
    """Adam on the mean gradient of each batch."""

    def __init__(self, network: nn.Module, manifest: Manifest, calls: Calls | None) -> None:
        self._adam = Adam(network, manifest.training.trunk_rate, manifest.training)
        self.parameters = self._adam.parameters
        self._begun = 0

    async def next_batch(self) -> int:
        self._begun += 1
        return self._begun - 1

    def contribute(self, batch: int, gradients: Tensor, samples: int) -> None:
        self._adam.step(gradients / samples, samples)

    def drop(self, batch: int) -> None:
        """Nobody counts on it."""

    async def agree(self, run: Run, judge: Judge | None = None) -> None:
        """Nobody else has this trunk."""

    def state(self) -> dict[str, Tensor]:
        return self._adam.state()

    def load_state(self, state: dict[str, Tensor]) -> None:
        self._adam.load_state(of_any(state))
        self._begun = self.step  # whatever was on the way is trained on anew

    def move(self, carry: Carry) -> None:
        self._adam.move(carry)


STRATEGY = Local

"""What experts are asked and what they answer, and the places that answer: this process's Runtime, or a peer."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from torch import Tensor

from core.experts.grid import Uid
from core.experts.standing import Standing


class Call(NamedTuple):
    """What one expert is asked for one batch."""

    uid: Uid
    inputs: Tensor
    """[n, width]."""
    gradients: Tensor | None = None
    """[n, width], of each sample's own loss by the expert's outputs; only in backward."""
    version: int = 0
    """In backward: of the expert when it answered in forward."""


class Output(NamedTuple):
    """What one expert answered in forward."""

    rows: Tensor
    """[n, width]."""
    version: int
    """Steps the expert's weights had taken."""


class ExpertHost(Protocol):
    """A place where experts live: the Runtime of this process or a peer. It never raises for an expert's failure."""

    @property
    def standing(self) -> Standing | None:
        """What is known of the peer; None: the host is this process, which is never late."""

    async def forward(
        self, calls: Sequence[Call], passage: int, deadline: float, inference: bool = False
    ) -> list[Output | None]:
        """Run experts.

        Args:
            calls: one for each expert.
            passage: the number of this batch's way through a layer; backward names it again.
            deadline: time of the loop after which the answers are of no use.
            inference: whether it is not for training.

        Returns:
            The answer to each call; None: failed, too late or refused.
        """

    async def backward(self, calls: Sequence[Call], passage: int, deadline: float) -> list[Tensor | None]:
        """Gradients [n, width] by the inputs of each call; the experts keep those by their weights.

        Args:
            calls: with gradients.
            passage: that of the forward pass whose inputs they go with.
            deadline: time of the loop after which the answers are of no use.
        """

"""What is known of a run while no compute process is there to ask: figures and the curve, kept in the run's folder.

These are the run's, also what others did for it; what this PC did is in the ledger (`core.community.ledger`).
"""

import msgspec

from core.contracts.status import Count, CurvePoint, ExpertStatus, Share

FILE = "progress.json"
"""In the run's folder."""
CURVE_POINTS = 2000
"""When there are more, every other one is dropped: the file stays under 100 KB for ever."""


class Progress(msgspec.Struct):
    """Figures of a run as of the newest checkpoint or message."""

    version: int = 1
    step: Count = 0
    samples: Count = 0
    loss: float | None = None
    accuracy: Share | None = None
    experts: list[ExpertStatus] = []
    """Those of the last process, when the figures were written."""
    curve: list[CurvePoint] = []
    checkpoint_step: int | None = None
    checkpoint_time: float | None = None

    def add(self, point: CurvePoint) -> None:
        self.accuracy = point.accuracy
        self.curve.append(point)
        if len(self.curve) > CURVE_POINTS:
            del self.curve[-2:0:-2]

    @property
    def bits(self) -> float | None:
        """The held-out loss as last measured, in bits: for text, those that a byte takes."""
        return self.curve[-1].bits_per_byte if self.curve else None

    @property
    def learnt(self) -> bool:
        """Whether the model does better than guessing, as last measured."""
        return self.step > 0 and all(point.learnt for point in self.curve[-1:])

    def resume_at(self, step: int) -> None:
        """Forget what lies after `step`: compute went on from an older checkpoint than these figures."""
        self.curve = [point for point in self.curve if point.step <= step]
        self.accuracy = self.curve[-1].accuracy if self.curve else None
        if not self.curve:
            self.loss = None

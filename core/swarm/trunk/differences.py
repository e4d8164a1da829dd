"""What the trainer here offers the syncers of its fragments, as it travels."""

import numpy as np

from core.averaging.fragment import Encoder, Fragment, Numbers
from core.contracts.trunk import Offer

FAR = 30.0
"""Times the length of a trainer's own difference that rounds may lead. The median of all may be longer, and Nesterov's
momentum adds up to ten times as much."""


class Differences:
    """Of one trainer."""

    def __init__(self) -> None:
        """Nothing was offered yet."""
        self._encoders: dict[int, Encoder] = {}
        self._unanswered: dict[int, tuple[int, bytes]] = {}
        """By fragment: the version of the difference that was offered last, and its message."""
        self._lengths: dict[int, float] = {}

    def message(self, offer: Offer, numbers: Numbers, *, is_sparse: bool) -> bytes:
        """The same for the same offer: what a trainer repeats is not counted twice, nor fed back twice.

        Args:
            offer: of which fragment and version it is.
            numbers: the difference.
            is_sparse: whether it travels in 2 bits.
        """
        version, message = self._unanswered.get(offer.part, (-1, b""))
        if version != offer.version:
            encoder = self._encoders.setdefault(offer.part, Encoder())
            message = encoder.encode(numbers, offer.fine, is_sparse)
            self._unanswered[offer.part] = offer.version, message
            self._lengths[offer.part] = float(np.linalg.norm(numbers))
        return message

    def answered(self, part: int) -> None:
        """What was offered of a fragment is not offered again."""
        self._unanswered.pop(part, None)

    def lead_to(self, part: int, before: Fragment, after: Fragment) -> bool:
        """Whether rounds are such as come of differences like the one that was offered: these are not tried, as the
        trainer took part in them, and they move the trunk by little more than it did itself.

        Args:
            part: of which fragment they are.
            before: the fragment before them.
            after: and after them.
        """
        return float(np.linalg.norm(after.numbers - before.numbers)) <= FAR * self._lengths.get(part, 0.0)

"""What the trainer here offers the syncers of its fragments, as it travels."""

import hashlib
from typing import Literal

import numpy as np

from core.averaging.fragment import Encoder, Fragment, Numbers
from core.contracts.trunk import Offer
from core.swarm.trunk.wire import Wire

FAR = 30.0
"""Times the length of a trainer's own difference that rounds may lead before what they come to is tried. The median of
all may be longer, and Nesterov's momentum adds as much again."""
Trial = Literal["none", "if it can be", "first"]
"""Of what rounds lead to: none; one, unless it cannot be told now; or one before anything of it is used."""


class Differences:
    """Of one trainer."""

    def __init__(self) -> None:
        """Nothing was offered yet."""
        self._encoders: dict[int, Encoder] = {}
        self._unanswered: dict[int, tuple[int, bytes, bytes]] = {}
        """By fragment: the version of the difference that was offered last, its message, and its digest."""
        self._repeated = set[int]()
        """Fragments of which the trainer, started anew, gave another difference on that version since."""
        self._lengths: dict[int, float] = {}
        self._untried: dict[int, float] = {}
        """How far rounds have led since the last trial of a fragment."""

    def message(self, offer: Offer, numbers: Numbers, wire: Wire) -> bytes:
        """The same for each offer on a version: what a trainer repeats, or a process of it that was killed has offered
        before, is not counted twice.

        Args:
            offer: of which fragment and version it is.
            numbers: the difference.
            wire: that chooses its form.
        """
        digest = hashlib.blake2b(numbers.data, digest_size=16).digest()
        version, message, first = self._unanswered.get(offer.part, (-1, b"", b""))
        self._repeated.discard(offer.part)
        if version != offer.version:
            encoder = self._encoders.setdefault(offer.part, Encoder())
            message = encoder.encode(numbers, offer.fine, wire.is_sparse(len(numbers)))
            self._unanswered[offer.part] = offer.version, message, digest
            self._lengths[offer.part] = float(np.linalg.norm(numbers))
        elif digest != first:
            self._repeated.add(offer.part)
        return message

    def answered(self, part: int, *, counted: bool) -> bool:
        """What was offered of a fragment was counted, or its numbers are part of another offer.

        Returns:
            Whether that is an earlier difference than the one that the trainer gave last.
        """
        if self._unanswered.pop(part, None) and counted:
            self._encoders[part].counted()
        earlier = part in self._repeated
        self._repeated.discard(part)
        return earlier

    def trial_of(self, part: int, before: Fragment, after: Fragment) -> Trial:
        """Rounds such as come of differences like the one that was offered are not tried, as the trainer took part in
        them, and they move the trunk by little more than it did itself; but what many of them lead to is.

        Args:
            part: of which fragment they are.
            before: the fragment before them.
            after: and after them.
        """
        moved, most = float(np.linalg.norm(after.numbers - before.numbers)), FAR * self._lengths.get(part, 0.0)
        untried = self._untried.get(part, 0.0) + moved
        self._untried[part] = untried if untried <= most else 0.0
        return "first" if moved > most else "if it can be" if untried > most else "none"

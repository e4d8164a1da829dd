"""How far the parts of a run can be: what a peer says of its own counts only as far as that.

A newcomer knows nothing but what others say. Half of those that tell of a run's experts (or trunks) have come to what
is vouched for; from there on no part is trained faster than the fastest PC trains one. So one that names a huge number
of steps gains nothing by it, and what it names later is measured by what most had come to before.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from core.contracts.files import TRUNK, PartFile
from core.contracts.taking_on import Reach
from core.contracts.trunk import VERSIONS_PER_S

FASTEST = 250.0
"""Steps a second that a part takes at most: five times as many as one of the smallest run on a fast PC."""
SINCE_S = 120.0
"""More than between two saves of a part that goes on: so much later than it was told others may be."""
LEAST = 64
"""Samples of a step, as long as nobody vouches for any."""


class Said(NamedTuple):
    """What a peer tells."""

    file: PartFile
    age_s: float
    """Since it told it, or, of what is on this disk, since it was made."""


class Beliefs:
    """Of one run."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nobody has told anything.

        Args:
            clock: seconds.
        """
        self._clock = clock
        self._vouched: dict[bool, tuple[Reach, float]] = {}
        """Of the trunk, and of experts: how far at least half of those that told of any were, and when that was."""

    def hear(self, told: Mapping[str, Iterable[Said]]) -> None:
        """Take note of what is said of some parts.

        Args:
            told: by who says so, this PC included: one that has several of them speaks once, by the newest.
        """
        for is_trunk in (True, False):
            each = ([said for said in all_ if (said.file.part == TRUNK) == is_trunk] for all_ in told.values())
            best = sorted((max(said, key=_steps) for said in each if said), key=_steps)
            if not best:
                continue
            file, age_s = best[(len(best) - 1) // 2]  # of two the lower one
            before, _ = self._vouched.get(is_trunk, (Reach(0, 0), 0.0))
            if file.version >= before.steps:
                self._vouched[is_trunk] = Reach(file.version, file.samples), self._clock() - max(0.0, age_s)

    def most(self, part: str) -> Reach:
        """How far a part can have come by now.

        Args:
            part: a uid, or `TRUNK`.
        """
        reach, at = self._vouched.get(part == TRUNK, (None, 0.0))
        if reach is None:
            possible = int(VERSIONS_PER_S * time.time())
            return Reach(possible, possible)
        more = int(FASTEST * (self._clock() - at + SINCE_S))
        each = max(LEAST, reach.samples // max(1, reach.steps))
        return Reach(reach.steps + more, reach.samples + more * each)

    def counts(self, part: str, version: int) -> int:
        """As how many steps a version counts: one that cannot be true is no evidence of more than one.

        Args:
            part: a uid, or `TRUNK`.
            version: that a peer names.
        """
        return version if version <= self.most(part).steps else min(version, 1)


def _steps(said: Said) -> int:
    return said.file.version

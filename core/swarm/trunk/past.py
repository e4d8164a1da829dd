"""How a trainer came to its trunk: the means that it took its last steps by, and the trunks that these led to.

The digest of each mean has that of the one before it in it. So trainers that name the same digest for a step have taken
all steps alike, however their processors round. Who took one by another mean is found out as soon as most name a step
after it: as where a trainer had the result of a round and was cut off, before the rest had it and took the step by
themselves.
"""

import hashlib
from typing import NamedTuple, Self

import msgspec
import numpy as np

from core.averaging.codecs import Numbers
from core.averaging.mean import norm_of
from core.contracts.errors import ComputeError
from core.contracts.trunk import Agreed, Reached
from core.contracts.trunk_rounds import LARGEST_NORM, MEANS, TRUNKS, Vector
from core.net.limits import Newest
from core.swarm.trunk.vectors import Whole


class Taken(NamedTuple):
    """What a step was taken by."""

    agreed: Agreed
    mean: bytes
    """fp32."""
    before: bytes
    """The digest of the mean before it; empty: not known."""
    own: bytes
    """Of this one alone."""

    @classmethod
    def by(cls, agreed: Agreed, mean: bytes, before: bytes) -> Self:
        """With its digest."""
        own = hashlib.sha256(msgspec.msgpack.encode((agreed.version, agreed.samples, agreed.peers)))
        own.update(mean)
        return cls(agreed, mean, before, own.digest())

    @property
    def digest(self) -> bytes:
        """Of this one and of all before it."""
        return _together(self.before, self.own)


def _together(before: bytes, own: bytes) -> bytes:
    return hashlib.sha256(before + own).digest()


def own_mean(payload: bytes, samples: int) -> Numbers:
    """Of the gradients that a trainer has summed up.

    Args:
        payload: the sum, fp32.
        samples: that are in it.

    Raises:
        ComputeError: no other trainer would take it.
    """
    mean: Numbers = np.frombuffer(payload, "<f4") * np.float32(1.0 / samples)
    if not norm_of(mean) < LARGEST_NORM:
        raise ComputeError("The gradients that were summed up here are too large, and count for nothing.")
    return mean


class Past:
    """Of one trainer."""

    def __init__(self) -> None:
        """It has taken no step."""
        self.means = Newest[int, Taken](MEANS)
        """By the step on which they were agreed."""
        self.line = Newest[int, bytes](TRUNKS)
        """Digests of these and of some before them."""
        self._own = Newest[int, bytes](TRUNKS)
        """Likewise, each of one alone."""
        self.trunks = Newest[int, bytes](TRUNKS)
        """Digests of those of this trainer, by version."""

    def take(self, step: int, taken: Taken) -> None:
        """A step is taken.

        Args:
            step: which it is.
            taken: by what.
        """
        self.means[step], self.line[step], self._own[step] = taken, taken.digest, taken.own

    def came_by(self, step: int, digest: bytes) -> None:
        """A step is known to be that of most: those that were taken here since then follow it.

        Args:
            step: which it is.
            digest: of their mean.
        """
        if (taken := self.means.get(step)) and taken.digest != digest:
            del self.means[step]  # as it was taken by another mean: it would not be the one that is named
        self.line[step] = digest
        while (own := self._own.get(step := step + 1)) is not None:
            if step in self.means:
                self.means[step] = self.means[step]._replace(before=digest)
            self.line[step] = digest = _together(digest, own)

    def reach(self, reached: Reached) -> bool:
        """The trunk here is another one.

        Args:
            reached: which it is.

        Returns:
            Whether it is not the one that was known of this version.
        """
        known = self.trunks.get(reached.version, reached.digest)
        self.trunks[reached.version] = reached.digest
        return known != reached.digest

    def back_to(self, version: int) -> None:
        """There are no later trunks here.

        Args:
            version: of the one that there is.
        """
        for later in [each for each in self.trunks if each > version]:
            del self.trunks[later]

    def forget_steps(self) -> None:
        """The trunk here did not come of them."""
        for known in (self.means, self.line, self._own):
            known.clear()

    def version(self) -> int:
        """Of the newest trunk; 0: there is none."""
        return max(self.trunks, default=0)

    def mean(self, step: int) -> Whole | None:
        """For another trainer.

        Args:
            step: which was taken by it.
        """
        if (taken := self.means.get(step)) is None:
            return None
        told = Vector(step, taken.agreed.samples, taken.agreed.peers, len(taken.mean), taken.before)
        return Whole(told, taken.mean)

    def follows(self, step: int, before: bytes) -> bool:
        """Whether a step can be taken here by a mean of others.

        Args:
            step: which it is.
            before: the digest of the mean before that one.
        """
        return self.line.get(step - 1, before) == before

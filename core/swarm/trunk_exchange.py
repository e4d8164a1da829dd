"""The newest trunk of a run, taken from other peers."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from core.contracts.errors import ComputeError
from core.contracts.files import TRUNK
from core.contracts.taking_on import Reach, Taken
from core.store.progress import Progress
from core.swarm.replication import Copies

TRUNKS = 3
"""Trunks that are tried: each trainer of a run may have its own."""
TRUNK_S = 60.0
"""Between two looks for a newer trunk, where none is trained."""


class Figures(Protocol):
    """What compute has told."""

    fell_back: bool
    """It began without a trunk, or something of its checkpoints was damaged."""


class Compute(Protocol):
    """What is asked of the supervisor of compute."""

    progress: Progress

    @property
    def figures(self) -> Figures:
        """What it has told."""

    @property
    def life(self) -> int:
        """Number of the process."""

    @property
    def at_work(self) -> bool:
        """Whether it is."""

    async def take_trunk(self, paths: Sequence[Path], most: Reach) -> Taken:
        """Have it go on with one of some trunks' files if it is newer and good (ComputeError: it is gone)."""


class TrunkFollower:
    """Gives compute the newest trunk: to a trainer that has none, or lost its newest; again and again where none is
    trained. What a trainer has trained gives way to no stranger's."""

    def __init__(self, copies: Copies, compute: Compute, trains: bool) -> None:
        """
        Args:
            copies: Where trunks come from.
            compute: Who goes on with one.
            trains: Whether a trunk is trained here.
        """
        self._copies, self._compute, self._trains = copies, compute, trains
        self._life, self._looked = 0, 0.0

    async def tend(self) -> None:
        """Look for a newer one if it is time.

        Raises:
            HearthError: The network failed; to be tried again.
        """
        compute, now = self._compute, time.monotonic()
        rest_s = TRUNK_S if compute.progress.step else 0.0  # without any trunk, at every occasion
        began = compute.life != self._life
        again = began and compute.figures.fell_back if self._trains else began or now - self._looked > rest_s
        if not (again and compute.at_work):
            return
        found = (await self._copies.find([TRUNK])).get(TRUNK, [])
        paths = await self._copies.newest(TRUNK, found, compute.progress.step, TRUNKS)
        if paths:
            try:
                taken = await compute.take_trunk(paths, self._copies.beliefs.most(TRUNK))
            except ComputeError:
                return
            self._copies.refuse(taken.refused)
            if len(taken.refused) == len(paths):
                return  # others may have better ones
        self._life, self._looked = compute.life, now

"""What the worker has compute do with parts: host experts, let them go, try peers, go on with trunks."""

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from core.contracts import taking_on
from core.contracts.errors import CallTimeout, ComputeError
from core.contracts.notices import Notice, notice
from core.contracts.pipe import Method
from core.experts.grid import Uid
from core.pipe.calls import Calls

Q = TypeVar("Q")
A = TypeVar("A")

HOST_S = 120.0
"""To load, try or save some hundred experts on a slow disk, with other peers' help."""


class Orders:
    """To one compute process after the other."""

    def __init__(self, calls: Calls) -> None:
        """
        Args:
            calls: to compute.
        """
        self.calls = calls

    async def host(self, experts: Mapping[Uid, Sequence[Path]], most: taking_on.Reach) -> taking_on.Taken:
        """Have experts hosted, each from its newest own checkpoint or a newer file; what failed, and why.

        Args:
            experts: with the files of other peers that each may go on from, the best first.
            most: how far an expert can have come by now.

        Raises:
            ComputeError: there is no compute, it ended meanwhile, or does not answer.
        """
        files = {str(uid): [*map(str, paths)] for uid, paths in experts.items()}
        return await self._order(taking_on.HOST, taking_on.TakeOn(files, most))

    async def unhost(self, uids: Collection[Uid]) -> dict[str, Notice]:
        """Have experts saved and hosted no more; what failed, and why: those stay.

        Raises:
            ComputeError: as `host`.
        """
        return await self._order(taking_on.UNHOST, list(map(str, uids)))

    async def try_hosts(self, hosts: Mapping[str, Collection[Uid]]) -> dict[str, bool]:
        """Whether peers serve experts that are hosted here as well, about as well as this PC, if that can be told.

        Args:
            hosts: by peer, the experts for which it is asked.

        Raises:
            ComputeError: as `host`.
        """
        asked = {peer: [*map(str, uids)] for peer, uids in hosts.items()}
        return await self._order(taking_on.TRY_HOSTS, asked)

    async def take_trunk(self, paths: Sequence[Path], most: taking_on.Reach) -> taking_on.Taken:
        """Have compute go on with one of other trainers' trunks, if it is newer and good.

        Args:
            paths: their checkpoint files, the best first.
            most: how far a trunk can have come by now.

        Raises:
            ComputeError: as `host`.
        """
        return await self._order(taking_on.TAKE_TRUNK, taking_on.TakeTrunk([*map(str, paths)], most))

    async def _order(self, method: Method[Q, A], asked: Q) -> A:
        try:
            return await self.calls.call(method, asked, time.monotonic() + HOST_S)
        except CallTimeout:
            raise ComputeError(notice("compute.hosting_too_late", within=HOST_S)) from None

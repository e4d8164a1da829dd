"""A PC that works alone, in place of one among its peers (`core.worker.network.Network`)."""

from collections.abc import Sequence
from typing import NoReturn

from core.contracts.errors import NetworkError
from core.contracts.manifest import Manifest
from core.contracts.notices import Notice, notice
from core.store.run_files import RunFiles
from core.store.small_files import Files
from core.swarm.state_room import StateRoom
from core.worker.compute.supervisor import ComputeSupervisor
from core.worker.swarm import LoneSwarm


class NoNetwork:
    """A PC that works alone: it binds no socket to others and sends nothing."""

    has_peers = False
    shuffle = 0
    notes: Sequence[Notice] = ()

    async def __aenter__(self) -> "NoNetwork":
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def swarm(self, manifest: Manifest, compute: ComputeSupervisor, files: RunFiles, room: StateRoom) -> LoneSwarm:
        """A run without others; the policy keeps its memory."""
        return LoneSwarm(compute, room)

    def leave(self, run_id: str) -> None:
        """Nobody is told."""

    def allow(self, forbidden: str) -> None:
        """There is nothing to forbid."""

    def limit(self, upload: float, download: float) -> None:
        """There is nothing to limit."""

    def keep_ports(self, files: Files) -> None:
        """There are none."""

    def moved(self) -> tuple[int, int]:
        """Nothing."""
        return (0, 0)

    def moved_by_method(self) -> dict[str, tuple[int, int]]:
        """Nothing."""
        return {}

    def status(self, *_: object) -> NoReturn:
        """Nothing is known of others, as with the next two.

        Raises:
            NetworkError: always.
        """
        raise NetworkError(notice("network.alone"))

    dht_get = dht_stats = status

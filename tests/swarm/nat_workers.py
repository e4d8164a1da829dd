"""Whole workers behind routers: `hearth worker` in a namespace, asked there as `hearth peers` asks."""

import subprocess
import sys
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from core.contracts.errors import HearthError
from core.contracts.network_status import NetworkStatus
from core.contracts.status import Status
from core.contracts.trunk_status import TrunkStatus
from core.control.client import ControlClient
from tests.swarm.namespaces import ROOT, Host
from tests.workers import PATIENCE_S, never_busy, start_paused, wait_until

PORT = 4000
T = TypeVar("T")


class WorkerPeer:
    """One `hearth worker` on a host. It starts no torch, unless it computes; it listens at `PORT`, unless it joins as
    the one of the app does."""

    def __init__(
        self,
        host: Host,
        folder: Path,
        *arguments: str,
        via: "WorkerPeer | None" = None,
        computes: bool = False,
        joins: bool = False,
    ) -> None:
        self.host, self.folder = host, folder
        self.seen: NetworkStatus | None = None
        folder.mkdir(exist_ok=True)
        never_busy(folder)
        if not computes:
            start_paused(folder)
        bootstrap = ("--bootstrap", f"{via.name}@{via.host.address}:{PORT}") if via else ()
        way = ("--join",) if joins else ("--listen", f"0.0.0.0:{PORT}")
        command = ["worker", *way, *bootstrap, *arguments]
        null = subprocess.DEVNULL
        self.process = host.start(self._command(*command), cwd=ROOT, stdin=null, stdout=null, stderr=null)
        wait_until(self.network, f"the worker on {host.name}")
        text = host.inside(*self._command("peers", "--json"))
        self.name: str = msgspec.json.decode(text, type=NetworkStatus).peer

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "core", *arguments, "--data-dir", str(self.folder)]

    def ask(self, method: str, result: type[T]) -> T:
        """The answer of its control socket."""

        def ask() -> T:
            with ControlClient(self.folder) as client:
                return client.call(method, {}, result)

        return self.host.within(ask)

    def network(self) -> NetworkStatus | None:
        """What `hearth peers` shows; None while the worker does not answer."""
        try:
            self.seen = self.ask("network", NetworkStatus)
        except HearthError:
            return None
        return self.seen

    def experts(self) -> set[str]:
        """Those that are here."""
        return {expert.uid for expert in self.ask("status", Status).experts}

    def trunk(self) -> TrunkStatus:
        """What `hearth trunk` shows."""
        return self.ask("trunk", TrunkStatus)

    def path(self, other: "WorkerPeer") -> str | None:
        """How the other is reached now; None: it is not connected."""
        status = self.network()
        return {peer.peer: peer.path for peer in status.peers}.get(other.name) if status else None

    def until_path(self, other: "WorkerPeer", path: str | None, seconds: float = PATIENCE_S) -> None:
        """Wait until the other is shown with this path; None: not at all."""
        self._until(lambda: self.path(other) == path, f"{other.host.name}, {path}, at {self.host.name}", seconds)

    def until_reached(self, reachability: str, nat: str) -> NetworkStatus:
        """Wait until it has this reachability."""

        def check() -> Any:
            status = self.network()
            return status and (status.reachability, status.nat) == (reachability, nat) and status

        status: NetworkStatus = self._until(check, f"{self.host.name} is {reachability}")
        return status

    def _until(self, condition: Any, what: str, seconds: float = PATIENCE_S) -> Any:
        try:
            return wait_until(condition, what, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; last seen {self.seen}") from error

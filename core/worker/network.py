"""The PC among its peers: identity, transport, reach, DHT and LAN, composed and kept alive."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import msgspec

from core.community.credit_book import CreditBook
from core.community.ledger import Ledger
from core.contracts.errors import HearthError, NetworkError
from core.contracts.line import Line
from core.contracts.manifest import Manifest
from core.contracts.net import PeerAddress
from core.contracts.network_status import PEERS_PAGE, DhtRecord, DhtStatus, FoundRun, Met, NetworkStatus
from core.contracts.notices import Notice, notice
from core.contracts.run_link import RunLink
from core.contracts.words import counted
from core.dht.node import DHTNode
from core.identity import Identity, PeerId, peer_text
from core.net.addresses import address_text, host_of, known_addresses
from core.net.endpoint import kept
from core.net.lan import Lan
from core.net.reach import Reach
from core.net.recurring import Recurring
from core.net.rpc import RpcNode
from core.store.run_files import RunFiles
from core.store.small_files import Files
from core.swarm.manifest_exchange import fetch_manifest
from core.swarm.mirrors import Mirrors
from core.swarm.state_room import StateRoom
from core.swarm.wheels import fetch_wheel
from core.swarm.work_gate import WorkGate
from core.worker.access import Access
from core.worker.community import Community
from core.worker.compute.supervisor import ComputeSupervisor
from core.worker.connected_peers import meet, peer_status
from core.worker.credit_board import CreditBoard
from core.worker.measured_line import MeasuredLine
from core.worker.places import NetworkOptions
from core.worker.swarm import Swarm

log = logging.getLogger(__name__)

STATE_FILE = "dht.json"
PORTS_FILE = "ports.json"
JOIN_S = 5.0
"""Between two tries to join while no peer is known."""
LAN_S = 30.0
"""Between two looks whether this PC has moved to another network."""
TEND_S = 10.0
"""Between two looks at the local experts' versions and at the way others reach this peer."""
SAVE_S = 300.0
LEAVE_S = 3.0
"""For telling the others that this peer leaves."""
BOOTSTRAP_PEERS = 16


class Ports(msgspec.Struct, frozen=True):
    """In the data folder: where this PC was found last time, for those who remember it and for routers' rules."""

    sockets: Annotated[
        tuple[Annotated[str, msgspec.Meta(pattern=r"^(0\.0\.0\.0|\[::\]):[0-9]{1,5}\Z")], ...],
        msgspec.Meta(max_length=2),
    ] = ()

    @property
    def listen(self) -> tuple[str, ...]:
        """Where to listen so that they are found there, with what is free."""
        return kept(self.sockets)


class Network:
    """This PC among its peers, for all of its runs. Use as `async with Network(...)`; without any peer it waits, and
    the runs go on all the same."""

    has_peers = True

    def __init__(
        self,
        folder: Path,
        options: NetworkOptions,
        ledger: Ledger,
        named: Callable[[], tuple[str, str]],
        manifests: Iterable[Manifest] = (),
        keeps_ports: bool = False,
    ) -> None:
        """Read or make the identity.

        Args:
            folder: the data folder.
            options: what the command line and the settings say.
            ledger: where credit is kept.
            named: name and team that the user wishes to be shown with it.
            manifests: of the first runs, which may name peers to join through.
            keeps_ports: whether this PC shall be found at the same ports at its next start.

        Raises:
            IdentityError, DataFolderError: the key cannot be used or made.
        """
        self.identity = Identity.load_or_create(folder)
        self.access = Access(folder, self.identity)
        self.shuffle = int.from_bytes(self.identity.peer[:4])
        """In which order this peer goes through a run's data."""
        self._book = CreditBook(ledger, self.identity, named)
        self._state_path = folder / STATE_FILE
        self._options, self._keeps_ports = options, keeps_ports
        backbone = "backbone" in options.roles
        self.node = RpcNode(self.identity, listen=options.listen)
        self._line = MeasuredLine(self.node)
        from_runs = (address for run in manifests for address in known_addresses(run.bootstrap))
        self._known = [*options.bootstrap, *from_runs]
        self._bootstrap = [PeerId(known.peer) for known in self._known if known.peer != self.identity.peer]
        self.reach = Reach(self.node, bootstrap=self._bootstrap, backbone=backbone, relays=backbone and options.relay)
        self.dht = DHTNode(self.node, self.identity)
        by_hand = frozenset(host_of(address) for peer in options.bootstrap for address in peer.addresses)
        self._mirrors = Mirrors(self.node.far, by_hand, lambda: self.node.hushed)
        self._open_gate = WorkGate(folder, self.identity.peer)
        self._swarms: dict[str, Swarm] = {}
        """By run id."""
        self.credit = CreditBoard(self._book, self.identity, self._swarms)
        self._organisers: dict[str, str] = {}
        """Of the runs that are signed, by run id."""
        self._lan: Lan | None = None
        self._names: dict[str, str] = {}
        """Run ids by the runs' names, for people who look into the DHT."""
        made = folder, self.node, self.identity, self._book, named, options.backbone
        self.community = Community(*made, lambda runs, ask: self.credit.totals(runs, ask=ask))
        self._stack = contextlib.AsyncExitStack()
        self._tending = Recurring("network", self._tend, lambda: TEND_S if self.dht.contacts() else JOIN_S)
        self._looking = Recurring("lan", self._look_on_lan, lambda: LAN_S)
        self._joined, self._saved = 0.0, time.monotonic()
        """When it was tried last to join, and when the DHT's state was written."""
        self._unmet = False
        """Whether a run came that names peers nobody has tried to join through yet."""
        self._forbidden = ""

    async def __aenter__(self) -> "Network":
        """Bind and begin to join.

        Raises:
            NetworkError: the address is used by another program.
        """
        await self._open_gate.work()
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(self.node)
            if self._forbidden:
                self._fall_silent()
            self._bootstrap += self.dht.load_state(self._state_path)[:BOOTSTRAP_PEERS]
            for address in reversed(self._known):  # the user's word is the last, also before what was saved
                if address.addresses:
                    self.node.learn(address)
            await stack.enter_async_context(self.reach)
            await stack.enter_async_context(self.dht)
            await stack.enter_async_context(self.community)
            if self._options.backbone and self._options.backbone.metrics:
                stack.enter_context(self._options.backbone.metrics(self))
            self._stack = stack.pop_all()
        self.node.on_connected.append(self._meet)
        self._tending.start()
        if self._options.on_lan:
            self._looking.start()
        log.info("This PC is peer %s", address_text(self.node.address()))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tending.stop()
        await self._looking.stop()
        await self.credit.close()
        self._save()
        await self._stack.aclose()

    def swarm(self, manifest: Manifest, compute: ComputeSupervisor, files: RunFiles, room: StateRoom) -> Swarm:
        """Make a run's place among peers; it is there until `leave`. See `Swarm`."""
        made = Swarm(
            self.node,
            self.dht,
            manifest,
            compute,
            files,
            room,
            self._options.roles,
            self._mirrors,
            named=lambda: bool(self._bootstrap),
            on_lan=self._options.on_lan,
            community=self.community,
            open_gate=self._open_gate,
        )
        if self._forbidden:
            made.freeze()
        self._swarms[manifest.run_id] = made
        self._names[manifest.run] = manifest.run_id
        if manifest.organiser:
            self._organisers[manifest.run_id] = manifest.organiser
        self._know(known_addresses(manifest.bootstrap))
        return made

    def _know(self, named: Iterable[PeerAddress]) -> None:
        """Peers to join through that a run names which came later."""
        for address in named:
            if address.peer != self.identity.peer and address.peer not in self._bootstrap:
                self._bootstrap.append(PeerId(address.peer))
                self.node.learn(address)
                self._unmet, self._joined = True, 0.0
                self._tending.wake.set()

    def leave(self, run_id: str) -> None:
        """Nobody is asked for a run any more, and nobody is answered."""
        del self._swarms[run_id]
        self.community.leave(run_id)
        self.node.admission.unguard(run_id)
        self._names = {name: one for name, one in self._names.items() if one != run_id}

    async def fetch_manifest(self, link: RunLink) -> tuple[Manifest, bytes]:
        """See `core.swarm.manifest_exchange.fetch_manifest`."""
        return await fetch_manifest(self.node, link)

    def _meet(self, peer: PeerId) -> None:
        """The first peer that connects, such as one of the local network, is joined through at once."""
        if not self.dht.contacts():
            self._tending.wake.set()

    async def _look_on_lan(self) -> None:
        """Beside the rest: to announce this PC takes a second, for which nobody waits. Anew in another network, and for
        other runs."""
        runs = {run_id: self._organisers.get(run_id) for run_id in self._swarms}
        async with Lan(self.node, runs) as self._lan:
            await self._changed(self._hosts(), frozenset(runs))
        self._looking.wake.set()

    async def fetch_wheel(self, sha256: str, size: int, partial: Path, told: Callable[[int], None]) -> None:
        """See `NetworkPlace.fetch_wheel`."""
        for run_id in [*self._swarms]:
            try:
                return await fetch_wheel(self.node, run_id, sha256, size, partial, told)
            except NetworkError as error:
                log.info("No wheel from peers of %s: %s", run_id, error)
        raise NetworkError(notice("pack.no_peer"))

    def found_runs(self) -> list[FoundRun]:
        """See `Lan.found`."""
        return self._lan.found() if self._lan else []

    async def _changed(self, hosts: set[str], runs: frozenset[str]) -> None:
        """Wait until this PC has other addresses, of which nothing tells, or other runs."""
        while self._hosts() == hosts and self._swarms.keys() == runs:  # noqa: ASYNC110
            await asyncio.sleep(LAN_S)

    def _hosts(self) -> set[str]:
        """The addresses of this PC's own interfaces."""
        return set(map(host_of, self.node.endpoint.addresses()))

    # what is enforced here

    def allow(self, forbidden: str) -> None:
        """Take part in the network, or leave it until allowed again.

        Args:
            forbidden: why it may not, a sentence; "": it may.
        """
        if bool(forbidden) != bool(self._forbidden):
            self._forbidden = forbidden
            self._tending.wake.set()

    def limit(self, upload: float, download: float, far: tuple[float, float]) -> None:
        """See `RpcNode.limit`."""
        self.node.limit(upload, download, far)

    def line(self) -> Line:
        """What was measured of it."""
        return self._line.known

    def moved(self) -> tuple[int, int]:
        """Bytes received and sent since the start."""
        parts = self.node.moved(), (self._mirrors.received, self._mirrors.sent), *self.community.moved().values()
        return sum(received for received, _ in parts), sum(sent for _, sent in parts)

    def fastest(self) -> tuple[float, float]:
        """Bytes a second that were sent and received at best."""
        return self.node.shaper.seen.upload, self.node.shaper.seen.download

    def moved_by_method(self) -> dict[str, tuple[int, int]]:
        """See `RpcNode.moved_by_method`."""
        return {**self.node.moved_by_method(), **self.community.moved()}

    def keep_ports(self, files: Files) -> None:
        """Note where this PC listens, for its next start, and what is measured of its line."""
        self._line.keep(files)
        if self._keeps_ports:
            files.save(PORTS_FILE, Ports(tuple(self.node.endpoint.sockets)))

    # inside

    async def _obey(self) -> None:
        """Leave or come back. Who leaves says so: its experts are taken over at once."""
        if self._forbidden and not self.node.hushed:
            log.info("Leaving the network: %s", self._forbidden)
            with contextlib.suppress(HearthError, TimeoutError):
                async with asyncio.timeout(LEAVE_S):
                    await asyncio.gather(*(swarm.withdraw() for swarm in self._swarms.values()))
            self._fall_silent()
        elif not self._forbidden:
            if self.node.hushed:
                log.info("Joining the network.")
                self.node.speak()
            for swarm in self._swarms.values():  # also one that came while it was forbidden, had it lasted
                swarm.thaw()

    def _fall_silent(self) -> None:
        for swarm in self._swarms.values():
            swarm.freeze()
        self.node.hush(f"This PC may not use the network now: {self._forbidden}")

    async def _tend(self) -> None:
        """Join, follow what is known of this peer's reach, save the DHT's state."""
        await self._obey()
        if self._forbidden:
            return
        now = time.monotonic()
        if (self._unmet or not self.dht.contacts()) and (peers := self._peers()) and now - self._joined >= JOIN_S:
            self._unmet, self._joined = False, now
            await self._join(peers)
        self.dht.protocol.serving = not self.node.dial_only
        if now - self._saved >= SAVE_S:
            self._saved = now
            self._save()

    def _peers(self) -> list[PeerId]:
        return list(dict.fromkeys([*self._bootstrap, *self.node.pool.links]))

    async def _join(self, peers: list[PeerId]) -> None:
        try:
            found = await self.dht.bootstrap(peers)
        except HearthError as error:
            log.info("No peer answered yet: %s", error)
            return
        if found:
            log.info("Joined the network: %s known.", counted(found, "peer"))
            for swarm in self._swarms.values():
                swarm.look()

    def _save(self) -> None:
        try:
            self.dht.save_state(self._state_path)
        except OSError as error:
            log.warning("%s could not be written: %s", self._state_path, error.strerror)

    # for the UI and the command line

    @property
    def notes(self) -> list[Notice]:
        """What the user is told of what fails here again and again."""
        return [*self._tending.notes, *self._looking.notes, *self.dht.notes, *self.community.notes]

    def status(self, first: int = 0, count: int = PEERS_PAGE) -> NetworkStatus:
        """This peer, and `count` of its connected peers from the `first` on, in the order of their connections."""
        reach, links = self.reach.state, [*self.node.pool.links.values()]
        return NetworkStatus(
            peer=peer_text(self.identity.peer),
            address=address_text(self.node.address()),
            reachability=reach.kind,
            step=reach.step,
            nat=reach.nat,
            outside=list(reach.outside),
            roles=sorted(self._options.roles),
            peers=[peer_status(self.node, link, self.credit.names) for link in links[first : first + count]],
            connected=len(links),
            lan=self._options.on_lan,
        )

    async def meet(self, address: str) -> Met:
        """See `connected_peers.meet`. Who has answered once is known at the next start as well."""
        self._know([named := await meet(self.node, address)])
        return Met(PeerId(named.peer).hex())

    async def dht_get(self, key: str) -> list[DhtRecord]:
        """The records of a key, of this network's replicas; a run's name in it stands for the run's id."""
        name, dot, rest = key.partition(".")
        key = f"{self._names.get(name, name)}{dot}{rest}"
        records = await self.dht.get(key)
        return [
            DhtRecord(subkey, record.value.hex(), record.sequence, record.expires, peer_text(record.peer))
            for subkey, record in sorted(records.items())
        ]

    def dht_stats(self) -> DhtStatus:
        mirrors = [
            swarm.mirror(layer) for swarm in self._swarms.values() for layer in range(swarm.directory.grid.layers)
        ]
        experts = None if None in mirrors else sum(len(mirror or ()) for mirror in mirrors)
        return self.dht.stats(experts)

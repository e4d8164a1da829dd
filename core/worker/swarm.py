"""A run's place in the network: who hosts what, what is hosted here, copies, data and trunk."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from core.community.credit_book import CreditBook
from core.contracts import pipe
from core.contracts.errors import HearthError
from core.contracts.expert_calls import encoded_size
from core.contracts.files import TRUNK
from core.contracts.manifest import Manifest
from core.contracts.net import of_run
from core.contracts.notices import Notice, notice
from core.contracts.trunk_status import ForTrunk, TrunkStatus
from core.dht.node import DHTNode
from core.experts.dht_directory import DHTDirectory
from core.experts.directory import HostState
from core.experts.grid import Coords, Grid, Uid
from core.identity import parse_peer, peer_text
from core.net.recurring import Recurring
from core.net.rpc import RpcNode
from core.store.data_folder import MANIFEST_FILE
from core.store.run_files import RunFiles
from core.swarm.allowance import Allowance
from core.swarm.credit_exchange import CreditExchange
from core.swarm.crowd import crowds
from core.swarm.hosting import Hosting
from core.swarm.incoming_calls import Spend, request_bytes
from core.swarm.manifest_exchange import ManifestExchange
from core.swarm.members import Members
from core.swarm.mirrors import Mirrors
from core.swarm.outgoing_calls import OutgoingCalls
from core.swarm.replication import Copies
from core.swarm.shard_exchange import ShardExchange
from core.swarm.state_room import StateRoom
from core.swarm.takeovers import Takeovers
from core.swarm.telling import Figures
from core.swarm.token_gate import TokenGate
from core.swarm.trunk.agreement import agreement_of
from core.swarm.trunk_exchange import TrunkFollower
from core.swarm.work_gate import WorkGate
from core.worker.community import Community
from core.worker.compute.supervisor import ComputeSupervisor
from core.worker.no_network import let_go
from core.worker.places import News

TEND_S = 10.0
"""Between two looks at what compute needs, and at the versions of the experts hosted here."""
ALONE_S = 1.0
"""The same while nobody is known."""

WITHDRAW_S = 0.6
"""Time to tell connected peers that nothing of the run is here any more; records expire by themselves as well."""


class Swarm:
    """A run among peers. Use as `async with Swarm(...)`, inside the network's own."""

    networked = True
    """Whether other peers' experts may be asked."""

    def __init__(
        self,
        node: RpcNode,
        dht: DHTNode,
        manifest: Manifest,
        compute: ComputeSupervisor,
        files: RunFiles,
        room: StateRoom,
        roles: frozenset[str],
        mirrors: Mirrors,
        *,
        named: Callable[[], bool],
        on_lan: bool,
        community: Community,
        open_gate: WorkGate,
    ) -> None:
        """Compose what the run needs of the network; nothing is begun.

        Args:
            node: this PC's connections.
            dht: its part of the DHT.
            manifest: the run.
            compute: the run's compute process.
            files: the run's files on this disk.
            room: for states of experts there.
            roles: what this PC is there for: "host", "train", "backbone".
            mirrors: fetches data from web servers.
            named: whether peers are known by name, and not just looked for in the local network.
            on_lan: whether they are looked for there.
            community: credit and telemetry of all runs.
            open_gate: who is let in where everybody may take part.
        """
        grid = Grid(manifest.run, manifest.model.layers, manifest.model.grid)
        self._dht, self._compute, self._room = dht, compute, room
        trains, self._hosts, self._frozen = "train" in roles, "host" in roles, False
        self._announcing = Recurring("telling", self._announce, lambda: TEND_S)
        self._gate = _guarded(node, dht, manifest, files, open_gate)
        allowed, most = _allowed(manifest, community.book), request_bytes(manifest)
        compute.incoming.register(node, manifest.run_id, allowed, crowds(manifest), most)
        self.directory = DHTDirectory(dht, node, grid, manifest.run_id)
        self._manifest, self._node, self._members = manifest, node, Members(node, dht, self.directory)
        self._copies = Copies(manifest.run_id, files, compute.hosted, self._members, node, dht, trains)
        self._shards = ShardExchange(manifest, files, node, dht, mirrors, roles, compute.try_again)
        self._sharing = Recurring("data", self._share, self._share_again_s)
        self._listen()
        kept = files.folder / MANIFEST_FILE
        self._manifests = ManifestExchange(manifest, kept, node, self._members.keepers) if manifest.organiser else None
        self._renewing = Recurring("manifest", self._renew, lambda: TEND_S)
        self._admitting = Recurring("access", self._admit, lambda: TEND_S if dht.contacts() else ALONE_S)
        self._trunk = TrunkFollower(self._copies, compute, trains)
        self._agreement = agreement_of(manifest, self._members, files.folder, lambda: self._copies.beliefs.most(TRUNK))
        if self._agreement:
            self._agreement.serve(compute.calls)
        self.hosting = self._made_hosting(named, on_lan)
        self._credit = self._made_credit(community.book)
        self._telling = community.telling(manifest, self._figures)
        self._outgoing = OutgoingCalls(node, self.directory, grid, compute.calls, self._members.silenced)
        self._exchanging = Recurring("exchange", self._exchange, lambda: TEND_S if dht.contacts() else ALONE_S)
        self._takeovers, self._passed = Takeovers(peer_text(node.peer)), list[Notice]()
        self._stack = contextlib.AsyncExitStack()

    def _listen(self) -> None:
        self._compute.calls.listen(pipe.READING, self._read)

    def _made_credit(self, book: CreditBook) -> CreditExchange:
        seen = self._agreement.seen if self._agreement else dict[bytes, int]
        return CreditExchange(self._manifest.run_id, self._node, book, self._compute.calls, seen)

    def _made_hosting(self, named: Callable[[], bool], on_lan: bool) -> Hosting:
        return Hosting(
            self._members,
            self._copies,
            self._compute.hosted,
            self._compute,
            self._room.most,
            hosts=self._hosts,
            named=named,
            on_lan=on_lan,
            changed=self._announcing.wake.set,
        )

    async def __aenter__(self) -> "Swarm":
        """Begin to look for experts and to host some. What others may ask of the run, and what it is told of them, ends
        with it."""
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self._node.unregister, self.directory.run_id)
            self._node.on_disconnected.append(self._members.disconnected)
            stack.callback(self._node.on_disconnected.remove, self._members.disconnected)
            self._node.on_banned.append(self._outgoing.banned)
            stack.callback(self._node.on_banned.remove, self._outgoing.banned)
            await stack.enter_async_context(self.directory)
            await stack.enter_async_context(self._copies)
            await stack.enter_async_context(self.hosting)
            if self._agreement:
                await stack.enter_async_context(self._agreement)
            await stack.enter_async_context(self._credit)
            await stack.enter_async_context(self._telling)
            self._stack = stack.pop_all()
        self._announcing.start()
        self._exchanging.start()
        self._sharing.start()
        self._renewing.start()
        self._admitting.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._announcing.stop()
        await self._exchanging.stop()
        await self._sharing.stop()
        await self._renewing.stop()
        await self._admitting.stop()
        await self._stack.aclose()
        with contextlib.suppress(HearthError, TimeoutError):
            async with asyncio.timeout(WITHDRAW_S):
                await self._dht.leave(f"{self._manifest.run_id}.")

    # what the network tells

    def freeze(self) -> None:
        """This PC may not use the network from now on."""
        self._frozen = self.hosting.frozen = True
        self._telling.allow(False)

    async def withdraw(self) -> None:
        """Tell all that this PC is gone.

        Raises:
            HearthError: nobody heard it; its records expire.
        """
        self._frozen = True
        await asyncio.gather(self.directory.withdraw({*self.directory.announced}), self.hosting.withdraw())

    def thaw(self) -> None:
        """It may use the network, again if it might not."""
        if self._frozen:
            self._frozen = self.hosting.frozen = False
            self._telling.allow(True)
            self.look()

    # what the run tells

    def look(self) -> None:
        """Compute has begun or stopped: what is hosted here changes, and the others are told now."""
        self.hosting.look()
        self._announcing.wake.set()

    def lonely(self) -> bool:
        """Whether nobody is known who could host experts: compute begins with all of them."""
        return self.hosting.lonely()

    def fit(self, count: int, most_bytes: float) -> None:
        """Host no more experts than that.

        Args:
            count: experts for which there is memory.
            most_bytes: what they may take at most.
        """
        self.hosting.memory_bytes = int(min(count * self._compute.hosted.expert_bytes, most_bytes))
        self._room.admit()  # who has no room is given up as soon as hosting looks again

    async def settle(self) -> None:
        """Before a new process trains: let go what the disk has no room for; hosting takes on what there is."""
        if surplus := self._room.admit():
            await let_go(self._compute, surplus)

    # what it is asked

    def mirror(self, layer: int) -> Sequence[Coords] | None:
        """See `DHTDirectory.mirror`."""
        return self.directory.mirror(layer)

    def remembered(self, layer: int) -> Mapping[Coords, Sequence[HostState]]:
        """See `DHTDirectory.remembered`."""
        known = self.directory.remembered(layer)
        return {coords: [HostState(host.load, host.version) for host in hosts] for coords, hosts in known.items()}

    @property
    def calls(self) -> Counter[str]:
        """Answered calls to others' experts, by uid."""
        return self._outgoing.answered

    @property
    def reachable(self) -> bool:
        """Whether every layer has an expert, here or elsewhere, as far as is known."""
        return self._outgoing.reachable

    @property
    def reached(self) -> bool:
        """See `SwarmPlace.reached`."""
        return self._agreement is not None and self._agreement.reached

    @property
    def successor(self) -> Manifest | None:
        """See `SwarmPlace.successor`."""
        return self._manifests.successor if self._manifests else None

    @property
    def members(self) -> int:
        """See `SwarmPlace.members`."""
        return self._members.count

    @property
    def barred(self) -> Notice | None:
        """See `SwarmPlace.barred`."""
        return self._gate.barred if self._gate else None

    @property
    def capacity(self) -> int | None:
        """How many experts this PC can host; None: it does not host for others."""
        return self.hosting.capacity if self._hosts else None

    async def fetch_states(self) -> None:
        """See `SwarmPlace.fetch_states`."""
        found = await self._copies.find([TRUNK, *map(str, self.directory.grid.uids())])
        await asyncio.gather(*(self._copies.newest(part, copies, most=1) for part, copies in found.items()))

    def trunk(self) -> TrunkStatus | None:
        """See `SwarmPlace.trunk`."""
        agreement, run_id = self._agreement, self._manifest.run_id
        if agreement is None:
            return None
        waits = agreement.waits() if self._compute.at_work else None
        calls = self._node.moved_by_method().items()
        moved = [both for name, both in calls if name.startswith("trunk.") and name.endswith(of_run("", run_id))]
        return TrunkStatus(
            run_id,
            self._manifest.strategy,
            agreement.status(),
            self._members.me,
            *agreement.who(),
            agreement.progress(self._compute.progress.step),
            sum(sent for _, sent in moved),
            sum(received for received, _ in moved),
            waits,
            notice(f"trunk.ends_{waits.code.removeprefix('trunk.waits_')}") if waits else None,
            self.for_trunk(),
        )

    def take_news(self) -> News:
        """See `SwarmPlace.take_news`."""
        said, self._passed = self._passed, []
        asker = self._compute.incoming.first_asker
        return News({*map(peer_text, self._outgoing.helpers)}, asker.hex() if asker else "", said)

    def for_trunk(self) -> ForTrunk:
        """See `SwarmPlace.for_trunk`."""
        agreement = self._agreement
        return ForTrunk(int(agreement.accepted), agreement.reduced) if agreement else ForTrunk()

    @property
    def notes(self) -> list[Notice]:
        """What the user is told of what fails here again and again."""
        carried_out = self.hosting.planning, self._copies.caring, self._announcing, self._exchanging
        recurring = *carried_out, self._sharing, self._renewing, self._admitting, self._credit.signing
        agreeing = self._agreement.notes() if self._agreement else []
        waiting = self._manifests.notes if self._manifests else []
        access = [*([self.barred] if self.barred else ()), *(self._gate.notes if self._gate else ())]
        failing = (note for one in recurring for note in one.notes)
        return [*access, *self.directory.notes, *self._telling.notes, *waiting, *failing, *agreeing]

    async def collect(self, known: Mapping[bytes, set[int]], most: int | None = None) -> list[str]:
        """Ask peers of the run for the credit that they show. See `CreditExchange.collect`.

        Args:
            known: the weeks that are known of each host.
            most: peers that are asked, by chance; None: all.
        """
        others = sorted(
            ({parse_peer(peer) for peer in self._members.known} | {*self._node.pool.links}) - {self._node.peer}
        )
        return await self._credit.collect(random.sample(others, min(len(others), most or len(others))), known)

    # inside

    def _figures(self) -> Figures:
        compute = self._compute
        progress, report = compute.progress, compute.figures.report
        return Figures(progress.samples, report.samples_per_s, len(compute.hosted.experts), progress.loss)

    async def _announce(self) -> None:
        """What is not hosted any more, such as all experts while the user is back, is withdrawn at once."""
        if not self._frozen:
            hosted = self.hosting.hosted()
            gone = self.directory.announced - hosted.keys()
            self.directory.host_here(hosted)
            with contextlib.suppress(HearthError):  # the records expire by themselves as well
                await self.directory.withdraw(gone)
            self._look_who_hosts()

    def _look_who_hosts(self) -> None:
        directory = self.directory
        hosts = {uid: [peer_text(self._node.peer)] for uid in directory.announced}
        for layer in range(directory.grid.layers):
            for coords, infos in directory.remembered(layer).items():
                uid = Uid(directory.grid.run, layer, coords)
                hosts[uid] = [*hosts.get(uid, ()), *(peer_text(info.peer) for info in infos)]
        self._passed += self._takeovers.look(hosts)

    async def _renew(self) -> None:
        """Look whether the organiser has changed the run."""
        if self._manifests and self._dht.contacts() and not self._frozen:
            await self._manifests.tend()

    async def _admit(self) -> None:
        """Look whom the organiser lets take part."""
        if self._gate and not self._frozen:
            await self._gate.tend()

    async def _exchange(self) -> None:
        """Get what compute needs and others have."""
        if self._dht.contacts() and not self._frozen:
            await self._trunk.tend()

    def _read(self, reading: pipe.Reading) -> None:
        self._shards.reading(reading)
        self._sharing.wake.set()

    async def _share(self) -> None:
        """Get the run's data, and give them."""
        if not self._frozen:
            await self._shards.tend()

    def _share_again_s(self) -> float:
        return self._shards.rest_s if self._dht.contacts() else min(self._shards.rest_s, ALONE_S)


def _allowed(manifest: Manifest, book: CreditBook) -> Spend:
    return Allowance(manifest.run_id, book, encoded_size(manifest.training.codec, manifest.model.width)).spend


def _guarded(node: RpcNode, dht: DHTNode, manifest: Manifest, files: RunFiles, open_gate: WorkGate) -> TokenGate | None:
    """See to it that only those are answered who may take part; the gate of a run that is not open."""
    gate = TokenGate(manifest, files.folder, node, dht) if manifest.access == "tokens" else None
    node.admission.guard(manifest.run_id, gate or open_gate)
    return gate

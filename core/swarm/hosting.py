"""Keeps this PC's experts in step with the swarm: looks at who hosts what, plans (`core.swarm.placement`), acts."""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from core.contracts.errors import CallRefused, ComputeError, HearthError
from core.contracts.hosting import Handover, HandoverReply, Hello, HelloReply, Member
from core.contracts.net import of_run
from core.contracts.notices import Notice
from core.contracts.pipe import Progress
from core.contracts.taking_on import Reach, Taken
from core.dht.clock import steady
from core.experts.dht_directory import EXPIRY_S
from core.experts.directory import HostState
from core.experts.grid import Uid, names
from core.identity import peer_text
from core.net.method import Context
from core.net.recurring import Recurring
from core.swarm import placement
from core.swarm.handovers import Handovers
from core.swarm.hosted import HostedExperts
from core.swarm.leavers import Leaving
from core.swarm.members import Members
from core.swarm.outlook import Outlook
from core.swarm.placement import Plan, View
from core.swarm.replication import Copies, Copy

log = logging.getLogger(__name__)

TICK_S = 5.0
"""Between two looks at the swarm."""
BURIED_S = 2.0
"""From the news of a peer's end to the next look: who publishes records of thousands that are none makes no hurry."""
LONELY_S = 10.0
"""Without any contact for so long, this PC claims what it hosts alone, and gives way when others turn up."""
SETTLE_S = 3.0
"""From the first contact to the first claim: others who start at the same time are known by then."""
GUESSED_CAPACITY = 32
"""Until compute has told what an expert takes, and how fast it is here; none is taken on before."""
CHUNK = 16
"""Experts taken on together: the first ones serve while the others are loaded."""
NEWER_S = 30.0
"""Between two looks for a newer state of what is hosted here, such as that of a peer that was away."""
NEWER = 256
YOUNG_S = 600.0
"""For so long after a claim a newer state is taken over, or the expert left to a host that has one; later nobody takes
an expert away by naming a high version."""
AWAY_S = EXPIRY_S
"""Who was frozen, asleep or cut off for so long may have been replaced: all its claims are young again."""


class Figures(Protocol):
    """What compute has told."""

    report: Progress
    """Of its pace."""

    @property
    def expert_samples_per_s(self) -> float:
        """What one expert gets through here; 0: not known yet."""


class Compute(Protocol):
    """What is asked of the supervisor of compute."""

    @property
    def figures(self) -> Figures:
        """What it has told."""

    async def host(self, experts: Mapping[Uid, Sequence[Path]], most: Reach) -> Taken:
        """Have experts taken on, each from one of some files or its newest own state, as further than `most` no expert
        can be; what failed, and why (ComputeError)."""

    async def unhost(self, uids: Collection[Uid]) -> dict[str, Notice]:
        """Have experts saved and let go; what failed, and why (ComputeError)."""

    async def try_hosts(self, hosts: Mapping[str, Collection[Uid]]) -> dict[str, bool]:
        """Whether peers serve some experts of this PC about as well as it does, if that can be told (ComputeError)."""

    @property
    def life(self) -> int:
        """Number of the process."""

    @property
    def wanted(self) -> bool:
        """Whether compute shall be at work."""

    @property
    def at_work(self) -> bool:
        """Whether it is."""

    @property
    def saving(self) -> bool:
        """Whether it has stopped, and not saved yet what it had trained."""


class Hosting:
    """Use as `async with Hosting(...)`, inside the directory's and the copies' own."""

    def __init__(
        self,
        members: Members,
        copies: Copies,
        hosted: HostedExperts,
        compute: Compute,
        room: Callable[[int], int],
        hosts: bool = True,
        named: Callable[[], bool] = lambda: True,
        on_lan: bool = True,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """
        Args:
            members: The peers of the run, and through what they find each other.
            copies: The experts' states, here and elsewhere.
            hosted: The experts that this PC hosts.
            compute: Who computes them.
            room: How many of so many experts have room for their states on the disk.
            hosts: Whether this PC takes experts on at all.
            named: Whether peers are known by name, and not just looked for in the local network.
            on_lan: Whether they are looked for there.
            changed: Called when `hosted` has changed.
        """
        node, directory = members.node, members.directory
        self._node, self._dht, self._directory, self._grid = node, members.dht, directory, directory.grid
        self._members, self._me, self._copies, self._hosted = members, members.me, copies, hosted
        self._compute, self._room = compute, room
        self.hosts, self._named, self._on_lan, self._changed = hosts, named, on_lan, changed
        self._outlook = Outlook(members, directory, copies, Leaving(node, directory.run_id, copies, self._is_coming))
        self.frozen = False
        """Whether this PC may not use the network: it keeps what it hosts, as if it were cut off."""
        self.memory_bytes = 1 << 30
        """What the experts may use; follows what the user allows."""
        self._life = 0
        self._view: View | None = None
        self._acting = asyncio.Lock()
        self._began = self._compared = time.monotonic()
        self._present = steady()
        """When this PC was last awake and in contact with others; by a clock that goes on while it sleeps."""
        self._joined: float | None = None
        self.planning = Recurring("hosting", self._tick, self._rest_s)
        node.register(of_run("host.hello", directory.run_id), Hello, self._hello)
        self._handovers = Handovers(members, copies, hosted)
        node.register(self._handovers.method, Handover, self._hand_over, cost=16.0)
        members.on_buried.append(lambda: asyncio.get_running_loop().call_later(BURIED_S, self.planning.wake.set))

    async def __aenter__(self) -> "Hosting":
        self._began = time.monotonic()
        self.planning.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.planning.stop()
        with contextlib.suppress(HearthError, TimeoutError):
            async with asyncio.timeout(1.0):
                await self._members.leave()

    async def withdraw(self) -> None:
        """Tell all that this peer is gone, for as long as it is frozen.

        Raises:
            HearthError: nobody heard it; its records expire.
        """
        self.frozen, self._view = True, None
        await self._members.leave()

    def lonely(self) -> bool:
        """Whether nobody is known who could host experts: compute begins with all of them, as if there were no network,
        and leaves those to others that these turn out to host. A grid that takes several plans is claimed by and by."""
        waited = time.monotonic() - self._began >= LONELY_S
        nobody = self.frozen or (not self._dht.contacts() and (waited or not self._named()))
        return self.hosts and nobody and self._grid.layers * self._grid.cells <= placement.CLAIMS

    def look(self) -> None:
        """Compute has begun or stopped: what is hosted here changes."""
        self._follow_compute()
        self.planning.wake.set()

    def hosted(self) -> dict[Uid, HostState]:
        """The experts that other peers may call now."""
        if not self._compute.at_work:
            return {}
        load = self._compute.figures.report.load
        return {uid: HostState(load, version) for uid, version in self._claims().items()}

    def _rest_s(self) -> float:
        return TICK_S * random.uniform(0.8, 1.0) if self._may_begin() else SETTLE_S / 3

    async def _tick(self) -> None:
        if self.frozen:
            self._follow_compute()
            return
        self._may_begin()  # notes when this PC joined
        self._follow_compute()
        self._note_absence()
        await self._members.introduce(self._self())
        members = await self._members.look(self._self())
        members = {peer: member for peer, member in members.items() if self._members.serves(peer)}
        if self._may_begin() and self.hosts and self._compute.at_work and self._compute.figures.expert_samples_per_s:
            view = await self._outlook.look(members, self._claims())
            self._view = await self._settle(view)
            plan = placement.plan(self._view, self._me, time.monotonic())
            async with self._acting:
                await self._act(plan)

    async def _settle(self, view: View) -> View:
        """Have the other hosts of young claims say in which versions they host these, look here again, and try those
        that have the best claim: who does not serve, or was not tried yet, takes nothing from who does."""
        young, givers = self._hosted.young(YOUNG_S), self._handovers.givers()
        rivals = await self._members.confirmed(
            {uid: hosts.keys() - {givers.get(uid)} for uid, hosts in view.rivals.items() if uid in young}
        )
        believed = {
            uid: {peer: self._copies.beliefs.counts(str(uid), version) for peer, version in versions.items()}
            for uid, versions in rivals.items()
        }
        view = view._replace(mine=self._claims(), rivals=believed)
        winners = {uid: winner for uid in view.mine if (winner := placement.better(uid, view, self._me))}
        asked: dict[str, list[Uid]] = {}
        for uid, winner in winners.items():
            asked.setdefault(winner, []).append(uid)
        serving = await self._serving(asked)
        return view._replace(
            rivals={uid: {peer: believed[uid][peer]} for uid, peer in winners.items() if peer in serving}
        )

    async def _serving(self, asked: Mapping[str, Collection[Uid]]) -> set[str]:
        """Which peers serve experts that are hosted here too; the others' claims of these do not count for a while."""
        if not asked:
            return set()
        try:
            found = await self._compute.try_hosts(asked)
        except ComputeError:  # it has stopped or ended meanwhile
            return set()
        for peer in (peer for peer, serves in found.items() if not serves):
            self._members.unserved(peer, asked[peer])
        return {peer for peer, serves in found.items() if serves}

    def _claims(self) -> dict[Uid, int]:
        """What others may call here, in its version."""
        versions = self._hosted.versions()
        return {uid: versions.get(uid, 0) for uid in self._hosted.claimed}

    def _follow_compute(self) -> None:
        """A new process hosts what it began with, one that gives the machine back claims nothing."""
        compute = self._compute
        if compute.life != self._life or not compute.at_work:
            self._outlook.ended(self._hosted.claimed)
            self._hosted.disclaim()
            self._view = None
        if compute.at_work:  # only then has it told what it holds
            self._life = compute.life

    def _note_absence(self) -> None:
        now = steady()
        if now - self._present > AWAY_S:
            self._hosted.renew()
        if self._dht.contacts():
            self._present = now

    def _may_begin(self) -> bool:
        """Whether enough is known of the others, or it is clear that there are none."""
        now = time.monotonic()
        if self._dht.contacts():
            self._joined = self._joined or now
            return now - self._joined >= SETTLE_S
        return not (self._named() or self._on_lan) or now - self._began >= LONELY_S

    # What is known of the swarm

    @property
    def capacity(self) -> int:
        """How many experts this PC can host."""
        memory, speed = self._hosted.expert_bytes, self._compute.figures.expert_samples_per_s
        whole = self._grid.layers * self._grid.cells
        if not memory or not speed:
            return min(GUESSED_CAPACITY, whole)
        return self._room(min(placement.capacity(self.memory_bytes, memory, speed), whole))

    def _self(self) -> Member:
        return Member(self.capacity if self.hosts and self._compute.wanted else 0, len(self._hosted.claimed))

    # Acting

    async def _act(self, plan: Plan) -> None:
        with contextlib.suppress(ComputeError):  # it has stopped or ended meanwhile, and so has all that was planned
            await self._drop(self._hosted.loaded() - self._hosted.claimed - set(plan.claims), "others have it now")
            await self._yield(plan.yields)
            await self._drop(plan.releases, "this PC has no room for it, or others need it less")
            for start in range(0, len(plan.claims), CHUNK):
                await self._claim(plan.claims[start : start + CHUNK])
            for peer, uids in await self._handovers.hosted_by_now():
                if peer in await self._serving({peer: uids}):
                    await self._drop(uids, f"handed over to {peer[:8]}, which has room")
            if plan.ask:
                await self._host(await self._handovers.ask(*plan.ask))
            await self._look_for_newer()

    async def _claim(self, claims: Sequence[Uid]) -> None:
        versions, found = self._hosted.versions(), self._outlook.copies
        paths = await asyncio.gather(
            *(self._copies.newest(str(uid), found.get(uid, ()), versions.get(uid, 0)) for uid in claims)
        )
        coming = {uid for uid in claims if self._is_newer(uid, found.get(uid, ())) and self._outlook.put_off(uid)}
        asked = {uid: path for uid, path in zip(claims, paths, strict=True) if uid not in coming}
        adopted = await self._host(asked)
        if adopted:
            log.info("Adopted %s, which nobody hosted, from the newest checkpoint.", names(adopted))
        if new := [uid for uid in asked if uid in self._hosted.claimed and uid not in adopted]:
            log.info("Claimed %s, which nobody hosted.", names(new))

    def _is_newer(self, uid: Uid, copies: Sequence[Copy]) -> bool:
        """Whether the newest of these copies, the first one, is newer than what is on this disk: it was not fetched."""
        own = self._copies.own(str(uid))
        newest = self._copies.beliefs.counts(str(uid), copies[0].file.version) if copies else 0
        return newest > (own.version if own else 0)

    async def _host(self, experts: Mapping[Uid, Sequence[Path]]) -> list[Uid]:
        """Host experts; returns those that go on from what another peer gave."""
        if not experts:
            return []
        taken = await self._compute.host(experts, self._copies.beliefs.most(str(next(iter(experts)))))
        for text, why in taken.failed.items():
            log.error("Expert %s could not be taken on: %s", text, why)
        if self._compute.at_work:
            self._copies.refuse(taken.refused)
            self._hosted.claim(uid for uid in experts if str(uid) not in taken.failed)
            self._changed()
        return [Uid.parse(text) for text in taken.newer]

    async def _yield(self, yields: Mapping[Uid, str]) -> None:
        """Leave experts to hosts that have a better claim."""
        for winner in set(yields.values()):
            await self._drop({uid for uid in yields if yields[uid] == winner}, f"{winner[:8]} has the better claim")

    async def _look_for_newer(self) -> None:
        """A peer that was away may come back with a newer state of what was claimed here not long ago."""
        now = time.monotonic()
        young = [uid for uid in self._hosted.young(YOUNG_S) if uid in self._handovers.givers()]
        if now - self._compared >= NEWER_S:
            self._compared = now
            young = list(self._hosted.young(YOUNG_S))
        if not young:
            return
        looked = random.sample(young, min(NEWER, len(young)))
        found, versions = await self._outlook.find_copies(looked), self._hosted.versions()
        newer = {uid: await self._copies.newest(str(uid), c, versions.get(uid, 0)) for uid, c in found.items()}
        newer = {uid: path for uid, path in newer.items() if path and uid in self._hosted.claimed}
        if taken := await self._host(newer):
            log.info("Went on with a newer state of %s, which another peer had.", names(taken))

    async def _drop(self, uids: Iterable[Uid], why: str) -> list[Uid]:
        """Save experts and host them no more, but for those that could not be saved. Returns those that are gone."""
        wanted = set(uids) & self._hosted.loaded()
        if not wanted:
            return []
        if claimed := wanted & self._hosted.claimed:
            log.info("No longer hosting %s: %s.", names(claimed), why)
        with self._hosted.leaving(wanted) as stay:
            self._changed()
            for text, error in (await self._compute.unhost(wanted)).items():
                log.error("Expert %s could not be saved, and stays: %s", text, error)
                stay.add(Uid.parse(text))
        return sorted(wanted - stay)

    # What others ask

    def _hello(self, request: Hello, payload: bytes, context: Context) -> HelloReply:
        hosted = self.hosted() if request.uids else {}
        by_name = {str(uid): state.version for uid, state in hosted.items()}
        return HelloReply(tuple(by_name.get(uid, -1) for uid in request.uids))

    async def _hand_over(self, request: Handover, payload: bytes, context: Context) -> HandoverReply:
        """Give experts to a peer that has fewer, as far as this one has more than its share."""
        view = self._view
        if view is None or self._acting.locked():
            raise CallRefused("This peer is not at rest. Ask again in a moment.")
        async with self._acting:
            self._view = None  # what others see of this PC changes: once a look at most
            return self._handovers.give(
                peer_text(context.peer), min(request.count, placement.surplus(view, self._me)), view
            )

    def _is_coming(self, uid: Uid) -> bool:
        """Whether an expert that is not hosted any more is still to be saved, or about to be hosted again."""
        return self._hosted.is_leaving(uid) and (self._compute.at_work or self._compute.saving)

"""Keeps this PC's experts in step with the swarm: looks at who hosts what, plans (`core.worker.placement`), acts."""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Protocol

import msgspec

from core.dht.node import DHTNode
from core.dht.records import own_subkey
from core.errors import ComputeError, HearthError, NetworkError
from core.experts.dht_directory import EXPIRY_S, DHTDirectory
from core.experts.directory import HostState
from core.experts.grid import Grid, Uid
from core.identity import parse_peer, peer_text
from core.net.rpc import Context, RpcNode
from core.worker import placement
from core.worker.orders import Orders
from core.worker.placement import Member, Plan, View

log = logging.getLogger(__name__)

TICK_S = 5.0
"""Between two looks at the swarm."""
LONELY_S = 10.0
"""Without any contact for so long, this PC begins alone, and gives way when others turn up."""
SETTLE_S = 3.0
"""From the first contact to the first claim: others who start at the same time are known by then."""
INTRODUCE_S = 20.0
GUESSED_CAPACITY = 32
"""Until compute has told what an expert takes."""
CHUNK = 16
"""Experts taken on together: the first ones serve while the others are loaded."""
HELLO_S = 5.0
MAX_NAMED = 256

Uids = Annotated[tuple[Annotated[str, msgspec.Meta(max_length=64)], ...], msgspec.Meta(max_length=MAX_NAMED)]


class _MemberRecord(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    capacity: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
    hosted: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class Hello(msgspec.Struct, frozen=True, array_like=True):
    """Are you there, and which versions of these experts do you host?"""

    uids: Uids = ()


class HelloReply(msgspec.Struct, frozen=True, array_like=True):
    versions: Annotated[tuple[Annotated[int, msgspec.Meta(ge=-1, lt=2**53)], ...], msgspec.Meta(max_length=MAX_NAMED)]
    """Of each; -1: not hosted."""


class Compute(Protocol):
    """What is asked of the supervisor of compute."""

    orders: Orders
    life: int
    expert_bytes: int
    expert_samples_per_s: float
    load: float

    @property
    def wanted(self) -> bool:
        """Whether compute shall be at work."""

    @property
    def at_work(self) -> bool:
        """Whether it is."""

    def versions(self) -> dict[Uid, int]:
        """Of the experts in it."""


class Hosting:
    """Use as `async with Hosting(...)`, inside the directory's own. `changed` is called when `hosted` has changed."""

    def __init__(self, grid: Grid, node: RpcNode, dht: DHTNode, directory: DHTDirectory, compute: Compute) -> None:
        self._grid, self._node, self._dht, self._directory, self._compute = grid, node, dht, directory, compute
        self.hosts = True
        """Whether this PC takes experts on at all."""
        self.alone = False
        """Whether there is nobody to look for."""
        self.memory_bytes = 1 << 30
        """What the experts may use."""
        self.changed: Callable[[], None] = lambda: None
        self._me = peer_text(node.peer)
        self._claimed: set[Uid] = set()
        self._loaded: set[Uid] = set()
        self._life = 0
        self._vacant: dict[Uid, float] = {}
        self._introduced: tuple[float, _MemberRecord | None] = (0.0, None)
        self._began = time.monotonic()
        self._joined: float | None = None
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        node.register("host.hello", Hello, self._hello)

    async def __aenter__(self) -> "Hosting":
        self._began = time.monotonic()
        self._task = asyncio.create_task(self._run(), name="hosting")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        with contextlib.suppress(HearthError, TimeoutError):
            async with asyncio.timeout(1.0):
                await self._dht.remove(self._key, [own_subkey(self._node.peer)])

    @property
    def _key(self) -> str:
        return f"{self._grid.run}.hosts"

    def look(self) -> None:
        """Compute has begun or stopped: what is hosted here changes."""
        self._follow_compute()
        self._wake.set()

    def hosted(self) -> dict[Uid, HostState]:
        """The experts that other peers may call now."""
        if not self._compute.at_work:
            return {}
        versions = self._compute.versions()
        return {uid: HostState(self._compute.load, versions.get(uid, 0)) for uid in self._claimed}

    async def _run(self) -> None:
        while True:
            try:
                await self._tick()
            except HearthError as error:
                log.warning("What this PC hosts could not be brought up to date: %s", error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK_S * random.uniform(0.8, 1.0)):
                    await self._wake.wait()
            self._wake.clear()

    async def _tick(self) -> None:
        self._follow_compute()
        await self._introduce()
        if self._may_begin() and self.hosts and self._compute.at_work:
            view = await self._see()
            await self._act(placement.plan(view, self._me, time.monotonic()), view)

    def _follow_compute(self) -> None:
        """A new process hosts nothing, one that gives the machine back claims nothing."""
        if self._compute.life != self._life:
            self._life = self._compute.life
            self._loaded.clear()
            self._claimed.clear()
        if not self._compute.at_work:
            self._claimed.clear()

    def _may_begin(self) -> bool:
        """Whether enough is known of the others, or it is clear that there are none."""
        now = time.monotonic()
        if self._dht.contacts():
            self._joined = self._joined or now
            return now - self._joined >= SETTLE_S
        return self.alone or now - self._began >= LONELY_S

    def _capacity(self) -> int:
        compute = self._compute
        if not self.hosts or not compute.wanted:
            return 0
        if not compute.expert_bytes:
            return GUESSED_CAPACITY
        return placement.capacity(self.memory_bytes, compute.expert_bytes, compute.expert_samples_per_s)

    # What is known of the swarm

    async def _introduce(self) -> None:
        """Tell the others that this peer is there, and how much it can and does host."""
        record = _MemberRecord(self._capacity(), len(self._claimed))
        at, told = self._introduced
        if record != told or time.monotonic() - at > INTRODUCE_S:
            value = {own_subkey(self._node.peer): msgspec.msgpack.encode(record)}
            await self._dht.store_subkeys(self._key, value, EXPIRY_S)
            self._introduced = (time.monotonic(), record)

    async def _members(self) -> dict[str, Member]:
        members = {}
        for subkey, record in (await self._dht.get(self._key)).items():
            with contextlib.suppress(msgspec.MsgspecError):
                if subkey == own_subkey(record.peer):
                    told = msgspec.msgpack.decode(record.value, type=_MemberRecord)
                    members[peer_text(record.peer)] = Member(told.capacity, told.hosted)
        members[self._me] = Member(self._capacity(), len(self._claimed))
        return members

    async def _see(self) -> View:
        if self._joined and not self._vacant:
            await self._directory.refresh()
        cells = list(self._grid.uids())
        active = {self._grid.uid(layer, coords) for layer in range(self._grid.layers) for coords in self._mirror(layer)}
        active |= self._claimed
        now = time.monotonic()
        self._vacant = {uid: self._vacant.get(uid, now) for uid in cells if uid not in active}
        versions = self._compute.versions()
        mine = {uid: versions.get(uid, 0) for uid in self._claimed}
        others = await self._directory.read_hosts(list(mine))
        rivals = {uid: {peer_text(info.peer): info.version for info in infos} for uid, infos in others.items()}
        return View(cells, await self._members(), mine, rivals, self._vacant, {})

    def _mirror(self, layer: int) -> Sequence[tuple[int, ...]]:
        return self._directory.mirror(layer) or ()

    # Acting

    async def _act(self, plan: Plan, view: View) -> None:
        with contextlib.suppress(ComputeError):  # it has stopped or ended meanwhile, and so has all that was planned
            await self._drop(self._loaded - self._claimed, "others have it now")
            await self._yield(plan, view)
            if plan.releases:
                await self._drop(plan.releases, "it is needed less than others, or does not fit here")
            await self._claim(plan.claims)

    async def _claim(self, claims: Sequence[Uid]) -> None:
        """Host what is still vacant, a few at a time."""
        for start in range(0, len(claims), CHUNK):
            part = claims[start : start + CHUNK]
            others = await self._directory.read_hosts(part)
            free = [uid for uid in part if not others[uid]]
            failed = await self._compute.orders.host({uid: None for uid in free if uid not in self._loaded})
            for text, why in failed.items():
                log.error("Expert %s could not be taken on: %s", text, why)
            taken = [uid for uid in free if str(uid) not in failed]
            if not taken or not self._compute.at_work:
                return
            self._loaded |= set(taken)
            self._claimed |= set(taken)
            log.info("Hosting %s: nobody had %s.", _names(taken), "it" if len(taken) == 1 else "them")
            self.changed()

    async def _yield(self, plan: Plan, view: View) -> None:
        """Leave experts to hosts that have a better claim, once these have said so themselves."""
        by_winner: dict[str, list[Uid]] = {}
        for uid, winner in plan.yields.items():
            by_winner.setdefault(winner, []).append(uid)
        for winner, uids in by_winner.items():
            lost = await self._confirmed(winner, uids[:MAX_NAMED])
            await self._drop(lost, f"{winner[:8]} has the better claim")

    async def _confirmed(self, winner: str, uids: list[Uid]) -> list[Uid]:
        """Those that the winner hosts now, with the better claim still."""
        try:
            hello = Hello(tuple(map(str, uids)))
            reply, _ = await self._node.call(parse_peer(winner), "host.hello", hello, HelloReply, deadline_s=HELLO_S)
        except NetworkError:
            return []
        mine = self._compute.versions()
        return [
            uid
            for uid, version in zip(uids, reply.versions, strict=False)
            if placement.wins((version, winner), (mine.get(uid, 0), self._me), uid)
        ]

    async def _drop(self, uids: Iterable[Uid], why: str) -> None:
        """Save experts and host them no more."""
        gone = set(uids)
        if not gone:
            return
        if claimed := gone & self._claimed:
            log.info("No longer hosting %s: %s.", _names(claimed), why)
        self._claimed -= gone
        self.changed()
        failed = await self._compute.orders.unhost(gone)
        for text, error in failed.items():
            log.error("Expert %s could not be let go: %s", text, error)
        self._loaded -= {uid for uid in gone if str(uid) not in failed}

    # What others ask

    def _hello(self, request: Hello, payload: bytes, context: Context) -> HelloReply:
        hosted = self.hosted()
        by_name = {str(uid): state.version for uid, state in hosted.items()} if request.uids else {}
        return HelloReply(tuple(by_name.get(uid, -1) for uid in request.uids))


def _names(uids: Iterable[Uid]) -> str:
    """The uids, or their number if they are many."""
    names = sorted(map(str, uids))
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} experts ({names[0]} to {names[-1]})"

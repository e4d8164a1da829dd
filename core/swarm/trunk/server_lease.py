"""The parameter server of a run whose manifest names none: a peer that trains, by lease.

Its answers hold all that it knows, so that whoever was answered last has a copy; after a result of its own trainer it
sends one to its heir. The peer that takes its place when it dies goes on from the newest copy of all that are good:
nothing that a trainer was told is accepted is lost with one peer. Who leaves in order gives its place to its heir.

A PC that knows nobody, or may not use the network, serves its own trainer meanwhile. When it meets another server, or
two peers have claimed the lease, one of them goes on, and what the other one has learnt is mixed in there. The table of
its subtasks is dropped: nobody could check it, and what was done twice has only cost time.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from core.contracts.errors import CallRefused, CallTimeout, HearthError, NetworkError, ProtocolError
from core.contracts.net import of_run
from core.contracts.notices import Notice
from core.contracts.taking_on import Verdict
from core.contracts.trunk import Whole
from core.contracts.trunk_calls import Keeper, State
from core.identity import parse_peer, peer_text
from core.net.method import Context
from core.net.recurring import Recurring
from core.swarm.members import Members
from core.swarm.trunk.agreement import HOSTILE_POINTS, POINTS
from core.swarm.trunk.ballot import LEAST_RATE
from core.swarm.trunk.leases import AWAY_S, TICK_S, Leases, heirs_of, mark, syncer_of
from core.swarm.trunk.server_copy import Copy, dump, most_bytes, samples_of

log = logging.getLogger(__name__)

COPY, HEIR = "trunk.copy", "trunk.heir"
PART = 0
"""There is one server for the whole trunk."""
ASKED, ASK_S, TRIED = 32, 10.0, 8
"""Peers that an heir asks for their copies, how long, and how many of the newest it tries."""
AT_ONCE = 8
"""Of these peers: their copies are as large as the trunk."""
HEIRS = 3
"""Peers that are to keep what is here, one after the other, until one does."""
SAVE_S = 20.0
"""Between two times that a copy is written to the disk, or that a store that broke is tried again."""
HAND_OVER_S = 5.0
"""For giving its place to another peer; those who quit do not wait for long. Who goes on waits as long as it takes."""


class AskCopy(msgspec.Struct, frozen=True, array_like=True):
    """`trunk.copy`, to a peer that may have a newer copy than the asker."""

    turns: Whole
    """Of the asker's."""


class Inherit(msgspec.Struct, frozen=True, array_like=True):
    """`trunk.heir`, to the peer that is to be the server next, with all that the asker knows."""

    keeps: bool = False
    """The asker is still the server."""


class ServerLease:
    """Who the server is, and what is here for its heir."""

    def __init__(
        self,
        run_id: str,
        numbers: int,
        members: Members,
        stored: Callable[[], Awaitable[Copy | None]],
        store: Callable[[Copy], Awaitable[None]],
        merge: Callable[[str, Copy], Awaitable[None]],
        verdicts: Callable[[Sequence[Copy]], Awaitable[list[Verdict]]],
        load: Callable[[bytes | memoryview], Copy],
    ) -> None:
        """
        Args:
            run_id: the run's.
            numbers: parameters that there are.
            members: its peers.
            stored: what this PC's own store holds.
            store: put a copy in its place.
            merge: have a server mix in what another copy has learnt; a NetworkError if it is to be tried again.
            verdicts: which of some copies do about as well as the best of them.
            load: a copy that has travelled, as far as it can be true; a ProtocolError if it is none.
        """
        self._members, self._node, self._load_copy = members, members.node, load
        self._stored, self._store, self._merge, self._verdicts = stored, store, merge, verdicts
        self._method, self._heir = of_run(COPY, run_id), of_run(HEIR, run_id)
        self._copy: Copy | None = None
        """The newest that came with an answer, if this PC is not the server."""
        self._brought: Copy | None = None
        """What was here at the start, until a server has answered: if all were started again it may lack some."""
        self._shared: Copy | None = None
        """The newest that the server had this PC keep: nobody has tried it."""
        self._left_over: Copy | None = None
        """What was learnt here under this PC as server, if another one goes on and has not mixed it in yet."""
        self._followed, self._heard = "", 0.0
        """The server that answered last, and when, time.monotonic()."""
        self._passed_on = 0
        """Samples of what another server has given, or has asked for to go on from it."""
        self._loaded, self._saved, self._saved_at = asyncio.Event(), 0, 0.0
        self._is_broken = False
        self.serves = False
        self._is_alone = False
        """It serves its own trainer, and has told nobody."""
        self.turns = 0
        """Of what is here."""
        self._tending = Recurring("trunk_server", self._tend, lambda: TICK_S)
        self._leases = Leases(run_id, members, self._mine, self._tending.wake)
        self._node.register(self._method, AskCopy, self._give, cost=16.0)
        self._node.register(self._heir, Inherit, self._inherit, max_payload=most_bytes(numbers), cost=16.0)

    def start(self) -> None:
        """Look who serves."""
        self._tending.start()

    async def stop(self) -> None:
        """Leave it to the others."""
        await self._tending.stop()
        if self.serves:
            await self._hand_over()
        await self._save()
        await self._leases.leave()

    async def _hand_over(self) -> None:
        """Have the next one go on from all that is here; if nobody does, whoever has the newest copy will."""
        self.serves = False  # who asks from here on is refused, and asks again
        keepers = {peer: each for peer, each in self._leases.keepers.items() if peer != self._members.me}
        try:
            async with asyncio.timeout(HAND_OVER_S):
                copy = await self._stored()
                data = await asyncio.to_thread(dump, copy) if copy else b""
                for heir in heirs_of(PART, keepers) if copy else ():
                    with contextlib.suppress(NetworkError):
                        call = self._node.call
                        await call(parse_peer(heir), self._heir, Inherit(), State, data, deadline_s=HAND_OVER_S)
                        return
        except (TimeoutError, HearthError) as error:
            log.info("Nobody was given the place of the run's parameter server: %s", error)

    async def share(self) -> None:
        """Have an heir keep what is here, before this PC's own trainer is told that a result is accepted."""
        keepers = {peer: each for peer, each in self._leases.keepers.items() if peer != self._members.me}
        if not (self.serves and keepers and (copy := await self._stored())):
            return
        data, keep = await asyncio.to_thread(dump, copy), Inherit(keeps=True)
        deadline_s = HAND_OVER_S + len(data) / LEAST_RATE
        for heir in heirs_of(PART, keepers)[:HEIRS]:
            try:
                await self._node.call(parse_peer(heir), self._heir, keep, State, data, deadline_s=deadline_s)
                return
            except NetworkError as error:
                log.info("No other peer has the newest parameters yet: %s", error)
                if not isinstance(error, CallRefused):
                    self._leases.failed(heir)  # nor will it have the next ones

    def broke(self) -> None:
        """What is here cannot be used: another peer is to be the server."""
        log.warning("The parameters' store broke: another peer is to be the run's server.")
        self.serves = self._is_alone = False
        self._is_broken, self.turns, self._saved_at = True, 0, time.monotonic()
        self._tending.wake.set()

    @property
    def notes(self) -> list[Notice]:
        """What the user is told of what fails here again and again."""
        return self._tending.notes

    async def server(self, patience_s: float) -> str:
        """The server, as soon as there is one; this peer, while it knows nobody or may not ask.

        Args:
            patience_s: how long that may take.

        Raises:
            CallTimeout: it took longer.
        """
        deadline = time.monotonic() + patience_s
        try:
            async with asyncio.timeout(patience_s):
                await self._loaded.wait()
        except TimeoutError:
            raise CallTimeout("What this PC keeps of the run's parameters is not read yet.") from None
        if not (self._node.hushed or not self._members.dht.contacts()):
            return await self._leases.syncer(PART, deadline - time.monotonic())
        if not self._is_alone:
            await self._save()
            self._is_alone, self._copy, self._brought = True, None, None
        return self._members.me

    def failed(self, server: str, gone: bool) -> None:
        """The server did not serve.

        Args:
            server: who it is.
            gone: whether it did not answer; else it is none.
        """
        (self._leases.failed if gone else self._leases.refused)(server)

    def distrust(self, server: str) -> None:
        """The server gave what is of no use: it is not followed any more.

        Args:
            server: who it is.
        """
        if server == self._followed:
            self._followed = ""
        self._leases.distrust(server)

    def received(self, server: str, copy: Copy) -> None:
        """Keep what a server's answer holds.

        Args:
            server: who it is.
            copy: that was tried.
        """
        if not (self.serves or self._is_alone):
            if self._brought and samples_of(self._brought) > samples_of(copy):
                self._left_over, self.turns = self._brought, 0
                self._tending.wake.set()
            self._brought = None
            if copy.turns >= self.turns:
                self._copy, self.turns, self._passed_on = copy, copy.turns, samples_of(copy)
        self._followed, self._heard = server, time.monotonic()
        self._leases.served(server)

    def _mine(self) -> Keeper:
        followed = self._followed if time.monotonic() - self._heard < AWAY_S else ""
        if self.serves:
            followed = self._members.me
        able, follows = not (self._node.dial_only or self._is_broken), {PART: mark(followed)} if followed else {}
        return Keeper({PART: self.turns}, [PART] if self.serves else [], able, follows)

    async def _tend(self) -> None:
        if not self._loaded.is_set():
            await self._load()
        if time.monotonic() - self._saved_at > SAVE_S:
            await self._save()
        if self._node.hushed or not await self._leases.look():
            return
        claims, leaves = self._leases.due([PART])
        if claims:
            await self._adopt()
        else:
            server = syncer_of(PART, self._leases.keepers)
            if server and (leaves or (self._is_alone and server != self._members.me)):
                mine = await self._stored()
                self._left_over = mine if mine and samples_of(mine) > self._passed_on else None
                self.serves, self._is_alone, self.turns = False, False, 0
                log.info("Peer %s is the run's parameter server now.", server[:8])
            if server and self._left_over and not self._is_alone:
                await self._merge(server, self._left_over)
                self._left_over = None
        await self._leases.tell()

    async def _load(self) -> None:
        try:
            self._copy = self._brought = await self._stored()
            self._saved = self.turns = self._copy.turns if self._copy else 0
        except HearthError:
            self.broke()
        finally:
            self._loaded.set()

    async def _save(self) -> None:
        """Write down what is known of another server; where that works, a store that broke is whole again."""
        self._saved_at = time.monotonic()
        try:
            if self._copy and not self.serves and self._copy.turns != self._saved:
                await self._store(self._copy)
                self._saved = self._copy.turns
            elif self._is_broken:
                await self._stored()
            self._is_broken = False
        except HearthError as error:
            self._is_broken = True
            log.warning("The newest parameters could not be written to this disk: %s", error)

    async def _adopt(self) -> None:
        """Go on from the newest copy of those that are about as good as the best one."""
        keepers = self._leases.keepers
        others = sorted(keepers.keys() - {self._members.me}, key=lambda peer: -keepers[peer].versions.get(PART, 0))
        given = list[tuple[Copy, str]]()
        for first in range(0, min(ASKED, len(others)), AT_ONCE):
            asked = others[first : min(ASKED, first + AT_ONCE)]
            told = zip(await asyncio.gather(*map(self._ask, asked)), asked, strict=True)
            given += ((copy, peer) for copy, peer in told if copy)
            given = sorted(given, key=lambda one: -one[0].turns)[:TRIED]
        mine = self._copy or await self._stored()
        newest = await self._newest([*given, *((copy, "") for copy in (mine, self._shared, self._left_over) if copy)])
        self._shared = None
        if newest and newest.turns >= self.turns:
            if self._is_alone:
                self._left_over = await self._stored()
            await self._begin(newest)
        self.serves, self._is_alone, self._copy, self._brought = True, False, None, None
        log.info("Is the run's parameter server, from turn %d on.", self.turns)
        if self._left_over and self._left_over is not newest:
            await self._merge(self._members.me, self._left_over)
        self._left_over = None

    async def _newest(self, copies: Sequence[tuple[Copy, str]]) -> Copy | None:
        """The newest one that is good; who gave another one loses trust.

        Args:
            copies: and who gave each, if that was another peer just now.
        """
        told = [*zip(copies, await self._verdicts([copy for copy, _ in copies]), strict=True)]
        for (copy, peer), verdict in told:
            if verdict != "good" and peer:
                log.warning("Parameters of turn %d that peer %s gave are %s.", copy.turns, peer[:8], verdict)
                self._node.strike(parse_peer(peer), POINTS[verdict])
        good = [copy for (copy, _), verdict in told if verdict == "good"]
        return max(good, key=lambda copy: copy.turns, default=None)

    async def _begin(self, copy: Copy) -> None:
        try:
            await self._store(copy)
        except HearthError:
            self.broke()
            raise
        self.turns = copy.turns

    async def _ask(self, peer: str) -> Copy | None:
        name = parse_peer(peer)
        try:
            _, data = await self._node.call(name, self._method, AskCopy(self.turns), State, deadline_s=ASK_S)
            return await asyncio.to_thread(self._load_copy, data) if data else None
        except ProtocolError:
            self._node.strike(name, HOSTILE_POINTS)
        except NetworkError as error:
            log.info("Peer %s did not give its copy: %s", peer_text(name)[:8], error)
        return None

    async def _give(self, request: AskCopy, payload: bytes, context: Context) -> tuple[State, bytes]:
        copy = await self._stored() if self.serves or self._is_alone else self._copy
        if self._shared and (copy is None or copy.turns < self._shared.turns):
            copy = self._shared
        if copy is None or copy.turns <= request.turns:
            return State(), b""
        self._passed_on = samples_of(copy)
        return State(), await asyncio.to_thread(dump, copy)

    async def _inherit(self, request: Inherit, payload: bytes, context: Context) -> State:
        """The server leaves and this peer is the next one, or will be if that one dies."""
        if syncer_of(PART, self._leases.keepers) != peer_text(context.peer):
            raise CallRefused("You are not the run's parameter server, as far as this peer knows.")
        try:
            copy = await asyncio.to_thread(self._load_copy, payload)
        except ProtocolError:
            self._node.strike(context.peer, HOSTILE_POINTS)
            raise
        if request.keeps:
            self._shared = copy
            return State()
        if self.serves or copy.turns < self.turns:
            raise CallRefused("This peer knows more than that.")
        if await self._newest([(copy, peer_text(context.peer)), *([(self._copy, "")] if self._copy else [])]) != copy:
            raise CallRefused("What you give is worse than what this peer has.")
        await self._begin(copy)
        self.serves, self._copy, self._shared = True, None, None
        log.info("Is the run's parameter server after %s, from turn %d on.", peer_text(context.peer)[:8], self.turns)
        await self._leases.tell()
        return State()

"""How this peer is reached from outside: its outside address, its NAT, hole punching, relays, client mode, roaming.

Peers of the role backbone are asked what address they see, and to dial back from a fresh port. Peers behind NAT meet by
dialling each other at the same moment, told to by a peer that both are connected to; where that fails, a willing peer
relays (`relay.py`). Without one, a peer only dials out, and is called over the connections that it opened itself.
"""

import asyncio
import ipaddress
import itertools
import logging
import os
import time
from collections.abc import Collection, Coroutine, Sequence
from typing import Annotated, Any, Literal

import msgspec

from core.errors import CallRefused, HearthError, PeerUnreachable
from core.identity import PeerId
from core.net import limits
from core.net.endpoint import Endpoint
from core.net.limits import TokenBucket
from core.net.link import Payload
from core.net.messages import Peer, PeerAddress, SocketAddress
from core.net.relay import Relay
from core.net.relayed import RelayedConnection, RelayEnds
from core.net.rpc import Context, RpcNode

log = logging.getLogger(__name__)

MEASURE_S = 600.0
"""Home routers change little; a change of network is noticed by itself."""
LOOK_S = 1.0
"""How often this PC's own addresses and lost connections are looked at."""
MEND_S = (1.0, 2.0, 4.0)
"""Pauses between tries to dial a lost peer; with `MEND_DIAL_S` the longest gap is under 10 s."""
MEND_DIAL_S = 3.0
MEND_TRIES = 150
"""Some ten minutes; then only the peers named by the run or the user are still dialled."""
PUNCH_TRIES_S = (0.8, 1.2, 2.0)
"""Each try sends fresh first packets at once, where one long try would wait a second and more between them."""
ASK_S = 3.0
PROBE_S = 1.5
"""After a change of network a connection must answer within this, or is made anew."""
DIAL_BACK_S = 2.0
BACKBONES = 4
"""Backbone peers to which a connection is kept: two tell the kind of NAT, the others are spare."""
COMMON_PEERS = 3
"""Peers asked in turn to arrange a meeting or to relay."""
LONGEST_WAIT_MS = 2000

Nat = Literal["unknown", "none", "cone", "symmetric"]
Kind = Literal["unknown", "reachable", "punchable", "relayed", "dial-out only"]


class Observe(msgspec.Struct, frozen=True):
    """What address do you see me at?"""


class Observed(msgspec.Struct, frozen=True):
    """The asker's address (None through a relay), and what the answerer does for others."""

    address: SocketAddress | None
    backbone: bool
    relays: bool


class DialBack(msgspec.Struct, frozen=True):
    """Dial me, at the address you see, from a port that I have never written to."""


class DialledBack(msgspec.Struct, frozen=True):
    reached: bool


class Punch(msgspec.Struct, frozen=True):
    """Arrange that `target` and I dial each other."""

    target: Peer
    nat: Nat


class Meet(msgspec.Struct, frozen=True):
    """Dial `peer` at `address` after `wait_ms`: it dials you at that moment."""

    peer: Peer
    address: SocketAddress
    wait_ms: Annotated[int, msgspec.Meta(ge=0, le=LONGEST_WAIT_MS)]
    nat: Nat


class Met(msgspec.Struct, frozen=True):
    """Whether the peer will dial."""

    willing: bool


class Meeting(msgspec.Struct, frozen=True):
    """Dial at once at `address`."""

    address: SocketAddress


class Reachability(msgspec.Struct, frozen=True):
    """How others reach this peer, for the user.

    Attributes:
        step: what showed it, in words.
        measured: Unix time.
        outside: addresses that others saw.
    """

    kind: Kind = "unknown"
    step: str = "not measured yet"
    measured: float = 0.0
    nat: Nat = "unknown"
    outside: tuple[str, ...] = ()


def nat_kind(seen: Collection[str], local: Collection[str], port: int) -> Nat:
    """The NAT in front of this PC.

    Args:
        seen: the address of one socket as seen by each observer.
        local: this PC's own addresses.
        port: the local port; one observer alone must judge by whether the router keeps it.
    """
    if not seen:
        return "unknown"
    if set(seen) <= set(local):
        return "none"
    if len(seen) > 1:
        return "cone" if len(set(seen)) == 1 else "symmetric"
    return "cone" if next(iter(seen)).endswith(f":{port}") else "symmetric"


def judge(nat: Nat, dialled_back: bool, punched: PeerId | None, relays: Collection[PeerId]) -> tuple[Kind, str]:
    """How this peer is reached, and what showed it."""
    if dialled_back:
        return "reachable", "a backbone peer dialled back"
    if punched is not None:
        return "punchable", f"met peer {punched.hex()[:8]} by hole punching"
    if nat == "cone":
        return "punchable", "the router shows everybody the same address"
    if nat == "unknown":
        return "unknown", "no backbone peer answered"
    if relays:
        return "relayed", f"peer {min(relays).hex()[:8]} relays"
    return "dial-out only", "nobody can dial this PC and no connected peer relays"


def may_punch(nat: Nat, other: Nat) -> bool:
    """Whether a meeting can work: a symmetric NAT shows the other side a port that nobody knows beforehand."""
    return "symmetric" not in (nat, other) or "none" in (nat, other)


def is_address(text: str) -> bool:
    """Whether `text` is "ip:port" that may be dialled on another's word."""
    host, _, port = text.rpartition(":")
    try:
        ip = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    wrong = ip.is_multicast or ip.is_unspecified or ip.is_reserved or ip.is_link_local
    return not wrong and port.isascii() and port.isdigit() and 0 < int(port) < 65536


class _Rates:
    """A token bucket for each asker, and one for all."""

    def __init__(self, rate: float, burst: float, all_rate: float) -> None:
        self._rate, self._burst = rate, burst
        self._all = TokenBucket(all_rate, all_rate * 10)
        self._buckets: dict[PeerId, TokenBucket] = {}

    def check(self, peer: PeerId) -> None:
        now = time.monotonic()
        bucket = self._buckets.pop(peer, None) or TokenBucket(self._rate, self._burst)
        self._buckets[peer] = bucket
        while len(self._buckets) > limits.FAULTY_PEERS:
            del self._buckets[next(iter(self._buckets))]
        if not (bucket.allows(1.0, now) and self._all.allows(1.0, now)):
            raise CallRefused("Asked too often. Try again in a minute.")


class Reach:
    """Measures and mends how this peer is reached. Use as `async with Reach(node, ...)` inside the node's context.

    Args:
        bootstrap: peers to stay connected with (their addresses learned by the node before).
        backbone: whether this peer has the role backbone: it dials back.
        relays: whether it relays for others.
    """

    def __init__(
        self, node: RpcNode, *, bootstrap: Sequence[PeerId] = (), backbone: bool = False, relays: bool = False
    ) -> None:
        self.node = node
        self.state = Reachability()
        self.relay = Relay(node, willing=relays)
        self._ends = RelayEnds(node, node.identity)
        self._backbone = backbone
        self._bootstrap = list(bootstrap)
        self._helpers: dict[PeerId, Observed] = {}
        self._punched: PeerId | None = None
        self._local: frozenset[str] = frozenset()
        self._measure_now = asyncio.Event()
        self._mending: dict[PeerId, asyncio.Task[None]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._dial_backs = _Rates(rate=0.1, burst=5, all_rate=2)
        self._punches = _Rates(rate=1, burst=20, all_rate=50)
        self._meets = _Rates(rate=5, burst=50, all_rate=20)
        node.register("reach.observe", Observe, self._observe)
        node.register("reach.dialback", DialBack, self._dial_back, cost=10)
        node.register("reach.punch", Punch, self._punch_for, cost=5)
        node.register("reach.meet", Meet, self._meet, cost=5)

    async def __aenter__(self) -> "Reach":
        self.node.connectors += [self._connect_by_punching, self._connect_by_relay]
        self.node.on_connected.append(self._connected)
        for peer in self._bootstrap:
            self.node.keep(peer)
        self._local = frozenset(self.node.endpoint.addresses())
        self._tasks = [
            self.node.start(self._watch(), "reach: watch"),
            self.node.start(self._measure_often(), "reach: measure"),
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        own = (self._connect_by_punching, self._connect_by_relay)
        self.node.connectors[:] = [connector for connector in self.node.connectors if connector not in own]
        self.node.on_connected.remove(self._connected)
        tasks = [*self._tasks, *self._mending.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._ends.close()
        await self.relay.close()

    # --- for the UI

    def path(self, peer: PeerId) -> str:
        """How a connected peer is reached: "direct", "relayed via 1a2b3c4d", or "" if it is not connected."""
        link = self.node.pool.links.get(peer)
        if link is None:
            return ""
        connection = link.connection
        if isinstance(connection, RelayedConnection):
            return f"relayed via {connection.relay.hex()[:8]}"
        return "direct"

    def helpers(self) -> list[PeerId]:
        """Connected backbone peers."""
        return [peer for peer, answer in self._helpers.items() if answer.backbone and peer in self.node.pool.links]

    def measure_soon(self) -> None:
        """Measure again now, not at the next regular time."""
        self._measure_now.set()

    # --- measuring

    async def _measure_often(self) -> None:
        while True:
            try:
                async with asyncio.timeout(MEASURE_S):
                    await self._measure_now.wait()
            except TimeoutError:
                pass
            await asyncio.sleep(0.2)  # several connections made at once are asked together
            self._measure_now.clear()
            await self.measure()

    async def measure(self) -> Reachability:
        """Ask the connected backbone peers, and conclude."""
        peers = [peer for peer in self.node.pool.links if self._is_direct(peer)]
        asked = [peer for peer in peers if peer in self._bootstrap or peer in self._helpers][: 2 * BACKBONES]
        answers = dict(zip(asked, await asyncio.gather(*map(self._ask, asked)), strict=True))
        helpers = {peer: answer for peer, answer in answers.items() if answer is not None and answer.backbone}
        seen = [answer.address for answer in helpers.values() if answer.address is not None]
        local = self.node.endpoint.addresses()
        nat = nat_kind(seen, local, int(self.node.endpoint.sockets[0].rpartition(":")[2]))
        dialled_back = bool(helpers) and await self._asks_to_dial_back(next(iter(helpers)))
        relays = {peer for peer, answer in helpers.items() if answer.relays}
        kind, step = judge(nat, dialled_back, self._punched if nat != "symmetric" else None, relays)
        before = self.state
        self.state = Reachability(kind, step, time.time(), nat, tuple(sorted(set(seen))))
        self.node.external = [] if nat == "symmetric" else sorted(set(seen))
        # Those that relay first: all of them can arrange a meeting.
        self.node.relays = (
            () if kind == "reachable" else tuple(sorted(helpers, key=lambda peer: peer not in relays))[:BACKBONES]
        )
        self.node.dial_only = kind == "dial-out only"
        if before.kind != kind:
            log.info("this PC is %s: %s", kind, step)
        return self.state

    async def _ask(self, peer: PeerId) -> Observed | None:
        try:
            answer, _ = await self.node.call(peer, "reach.observe", Observe(), Observed, deadline_s=ASK_S)
        except HearthError as error:
            log.debug("peer %s did not tell our address: %s", peer.hex()[:8], error)
            self._helpers.pop(peer, None)
            return None
        if answer.backbone or answer.relays or peer in self._bootstrap:
            self._helpers[peer] = answer
            if len(self.helpers()) <= BACKBONES:
                self.node.keep(peer)
            while len(self._helpers) > limits.CONNECTIONS:
                del self._helpers[next(iter(self._helpers))]
        return answer

    async def _asks_to_dial_back(self, peer: PeerId) -> bool:
        try:
            answer, _ = await self.node.call(
                peer, "reach.dialback", DialBack(), DialledBack, deadline_s=DIAL_BACK_S + ASK_S
            )
        except HearthError as error:
            log.debug("peer %s did not dial back: %s", peer.hex()[:8], error)
            return self.state.kind == "reachable"  # asked too often: what was found stands
        return answer.reached

    def _connected(self, peer: PeerId) -> None:
        """A new connection: is it a peer that can help?"""
        if self._is_direct(peer) and len(self.helpers()) < BACKBONES:
            self._start(self._greet(peer), "greet")

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._tasks = [task for task in self._tasks if not task.done()]
        self._tasks.append(self.node.start(work, f"reach: {name}"))

    async def _greet(self, peer: PeerId) -> None:
        answer = await self._ask(peer)
        if answer is not None and answer.backbone:
            self._measure_now.set()

    def _is_direct(self, peer: PeerId) -> bool:
        link = self.node.pool.links.get(peer)
        return link is not None and not isinstance(link.connection, RelayedConnection)

    def _seen(self, peer: PeerId) -> str | None:
        """Where a directly connected peer is seen now."""
        link = self.node.pool.links.get(peer)
        if link is None or isinstance(link.connection, RelayedConnection):
            return None
        return link.connection.path().address or link.address

    async def _observe(self, request: Observe, payload: Payload, context: Context) -> Observed:
        return Observed(self._seen(context.peer), self._backbone, self.relay.willing)

    async def _dial_back(self, request: DialBack, payload: Payload, context: Context) -> DialledBack:
        """Dial only where the asker itself was seen: nobody else can be made a target."""
        address = self._seen(context.peer)
        if not self._backbone or address is None:
            raise CallRefused("This peer does not dial back. Ask a backbone peer.")
        self._dial_backs.check(context.peer)
        prober = await Endpoint.bind(os.urandom(32))
        try:
            connection = await prober.dial(context.peer, [address], DIAL_BACK_S)
            connection.close("dialled back")
            return DialledBack(True)
        except PeerUnreachable:
            return DialledBack(False)
        finally:
            await prober.close()

    # --- hole punching

    def _common(self, peer: PeerId) -> list[PeerId]:
        """Peers that may know `peer`: those it names, then our helpers."""
        known = self.node.pool.book.get(peer)
        named = [PeerId(relay) for relay in known.relays] if known else []
        found = [other for other in dict.fromkeys([*named, *self.helpers(), *self._helpers]) if other != peer]
        return [other for other in found if other != self.node.peer][:COMMON_PEERS]

    async def _ensure(self, peer: PeerId) -> bool:
        """Connect plainly, so that one meeting never waits for another."""
        known = self.node.pool.book.get(peer)
        if peer not in self.node.pool.links and known is not None and known.addresses:
            try:
                await self.node.pool.dial_at(peer, known.addresses, ASK_S)
            except PeerUnreachable:
                return False
        return self._is_direct(peer)

    async def _connect_by_punching(self, peer: PeerId) -> bool:
        for common in self._common(peer):
            if not await self._ensure(common):
                continue
            try:
                meeting, _ = await self.node.call(
                    common, "reach.punch", Punch(peer, self.state.nat), Meeting, deadline_s=ASK_S
                )
            except HearthError as error:
                log.debug("peer %s arranged no meeting: %s", common.hex()[:8], error)
                continue
            if is_address(meeting.address) and await self._dial_repeatedly(peer, meeting.address):
                return True
        return False

    async def _dial_repeatedly(self, peer: PeerId, address: str) -> bool:
        for seconds in PUNCH_TRIES_S:
            try:
                await self.node.pool.dial_at(peer, (address,), seconds)
            except PeerUnreachable:
                if peer not in self.node.pool.links:
                    continue
            if not self._is_direct(peer):
                return False
            self._punched = peer
            if self.state.kind in ("unknown", "punchable"):
                kind, step = judge(self.state.nat, False, peer, ())
                self.state = msgspec.structs.replace(self.state, kind=kind, step=step, measured=time.time())
            return True
        return False

    async def _punch_for(self, request: Punch, payload: Payload, context: Context) -> Meeting:
        """Arrange a meeting of two peers that are connected here."""
        self._punches.check(context.peer)
        target = PeerId(request.target)
        theirs, ours = self._seen(target), self._seen(context.peer)
        if theirs is None or ours is None or theirs.startswith("[") != ours.startswith("["):
            raise CallRefused("This peer is not connected to both over one kind of internet address.")
        # Our answer to the asker takes half its round trip; the target's word came back half of its own before.
        halves = [self.node.pool.links[peer].connection.path().rtt_ms / 2 for peer in (target, context.peer)]
        meet = Meet(context.peer, ours, min(LONGEST_WAIT_MS, int(sum(halves))), request.nat)
        met, _ = await self.node.call(target, "reach.meet", meet, Met, deadline_s=ASK_S)
        if not met.willing:
            raise CallRefused("No hole can be punched between these two routers.")
        return Meeting(theirs)

    async def _meet(self, request: Meet, payload: Payload, context: Context) -> Met:
        self._meets.check(context.peer)
        if not may_punch(self.state.nat, request.nat) or not is_address(request.address):
            return Met(False)
        self._start(self._come(request), "meet")
        return Met(True)

    async def _come(self, request: Meet) -> None:
        await asyncio.sleep(request.wait_ms / 1000)
        await self._dial_repeatedly(PeerId(request.peer), request.address)

    # --- relaying

    async def _connect_by_relay(self, peer: PeerId) -> bool:
        for relay in self._common(peer):
            if not await self._ensure(relay):
                continue
            try:
                await self._ends.connect(peer, relay)
            except HearthError as error:
                log.debug("no relay through %s: %s", relay.hex()[:8], error)
                continue
            return True
        return False

    # --- networks that change, links that are cut

    async def _watch(self) -> None:
        """Notice changes of this PC's addresses and lost peers, and mend them."""
        while True:
            local = frozenset(self.node.endpoint.addresses())
            if local != self._local:
                self._local = local
                log.info("this PC's network changed")
                self._start(self._moved(), "moved")
            self._mend_lost()
            await asyncio.sleep(LOOK_S)

    def _mend_lost(self) -> None:
        for peer in self._wanted() - self.node.pool.links.keys() - self._mending.keys():
            self._mending[peer] = self.node.start(self._mend(peer), "reach: mend")

    def _wanted(self) -> set[PeerId]:
        """Peers to stay connected with."""
        return {*self._bootstrap, *self.node.pool.kept}

    async def _mend(self, peer: PeerId) -> None:
        """Dial until the peer is back; its turn comes again while it is wanted."""
        try:
            for tries in itertools.count():
                if tries >= MEND_TRIES and peer not in self._bootstrap:
                    self.node.keep(peer, False)
                known = self.node.pool.book.get(peer)
                try:
                    if known is not None and known.addresses:
                        await self.node.pool.dial_at(peer, known.addresses, MEND_DIAL_S)
                    if tries % 3 == 0:
                        await self.node.pool.link(peer)  # also by the connectors
                except HearthError as error:
                    log.debug("peer %s is not back: %s", peer.hex()[:8], error)
                if peer in self.node.pool.links or peer not in self._wanted():
                    return
                await asyncio.sleep(MEND_S[min(tries, len(MEND_S) - 1)])
        finally:
            del self._mending[peer]

    async def _moved(self) -> None:
        """After a change of network: replace the connections that did not survive it, and measure again."""
        self._punched = None
        await asyncio.gather(*(self._probe(peer) for peer in self._wanted() & self.node.pool.links.keys()))
        self._mend_lost()
        self._measure_now.set()

    async def _probe(self, peer: PeerId) -> None:
        link = self.node.pool.links.get(peer)
        try:
            await self.node.call(peer, "reach.observe", Observe(), Observed, deadline_s=PROBE_S)
        except HearthError:
            if link is not None and self.node.pool.links.get(peer) is link:
                link.close("the network changed")


def merged(known: PeerAddress | None, peer: PeerId, hints: Sequence[str]) -> PeerAddress:
    """What is known of a peer with further addresses that somebody unproved told: tried too, and never instead."""
    old = known or PeerAddress(peer)
    addresses = dict.fromkeys([*old.addresses, *hints])
    return PeerAddress(peer, tuple(addresses)[: limits.ADDRESSES], old.relays)

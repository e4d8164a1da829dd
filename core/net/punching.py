"""Hole punching: two peers behind NAT dial each other at the same moment, told to by a peer that both know."""

import asyncio
import contextlib
import ipaddress
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

import msgspec

from core.contracts.errors import CallRefused, HearthError, PeerUnreachable
from core.contracts.net import Payload, Peer, SocketAddress
from core.identity import PeerId
from core.net.addresses import host_of
from core.net.limits import Rates
from core.net.method import Context
from core.net.nat import Nat, as_public, is_address, may_punch
from core.net.paths import is_direct, seen_at
from core.net.rpc import RpcNode

log = logging.getLogger(__name__)

TRIES_S = (0.8, 1.2, 2.0)
"""Each try sends fresh first packets at once, where one long try would wait a second and more between them."""
ASK_S = 3.0
LONGEST_WAIT_MS = 2000


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


class Punching:
    """Arranges meetings for others, and comes to those arranged for this peer.

    Args:
        nat: the NAT in front of this PC, as known now.
        common: peers that may know a given one, to be asked in turn.
        met: called with each peer that was met.
        start: runs work in the background.
    """

    def __init__(
        self,
        node: RpcNode,
        *,
        nat: Callable[[], Nat],
        common: Callable[[PeerId], list[PeerId]],
        met: Callable[[PeerId], None],
        start: Callable[[Coroutine[Any, Any, None], str], None],
    ) -> None:
        self.node = node
        self._nat, self._common, self._met, self._start = nat, common, met, start
        self._punches = Rates(rate=1, burst=20, all_rate=50)
        self._meets = Rates(rate=5, burst=50, all_rate=20)
        # Who arranges a meeting names the address: anybody can have packets sent to a third party. A meeting in vain is
        # 10 packets in 4 s, 12.3 KB. So one host gets at most 123 KB at once and then 1.2 KB/s.
        self._targets = Rates(rate=0.1, burst=10, all_rate=20)
        node.register("reach.punch", Punch, self._punch_for, cost=5)
        node.register("reach.meet", Meet, self._meet, cost=5)

    async def connect(self, peer: PeerId) -> bool:
        """A way to reach a peer: see Pool.connectors."""
        for common in self._common(peer):
            if not await ensure(self.node, common):
                continue
            try:
                meeting, _ = await self.node.call(
                    common, "reach.punch", Punch(peer, self._nat()), Meeting, deadline_s=ASK_S
                )
            except HearthError as error:
                log.debug("peer %s arranged no meeting: %s", common.hex()[:8], error)
                continue
            if self._may_dial(meeting.address, common) and await self._dial_repeatedly(peer, meeting.address):
                return True
        return False

    async def _dial_repeatedly(self, peer: PeerId, address: str) -> bool:
        for seconds in TRIES_S:
            with contextlib.suppress(PeerUnreachable):
                await self.node.pool.dial_at(peer, (address,), seconds)
            if is_direct(self.node, peer):
                self._met(peer)
                return True
        return False

    async def _punch_for(self, request: Punch, payload: Payload, context: Context) -> Meeting:
        ration(self._punches, context.peer)
        target = PeerId(request.target)
        theirs, ours = seen_at(self.node, target), seen_at(self.node, context.peer)
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
        ration(self._meets, context.peer)
        if not may_punch(self._nat(), request.nat) or not self._may_dial(request.address, context.peer):
            return Met(False)
        ration(self._targets, ipaddress.ip_address(host_of(request.address)).packed)
        self._start(self._come(request), "meet")
        return Met(True)

    def _may_dial(self, address: str, common: PeerId) -> bool:
        """Whether the peer that arranges a meeting can have seen the other one at this address."""
        seen = seen_at(self.node, common)
        return seen is not None and is_address(address) and as_public(address, seen)

    async def _come(self, request: Meet) -> None:
        await asyncio.sleep(request.wait_ms / 1000)
        await self._dial_repeatedly(PeerId(request.peer), request.address)


def ration(rates: Rates, key: bytes) -> None:
    """Raises:
    CallRefused: this was asked too often by the peer `key`, or for the target `key`.
    """
    if not rates.allows(key, time.monotonic()):
        raise CallRefused("Asked too often. Try again in a minute.")


async def ensure(node: RpcNode, peer: PeerId) -> bool:
    """Connect plainly, so that one meeting never waits for another."""
    if peer not in node.pool.links and (addresses := node.pool.known(peer)):
        try:
            await node.pool.dial_at(peer, addresses, ASK_S)
        except PeerUnreachable:
            return False
    return is_direct(node, peer)

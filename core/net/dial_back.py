"""Whether strangers can dial this PC: a backbone peer that is asked has another one try.

A router that filters by host lets in all that comes from a host to which its PC has written, from any port, and nothing
from others. So the proof is a connection from a host to which this PC has not written lately; who asked sees for itself
from where it came. Where no such backbone peer is left, the one that is asked dials from a fresh port: a weaker proof.
"""

import asyncio
import contextlib
import ipaddress
import itertools
import logging
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Annotated, Any

import msgspec

from core.contracts.errors import CallRefused, HearthError, PeerUnreachable
from core.contracts.net import Payload, Peer, SocketAddress
from core.identity import Identity, PeerId
from core.net.addresses import host_of
from core.net.endpoint import Connection, Endpoint
from core.net.limits import Rates
from core.net.link import Link
from core.net.method import Context
from core.net.nat import DialledBy, as_public, is_address, same_family
from core.net.paths import seen_at
from core.net.punching import ASK_S, ration
from core.net.rpc import RpcNode

log = logging.getLogger(__name__)

ASKED = 2
"""Backbone peers asked in turn: that nobody gets in is only their word, and one may lie or be cut off itself."""
DIAL_S = 2.0
ARRIVAL_S = 5.0
"""The connection may arrive later than the word of it."""
HOLD_S = 6.0
"""For so long the dialled peer can look at the connection; usually it closes it at once."""
KNOWN_HOSTS = 64
"""Hosts named as no strangers. If one that dials is left out here, the asker notices all the same."""


class DialBack(msgspec.Struct, frozen=True):
    """Have a peer dial me at the address that you see, if possible from none of the hosts that I write to."""

    known: Annotated[tuple[SocketAddress, ...], msgspec.Meta(max_length=KNOWN_HOSTS)] = ()


class DialFor(msgspec.Struct, frozen=True):
    """From one backbone peer to another: dial `peer`, which I see at `address` and which asked for it."""

    peer: Peer
    address: SocketAddress


class DialledBack(msgspec.Struct, frozen=True):
    """The key by which the asker was dialled; None: it did not answer."""

    by: Peer | None


class DialBacks:
    """Asks for dial-backs, and dials for others if `backbone`.

    Args:
        helpers: connected backbone peers.
        is_backbone: whether a peer says that it is one.
        start: runs work in the background.
    """

    def __init__(
        self,
        node: RpcNode,
        *,
        backbone: bool,
        helpers: Callable[[], list[PeerId]],
        is_backbone: Callable[[PeerId], Awaitable[bool]],
        start: Callable[[Coroutine[Any, Any, None], str], None],
    ) -> None:
        self._node, self._backbone = node, backbone
        self._helpers, self._is_backbone, self._start = helpers, is_backbone, start
        self._by: DialledBy = "nobody"
        self._at = ""
        self._asked = Rates(rate=0.1, burst=5, all_rate=2)
        # That a peer is a backbone peer is its own word, and so is the address that it names: anybody can have packets
        # sent to a third party. A dial in vain is 4 packets of 1,200 bytes in 2 s, 4.9 KB with their headers. So one
        # target gets at most 15 KB at once and then 82 bytes/s, all of them 49 KB at once and then 4.9 KB/s.
        self._asked_for = Rates(rate=0.2, burst=5, all_rate=10)
        self._targets = Rates(rate=1 / 60, burst=3, all_rate=1)
        node.register("reach.dialback", DialBack, self._dial_back, cost=10)
        node.register("reach.dialfor", DialFor, self._dial_for, cost=10)

    # --- asking

    async def measure(self, seen: Mapping[PeerId, str]) -> DialledBy:
        """Who gets in, as far as can be told.

        Args:
            seen: the address at which each backbone peer sees this PC; they are asked in turn.
        """
        if not seen:
            return "nobody"
        if self._at not in seen.values():
            self._by, self._at = "nobody", next(iter(seen.values()))  # what was found was of another network
        heard = set()
        for peer, address in itertools.islice(seen.items(), ASKED):
            by = await self._ask(peer)
            if by == "stranger":
                self._by, self._at = by, address
                return by
            heard.add(by)
        if "acquaintance" in heard:  # this came to pass, while that nobody got in is another one's word
            if "nobody" in heard or self._by == "nobody":  # alone it says nothing new of who was a stranger before
                self._by = "acquaintance"
        elif "nobody" in heard:
            self._by = "nobody"
        return self._by

    async def _ask(self, peer: PeerId) -> DialledBy | None:
        """Who got in; None: nothing is known, and what was found before stands."""
        pool, asked = self._node.pool, time.monotonic()
        request = DialBack(tuple(pool.hosts()[:KNOWN_HOSTS]))
        deadline_s = 2 * (DIAL_S + ASK_S)  # it waits for another peer, and then dials itself
        try:
            answer, _ = await self._node.call(peer, "reach.dialback", request, DialledBack, deadline_s=deadline_s)
        except HearthError as error:
            log.debug("peer %s did not dial back: %s", peer.hex()[:8], error)
            return None
        if answer.by is None:
            return "nobody"
        link = await self._arrival(PeerId(answer.by))
        if link is None or not link.connection.came_from or link.since < asked:  # dialled here, relayed, or older
            log.debug("peer %s says that this PC was dialled, but nobody came", peer.hex()[:8])
            return None
        known = host_of(link.connection.came_from) in pool.hosts(besides=link)
        link.close("dialled back")
        return "acquaintance" if known else "stranger"

    async def _arrival(self, peer: PeerId) -> Link | None:
        arrived, links = asyncio.Event(), self._node.pool.links

        def notice(_: PeerId) -> None:
            arrived.set()

        self._node.on_connected.append(notice)
        try:
            async with asyncio.timeout(ARRIVAL_S):
                while peer not in links:
                    await arrived.wait()
                    arrived.clear()
        except TimeoutError:
            return None
        finally:
            self._node.on_connected.remove(notice)
        return links[peer]

    # --- dialling for others

    async def _dial_back(self, request: DialBack, payload: Payload, context: Context) -> DialledBack:
        """Have the asker dialled where it is seen: nobody else can be made a target."""
        address = seen_at(self._node, context.peer)
        if not self._backbone or address is None:
            raise CallRefused("This peer does not dial back. Ask a backbone peer.")
        ration(self._asked, context.peer)
        strangers = self._strangers(address, request.known)
        if strangers:
            ask = DialFor(context.peer, address)
            try:
                answer, _ = await self._node.call(
                    random.choice(strangers), "reach.dialfor", ask, DialledBack, deadline_s=DIAL_S + ASK_S
                )
                return answer
            except HearthError as error:
                log.debug("nobody else dials for this peer: %s", error)
        return await self._dial(context.peer, address)

    def _strangers(self, address: str, known: tuple[str, ...]) -> list[PeerId]:
        """Backbone peers on other hosts than this one, the asker's and those that it knows."""
        near = {*known, *map(host_of, [address, *self._node.endpoint.addresses()])}
        found = {peer: seen for peer in self._helpers() if (seen := seen_at(self._node, peer)) is not None}
        return [peer for peer, seen in found.items() if host_of(seen) not in near and as_public(seen, address)]

    async def _dial_for(self, request: DialFor, payload: Payload, context: Context) -> DialledBack:
        asker = seen_at(self._node, context.peer)
        if not self._backbone or asker is None:
            raise CallRefused("This peer dials for no other. Ask a backbone peer.")
        if not is_address(request.address) or not as_public(request.address, asker):
            raise CallRefused("This address is not dialled for another. Name one on the internet.")
        if not any(same_family(request.address, own) for own in self._node.endpoint.addresses()):
            raise CallRefused("This peer has no address of that family. Ask another one.")
        ration(self._asked_for, context.peer)
        if not await self._is_backbone(context.peer):
            raise CallRefused("Only backbone peers may ask for this. Ask one to dial back.")
        ration(self._targets, ipaddress.ip_address(host_of(request.address)).packed)
        return await self._dial(PeerId(request.peer), request.address)

    async def _dial(self, peer: PeerId, address: str) -> DialledBack:
        """Dial from a port to which the peer has never written."""
        identity = Identity.generate()
        prober = await Endpoint.bind(identity.seed)
        try:
            connection = await prober.dial(peer, [address], DIAL_S)
        except BaseException as error:
            await prober.close()
            if isinstance(error, PeerUnreachable):
                return DialledBack(None)
            raise
        self._start(_hold(prober, connection), "dialled back")
        return DialledBack(identity.peer)


async def _hold(prober: Endpoint, connection: Connection) -> None:
    """Keep a connection until the other side has looked at it."""
    try:
        with contextlib.suppress(PeerUnreachable, TimeoutError):
            async with asyncio.timeout(HOLD_S):
                while True:
                    await connection.accept()
    finally:
        await prober.close()

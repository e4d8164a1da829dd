"""The pool of connections: dialled on demand, one a pair of peers, bounded, and looked after."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable

from core.contracts.errors import NetworkError, PeerUnreachable
from core.contracts.net import PeerAddress, Ping
from core.contracts.notices import notice
from core.identity import PeerId
from core.net import limits
from core.net.addresses import host_of, is_near
from core.net.crowds import Crowds, branch_of, network_of, voter_of
from core.net.endpoint import Connection, Endpoint, Incoming
from core.net.limits import Backoff, Bans, Newest, Rates
from core.net.link import Link
from core.net.link_owner import Owner
from core.net.shares import Branch, Shares

log = logging.getLogger(__name__)

Connector = Callable[[PeerId], Awaitable[bool]]


class Pool:
    """Links by peer, the address book, and the dials under way.

    Attributes:
        links: the one link in use with each peer.
        kept: peers whose link is never closed for idleness and always asked for signs of life.
        connectors: ways to connect that are tried in turn when dialling fails (hole punching, relaying).
        is_stranger: whether a peer is none of those with whom this PC works: they make room where there are too many.
        closed_because: why nobody is dialled or let in now; "" usually.
    """

    def __init__(self, endpoint: Endpoint, me: PeerId, owner: Owner[Link], bans: Bans) -> None:
        self.endpoint = endpoint
        self.links: dict[PeerId, Link] = {}
        self.kept: set[PeerId] = set()
        self.connectors: list[Connector] = []
        self.on_connected: list[Callable[[PeerId], None]] = []
        self.on_disconnected: list[Callable[[PeerId], None]] = []
        self.book = Newest[PeerId, PeerAddress](limits.ADDRESS_BOOK)
        self.is_stranger: Callable[[PeerId], bool] = lambda _: False
        self.closed_because = ""
        self._me = me
        self._owner = owner
        self._bans = bans
        self._retired: set[Link] = set()
        self._in_doubt: set[Link] = set()
        """Pairs of one peer's of which one may be dead: both are kept until it is known."""
        self._dials: dict[PeerId, asyncio.Task[None]] = {}
        self._backoffs = Newest[PeerId, Backoff](limits.FAULTY_PEERS)
        self._handshakes: dict[asyncio.Task[None], Branch] = {}
        """Under way, the oldest first."""
        self._crowds = Crowds()
        self._written = Newest[str, float](limits.ADDRESS_BOOK)
        self._tried = Rates(limits.TRIES_PER_S, limits.TRY_BURST)
        """Networks to which this PC wrote where it knows nobody."""

    # --- addresses

    def learn(self, address: PeerAddress) -> None:
        """Note where a peer may be dialled; the newest word replaces the older."""
        peer = PeerId(address.peer)
        if peer == self._me:
            return
        old = self.book.get(peer)
        self.book[peer] = address
        if old is None or old.addresses != address.addresses:
            self._backoffs.pop(peer, None)

    def hosts(self, besides: Link | None = None) -> list[str]:
        """Hosts to which this PC wrote lately, other than over `besides`: its router may let them in for that.

        Those of open links come first, then the newest.
        """
        since = time.monotonic() - limits.FORGOTTEN_S
        links = [link for link in (*self.links.values(), *self._retired) if link is not besides]
        open_to = [host_of(address) for link in links for address in _addresses(link)]
        written = [host for host, at in reversed(self._written.items()) if at >= since]
        return list(dict.fromkeys([*open_to, *written]))

    def _writes(self, addresses: Iterable[str]) -> None:
        for host in map(host_of, addresses):
            self._written[host] = time.monotonic()

    # --- dialling

    async def link(self, peer: PeerId) -> Link:
        """The link with a peer, made if there is none. Several callers share one dial.

        Raises:
            PeerUnreachable: no address is known, or none of them and no connector works.
        """
        link = self.links.get(peer)
        if link is not None:
            return link
        if peer == self._me:
            raise PeerUnreachable(notice("peer.itself"))
        if self.closed_because:
            raise PeerUnreachable(self.closed_because)
        dial = self._dials.get(peer)
        if dial is None or dial.done():  # one that was cancelled before it began is still noted
            now = time.monotonic()
            if (banned := self._bans.banned(peer, now)) > 0:
                raise PeerUnreachable(notice("peer.banned_for", peer=peer.hex(), left=banned))
            backoff = self._backoffs.get(peer)
            if backoff is not None and (wait := backoff.wait_s(now)) > 0:
                raise PeerUnreachable(notice("peer.next_try", peer=peer.hex(), wait=wait))
            dial = self._dials[peer] = self._owner.start(self._dial(peer), "dial")
        await asyncio.wait([dial])
        link = self.links.get(peer)
        if link is None:
            raise PeerUnreachable(notice("peer.unreachable", peer=peer.hex()))
        return link

    async def _dial(self, peer: PeerId) -> None:
        """Dial; if that does not work soon, try the connectors. The link, if any, is in `links` afterwards."""
        plain = self._owner.start(self._dial_known(peer), "plain dial")
        try:
            await asyncio.wait([plain], timeout=limits.HEAD_START_S)
            for connector in list(self.connectors):
                if peer in self.links:
                    return
                try:
                    await connector(peer)
                except NetworkError as error:
                    log.info("connecting to peer %s: %s", peer.hex()[:8], error)
            if peer not in self.links:
                await asyncio.wait([plain])
        finally:
            plain.cancel()
            del self._dials[peer]
            if peer not in self.links:
                self._failed(peer)

    async def _dial_known(self, peer: PeerId) -> None:
        if addresses := self.known(peer):
            self._writes(addresses)
            with contextlib.suppress(PeerUnreachable):
                self.adopt(await self.endpoint.dial(peer, addresses))

    def known(self, peer: PeerId) -> tuple[str, ...]:
        """Where a peer may be dialled now, as somebody has told: it may be a third party that others are to flood."""
        book, now = self.book.get(peer), time.monotonic()
        here = {host_of(link.seen_at() or "") for link in self.links.values()}
        return tuple(
            address
            for address in (book.addresses if book else ())
            if (host := host_of(address)) in here
            or is_near(host)
            or self._tried.allows(network_of(address).encode(), now)
        )

    def voter(self, peer: PeerId) -> bytes:
        """Who has the vote of a peer: see `core.net.crowds.voter_of`; the peer, if there is no connection to it.

        Args:
            peer: its key.
        """
        link = self.links.get(peer)
        return voter_of(link.branch) if link else peer

    def _failed(self, peer: PeerId) -> None:
        backoff = self._backoffs[peer] = self._backoffs.get(peer) or Backoff()
        backoff.failed(time.monotonic())

    async def dial_at(self, peer: PeerId, addresses: tuple[str, ...], deadline_s: float) -> Link:
        """Dial a peer at given addresses now, whatever the address book and the back-off say (for hole punching).

        Raises:
            PeerUnreachable: it did not answer, or nobody may be dialled now.
        """
        if self.closed_because:
            raise PeerUnreachable(self.closed_because)
        if (link := self.links.get(peer)) is not None and not link.connection.relay:
            return link
        self._writes(addresses)
        return self.adopt(await self.endpoint.dial(peer, addresses, deadline_s))

    # --- accepting

    async def accept(self) -> None:
        """Accept for as long as the endpoint lives."""
        while (incoming := await self.endpoint.accept()) is not None:
            network = network_of(await incoming.address())
            if self.closed_because or not await self._lets_begin(incoming, network):
                continue
            if len(self._handshakes) >= limits.HANDSHAKES:  # the oldest goes: an honest one is over in a moment
                self._oldest_of_most().cancel()
            shaking = self._owner.start(self._shake_hands(incoming), "handshake")
            self._handshakes[shaking] = branch_of(network)
            shaking.add_done_callback(lambda task: self._handshakes.pop(task, None))

    async def _lets_begin(self, incoming: Incoming, network: str) -> bool:
        """Whether to shake hands. An address that may be false is asked to prove itself where there is a crowd."""
        proved, few = await incoming.is_validated(), len(self._handshakes) < limits.HANDSHAKES // 4
        if (proved or few) and self._crowds.admits(network, len(self._strangers(network)), proved):
            return True
        await (incoming.refuse() if proved else incoming.ask_again())
        return False

    def _oldest_of_most(self) -> asyncio.Task[None]:
        """The handshake that gives way: the oldest from where most come."""
        most = Shares(self._handshakes.values()).greatest(self._handshakes.values())
        return next(task for task, branch in self._handshakes.items() if branch == most)

    async def _shake_hands(self, incoming: Incoming) -> None:
        with contextlib.suppress(PeerUnreachable, TimeoutError):
            async with asyncio.timeout(limits.HANDSHAKE_S):
                connection = await incoming.accept()
            self.adopt(connection)

    # --- one link a pair

    def adopt(self, connection: Connection) -> Link:
        """Take a new connection into use, and settle which one stays if there is one already.

        Raises:
            PeerUnreachable: the peer is banned, or the pool is full of connections in use.
        """
        peer = connection.peer
        if self.closed_because:  # meanwhile
            connection.close("the peer leaves")
            raise PeerUnreachable(self.closed_because)
        if self._bans.banned(peer, time.monotonic()) > 0:
            connection.close("banned")
            raise PeerUnreachable(notice("peer.banned", peer=peer.hex()))
        old = self.links.get(peer)
        if old is None and not self._make_room():
            connection.close("busy")
            raise PeerUnreachable(notice("peer.no_room"))
        link = Link(connection, self._owner, connection.path().address)
        self._crowds.join(link)
        strangers = [] if link.outgoing or not self.is_stranger(peer) else self._strangers(link.network)
        if len(strangers) >= limits.CROWD:
            min(strangers, key=lambda link: link.used).close("room for others")
        if old is not None:
            if old not in self._in_doubt:
                self._owner.start(self._doubt(old, link), "whether the older of two connections lives")
            if self._stays(old, connection):
                self._retire(link)
                return old
            self._retire(old)
        self.links[peer] = link
        if old is None:
            for callback in list(self.on_connected):
                callback(peer)
        return link

    def _stays(self, old: Link, new: Connection) -> bool:
        """Of two connections dialled at the same time by both sides, both keep that of the lower key.

        An older one is replaced: the peer would not dial if it still had it. A direct one replaces a relayed one.
        """
        if bool(old.connection.relay) != bool(new.relay):
            return not old.connection.relay
        if time.monotonic() - old.since > limits.DIAL_S or old.outgoing == new.outgoing:
            return False
        return old.outgoing == (self._me < new.peer)

    async def _doubt(self, old: Link, new: Link) -> None:
        """Find out whether a peer has another connection because it has started anew. Then the old one is silent, and
        calls wait there in vain."""
        self._in_doubt |= {old, new}
        await asyncio.sleep(limits.LIFE_LOOK_S)  # beyond the tick of the clock in which the new one was made
        asked = time.monotonic()
        await self._life([old, new], lambda: old.heard >= asked or bool(old.closed_because or new.closed_because))
        self._in_doubt -= {old, new}
        if old.heard < asked <= new.heard and new.closed_because is None and old.closed_because is None:
            if self.links.get(old.peer) is old:
                self._retired.discard(new)
                self.links[old.peer] = new
            old.close("the peer has started anew")

    def _retire(self, link: Link) -> None:
        link.used = time.monotonic()
        self._retired.add(link)
        those = sorted((one for one in self._retired if one.peer == link.peer), key=lambda one: one.since)
        for old in those[: -limits.RETIRED]:
            old.close("replaced")

    def _strangers(self, network: str) -> list[Link]:
        """Of one network, that have dialled and are connected."""
        links = (link for link in self.links.values() if link.network == network and not link.outgoing)
        return [link for link in links if self.is_stranger(link.peer)]

    def is_acquainted(self, peer: PeerId) -> bool:
        """Whether a peer has been connected for so long that its key is not one of a crowd made for the moment."""
        link = self.links.get(peer)
        return link is not None and time.monotonic() - link.since > limits.ACQUAINTED_S

    def _make_room(self) -> bool:
        if len(self.links) < limits.CONNECTIONS:
            return True
        free = [link for link in self.links.values() if not link.busy and link.peer not in self.kept]
        if not free:
            return False
        shares = Shares(link.branch for link in self.links.values())
        strangers = [link for link in free if self.is_stranger(link.peer)]
        most = shares.greatest(link.branch for link in strangers or free)
        those = [link for link in strangers or free if link.branch[:-1] == most[:-1]]
        min(those, key=lambda link: link.used).close("room for others")
        return True

    def lost(self, link: Link) -> None:
        """A link closed."""
        self._retired.discard(link)
        self._writes(_addresses(link))
        if self.links.get(link.peer) is link:
            del self.links[link.peer]
            if link.outgoing and link.ended_by_peer and link.heard == link.since:
                self._failed(link.peer)  # it took us in only to send us away
            else:
                self._backoffs.pop(link.peer, None)
            for callback in list(self.on_disconnected):
                callback(link.peer)

    def close(self, reason: str) -> None:
        """Close every link and stop dialling."""
        for dial in [*self._dials.values()]:
            dial.cancel()
        for link in [*self.links.values(), *self._retired]:
            link.close(reason)

    # --- looking after

    async def living(self, peers: Collection[PeerId]) -> set[PeerId]:
        """Those of some peers that are connected and give a sign of life when they are asked for one.

        Args:
            peers: who is asked.
        """
        asked = time.monotonic()
        links = [link for peer in peers if (link := self.links.get(peer)) is not None]
        await self._life(links, lambda: all(link.heard >= asked for link in links))
        return {link.peer for link in links if link.heard >= asked and link.closed_because is None}

    async def _life(self, links: Collection[Link], is_known: Callable[[], bool]) -> None:
        """Ask for signs of life, and wait until enough is known or there was time for them to come and be read."""
        asked, looks = time.monotonic(), 0
        for link in links:
            link.post(Ping())
        while not is_known() and (looks < limits.LIFE_LOOKS or time.monotonic() - asked < limits.DOUBT_S):
            await asyncio.sleep(limits.LIFE_LOOK_S)
            looks += 1

    async def tend(self) -> None:
        """Once a second: pings, idle time-outs, and links that have been replaced."""
        while True:
            await asyncio.sleep(1.0)
            now = time.monotonic()
            for link in [*self.links.values(), *self._retired]:
                try:
                    self._look_after(link, now)
                except Exception:
                    log.exception("a connection to peer %s failed here", link.peer.hex()[:8])
                    link.close("a fault of this PC")

    def _look_after(self, link: Link, now: float) -> None:
        if link in self._retired:
            link.tend(now, False)
            if link not in self._in_doubt and now - link.used > (limits.IDLE_S if link.busy else limits.RETIRED_S):
                link.close("replaced")
            return
        link.tend(now, link.peer in self.kept)
        if not link.busy and now - link.used > limits.IDLE_S and link.peer not in self.kept:
            link.close("idle")


def _addresses(link: Link) -> list[str]:
    """Where the peer was seen: a connection moves to another address of it when that serves better."""
    return [address for address in (link.connection.came_from, link.address, link.connection.path().address) if address]

"""Peers on the same LAN find each other by mDNS (DNS-SD, RFC 6763), with no configuration.

What the LAN says is a hint where to dial and nothing more: whoever answers there must prove its key, as everywhere.
"""

import asyncio
import ipaddress
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec
from zeroconf import Error as ZeroconfError
from zeroconf import IPVersion, NonUniqueNameException, ServiceStateChange, Zeroconf
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from core.contracts.errors import HearthError, IdentityError, NetworkError
from core.contracts.net import PeerAddress
from core.contracts.network_status import MOST_FOUND, FoundRun
from core.contracts.notices import notice
from core.contracts.run_link import MOST_PEERS, RunLink
from core.identity import PeerId, parse_peer, peer_text
from core.net import limits
from core.net.addresses import host_of
from core.net.background import Background
from core.net.rpc import RpcNode

log = logging.getLogger(__name__)

SERVICE = "_hearth._udp.local."
OFFER = "run"
"""With a number, the name of an entry about a signed run: its id and its organiser's key, as in a link."""
ASK_MS = 3000
HINTS = 64
"""Peers of one LAN that are listened to: a class room full. A flood of invented ones ends here."""
RUNS_LENGTH = 240
"""Characters of all run ids in one announcement: an entry of DNS-SD has at most 255 bytes (RFC 6763)."""
OFFERING = 16
"""Peers of one LAN whose runs are offered to the user: more would be read by nobody."""
OFFERS = 8
"""Runs that one peer offers: an entry for each."""
ADDRESSES = 4
"""Addresses taken from one announcement."""


class Hint(NamedTuple):
    """What the LAN says of a peer; nothing of it is proved."""

    peer: PeerId
    runs: frozenset[str]
    """Their ids."""
    addresses: tuple[str, ...]
    offers: tuple[RunLink, ...] = ()
    """To runs that it says it has joined, and somebody has signed."""


def read_hint(info: AsyncServiceInfo) -> Hint | None:
    """What an announcement says, or None if it is not one of ours."""
    properties = info.decoded_properties
    try:
        peer = parse_peer(properties.get("peer") or "")
    except IdentityError:
        return None
    runs, port = properties.get("runs") or "", info.port or 0
    if len(runs) > RUNS_LENGTH or not 0 < port < 65536:
        return None
    addresses = [address for address in info.ip_addresses_by_version(IPVersion.All) if _is_of_a_lan(address)]
    found = [f"[{ip.compressed}]:{port}" if ip.version == 6 else f"{ip.compressed}:{port}" for ip in addresses]
    if not found:
        return None
    at = f"{peer_text(peer)}@{','.join(found[:ADDRESSES])}"
    links = (_link(properties.get(f"{OFFER}{number}") or "", at) for number in range(OFFERS))
    return Hint(peer, frozenset(runs.split(",")), tuple(found[:ADDRESSES]), tuple(filter(None, links)))


def _link(offer: str, peer: str) -> RunLink | None:
    """The link that an entry such as RUN_ID/ORGANISER makes with the peer that says it; None: it makes none."""
    run_id, _, organiser = offer.partition("/")
    try:
        return msgspec.convert({"run_id": run_id, "organiser": organiser, "peers": [peer]}, RunLink)
    except msgspec.ValidationError:
        return None


class Lan:
    """Announces this peer on the LAN and dials those that share a run with it. Use as `async with Lan(node, runs)`."""

    def __init__(self, node: RpcNode, runs: Mapping[str, str | None]) -> None:
        """
        Args:
            node: this PC's connections.
            runs: ids of its runs, each with its organiser's key if somebody has signed it. Those that one announcement
                has no room for are found all the same, if one of the others is shared.
        """
        self.hints: dict[PeerId, Hint] = {}
        self.offering: dict[str, Hint] = {}
        """By the names under which they are announced, peers with signed runs that this PC has not joined."""
        self._node, self._runs = node, dict(runs)
        self._looking = Background()

    async def __aenter__(self) -> "Lan":
        """Begin.

        Raises:
            NetworkError: this PC has no network for it.
        """
        try:
            self._zeroconf = AsyncZeroconf()
        except (OSError, RuntimeError) as error:
            raise NetworkError(notice("lan.not_looked", why=str(error))) from error
        try:
            await self._zeroconf.async_register_service(self._announcement(), cooperating_responders=True)
        except (OSError, ZeroconfError, NonUniqueNameException) as error:
            await self._zeroconf.async_close()
            raise NetworkError(notice("lan.not_announced", why=str(error))) from error
        except asyncio.CancelledError:
            await self._zeroconf.async_close()
            raise
        self._browser = AsyncServiceBrowser(self._zeroconf.zeroconf, SERVICE, handlers=[self._changed])
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._looking.close()
        await self._browser.async_cancel()
        await self._zeroconf.async_unregister_all_services()
        await self._zeroconf.async_close()

    def found(self) -> list[FoundRun]:
        """Signed runs that others here have joined and this PC has not, as far as these say."""
        links: dict[tuple[str, str], list[RunLink]] = {}
        for hint in self.offering.values():
            for link in hint.offers:
                links.setdefault((link.run_id, link.organiser), []).append(link)
        found = []
        for (run_id, organiser), same in sorted(links.items())[:MOST_FOUND]:
            peers = tuple(link.peers[0] for link in same[:MOST_PEERS])
            found.append(FoundRun(run_id, organiser, len(same), str(RunLink(run_id, organiser, peers))))
        return found

    def _announcement(self) -> AsyncServiceInfo:
        port = int(self._node.endpoint.sockets[0].rpartition(":")[2])
        found = dict.fromkeys(map(host_of, self._node.endpoint.addresses()))
        hosts = [host for host in found if _is_of_a_lan(ipaddress.ip_address(host))]
        name = peer_text(self._node.peer)
        return AsyncServiceInfo(
            SERVICE,
            f"{name[:32]}.{SERVICE}",
            parsed_addresses=hosts,
            port=port,
            properties={"peer": name, "runs": _joined(self._runs), **self._offers()},
            server=f"hearth-{name[:16]}.local.",
        )

    def _offers(self) -> dict[str, str]:
        signed = [f"{run}/{organiser}" for run, organiser in sorted(self._runs.items()) if organiser]
        return {f"{OFFER}{number}": one for number, one in enumerate(signed[:OFFERS])}

    def _changed(self, zeroconf: Zeroconf, service_type: str, name: str, state_change: ServiceStateChange) -> None:
        if state_change is ServiceStateChange.Removed:
            self.offering.pop(name, None)
        elif len(self._looking) < HINTS:
            self._looking.start(self._look(zeroconf, name), "lan: look")

    async def _look(self, zeroconf: Zeroconf, name: str) -> None:
        info = AsyncServiceInfo(SERVICE, name)
        if not await info.async_request(zeroconf, ASK_MS):
            return
        hint = read_hint(info)
        if hint is None or hint.peer == self._node.peer:
            return
        self._note_offers(name, hint)
        if not hint.runs & self._runs.keys():
            return
        if self.hints.get(hint.peer) == hint or (hint.peer not in self.hints and len(self.hints) >= HINTS):
            return
        self.hints[hint.peer] = hint
        log.info("peer %s is on this LAN", hint.peer.hex()[:8])
        self._node.learn(merged(self._node.pool.book.get(hint.peer), hint.peer, hint.addresses))
        try:
            await self._node.pool.link(hint.peer)
        except HearthError as error:
            log.info("it cannot be reached, though: %s", error)

    def _note_offers(self, name: str, hint: Hint) -> None:
        """What the user may be shown: nobody is dialled for it before the user wants that."""
        new = tuple(link for link in hint.offers if link.run_id not in self._runs)
        if new and (name in self.offering or len(self.offering) < OFFERING):
            self.offering[name] = hint._replace(offers=new)
        elif not new:
            self.offering.pop(name, None)


def _joined(runs: Collection[str]) -> str:
    """As many run ids as one announcement takes."""
    text = ""
    for run in sorted(runs):
        longer = f"{text},{run}" if text else run
        text = longer if len(longer) <= RUNS_LENGTH else text
    return text


def _is_of_a_lan(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether neighbours may dial it. Link-local IPv6 would need the name of each PC's own interface."""
    wrong = address.is_loopback or address.is_multicast or address.is_unspecified or address.is_reserved
    return not wrong and not (address.version == 6 and address.is_link_local)


def merged(known: PeerAddress | None, peer: PeerId, hints: Sequence[str]) -> PeerAddress:
    """What is known of a peer with further addresses that somebody unproved told: tried too, and never instead."""
    old = known or PeerAddress(peer)
    addresses = dict.fromkeys([*old.addresses, *hints])
    return PeerAddress(peer, tuple(addresses)[: limits.ADDRESSES], old.relays)

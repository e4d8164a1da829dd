"""Peers that this PC is connected to: what it can tell of each, and connecting to one that the user names."""

import time
from collections.abc import Mapping

from core.contracts.credit import Named
from core.contracts.errors import NetworkError
from core.contracts.net import PeerAddress
from core.contracts.network_status import PeerReach, PeerStatus
from core.contracts.notices import notice
from core.identity import PeerId, peer_text
from core.net.addresses import check_socket, parse_address
from core.net.link import Link
from core.net.rpc import RpcNode


def peer_status(node: RpcNode, link: Link, names: Mapping[str, Named]) -> PeerStatus:
    """The figures of a peer.

    Args:
        node: this PC's connections.
        link: the one with that peer.
        names: how peers wish to be called, by their keys.
    """
    path, faults = link.connection.path(), node.bans.score(link.peer, time.monotonic())
    received, sent = link.lanes.over_tcp.on_the_wire()
    peer = peer_text(link.peer)
    return PeerStatus(
        peer,
        link.path,
        link.seen_at() or "",
        path.rtt_ms,
        path.bytes_in + received,
        path.bytes_out + sent,
        link.since_unix,
        faults,
        _reach_of(node, link.peer),
        names[peer].name if peer in names else "",
    )


def _reach_of(node: RpcNode, peer: PeerId) -> PeerReach:
    address = node.pool.book.get(peer)
    if address is None:
        return "unknown"
    return "reachable" if address.addresses else "relayed" if address.relays else "dials out only"


async def meet(node: RpcNode, address: str) -> PeerAddress:
    """Connect to a peer that the user names.

    Args:
        node: this PC's connections.
        address: as `hearth address` prints it.

    Returns:
        The same, read.

    Raises:
        IdentityError: no peer's name.
        SettingsError: no address behind it.
        NetworkError: it has no address or is this PC's own, or nobody with this key answered there.
    """
    named = parse_address(address)
    for socket in named.addresses:
        check_socket(socket)
    peer = PeerId(named.peer)
    if peer == node.peer:
        raise NetworkError(notice("peer.itself"))
    if not named.addresses and peer not in node.pool.links:
        raise NetworkError(notice("peer.no_address", peer=peer.hex()))
    node.learn(named)
    await node.pool.link(peer)
    return named

"""What this PC can tell of a peer that it is connected to."""

import time
from collections.abc import Mapping

from core.contracts.credit import Named
from core.contracts.network_status import PeerReach, PeerStatus
from core.identity import PeerId, peer_text
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

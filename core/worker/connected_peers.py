"""What this PC can tell of a peer that it is connected to."""

import time

from core.contracts.network_status import PeerReach, PeerStatus
from core.identity import PeerId, peer_text
from core.net.link import Link
from core.net.rpc import RpcNode


def peer_status(node: RpcNode, link: Link) -> PeerStatus:
    """The figures of a peer.

    Args:
        node: this PC's connections.
        link: the one with that peer.
    """
    path, faults = link.connection.path(), node.bans.score(link.peer, time.monotonic())
    received, sent = link.lanes.over_tcp.on_the_wire()
    return PeerStatus(
        peer_text(link.peer),
        link.path,
        link.seen_at() or "",
        path.rtt_ms,
        path.bytes_in + received,
        path.bytes_out + sent,
        link.since_unix,
        faults,
        _reach_of(node, link.peer),
    )


def _reach_of(node: RpcNode, peer: PeerId) -> PeerReach:
    address = node.pool.book.get(peer)
    if address is None:
        return "unknown"
    return "reachable" if address.addresses else "relayed" if address.relays else "dials out only"

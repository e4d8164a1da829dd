"""Which peers are connected without a relay, and where they are seen."""

from core.identity import PeerId
from core.net.rpc import RpcNode


def is_direct(node: RpcNode, peer: PeerId) -> bool:
    """Whether the peer is connected, and not through a relay."""
    link = node.pool.links.get(peer)
    return link is not None and not link.connection.relay


def seen_at(node: RpcNode, peer: PeerId) -> str | None:
    """Where a directly connected peer is seen now."""
    link = node.pool.links.get(peer)
    return link.seen_at() if link is not None and not link.connection.relay else None

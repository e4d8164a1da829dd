"""How connected peers are reached now."""

from core.identity import PeerId
from core.net.relayed import RelayedConnection
from core.net.rpc import RpcNode


def path_text(node: RpcNode, peer: PeerId) -> str:
    """How a connected peer is reached: "direct", "relayed via 1a2b3c4d", or "" if it is not connected."""
    link = node.pool.links.get(peer)
    if link is None:
        return ""
    connection = link.connection
    if isinstance(connection, RelayedConnection):
        return f"relayed via {connection.relay.hex()[:8]}"
    return "direct"


def is_direct(node: RpcNode, peer: PeerId) -> bool:
    """Whether the peer is connected, and not through a relay."""
    link = node.pool.links.get(peer)
    return link is not None and not isinstance(link.connection, RelayedConnection)


def seen_at(node: RpcNode, peer: PeerId) -> str | None:
    """Where a directly connected peer is seen now."""
    link = node.pool.links.get(peer)
    if link is None or isinstance(link.connection, RelayedConnection):
        return None
    return link.connection.path().address or link.address

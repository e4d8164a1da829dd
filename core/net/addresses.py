"""Addresses of peers as people write them."""

from core.identity import PeerId, parse_peer
from core.net.messages import PeerAddress


def address_text(address: PeerAddress) -> str:
    """PEER@ADDRESS,ADDRESS as `--bootstrap` takes it."""
    return f"{PeerId(address.peer).hex()}@{','.join(address.addresses)}" if address.addresses else address.peer.hex()


def parse_address(text: str) -> PeerAddress:
    """PEER or PEER@ADDRESS,ADDRESS.

    Raises:
        IdentityError: no peer's name.
    """
    peer, _, addresses = text.strip().partition("@")
    return PeerAddress(parse_peer(peer), tuple(part for part in addresses.split(",") if part)[:8])

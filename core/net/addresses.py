"""Addresses as text, of peers and of sockets."""

import ipaddress

from core.contracts.errors import SettingsError
from core.contracts.net import PeerAddress
from core.contracts.notices import notice
from core.identity import PeerId, parse_peer


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


def check_socket(text: str) -> str:
    """The same text, if it is "ip:port" or "[v6]:port".

    Raises:
        SettingsError: it is not.
    """
    host, _, port = text.rpartition(":")
    try:
        version = ipaddress.ip_address(host.strip("[]")).version
        if (version == 6) == host.startswith("[") and port.isascii() and port.isdigit() and int(port) < 1 << 16:
            return text
    except ValueError:
        pass
    raise SettingsError(notice("network.no_address", text=repr(text[:80])))


def host_of(address: str) -> str:
    """The host of "ip:port" or "[v6]:port"."""
    return address.rpartition(":")[0].strip("[]")

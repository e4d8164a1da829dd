"""Addresses as text, of peers and of sockets."""

import contextlib
import functools
import ipaddress
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

import psutil

from core.contracts.errors import IdentityError, SettingsError
from core.contracts.net import PeerAddress
from core.contracts.notices import notice
from core.identity import PeerId, parse_peer

LOOK_S = 5.0
NEAR = [
    ipaddress.ip_network(net)
    for net in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "::1/128", "fc00::/7")
]
"""Addresses of one PC, and those that no router passes on to the internet."""


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


def known_addresses(texts: Iterable[str]) -> Iterator[PeerAddress]:
    """Where peers may be dialled that a manifest or a link names; what is no peer's name is passed over.

    Args:
        texts: as `parse_address` takes them.
    """
    for text in texts:
        with contextlib.suppress(IdentityError):
            yield parse_address(text)


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


def is_near(host: str) -> bool:
    """Whether a host is this PC or in its local network."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:  # an IPv6 address with the name of an interface
        return False
    return any(address in net for net in NEAR if net.version == address.version)


def in_local_network(host: str, own: Callable[[], Iterable[str]]) -> bool:
    """Whether a host is near, this PC by an address of the internet, or an IPv6 host beside it: there all have such.

    Args:
        host: an address.
        own: gives this PC's own.
    """
    if is_near(host) or host.startswith("fe80:"):
        return True
    mine = set(own()) if host else set()
    return host in mine or (":" in host and _network(host) in map(_network, mine))


_last = deque([frozenset[str]()], maxlen=1)
"""The addresses of this PC's interfaces, as far as they could be read."""


def of_interfaces() -> Iterable[str]:
    """The addresses of this PC's interfaces, as of some seconds ago at most: every connection asks once a second."""
    return _of_interfaces(int(time.monotonic() / LOOK_S))


@functools.lru_cache(maxsize=1)
def _of_interfaces(period: int) -> frozenset[str]:
    internet = socket.AF_INET, socket.AF_INET6
    with contextlib.suppress(OSError):  # too many files may be open: it takes one to ask
        found = psutil.net_if_addrs().values()
        _last.append(frozenset(one.address for those in found for one in those if one.family in internet))
    return _last[-1]


def _network(host: str) -> bytes:
    """The first half of an IPv6 address; of others nothing that one has."""
    try:
        return ipaddress.IPv6Address(host.partition("%")[0]).packed[:8]
    except ValueError:
        return host.encode()

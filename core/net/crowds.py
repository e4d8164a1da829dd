"""Strangers by the network they come from: new keys cost nothing, so all those of one network get what one peer gets.

A stranger is who may take part in no run that is guarded here, or has not shown yet that it may (see admission.py).
"""

import ipaddress
import time

from core.net import limits
from core.net.addresses import host_of
from core.net.endpoint import Connection
from core.net.limits import Newest, Rates, TokenBucket
from core.net.link import Link

SUBNET = 64
"""Bits of an IPv6 address that its owner did not choose: any home has so many addresses as are left."""


def network_of(address: str) -> str:
    """The network in which one owner has all addresses.

    Args:
        address: "ip:port" or "[v6]:port"; others are taken as they are.
    """
    host = host_of(address)
    try:
        known = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return address
    mapped = known.ipv4_mapped if known.version == 6 else known
    return str(mapped or ipaddress.ip_network((known, SUBNET), strict=False))


class Crowds:
    """What the strangers of each network may use together: calls, connections, and handshakes."""

    def __init__(self) -> None:
        self._calls = Newest[str, TokenBucket](limits.FAULTY_PEERS)
        self._handshakes = Rates(limits.HANDSHAKES_PER_S, limits.HANDSHAKE_BURST)
        self._late = Rates(limits.CROWD_HANDSHAKES_PER_S, limits.CROWD_HANDSHAKES_PER_S)
        """Of those networks of which as many strangers are here as may be."""

    def join(self, link: Link) -> None:
        """Count a new connection to its network, if the peer dialled; those that come by one relay are of one network.

        Args:
            link: with that peer.
        """
        if not link.outgoing:
            link.network = _network(link.connection)
            bucket = self._calls.get(link.network)
            link.crowd = bucket or TokenBucket(limits.CROWD_CALLS_PER_S, limits.CROWD_CALL_BURST)
            self._calls[link.network] = link.crowd

    def admits(self, network: str, strangers: int) -> bool:
        """Whether to shake hands with somebody, of whom nothing but the address is known.

        Args:
            network: from where the peer dials.
            strangers: of that network that are connected.
        """
        now, key = time.monotonic(), network.encode()
        return self._handshakes.allows(key, now) and (strangers < limits.CROWD or self._late.allows(key, now))


def _network(connection: Connection) -> str:
    return connection.relay.hex() if connection.relay else network_of(connection.came_from)

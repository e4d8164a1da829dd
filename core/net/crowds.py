"""Strangers by the network they come from: new keys cost nothing, so all those of one network get what one peer gets.

A stranger is who may take part in no run that is guarded here, or has not shown yet that it may (see admission.py).
"""

import ipaddress
import time

from core.net import limits
from core.net.addresses import host_of, is_near
from core.net.endpoint import Connection
from core.net.limits import BlockTime, Newest, Rates, TokenBucket
from core.net.link import Link
from core.net.shares import Branch

SUBNET = 64
"""Bits of an IPv6 address that its owner did not choose: any home has so many addresses as are left."""
BLOCKS = {4: 24, 6: 48}
"""Bits of an address, by its version, that one owner of many networks has in common: the smallest blocks that are
routed on the internet, so the smallest that are rented and sold. A mobile network or a university has many of them, and
many people behind one address; so no block is held to a share but where there is no room for all."""


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


def branch_of(network: str, peer: str = "") -> Branch:
    """Where a peer stands among the users of what is scarce (see `core.net.shares`).

    Args:
        network: as `network_of` has it.
        peer: its key; "": nobody in particular.
    """
    block = network
    if not is_near(network.partition("/")[0]):  # in a local network neighbours are not of one owner
        try:
            known = ipaddress.ip_network(network)
            block = str(known.supernet(new_prefix=BLOCKS[known.version]))
        except ValueError:
            pass  # a relay
    return (block, network, peer) if peer else (block, network)


def voter_of(branch: Branch) -> bytes:
    """Who has one vote: all peers of a block of addresses together, as keys cost nothing; in a local network each.

    Args:
        branch: where a peer stands.
    """
    return branch[-1 if is_near(branch[0].partition("/")[0]) else 0].encode()


class Crowds:
    """What those of each network may use together: calls, connections, handshakes, and this process's time."""

    def __init__(self) -> None:
        self._calls = Newest[str, TokenBucket](limits.FAULTY_PEERS)
        self._time = Newest[str, BlockTime](limits.FAULTY_PEERS)
        self._handshakes = Rates(limits.HANDSHAKES_PER_S, limits.HANDSHAKE_BURST)
        self._late = Rates(limits.CROWD_HANDSHAKES_PER_S, limits.CROWD_HANDSHAKES_PER_S)
        """Of those networks of which as many strangers are here as may be."""

    def join(self, link: Link) -> None:
        """Count a new connection to its network; those that come by one relay are of one network.

        Args:
            link: with that peer.
        """
        link.network = _network(link)
        link.branch = branch_of(link.network, link.peer.hex())
        block = link.branch[0]
        self._time[block] = link.time = self._time.get(block) or BlockTime()
        if not link.outgoing:
            bucket = self._calls.get(link.network)
            link.crowd = bucket or TokenBucket(limits.CROWD_CALLS_PER_S, limits.CROWD_CALL_BURST)
            self._calls[link.network] = link.crowd

    def admits(self, network: str, strangers: int, proved: bool = True) -> bool:
        """Whether to shake hands with somebody, of whom nothing but the address is known.

        Args:
            network: from where the peer dials.
            strangers: of that network that are connected.
            proved: whether it is there; who is does not wait for those who may pretend to be.
        """
        now, key = time.monotonic(), network.encode() + bytes([proved])
        return self._handshakes.allows(key, now) and (strangers < limits.CROWD or self._late.allows(key, now))


def _network(link: Link) -> str:
    connection: Connection = link.connection
    if connection.relay:
        return connection.relay.hex()
    return network_of(connection.came_from or link.address or "")

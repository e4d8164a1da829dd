"""What is known of a NAT, and what follows from it for how a peer is reached: pure rules."""

import ipaddress
from collections.abc import Collection
from typing import Literal

import msgspec

from core.contracts.notices import Notice, notice
from core.identity import PeerId
from core.net.addresses import host_of

Nat = Literal["unknown", "none", "cone", "symmetric"]
Kind = Literal["unknown", "reachable", "punchable", "relayed", "dial-out only"]
DialledBy = Literal["nobody", "acquaintance", "stranger"]
"""Who got in from a port that this PC never wrote to: a host that it writes to, or one that it does not."""
NOT_CERTAIN = notice("reach.by_acquaintance")


class Reachability(msgspec.Struct, frozen=True):
    """How others reach this peer, for the user.

    Attributes:
        step: what showed it, in words.
        measured: Unix time.
        outside: addresses that others saw.
    """

    kind: Kind = "unknown"
    step: Notice = notice("reach.not_measured")
    measured: float = 0.0
    nat: Nat = "unknown"
    outside: tuple[str, ...] = ()


def nat_kind(seen: Collection[str], local: Collection[str], port: int) -> Nat:
    """The NAT in front of this PC.

    Args:
        seen: the address of one socket as seen by each observer.
        local: this PC's own addresses.
        port: the local port; one observer alone must judge by whether the router keeps it.
    """
    if not seen:
        return "unknown"
    if set(seen) <= set(local):
        return "none"
    if len(seen) > 1:
        return "cone" if len(set(seen)) == 1 else "symmetric"
    return "cone" if next(iter(seen)).endswith(f":{port}") else "symmetric"


def judge(nat: Nat, dialled_by: DialledBy, punched: PeerId | None, relays: Collection[PeerId]) -> tuple[Kind, Notice]:
    """How this peer is reached, and what showed it.

    Many routers let in every port of a host that was written to: that an acquaintance got in says little behind one.
    """
    if dialled_by == "stranger":
        return "reachable", notice("reach.by_stranger")
    if dialled_by == "acquaintance" and nat == "none":
        return "reachable", NOT_CERTAIN
    if punched is not None:
        return "punchable", notice("reach.by_punching", peer=punched.hex())
    if nat == "cone" and dialled_by == "acquaintance":
        return "punchable", NOT_CERTAIN
    if nat == "cone":
        return "punchable", notice("reach.by_router")
    if nat == "unknown":
        return "unknown", notice("reach.no_answer")
    if relays:
        return "relayed", notice("reach.by_relay", peer=min(relays).hex())
    return "dial-out only", notice("reach.by_nobody")


def may_punch(nat: Nat, other: Nat) -> bool:
    """Whether a meeting can work: a symmetric NAT shows the other side a port that nobody knows beforehand."""
    return "symmetric" not in (nat, other) or "none" in (nat, other)


def is_address(text: str) -> bool:
    """Whether `text` is "ip:port" that may be dialled on another's word."""
    port = text.rpartition(":")[2]
    try:
        ip = ipaddress.ip_address(host_of(text))
    except ValueError:
        return False
    wrong = ip.is_multicast or ip.is_unspecified or ip.is_reserved or ip.is_link_local
    return not wrong and port.isascii() and port.isdigit() and 0 < int(port) < 65536


def as_public(address: str, other: str) -> bool:
    """Whether "ip:port" is not of a smaller network than the other one: this PC, its LAN, the internet.

    What another peer names is dialled only if so: nobody out on the internet has this PC dial its own neighbours. The
    families may differ: two peers with both may have met by IPv6 and speak of a third that has IPv4 only.
    """
    ip, reference = (ipaddress.ip_address(host_of(text)) for text in (address, other))
    return _width(ip) >= _width(reference)


def same_family(address: str, other: str) -> bool:
    """Whether both "ip:port" are of IPv4, or both of IPv6."""
    return ipaddress.ip_address(host_of(address)).version == ipaddress.ip_address(host_of(other)).version


def _width(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> int:
    return 0 if ip.is_loopback else 1 + ip.is_global

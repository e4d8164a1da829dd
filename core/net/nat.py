"""What is known of a NAT, and what follows from it for how a peer is reached: pure rules."""

import ipaddress
from collections.abc import Collection
from typing import Literal

import msgspec

from core.identity import PeerId

Nat = Literal["unknown", "none", "cone", "symmetric"]
Kind = Literal["unknown", "reachable", "punchable", "relayed", "dial-out only"]


class Reachability(msgspec.Struct, frozen=True):
    """How others reach this peer, for the user.

    Attributes:
        step: what showed it, in words.
        measured: Unix time.
        outside: addresses that others saw.
    """

    kind: Kind = "unknown"
    step: str = "not measured yet"
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


def judge(nat: Nat, dialled_back: bool, punched: PeerId | None, relays: Collection[PeerId]) -> tuple[Kind, str]:
    """How this peer is reached, and what showed it."""
    if dialled_back:
        return "reachable", "a backbone peer dialled back"
    if punched is not None:
        return "punchable", f"met peer {punched.hex()[:8]} by hole punching"
    if nat == "cone":
        return "punchable", "the router shows everybody the same address"
    if nat == "unknown":
        return "unknown", "no backbone peer answered"
    if relays:
        return "relayed", f"peer {min(relays).hex()[:8]} relays"
    return "dial-out only", "nobody can dial this PC and no connected peer relays"


def may_punch(nat: Nat, other: Nat) -> bool:
    """Whether a meeting can work: a symmetric NAT shows the other side a port that nobody knows beforehand."""
    return "symmetric" not in (nat, other) or "none" in (nat, other)


def is_address(text: str) -> bool:
    """Whether `text` is "ip:port" that may be dialled on another's word."""
    host, _, port = text.rpartition(":")
    try:
        ip = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    wrong = ip.is_multicast or ip.is_unspecified or ip.is_reserved or ip.is_link_local
    return not wrong and port.isascii() and port.isdigit() and 0 < int(port) < 65536

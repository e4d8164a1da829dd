"""What a peer needs to be of use, checked one by one, each with what to do about it."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from core.contracts.network_status import DhtStatus, Finding, NetworkStatus
from core.contracts.notices import Notice, notice, plain
from core.contracts.telemetry import BrokerStatus

CLOCK_S = 30.0
"""Records are accepted up to 60 s off; half of that is a reason to look."""
FREE_BYTES = 1 << 30


def examine(network: NetworkStatus, dht: DhtStatus, brokers: Sequence[BrokerStatus], folder: Path) -> list[Finding]:
    """The findings, in the order in which they depend on each other.

    Args:
        network: this peer's, as the control socket tells it.
        dht: likewise.
        brokers: likewise.
        folder: the data folder, on whose disk checkpoints are saved.
    """
    free = shutil.disk_usage(folder).free
    _, _, port = network.address.partition("@")
    reached, nat_known = network.reachability != "unknown", network.nat != "unknown"
    unmeasured, unknown = notice("doctor.unmeasured"), notice("verdict.unknown")
    ahead = notice("doctor.clock_off", seconds=dht.clock_apart_s)
    return [
        Finding(
            "port",
            bool(port) or network.reachability == "dial-out only",
            notice("doctor.listening", address=port) if port else notice("doctor.no_address"),
            notice("doctor.port_remedy"),
        ),
        Finding(
            "peers",
            network.connected > 0,
            notice("doctor.connected", connected=network.connected, known=dht.contacts),
            notice("doctor.peers_remedy"),
        ),
        Finding(
            "outside",
            True if network.outside else None,
            plain(", ".join(network.outside)) if network.outside else unknown,
            unmeasured,
        ),
        Finding(
            "nat",
            network.nat != "symmetric" if nat_known else None,
            notice(f"nat.{network.nat}") if nat_known else unknown,
            notice("doctor.nat_remedy") if nat_known else unmeasured,
        ),
        Finding(
            "reachability",
            network.reachability != "dial-out only" if reached else None,
            notice("doctor.reached", kind=reach(network.reachability), step=network.step) if reached else unknown,
            notice("doctor.reach_remedy") if reached else unmeasured,
        ),
        Finding(
            "clock",
            abs(dht.clock_apart_s) < CLOCK_S if dht.contacts else None,
            ahead if dht.contacts else unknown,
            notice("doctor.clock_remedy") if dht.contacts else unmeasured,
        ),
        Finding(
            "disk",
            free >= FREE_BYTES,
            notice("doctor.free_at", free=free, folder=str(folder)),
            notice("doctor.disk_remedy"),
        ),
        _brokers(brokers),
    ]


def _brokers(known: Sequence[BrokerStatus]) -> Finding:
    connected = sum(one.connected for one in known)
    return Finding(
        "broker",
        connected == len(known) if known else None,
        notice("doctor.brokers", connected=connected, all=len(known)) if known else notice("doctor.brokers_none"),
        notice("doctor.broker_remedy") if known else notice("doctor.brokers_none_remedy"),
    )


def reach(kind: str) -> Notice:
    """How others reach a peer (`NetworkStatus.reachability`)."""
    return notice(f"reach.{kind.replace('-', '_').replace(' ', '_')}")

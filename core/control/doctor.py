"""What a peer needs to be of use, checked one by one, each with what to do about it."""

import shutil
from pathlib import Path

from core.contracts.control import DhtStatus, Finding, NetworkStatus
from core.contracts.words import size

CLOCK_S = 30.0
"""Records are accepted up to 60 s off; half of that is a reason to look."""
FREE_BYTES = 1 << 30
UNMEASURED = "Nobody has measured it yet; a connected backbone peer does."


def examine(network: NetworkStatus, dht: DhtStatus, folder: Path) -> list[Finding]:
    """The findings, in the order in which they depend on each other."""
    free = shutil.disk_usage(folder).free
    measured, nat_known = network.reachability != "unknown", network.nat != "unknown"
    return [
        Finding(
            "port",
            bool(network.address.partition("@")[2]) or network.reachability == "dial-out only",
            f"listening at {network.address.partition('@')[2] or 'no address'}",
            "Start the worker with --listen 0.0.0.0:PORT and a port that no other program uses.",
        ),
        Finding(
            "other peers",
            network.connected > 0,
            f"{network.connected} connected, {dht.contacts} known to the DHT",
            "Start the worker with --bootstrap and what `hearth address` prints on a PC of the network.",
        ),
        Finding(
            "outside address",
            True if network.outside else None,
            ", ".join(network.outside) or "not known",
            UNMEASURED,
        ),
        Finding(
            "NAT",
            network.nat != "symmetric" if nat_known else None,
            network.nat if nat_known else "not known",
            "This router gives every connection another port: peers reach this PC through a relay only."
            if nat_known
            else UNMEASURED,
        ),
        Finding(
            "reachability",
            network.reachability != "dial-out only" if measured else None,
            f"{network.reachability} ({network.step})" if measured else "not known",
            "Other peers cannot dial this PC. It works all the same; a backbone peer that relays makes it faster."
            if measured
            else UNMEASURED,
        ),
        Finding(
            "clock",
            abs(dht.clock_offset_s) < CLOCK_S if dht.contacts else None,
            f"{dht.clock_offset_s:+.1f} s against other peers" if dht.contacts else "not known",
            "Set this PC's clock, best by network time: other peers refuse records from a wrong time."
            if dht.contacts
            else UNMEASURED,
        ),
        Finding(
            "disk",
            free >= FREE_BYTES,
            f"{size(free)} free at {folder}",
            "Free some space: checkpoints cannot be saved on a full disk.",
        ),
    ]

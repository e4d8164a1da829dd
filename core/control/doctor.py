"""What a peer needs to be of use, checked one by one, each with what to do about it."""

import shutil
from pathlib import Path
from typing import NamedTuple

from core.control.messages import DhtStatus, NetworkStatus

CLOCK_S = 30.0
"""Records are accepted up to 60 s off; half of that is a reason to look."""
FREE_BYTES = 1 << 30


class Finding(NamedTuple):
    name: str
    good: bool
    what: str
    remedy: str


def examine(network: NetworkStatus, dht: DhtStatus, folder: Path) -> list[Finding]:
    """The findings, in the order in which they depend on each other."""
    free = shutil.disk_usage(folder).free
    measured = network.reachability != "unknown"
    return [
        Finding(
            "port",
            bool(network.address.partition("@")[2]) or network.reachability == "dial-out only",
            f"listening at {network.address.partition('@')[2] or 'no address'}",
            "Start the worker with --listen 0.0.0.0:PORT and a port that no other program uses.",
        ),
        Finding(
            "other peers",
            bool(network.peers),
            f"{len(network.peers)} connected, {dht.contacts} known to the DHT",
            "Start the worker with --bootstrap and what `hearth address` prints on a PC of the network.",
        ),
        Finding(
            "outside address",
            bool(network.outside),
            ", ".join(network.outside) or "not known",
            "A connected peer with the role backbone tells it: use one with --bootstrap.",
        ),
        Finding(
            "NAT",
            network.nat != "symmetric",
            network.nat,
            "This router gives every connection another port: peers reach this PC through a relay only.",
        ),
        Finding(
            "reachability",
            measured and network.reachability != "dial-out only",
            f"{network.reachability} ({network.step})",
            "Other peers cannot dial this PC. It works all the same; a backbone peer that relays makes it faster.",
        ),
        Finding(
            "clock",
            abs(dht.clock_offset_s) < CLOCK_S,
            f"{dht.clock_offset_s:+.1f} s against other peers",
            "Set this PC's clock, best by network time: other peers refuse records from a wrong time.",
        ),
        Finding(
            "disk",
            free >= FREE_BYTES,
            f"{free / 1e9:.1f} GB free at {folder}",
            "Free some space: checkpoints cannot be saved on a full disk.",
        ),
    ]

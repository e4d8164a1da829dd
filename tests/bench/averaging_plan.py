"""What is planned before peers average: the size of groups by the number of peers and how often they fail."""

from typing import Any

from core.averaging.group_size import group_size

PEERS = (8, 16, 64, 256, 1024)
FAILURE_RATES = (0.001, 0.01, 0.05, 0.2, 0.5)


def measure(quick: bool) -> dict[str, Any]:
    """All figures.

    Args:
        quick: fewer repetitions.
    """
    return {"group_size": [{"failure_rate": rate, **group_sizes(rate)} for rate in FAILURE_RATES]}


def group_sizes(failure_rate: float) -> dict[str, int]:
    """As figure 8 of DeDLOC: the size of groups for each number of peers.

    Args:
        failure_rate: of every peer.
    """
    return {f"{peers} peers": group_size([failure_rate] * peers) for peers in PEERS}

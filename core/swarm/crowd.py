"""With whom a caller counts as one in what experts learn: keys cost nothing, networks do."""

import functools

from core.contracts.manifest import Manifest
from core.net.addresses import host_of, is_near
from core.net.crowds import network_of
from core.swarm.incoming_calls import CrowdOf


def crowds(manifest: Manifest) -> CrowdOf:
    """How callers of a run are taken together. In one with tokens its organiser knows everybody: none are.

    Args:
        manifest: the run's.
    """
    return _alone if manifest.access == "tokens" else _crowd_of


def _alone(address: str | None) -> str:
    return ""


@functools.lru_cache(4096)
def _crowd_of(address: str | None) -> str:
    """The network of an address. Neighbours in a local network, and those who come by a relay, count alone."""
    near = address is None or is_near(host_of(address)) or host_of(address).startswith("fe80:")
    return "" if address is None or near else network_of(address)

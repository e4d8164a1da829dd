"""Who is the syncer of a fragment: pure functions of what peers tell of themselves. All who know the same decide alike.

A fragment has one syncer, as an expert has one host. Where there is none, the peer with the newest copy is its heir;
where two claim it, the newer one goes on, and a tie is settled as for experts (`core.swarm.placement`).
"""

from collections.abc import Mapping

from core.contracts.trunk_calls import Keeper
from core.swarm.placement import rank


def syncer_of(part: int, keepers: Mapping[str, Keeper]) -> str | None:
    """The peer with the best claim to a fragment, if any claims it.

    Args:
        part: the fragment.
        keepers: the living peers, this one included.
    """
    return _best(part, {peer: keeper for peer, keeper in keepers.items() if part in keeper.syncs})


def heir_of(part: int, keepers: Mapping[str, Keeper]) -> str | None:
    """Who is to claim a fragment that nobody claims.

    Args:
        part: the fragment.
        keepers: as in `syncer_of`.
    """
    return _best(part, {peer: keeper for peer, keeper in keepers.items() if keeper.able})


def _best(part: int, keepers: Mapping[str, Keeper]) -> str | None:
    return max(keepers, key=lambda peer: (keepers[peer].versions.get(part, 0), rank(part, peer)), default=None)
